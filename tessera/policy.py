"""What happens after a verdict: the table of the design as one pure function.

Knows the attempts so far, in the order they were made, and the limits. Never looks at a
prompt, a file or a clock. `state_of` reduces attempts to what the decision needs;
`next_action` decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from critic.review import Verdict
from tessera.records import Attempt, SeatName


class Action(StrEnum):
    """What the loop does next; the values are those of the exchange format."""

    REPAIR = "repair"
    TRY = "try"
    CORRECT = "correct"
    REPLAN = "replan"
    REEXPLORE = "reexplore"
    WAIT = "wait"
    STOP = "stop"
    ESCALATE = "escalate"
    FINISH = "finish"
    GIVE_UP = "give_up"


STRUCTURAL = (Action.REPLAN, Action.REEXPLORE)
ENDS = (Action.FINISH, Action.STOP, Action.GIVE_UP)


@dataclass(frozen=True)
class State:
    """What a decision rests on.

    `signatures` are those of the local model's failed attempts, oldest first. `used` counts
    the local attempts that were judged; `waits_left` the waits that patience still allows.
    `structural` are the replans and re-explorations made so far, oldest first, each with
    the number of local failures it followed. `broken` says that the target is there and
    does not compile, and that the compiler seat may try first.
    """

    verdict: Verdict | None = None
    seat: SeatName = SeatName.LOCAL
    retryable: bool = False
    signatures: tuple[str, ...] = ()
    used: int = 0
    structural: tuple[tuple[Action, int], ...] = ()
    signal: bool = False
    budget: int = 4
    signalled_budget: int = 2
    waits_left: int = 0
    frontier: bool = False
    broken: bool = False

    @property
    def effective_budget(self) -> int:
        """The local attempts allowed: fewer once history says they are futile."""
        return min(self.budget, self.signalled_budget) if self.signal else self.budget


def next_action(state: State) -> Action:
    """The next action, from the state after the last verdict (None: before the first)."""
    if state.verdict is None:
        return Action.REPAIR if state.broken else Action.TRY
    if state.verdict is Verdict.PASS:
        return Action.FINISH
    if state.verdict is Verdict.BLOCKED:
        return Action.WAIT if state.retryable and state.waits_left > 0 else Action.STOP
    if state.seat is SeatName.FRONTIER:
        return Action.GIVE_UP
    if state.used >= state.effective_budget:
        return Action.ESCALATE if state.frontier else Action.GIVE_UP
    return _next_local(state)


def _next_local(state: State) -> Action:
    """How the local model is asked again."""
    if state.seat is SeatName.COMPILER or not state.signatures:
        return Action.TRY
    if state.signatures[-1] not in state.signatures[:-1]:
        return Action.CORRECT
    replans = [after for action, after in state.structural if action is Action.REPLAN]
    if replans and state.signatures[-1] in state.signatures[: replans[-1]]:
        return Action.REEXPLORE
    return Action.REPLAN


def state_of(
    attempts: Sequence[Attempt],
    *,
    signal: bool,
    budget: int,
    signalled_budget: int,
    waits_left: int,
    frontier: bool,
    broken: bool = False,
) -> State:
    """Reduce the attempts of a dispatch to the state the next decision rests on."""
    last = attempts[-1] if attempts else None
    failures = [
        a for a in attempts if a.seat is SeatName.LOCAL and a.review.verdict is Verdict.FAIL
    ]
    return State(
        verdict=last.review.verdict if last else None,
        seat=last.seat if last else SeatName.LOCAL,
        retryable=bool(last and last.review.retryable),
        signatures=tuple(a.review.signature or a.review.error_pattern or "" for a in failures),
        used=len(failures),
        structural=tuple(
            (Action(a.action), number)
            for number, a in enumerate(failures, start=1)
            if a.action in STRUCTURAL
        ),
        signal=signal,
        budget=budget,
        signalled_budget=signalled_budget,
        waits_left=waits_left,
        frontier=frontier,
        broken=broken,
    )
