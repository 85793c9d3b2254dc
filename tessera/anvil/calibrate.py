"""How good the calibration signal would have been, for each threshold, on what happened.

Pure: replays claims in order. What the local model went on to do after the signal would
have stopped it is the evidence; where nothing followed there is none, and it isn't counted
as right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from critic.review import Verdict
from tessera.anvil.runs import Run, assigned
from tessera.anvil.signal import Streaks
from tessera.records import Claim, SeatName
from tessera.statistics import Rate, rate

THRESHOLDS = range(1, 11)
# A threshold is recommended when its signal is right at least this often, at the lower end
# of the interval: of ten dispatches cut short at most two would have passed.
LEAST_RIGHT = 0.8


@dataclass(frozen=True)
class Replay:
    """One threshold on the recorded dispatches.

    `fired`: dispatches that the signal would have cut short. `right`: of those in which the
    local model did go on, how many it went on failing. `saved`: local attempts not made.
    `lost`: passes of the local model that would not have been had. `frontier_calls`: each
    cut asks the frontier once; `extra_calls` of them where it wasn't asked anyway.
    """

    threshold: int
    fired: int
    right: Rate
    saved: int
    lost: int
    frontier_calls: int
    extra_calls: int


@dataclass
class _Run:
    """A dispatch as the replay sees it: each local verdict, and the failures counted then."""

    passed: list[bool] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    frontier: bool = False


def replay(
    claims: Iterable[Claim],
    *,
    thresholds: Sequence[int] = THRESHOLDS,
    signalled_budget: int = 2,
) -> tuple[Replay, ...]:
    """What each threshold would have done. `claims` come in the order they were recorded."""
    runs = _runs(claims)
    return tuple(_judged(runs, threshold, signalled_budget) for threshold in thresholds)


def recommended(replays: Iterable[Replay]) -> Replay | None:
    """The lowest threshold that is right often enough; None if the history shows none."""
    for found in replays:
        if found.right.interval and found.right.interval[0] >= LEAST_RIGHT:
            return found
    return None


def _runs(claims: Iterable[Claim]) -> list[_Run]:
    runs: dict[int, tuple[Run, _Run]] = {}
    streaks: defaultdict[tuple[str, str, str | None], Streaks] = defaultdict(Streaks)
    for of, claim in assigned(claims):
        _, run = runs.setdefault(id(of), (of, _Run()))
        # Arms don't teach each other, so each has a history of its own.
        known = streaks[claim.crate, claim.target, claim.arm]
        known.add(claim)
        if claim.seat is SeatName.FRONTIER:
            run.frontier = True
        elif claim.seat is SeatName.LOCAL and claim.verdict is not Verdict.BLOCKED:
            run.passed.append(claim.verdict is Verdict.PASS)
            run.failures.append(known.signal(claim.task, 1).failures)
        elif claim.verdict is Verdict.PASS and run.passed:
            run.passed[-1] = True  # the compiler seat mended what the local model wrote
    return [run for _, run in runs.values()]


def _judged(runs: Iterable[_Run], threshold: int, signalled_budget: int) -> Replay:
    fired = went_on = right = saved = lost = extra = 0
    for run in runs:
        cut = _cut(run, threshold, signalled_budget)
        if cut is None:
            continue
        fired += 1
        extra += not run.frontier
        after = run.passed[cut:]
        went_on += bool(after)
        right += bool(after) and not any(after)
        saved += len(after)
        lost += any(after)
    return Replay(threshold, fired, rate(right, went_on), saved, lost, fired, extra)


def _cut(run: _Run, threshold: int, signalled_budget: int) -> int | None:
    """After how many local attempts the signal would have ended them; None if never."""
    for used, (passed, failures) in enumerate(zip(run.passed, run.failures, strict=True), start=1):
        if passed:
            return None
        if used >= signalled_budget and failures >= threshold:
            return used
    return None
