"""One run of cargo → PASS, FAIL or BLOCKED, with the evidence.

Pure. Structure decides first: JSON messages, whose package, whose span, what became of which
process. Then cargo's own sentences, of which the last error and its chain of causes count and
never the warnings before it. What a source line, a `compile_error!`, a test or the candidate's
own build script says is never believed. Works on saved logs, too, where the diagnostics are
known only as text. Compares nothing with a baseline and knows no candidate file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from critic import faults, patterns
from critic.compiling import (
    build_script,
    dead_compiler,
    foreign_errors,
    machine_errors,
    missing_library,
    own_errors,
)
from critic.faults import Fault
from critic.patterns import Pattern
from critic.reading import OF_CARGO, REGISTRY_PATH, Finding, Reading, units
from critic.review import Evidence, Stage, Verdict
from critic.sentences import FAILS, Kind
from critic.transcript import Block, Status, Transcript, plain

_EVIDENCE_LIMIT = 1_000
_KILLED_BY_TIMEOUT = 124
_SIGNAL_BASE = 128
"""A shell reports 128 + n for a child ended by signal n; timeout(1) reports 124."""


@dataclass(frozen=True)
class Classification:
    """What one run means. `kind` is None for a PASS; `retryable` speaks of BLOCKED only."""

    verdict: Verdict
    kind: str | None
    retryable: bool
    error_pattern: str | None
    root_cause: str | None
    evidence: Evidence


def classify(
    exit_code: int | None,
    stderr: str,
    messages: Sequence[Mapping[str, Any]] = (),
    phase: Stage | None = None,
    signal: int | None = None,
    timed_out: bool = False,
    stdout: str = "",
) -> Classification:
    """Judge one run of cargo.

    `exit_code` is None when it isn't known or a `signal` ended cargo; `messages` are the
    objects of `--message-format=json`, empty for plain output; `phase` is the stage the run
    served, None when unknown; `timed_out` says that a time limit stopped it. Any text is
    accepted; nothing is raised.
    """
    run = Reading(exit_code, stderr, messages, phase, signal, timed_out, stdout)
    if passed := _passed(run):
        return Classification(Verdict.PASS, None, False, None, None, passed)
    finding = next(found for rule in _RULES if (found := rule(run)))
    fault = finding.fault
    failed = fault.kind in FAILS
    pattern = (finding.pattern or _PATTERN_OF_KIND.get(fault.kind)) if failed else None
    return Classification(
        verdict=Verdict.FAIL if failed else Verdict.BLOCKED,
        kind=fault.kind.value,
        retryable=not failed and fault.retryable,
        error_pattern=pattern.slug if pattern else None,
        root_cause=pattern.root_cause.value if pattern else None,
        evidence=Evidence(fault.rule, fault.text.strip()[:_EVIDENCE_LIMIT], phase or ""),
    )


def classify_text(
    stderr: str, *, exit_code: int | None = None, messages: str = "", phase: str | None = None
) -> Classification:
    """Judge output that was saved elsewhere; `messages` as JSON lines, other lines ignored."""
    return classify(
        exit_code,
        stderr,
        tuple(_json_objects(messages)),
        Stage(phase) if phase else None,
    )


def _json_objects(text: str) -> Iterator[Mapping[str, Any]]:
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


_PATTERN_OF_KIND = {
    Kind.TEST_FAILED: patterns.TEST_FAILED,
    Kind.TIMEOUT_CODE: patterns.TEST_TIMEOUT,
    Kind.COMPILER_CRASH: patterns.COMPILER_CRASH,
    Kind.LINK_OWN_SYMBOL: patterns.UNDEFINED_SYMBOL,
    Kind.DEP_COMPILE_ERROR: patterns.DEPENDENCY_BROKEN,
    Kind.MANIFEST: patterns.MANIFEST_INVALID,
    Kind.HALLUCINATED_CRATE: patterns.CRATE_NOT_FOUND,
    Kind.VERSION_CONFLICT: patterns.VERSION_CONFLICT,
    Kind.FEATURE_MISSING: patterns.FEATURE_NOT_FOUND,
    Kind.GIT_REF: patterns.GIT_REFERENCE_NOT_FOUND,
    Kind.MSRV: patterns.RUST_VERSION_TOO_NEW,
    Kind.CODE: patterns.UNNAMED_ERROR,
}


# --- passes ------------------------------------------------------------------------------


def _passed(run: Reading) -> Evidence | None:
    """PASS needs exit code 0; only where no exit code is known may the text stand for it."""
    if run.timed_out or run.signal is not None or run.built is False:
        return None
    if run.exit_code == 0:
        if run.phase is Stage.TEST and _no_test_ran(run.stdout):
            return None
        return Evidence("exit_code_0", "cargo ended with exit code 0", run.phase or "")
    if run.exit_code is not None or run.transcript.errors or "test result: FAILED" in run.stdout:
        return None
    done = next((s for s in run.transcript.statuses if s.verb == "Finished"), None)
    return Evidence("finished", f"Finished {done.text}", run.phase or "") if done else None


_RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed;", re.M)


def _no_test_ran(stdout: str) -> bool:
    """Whether libtest reported, and reported that nothing ran."""
    results = _RESULT.findall(plain(stdout))
    return bool(results) and all(int(p) + int(f) == 0 for p, f in results)


# --- tests -------------------------------------------------------------------------------

_TEST_FAILED = re.compile(
    r"(doc)?test failed, to rerun|bench failed, to rerun|\d+ targets? failed:|"
    r"test run failed|no tests to run|test failed\.?$"
)
_LOADER = re.compile(
    r"(?P<binary>/\S+): error while loading shared libraries: \S+: cannot open shared object file"
)


def _failed_tests(run: Reading) -> Finding | None:
    """cargo's own last word on the tests; what they print in between counts for nothing."""
    last = run.last
    failed = [b for b in run.transcript.errors if _TEST_FAILED.match(b.head)]
    if last is None or not failed or last is not failed[-1]:
        return None
    runs = [b for b in failed if b.head.startswith(("test", "doctest", "bench"))] or failed
    blocked = [fault for block in runs if (fault := _never_ran(block, run))]
    if len(blocked) == len(runs):
        return Finding(blocked[0])
    text = "\n".join(last.links)
    return Finding(Fault(Kind.TEST_FAILED, "tests_failed", text), _test_pattern(run, last))


