"""The loop: one task through the seats until it passes, blocks or is given up.

The order is that of the design: recollect, compose, write, judge, record, decide. Every
decision is a pure function called from here, and every attempt is recorded before the
next action is taken.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from critic.judge import Judge, Judgement
from critic.review import Evidence, Review, Verdict
from critic.slot import Change
from tessera import carry, context, policy
from tessera.anvil import Anvil
from tessera.compose import Composed, Material, compose, profile_name
from tessera.context import Breadth
from tessera.events import EventLog, Kind, now
from tessera.guard import LOOK_EVERY, is_runaway
from tessera.policy import ENDS, Action
from tessera.records import Attempt, Claim, Recollection, Reply, SeatName, Settings, Signal, Task
from tessera.reply import FormatError, asked_items, extract
from tessera.seats import Enough, ModelSeat, SeatBlocked
from tessera.staging import as_written

RUNAWAY = "runaway_repetition"
FIRST_DELAY = 1.0
LONGEST_DELAY = 30.0


@dataclass(frozen=True)
class Written:
    """A reply of a seat, the prompt it answers, and the one source found in it, if any."""

    composed: Composed
    reply: Reply
    profile: str
    source: str | None = None
    problem: FormatError | None = None


@dataclass
class Desk:
    """What one dispatch works with, and what it has done so far.

    `local` is a future because opening a model takes time that the baseline check can use.
    `unjudged` keeps a reply that the critic could not judge yet, so that it is not asked
    for twice.
    """

    task: Task
    settings: Settings
    judge: Judge
    memory: Anvil
    local: Future[ModelSeat]
    frontier: Callable[[], ModelSeat] | None
    log: EventLog
    recollection: Recollection
    arm: str | None = None
    attempts: list[Attempt] = field(default_factory=list)
    changes: tuple[Change, ...] = ()
    unjudged: Written | None = None
    waited: float = 0.0
    waits: int = 0
    retry_after: float | None = None


@dataclass(frozen=True)
class End:
    """How the loop ended: the last action, and whether the calibration signal fired."""

    action: Action
    signal: bool


def run(desk: Desk) -> End:
    """Take the task through the seats; what models and crates do raises nothing."""
    signal = desk.recollection.signal
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
    )


def make_attempt(desk: Desk, action: Action) -> Attempt:
    """One candidate, or the reason why there is none, judged."""
    name = SeatName.FRONTIER if action is Action.ESCALATE else SeatName.LOCAL
    number = 1 + sum(a.review.verdict is not Verdict.BLOCKED for a in desk.attempts)
    try:
        written = desk.unjudged or ask(desk, name, action)
    except SeatBlocked as blocked:
        desk.retry_after = blocked.retry_after
        return Attempt(number, name, seat_review(blocked))
    judgement = judged(desk, written, number)
    blocked_run = judgement.review.verdict is Verdict.BLOCKED
    desk.unjudged = written if blocked_run else None
    desk.changes = judgement.changes
    root = desk.judge.crate.root
    attempt = Attempt(
        number,
        name,
        judgement.review,
        source=written.source,
        diff="".join(change.diff(root) for change in judgement.changes),
        model=written.reply.model,
        profile=written.profile,
        prompt_hash=written.composed.hash,
        tokens_in=written.reply.tokens_in,
        tokens_out=written.reply.tokens_out,
        cost_usd=written.reply.cost_usd,
        seconds={"model": written.reply.seconds, **judgement.review.seconds},
    )
    desk.log.emit(Kind.JUDGED, **summary(attempt))
    return attempt


def ask(desk: Desk, name: SeatName, action: Action) -> Written:
    """Compose the prompt, send it, and look for the one source in the reply."""
    seat = open_seat(desk, name)
    settings = desk.settings.local if name is SeatName.LOCAL else desk.settings.frontier
    profile = profile_name(completion=seat.info.completion, configured=settings.profile)
    composed = compose(material(desk, action, seat, profile), action, seat.fits)
    if not composed.fits:
        raise SeatBlocked(
            "prompt_too_long",
            f"the task alone does not fit the {seat.info.window} tokens of {seat.info.model}; "
            "shorten it, or use a model with a larger window",
            retryable=False,
        )
    turn = 1 + sum(
        a.seat is name and a.review.verdict is not Verdict.BLOCKED for a in desk.attempts
    )
    sent(desk, composed, name, turn)
    listening = Listening(desk.log.observer.on_text)
    answer = seat.write(composed.prompt, task=desk.task.id, attempt=turn, on_text=listening.take)
    desk.log.emit(Kind.REPLIED, tokens_out=answer.tokens_out, seconds=answer.seconds)
    return read(Written(composed, answer, profile), desk.task)


@dataclass
class Listening:
    """Hands on what streams in, and stops a reply that only repeats itself."""

    hand_on: Callable[[str], None]
    text: str = ""
    looked: int = 0

    def take(self, piece: str) -> None:
        """Take the next piece. Raises Enough."""
        self.text += piece
        self.hand_on(piece)
        if len(self.text) - self.looked >= LOOK_EVERY:
            self.looked = len(self.text)
            if is_runaway(self.text):
                raise Enough(RUNAWAY)


def open_seat(desk: Desk, name: SeatName) -> ModelSeat:
    """The seat that is asked now. Raises SeatBlocked when it can't be opened."""
    if name is SeatName.LOCAL:
        return desk.local.result()
    if desk.frontier is None:
        raise SeatBlocked("model_unknown", "no frontier model is configured", retryable=False)
    return desk.frontier()


