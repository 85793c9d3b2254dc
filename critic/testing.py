"""What a test binary said: libtest's output to counts and the failures' own words.

Pure. The binaries are built by cargo first and run directly, so that nothing a test
prints can pass for a line of cargo's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from critic.review import Run

OUTPUT_LIMIT = 4_000
RESULT = re.compile(
    r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;", re.MULTILINE
)
FAILED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. FAILED$", re.MULTILINE)
BEGUN = re.compile(r"^running \d+ tests?$", re.MULTILINE)
STARTED = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. ", re.MULTILINE)


@dataclass(frozen=True)
class RanTests:
    """What the named tests did: how many ran, which failed, and what they said.

    `over_limit` names the limit that ended a binary (`wall`, `memory`, …); `missing` are
    the names that no test answered to.
    """

    ran: int = 0
    failed: tuple[str, ...] = ()
    output: str = ""
    over_limit: str | None = None
    missing: tuple[str, ...] = ()


def read_tests(run: Run, name: str) -> RanTests:
    """Read one binary's run; a binary that ends badly without a named failure fails as `name`."""
    results = RESULT.findall(run.stdout)
    failed = tuple(dict.fromkeys(FAILED.findall(run.stdout)))
    ran = sum(int(passed) + int(broken) for passed, broken, _ in results)
    begun = BEGUN.search(run.stdout) is not None
    if run.ok and (results or not begun):
        # A binary with its own harness prints no such lines: its exit code is its word.
        return RanTests(ran if begun else 1)
    output = failures_of(run)
    if not failed:
        started = STARTED.findall(run.stdout)
        failed = (started[-1] if started and not results else name,)
    return RanTests(max(ran, len(failed)), failed, output, over_limit=run.limit)


def together(parts: Iterable[RanTests], missing: Sequence[str] = ()) -> RanTests:
    """Several binaries' results as one."""
    parts = tuple(parts)
    return RanTests(
        ran=sum(part.ran for part in parts),
        failed=tuple(dict.fromkeys(name for part in parts for name in part.failed)),
        output="\n".join(part.output for part in parts if part.output)[:OUTPUT_LIMIT],
        over_limit=next((part.over_limit for part in parts if part.over_limit), None),
        missing=tuple(missing),
    )


def failures_of(run: Run) -> str:
    """The words of the failing tests, bounded: what a person would read first."""
    start = run.stdout.find("\nfailures:\n")
    end = run.stdout.rfind("\nfailures:\n")
    said = run.stdout[start:end] if 0 <= start < end else run.stdout[-OUTPUT_LIMIT // 2 :]
    ended = ""
    if run.limit:
        ended = f"stopped: over the {run.limit} limit after {run.seconds:.1f} s\n"
    elif run.signal:
        ended = f"ended by signal {run.signal}\n"
    errors = run.stderr.strip()[-OUTPUT_LIMIT // 4 :]
    return "\n".join(filter(None, [ended + said.strip(), errors]))[:OUTPUT_LIMIT]
