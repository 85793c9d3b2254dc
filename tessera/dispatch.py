"""The loop: one task through the seats until it passes, blocks or is given up.

The order is that of the design: recollect, compose, write, judge, record, decide. Every
decision is a pure function called from here, and every attempt is recorded before the
next action is taken.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace

from critic.review import Verdict
from tessera import policy
from tessera.attempting import make_attempt
from tessera.desk import Desk
from tessera.events import Kind, now
from tessera.policy import ENDS, Action
from tessera.records import Attempt, Claim, SeatName, Signal, Task

SHORTEST_DELAY = 0.1
FIRST_DELAY = 1.0
LONGEST_DELAY = 30.0


@dataclass(frozen=True)
class End:
    """How the loop ended: the last action, and whether the calibration signal fired."""

    action: Action
    signal: bool


def run(desk: Desk) -> End:
    """Take the task through the seats; what models and crates do raises nothing."""
    signal = desk.recollection.signal
    if (desk.task.crate / desk.task.target).is_file():
        desk.judge.prepare()
    action = policy.next_action(state(desk, signal))
    while action not in ENDS:
        asked = action
        attempt = make_attempt(desk, asked)
        desk.attempts.append(attempt)
        action = policy.next_action(state(desk, signal))
        if action is Action.WAIT:
            wait(desk, attempt)
            action = asked
            continue
        remember(desk, attempt)
        signal = look_again(desk, attempt, signal)
        action = policy.next_action(state(desk, signal))
        desk.attempts[-1] = replace(attempt, action=action.value)
        announce(desk, action)
    return End(action, signal.fired)


def state(desk: Desk, signal: Signal) -> policy.State:
    """What the next decision rests on."""
    settings = desk.settings
    patience = settings.frontier.patience if _asking_frontier(desk) else settings.local.patience
    return policy.state_of(
        desk.attempts,
        signal=signal.fired,
        budget=settings.budget,
        signalled_budget=settings.signalled_budget,
        waits_left=int(desk.waited + delay(desk.waits, desk.retry_after) <= patience),
        frontier=desk.frontier is not None,
        broken=desk.settings.repair and desk.judge.target_is_broken and bool(desk.task.tests),
    )


def _asking_frontier(desk: Desk) -> bool:
    return bool(desk.attempts) and desk.attempts[-1].seat is SeatName.FRONTIER


def remember(desk: Desk, attempt: Attempt) -> None:
    """Record the attempt in Anvil; durable when this returns.

    What the compiler seat mended is two claims: the failure of who wrote it, and its pass.
    """
    task, of = desk.task, desk.log.dispatch
    if attempt.unrepaired is None:
        desk.memory.post_attempt(claim_of(task, attempt, of, desk.arm))
        return
    mended = replace(attempt, seat=SeatName.COMPILER, tokens_in=0, tokens_out=0, cost_usd=0.0)
    both = (attempt.unrepaired, mended)
    desk.memory.record([claim_of(task, each, of, desk.arm) for each in both])


def claim_of(task: Task, attempt: Attempt, of: str, arm: str | None) -> Claim:
    """What Anvil keeps of an attempt of the dispatch `of`."""
    review = attempt.review
    blocked = review.verdict is Verdict.BLOCKED
    return Claim(
        crate=str(task.crate),
        target=str(task.target),
        task=task.id,
        seat=attempt.seat,
        verdict=review.verdict,
        model=attempt.model or None,
        attempt=attempt.n,
        dispatch=of,
        arm=arm,
        error_pattern=None if blocked else review.error_pattern,
        root_cause=None if blocked else review.root_cause,
        signature=None if blocked else review.signature,
        blocked_kind=review.kind if blocked else None,
        tokens_in=attempt.tokens_in,
        tokens_out=attempt.tokens_out,
        cost_usd=attempt.cost_usd,
        seconds=attempt.seconds,
        axes=review.axes,
        diff=attempt.diff or None,
        prompt_hash=attempt.prompt_hash or None,
        profile=attempt.profile or None,
        candidate=attempt.source,
        at=now(),
    )


def look_again(desk: Desk, attempt: Attempt, signal: Signal) -> Signal:
    """Ask Anvil for the calibration signal after a failure; once fired it stays for the run."""
    if signal.fired or attempt.review.verdict is not Verdict.FAIL:
        return signal
    task = desk.task
    again = desk.memory.pre_attempt(
        str(task.crate),
        str(task.target),
        task.id,
        threshold=desk.settings.signal_threshold,
        hint=False,
        arm=desk.arm,
    ).signal
    if again.fired:
        desk.log.emit(Kind.SIGNAL_FIRED, pattern=again.pattern, failures=again.failures)
    return again


def announce(desk: Desk, action: Action) -> None:
    """Say what was decided."""
    signatures = [a.review.signature for a in desk.attempts if a.review.signature]
    if signatures and signatures[-1] in signatures[:-1]:
        desk.log.emit(Kind.REPEATED_SIGNATURE, signature=signatures[-1])
    kinds = {
        Action.REPLAN: Kind.REPLANNED,
        Action.REEXPLORE: Kind.REEXPLORED,
        Action.ESCALATE: Kind.ESCALATED,
        Action.GIVE_UP: Kind.GAVE_UP,
        Action.STOP: Kind.BLOCKED,
    }
    if action in kinds:
        desk.log.emit(kinds[action])


def wait(desk: Desk, attempt: Attempt) -> None:
    """Let time pass before the same thing is tried again; uses no attempt."""
    desk.attempts[-1] = replace(attempt, action=Action.WAIT.value)
    seconds = delay(desk.waits, desk.retry_after)
    seconds = seconds if desk.retry_after else seconds * random.uniform(0.5, 1.0)
    text = attempt.review.evidence[0].text if attempt.review.evidence else ""
    desk.log.emit(Kind.WAITED, seconds=round(seconds, 2), kind=attempt.review.kind, text=text)
    time.sleep(seconds)
    desk.waited += seconds
    desk.waits += 1
    desk.retry_after = None


def delay(waits: int, retry_after: float | None) -> float:
    """Seconds to wait before the next try: what the endpoint asks for, or ever more."""
    growing: float = min(LONGEST_DELAY, FIRST_DELAY * 2 ** min(waits, 10))
    return growing if retry_after is None else max(retry_after, SHORTEST_DELAY)
