"""Claims put back together as runs: one task taken through the seats once.

Pure. A run is a dispatch; claims of a task that name none belong together while their
attempt numbers rise, up to a pass. Keeps only what statistics need of a claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from critic.review import Verdict
from tessera.records import Claim, SeatName


class Step(NamedTuple):
    """One claim of a run."""

    seat: SeatName
    verdict: Verdict
    pattern: str | None
    root_cause: str | None
    kind: str | None
    at: str
    attempt: int | None = None

    def mends(self, before: Step) -> bool:
        """Whether this is what the compiler seat made of the candidate before."""
        same = self.attempt == before.attempt
        return self.seat is SeatName.COMPILER and before.verdict is Verdict.FAIL and same


@dataclass
class Run:
    """The claims of one task's way through the seats, in order.

    `cold` says that nothing judged was known of the file when the run began, so that no
    hint can have been given.
    """

    crate: str
    target: str
    task: str
    arm: str | None
    cold: bool
    steps: list[Step] = field(default_factory=list)

    @property
    def judged(self) -> list[Step]:
        """The steps that say something about a candidate, one an attempt.

        Where the compiler seat mended what another wrote, its verdict is the attempt's.
        """
        found: list[Step] = []
        for step in self.steps:
            if step.verdict is Verdict.BLOCKED:
                continue
            if found and step.mends(found[-1]):
                found.pop()
            found.append(step)
        return found


def runs_of(claims: Iterable[Claim]) -> list[Run]:
    """The runs, in the order they began. `claims` come in the order they were recorded."""
    runs: dict[int, Run] = {}
    for run, claim in assigned(claims):
        runs[id(run)] = run
        run.steps.append(
            Step(
                claim.seat,
                claim.verdict,
                claim.error_pattern,
                claim.root_cause,
                claim.blocked_kind,
                claim.at or "",
                claim.attempt,
            )
        )
    return list(runs.values())


def assigned(claims: Iterable[Claim]) -> Iterator[tuple[Run, Claim]]:
    """Each claim with its run; the runs have no steps yet."""
    named: dict[tuple[str, ...], Run] = {}
    loose: dict[tuple[str | None, ...], tuple[Run, Claim]] = {}
    known: set[tuple[str | None, ...]] = set()
    for claim in claims:
        file = (claim.crate, claim.target)
        task = (*file, claim.task)
        if claim.dispatch:
            run = named.get((claim.dispatch, *task))
        else:
            run, last = loose.get((*task, claim.arm), (None, claim))
            run = run if _goes_on(last, claim) else None
        if run is None:
            # An arm remembers only itself; without one everything is remembered.
            cold = (*file, claim.arm) not in known if claim.arm else file not in known
            run = Run(*task, claim.arm, cold)
        if claim.dispatch:
            named[claim.dispatch, *task] = run
        else:
            loose[*task, claim.arm] = run, claim
        if claim.verdict is not Verdict.BLOCKED:
            known.update((file, (*file, claim.arm)))
        yield run, claim


def _goes_on(last: Claim, claim: Claim) -> bool:
    """Whether a claim that names no dispatch goes on with the run of the one before it."""
    if last.verdict is Verdict.PASS:
        return False
    if last.attempt is None or claim.attempt is None or last.verdict is Verdict.BLOCKED:
        return True
    again = claim.attempt == last.attempt and claim.seat is not last.seat
    return claim.attempt > last.attempt or again