def material(desk: Desk, action: Action, seat: ModelSeat, profile: str) -> Material:
    """What the next prompt is made of."""
    hint = desk.recollection.hint if desk.settings.hint else None
    return Material(
        task=desk.task.text,
        target=str(desk.task.target),
        crate=desk.judge.crate.name,
        edition=desk.judge.crate.edition,
        profile=profile,
        context=context.gather(desk.task, desk.judge.crate, breadth(action, seat)),
        hint=hint or "",
        records=carry.records(desk.attempts, desk.settings.carry),
        completion=seat.info.completion,
    )


def breadth(action: Action, seat: ModelSeat) -> Breadth:
    """How much of the crate a prompt shows."""
    if seat.info.completion:
        return Breadth.NAMED
    wide = action in (Action.REEXPLORE, Action.ESCALATE)
    return Breadth.WIDE if wide else Breadth.USUAL


def sent(desk: Desk, composed: Composed, name: SeatName, turn: int) -> None:
    """Say what is in the prompt that is sent now: an injection counts only here."""
    desk.memory.put_prompt(composed.hash, composed.text, private=False)
    desk.log.emit(
        Kind.PROMPT_SENT,
        prompt=composed.hash,
        seat=name.value,
        attempt=turn,
        hint=composed.hint,
        carried=list(composed.carried),
    )
    if composed.hint:
        desk.log.emit(Kind.HINT_INJECTED, prompt=composed.hash)
    if composed.carried:
        desk.log.emit(Kind.CARRY_INJECTED, prompt=composed.hash, attempts=list(composed.carried))


def read(written: Written, task: Task) -> Written:
    """Find the source in the reply; a reply cut at its limit holds none."""
    if written.reply.finish_reason == "length":
        tokens = written.reply.tokens_out
        problem = FormatError("reply_cut_at_limit", f"the reply was cut after {tokens} tokens")
        return replace(written, problem=problem)
    if written.reply.finish_reason == RUNAWAY:
        problem = FormatError(RUNAWAY, "the reply only repeated itself and was stopped")
        return replace(written, problem=problem)
    try:
        found = extract(written.reply.text, wanted=asked_items(task.text), target=str(task.target))
    except FormatError as error:
        return replace(written, problem=error)
    return replace(written, source=found.source)


def judged(desk: Desk, written: Written, number: int) -> Judgement:
    """The critic's judgement of what was written."""
    if written.problem is not None or written.source is None:
        return Judgement(format_review(written.problem))
    target = desk.task.crate / desk.task.target
    existing = target.read_bytes() if target.is_file() else None
    desk.log.emit(Kind.CHECKING, attempt=number)
    earlier = [attempt.review for attempt in desk.attempts]
    return desk.judge.judge(as_written(written.source, existing), earlier)


def format_review(problem: FormatError | None) -> Review:
    """The review of a reply that holds no file; never called a compile error."""
    kind = problem.kind if problem else "no_code"
    return Review(
        Verdict.FAIL,
        kind="format",
        error_pattern=kind,
        root_cause="format",
        signature=f"format:{kind}",
        evidence=(Evidence("reply_format", str(problem)),),
    )


def seat_review(blocked: SeatBlocked) -> Review:
    """The review of a model that could not be asked."""
    return Review(
        Verdict.BLOCKED,
        kind=blocked.kind,
        retryable=blocked.retryable,
        evidence=(Evidence("model_endpoint", blocked.message),),
    )


def remember(desk: Desk, attempt: Attempt) -> None:
    """Record the attempt in Anvil; durable when this returns."""
    review = attempt.review
    blocked = review.verdict is Verdict.BLOCKED
    desk.memory.post_attempt(
        Claim(
            crate=str(desk.task.crate),
            target=str(desk.task.target),
            task=desk.task.id,
            seat=attempt.seat,
            verdict=review.verdict,
            model=attempt.model or None,
            attempt=attempt.n,
            dispatch=desk.log.dispatch,
            arm=desk.arm,
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
    )


def look_again(desk: Desk, attempt: Attempt, signal: Signal) -> Signal:
    """Ask Anvil for the calibration signal after a failure; once fired it stays for the run."""
    if signal.fired or attempt.review.verdict is not Verdict.FAIL:
        return signal
    task = desk.task
    again = desk.memory.pre_attempt(
        str(task.crate), str(task.target), task.id, threshold=desk.settings.signal_threshold
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
    growing: float = min(LONGEST_DELAY, FIRST_DELAY * 2**waits)
    return growing if retry_after is None else max(retry_after, 0.0)


def summary(attempt: Attempt) -> Mapping[str, Any]:
    """The parts of an attempt that an event carries."""
    review = attempt.review
    return {
        "attempt": attempt.n,
        "seat": attempt.seat.value,
        "verdict": review.verdict.value,
        "kind": review.kind,
        "error_pattern": review.error_pattern,
        "text": review.evidence[0].text[:400] if review.evidence else "",
        "seconds": dict(attempt.seconds),
    }


def _asking_frontier(desk: Desk) -> bool:
    return bool(desk.attempts) and desk.attempts[-1].seat is SeatName.FRONTIER
