"""Making one attempt: a seat writes, the critic judges, the compiler seat mends.

What cannot be had (a model, a file in the reply) becomes a review as well, so that the
loop only ever sees attempts. Decides nothing about what comes next.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from critic.judge import Judgement
from critic.review import Evidence, Review, Verdict
from tessera import carry, context
from tessera.compose import Composed, Material, compose, profile_name
from tessera.context import Breadth
from tessera.desk import Desk, Written
from tessera.events import Kind
from tessera.guard import LOOK_EVERY, is_runaway
from tessera.policy import Action
from tessera.records import Attempt, SeatName, Task
from tessera.reply import FormatError, asked_items, extract
from tessera.seats import Enough, ModelSeat, SeatBlocked
from tessera.seats.compiler import Mended, is_mendable, mend
from tessera.staging import as_written

RUNAWAY = "runaway_repetition"


def make_attempt(desk: Desk, action: Action) -> Attempt:
    """One candidate, or the reason why there is none, judged."""
    number = 1 + sum(a.review.verdict is not Verdict.BLOCKED for a in desk.attempts)
    if action is Action.REPAIR:
        return mended_target(desk, number)
    name = SeatName.FRONTIER if action is Action.ESCALATE else SeatName.LOCAL
    try:
        written = desk.unjudged or ask(desk, name, action)
    except SeatBlocked as blocked:
        desk.retry_after = blocked.retry_after
        return Attempt(number, name, seat_review(blocked))
    judgement, mended = judged(desk, written, number)
    attempt = Attempt(
        number,
        name,
        judgement.review,
        source=written.source,
        diff=diff_of(desk, judgement),
        model=written.reply.model,
        profile=written.profile,
        prompt_hash=written.composed.hash,
        tokens_in=written.reply.tokens_in,
        tokens_out=written.reply.tokens_out,
        cost_usd=written.reply.cost_usd,
        seconds={"model": written.reply.seconds, **judgement.review.seconds},
    )
    desk.unjudged = written if judgement.review.verdict is Verdict.BLOCKED else None
    return concluded(desk, attempt, judgement, mended)


def mended_target(desk: Desk, number: int) -> Attempt:
    """The compiler seat on the target as it stands, with no model at all."""
    source = (desk.task.crate / desk.task.target).read_bytes()
    desk.log.emit(Kind.CHECKING, attempt=number)
    judgement = desk.judge.judge(source)
    mended = mend(desk.judge, source, ()) if is_mendable(judgement.review) else None
    attempt = Attempt(
        number,
        SeatName.COMPILER,
        judgement.review,
        source=source.decode("utf-8", "replace"),
        seconds=judgement.review.seconds,
    )
    return concluded(desk, attempt, judgement, mended)


def concluded(desk: Desk, attempt: Attempt, judgement: Judgement, mended: Mended | None) -> Attempt:
    """The attempt as it counts: with what the compiler seat made of it, if that passes."""
    desk.changes = judgement.changes
    if mended is not None:
        desk.changes = mended.judgement.changes
        codes = sorted({edit["code"] or "syntax" for edit in mended.edits})
        text = f"  the compiler seat mended it: {len(mended.edits)} edits ({', '.join(codes)})"
        desk.log.emit(Kind.REPAIRED, text=text, edits=[dict(edit) for edit in mended.edits])
        attempt = replace(
            attempt,
            review=mended.judgement.review,
            source=mended.source.decode("utf-8", "replace"),
            diff=diff_of(desk, mended.judgement),
            repaired=True,
            edits=mended.edits,
            unrepaired=attempt,
            seconds={
                **attempt.seconds,
                **mended.judgement.review.seconds,
                "repair": mended.seconds,
            },
        )
    desk.log.emit(Kind.JUDGED, **summary(attempt))
    return attempt


def diff_of(desk: Desk, judgement: Judgement) -> str:
    """The patch from the crate to what was judged."""
    root = desk.judge.crate.base
    return "".join(change.diff(root) for change in judgement.changes)


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


def judged(desk: Desk, written: Written, number: int) -> tuple[Judgement, Mended | None]:
    """The critic's judgement of what was written, and what the compiler seat made of it."""
    if written.problem is not None or written.source is None:
        return Judgement(format_review(written.problem)), None
    target = desk.task.crate / desk.task.target
    existing = target.read_bytes() if target.is_file() else None
    content = as_written(written.source, existing)
    earlier = [attempt.review for attempt in desk.attempts]
    desk.log.emit(Kind.CHECKING, attempt=number)
    judgement = desk.judge.judge(content, earlier)
    if not desk.settings.repair or not is_mendable(judgement.review):
        return judgement, None
    return judgement, mend(desk.judge, content, earlier)


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
