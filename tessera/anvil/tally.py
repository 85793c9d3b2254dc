"""Counts of claims, and the history they make.

A tally is what Anvil keeps up to date so that a recollection need not read every claim:
how many claims of one task agree in seat, verdict, pattern and root cause. Pure; imports
only records.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from critic.review import Verdict
from tessera.records import Claim, History, PatternCount, SeatName

CODE = re.compile(r"e\d{4}(?=_|$)")


class Seen(Protocol):
    """What the signals look at in a claim."""

    @property
    def task(self) -> str: ...

    @property
    def seat(self) -> SeatName: ...

    @property
    def verdict(self) -> Verdict: ...

    @property
    def error_pattern(self) -> str | None: ...

    @property
    def blocked_kind(self) -> str | None: ...

    @property
    def at(self) -> str | None: ...


@dataclass(frozen=True)
class Tally:
    """`count` claims that agree; `last` is the place of the newest in the order recorded.

    `pattern` is the error pattern of a FAIL and the kind of a BLOCKED. `attempt` is the
    attempt number of the newest claim, kept for a PASS only: None where nobody said it.
    """

    task: str
    seat: SeatName
    verdict: Verdict
    pattern: str | None
    root_cause: str | None
    count: int
    last: int
    attempt: int | None = None


def tally_up(claims: Iterable[Claim]) -> tuple[Tally, ...]:
    """The tallies of claims in the order they were recorded."""
    found: dict[Tally, Tally] = {}
    for place, claim in enumerate(claims, start=1):
        tally = tally_of(claim, place)
        kind = replace(tally, last=0, attempt=None)
        before = found.get(kind)
        found[kind] = replace(tally, count=before.count + 1) if before else tally
    return tuple(found.values())


def attempt_of(claim: Claim) -> int | None:
    """Which attempt of its dispatch a claim was; a claim of no dispatch was the only one."""
    return claim.attempt if claim.attempt or claim.dispatch else 1


def tally_of(claim: Claim, place: int) -> Tally:
    """The tally of one claim alone."""
    pattern = cause = attempt = None
    match claim.verdict:
        case Verdict.FAIL:
            pattern, cause = claim.error_pattern or None, claim.root_cause or None
        case Verdict.BLOCKED:
            pattern = claim.blocked_kind or None
        case Verdict.PASS:
            attempt = attempt_of(claim)
    return Tally(claim.task, claim.seat, claim.verdict, pattern, cause, 1, place, attempt)


def history_of(tallies: Iterable[Tally]) -> History:
    """The counts over all seats and tasks."""
    tallies = tuple(tallies)
    verdicts: Counter[Verdict] = Counter()
    for tally in tallies:
        verdicts[tally.verdict] += tally.count
    return History(
        total=verdicts.total(),
        passed=verdicts[Verdict.PASS],
        failed=verdicts[Verdict.FAIL],
        blocked=verdicts[Verdict.BLOCKED],
        patterns=patterns_of(tallies),
    )


def patterns_of(tallies: Iterable[Tally]) -> tuple[PatternCount, ...]:
    """The error patterns of the failures: most frequent first, then by name.

    A pattern has the root cause that most of its failures name.
    """
    causes: dict[str, Counter[str | None]] = defaultdict(Counter)
    for tally in tallies:
        if tally.verdict is Verdict.FAIL and tally.pattern:
            causes[tally.pattern][tally.root_cause] += tally.count
    counts = [
        PatternCount(pattern, code_of(pattern), _most(named), named.total())
        for pattern, named in causes.items()
    ]
    return tuple(sorted(counts, key=lambda entry: (-entry.count, entry.pattern)))


def code_of(pattern: str) -> str | None:
    """`E0308` of `e0308_type_mismatch`; None for a pattern that no error code names."""
    found = CODE.match(pattern)
    return found.group().upper() if found else None


def _most(named: Counter[str | None]) -> str | None:
    known: Sequence[tuple[str, int]] = [(cause, n) for cause, n in named.items() if cause]
    return min(known, key=lambda entry: (-entry[1], entry[0]))[0] if known else None