def _never_ran(block: Block, run: Reading) -> Fault | None:
    if any(link.startswith("could not execute process `") for link in block.causes):
        return faults.of_chain(block.links, (), fresh=False)
    if "(exit status: 127)" not in block.text or "running " in run.stdout:
        return None
    loaders = (_LOADER.match(line) for line in run.transcript.loose)
    found = next((m for m in loaders if m and f"`{m['binary']}" in block.text), None)
    return Fault(Kind.SYSLIB_MISSING, "test_lacks_library", found[0]) if found else None


_ASSERTION = re.compile(r"assertion `?[^`\n]*`? ?failed|assertion failed:")
_PANIC = re.compile(r"panicked at ")


def _test_pattern(run: Reading, last: Block) -> Pattern:
    if "no tests to run" in last.head:
        return patterns.NO_TESTS_RAN
    if faults.signal_of(last.links) is not None:
        return patterns.TEST_ABORTED
    output = run.stdout + run.stderr
    if _PANIC.search(output) and not _ASSERTION.search(output):
        return patterns.TEST_PANICKED
    return patterns.TEST_FAILED


# --- cargo's own errors ------------------------------------------------------------------


def _cargo_error(run: Reading) -> Finding | None:
    """The final error and its chain; it was cargo that failed, before anything was compiled."""
    last = run.last
    if last is None or OF_CARGO.match(last.head):
        return None
    if run.ran and not last.head.startswith(("could not execute process", "process didn't")):
        return None  # whatever a program printed
    if any(status.verb == "Finished" for status in run.transcript.statuses) and not last.causes:
        return None
    fresh = any(status.verb == "Downloaded" for status in run.transcript.statuses)
    fault = _of_placed(last) or faults.of_chain(last.links, run.transcript.tools, fresh=fresh)
    if fault is None:
        placed = (_of_placed(block) for block in reversed(run.transcript.errors))
        fault = next((f for f in placed if f), None)
    return Finding(_refined(fault, run)) if fault else None


def _of_placed(block: Block) -> Fault | None:
    """Cargo points into a manifest, a lock file or a configuration."""
    file = block.place.file if block.place else ""
    if REGISTRY_PATH.search(file) and "/git/checkouts/" not in file:
        return Fault(Kind.CORRUPT_CACHE, "manifest_of_dependency", block.head)
    if file.endswith((".cargo/config.toml", ".cargo/config")):
        return Fault(Kind.ENVIRONMENT, "configuration", block.head)
    if file.endswith((".toml", ".lock")):
        return Fault(Kind.MANIFEST, "manifest", f"{block.head} ({file})")
    return None


def _refined(fault: Fault, run: Reading) -> Fault:
    """A connection refused after others were cut is a peer that cuts connections."""
    cut = any("Connection reset by peer" in warning.head for warning in run.transcript.warnings)
    if fault.kind is Kind.CONNECTION_REFUSED and cut:
        return Fault(Kind.CONNECTION_RESET, fault.rule, fault.text)
    return fault


# --- runs that were stopped --------------------------------------------------------------


def _stopped(run: Reading) -> Finding | None:
    """A time limit or a signal ended cargo: what it was doing then decides."""
    number = _signal_of(run)
    if not run.timed_out and run.exit_code != _KILLED_BY_TIMEOUT and number is None:
        return None
    by = f"signal {number}" if number else "the time limit"
    last = run.transcript.last
    doing = f"{last.verb} {last.text}" if last else "nothing yet"
    text = f"ended by {by} while: {doing}"
    if last and last.verb == "Blocking":
        return Finding(Fault(Kind.LOCK, "stopped_waiting_for_lock", text))
    late = number in (None, 9, 24)
    if late and (run.ran or (run.phase is Stage.TEST and run.built is not False)):
        return Finding(Fault(Kind.TIMEOUT_CODE, "stopped_while_running", text))
    if number is not None and number != 24:
        fault = faults.of_signal(number, text)
        # A cargo that dies before its first word has too little memory to be loaded.
        kind = Kind.ENVIRONMENT if run.stderr.strip() else Kind.OOM
        return Finding(fault or Fault(kind, "cargo_crashed", text))
    if last and _compiles_own(last):
        stopped = Fault(Kind.TIMEOUT_CODE, "stopped_while_compiling", text)
        return Finding(stopped, patterns.COMPILE_TIMEOUT)
    return Finding(Fault(Kind.TIMEOUT, "stopped", text))


def _signal_of(run: Reading) -> int | None:
    if run.signal is not None:
        return run.signal
    beyond = (run.exit_code or 0) - _SIGNAL_BASE
    return beyond if 0 < beyond < 65 else None


def _compiles_own(status: Status) -> bool:
    if status.verb not in ("Compiling", "Checking", "Documenting"):
        return False
    return any(folder is not None for _, folder in units(Transcript(statuses=(status,))))


# --- the rest ----------------------------------------------------------------------------

_NO_CARGO = re.compile(r".*\b(cargo|rustc|rustup)\b.*([Cc]ommand not found|not found|No such file)")


def _shell(run: Reading) -> Finding | None:
    """A shell that finds no cargo (exit code 127) or may not run it (126)."""
    if run.exit_code not in (126, 127) or run.transcript.statuses:
        return None
    lines = (*run.transcript.loose, *(block.head for block in run.transcript.errors))
    if run.exit_code == 126:
        return Finding(Fault(Kind.PERMISSION, "cargo_not_executable", "\n".join(lines)))
    said = next((line for line in lines if _NO_CARGO.match(line)), "\n".join(lines))
    return Finding(Fault(Kind.TOOLCHAIN_MISSING, "cargo_not_found", said))


def _failed_program(run: Reading) -> Finding | None:
    """Something that cargo started ended badly: `cargo run`, a harness of its own, -q."""
    if run.exit_code == 0 and run.phase is Stage.TEST and _no_test_ran(run.stdout):
        return Finding(Fault(Kind.TEST_FAILED, "no_tests_ran", run.stdout), patterns.NO_TESTS_RAN)
    if "test result: FAILED" in run.stdout:
        block = run.last or Block("error", None, "test result: FAILED")
        fault = Fault(Kind.TEST_FAILED, "test_result", "test result: FAILED")
        return Finding(fault, _test_pattern(run, block))
    if not run.ran and run.built is not True:
        return None
    last = run.transcript.last
    text = f"{last.verb} {last.text}" if last else ""
    return Finding(Fault(Kind.TEST_FAILED, "program_failed", text), patterns.PROGRAM_FAILED)


_REACHED_OUT = frozenset({"Updating", "Downloading", "Downloaded"})


def _unknown(run: Reading) -> Finding:
    """Unknown sentences: before the network was asked they are about the manifest."""
    last = run.last
    text = last.text if last else "\n".join(run.transcript.loose) or "cargo gave no reason"
    asked = any(status.verb in _REACHED_OUT for status in run.transcript.statuses)
    if last is None or run.phase is Stage.FETCH or (asked and run.phase is None):
        return Finding(Fault(Kind.ENVIRONMENT, "unknown", text))
    return Finding(Fault(Kind.MANIFEST, "unknown_error_of_cargo", text))


def _interrupted(run: Reading) -> Finding | None:
    """Cargo itself was ended from outside, so what it would have said last is missing."""
    return _stopped(run) if run.timed_out or run.signal is not None else None


_RULES: tuple[Callable[[Reading], Finding | None], ...] = (
    _failed_tests,
    missing_library,
    own_errors,
    _interrupted,
    machine_errors,
    foreign_errors,
    build_script,
    dead_compiler,
    _cargo_error,
    _stopped,
    _shell,
    _failed_program,
    _unknown,
)
"""The first that finds something decides; the last always does."""
