"""One dispatch from a task to its end: what the loop needs is opened here, and closed here.

The model is opened and the crate's baseline is checked at the same time, since both take
seconds and neither needs the other.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from critic.judge import Assignment, Judge, NotJudgeable, open_judge
from critic.review import CriticSettings, Evidence, Review, Verdict
from tessera import dispatch, staging
from tessera.anvil import Anvil, StorageError, open_anvil
from tessera.config import anvil_location, cache_dir, home_dir
from tessera.desk import Desk
from tessera.dispatch import End
from tessera.events import EventLog, Kind, Observer
from tessera.policy import Action
from tessera.probe import Answer, probe
from tessera.records import Attempt, Dispatch, Outcome, SeatName, Settings, Task
from tessera.reply import asked_items
from tessera.report import incident_report, proposal_report
from tessera.seats import ModelSeat
from tessera.seats.opening import Script, open_frontier, open_local


@dataclass(frozen=True)
class Options:
    """What the command line says about one dispatch, beside the settings."""

    stage: bool = False
    force: bool = False
    replay: Path | None = None
    record: Path | None = None
    arm: str | None = None


def run_task(task: Task, settings: Settings, options: Options, observer: Observer) -> Dispatch:
    """Run one task to its end. Raises StorageError when Anvil can't be used."""
    identity = new_id()
    with open_anvil(anvil_location(settings)) as memory:
        log = EventLog(identity, observer, memory.add_event)
        memory.start_dispatch(
            identity, crate=str(task.crate), target=str(task.target), task=task.id, arm=options.arm
        )
        try:
            ended = _run(task, settings, options, memory, log)
        except StorageError as error:
            return _without_memory(identity, task, settings, memory, error)
        except BaseException:
            with contextlib.suppress(StorageError):
                log.emit(Kind.INTERRUPTED)
                memory.finish_dispatch(identity, Outcome.INTERRUPTED)
            raise
        log.emit(Kind.FINISHED, outcome=ended.outcome.value)
        memory.finish_dispatch(identity, ended.outcome, seat=ended.seat, why=ended.why)
        return replace(ended, events=dict(log.counts))


def _without_memory(
    identity: str, task: Task, settings: Settings, memory: Anvil, error: StorageError
) -> Dispatch:
    """BLOCKED: what can't be recorded is not gone on with."""
    with contextlib.suppress(StorageError):
        memory.finish_dispatch(identity, Outcome.BLOCKED, why=error.message)
    review = Review(
        Verdict.BLOCKED, error.kind, error.retryable, evidence=(Evidence("anvil", error.message),)
    )
    attempt = Attempt(1, SeatName.LOCAL, review, action=Action.STOP.value)
    why = f"{error.kind}: {error.message}"
    return Dispatch(
        identity, task, Outcome.BLOCKED, budget=settings.budget, attempts=(attempt,), why=why
    )


def new_id() -> str:
    """A name for a dispatch: the time it began, which sorts, and something random."""
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + secrets.token_hex(3)


def _run(
    task: Task, settings: Settings, options: Options, memory: Anvil, log: EventLog
) -> Dispatch:
    recollection = memory.pre_attempt(
        str(task.crate),
        str(task.target),
        task.id,
        threshold=settings.signal_threshold,
        arm=options.arm,
    )
    ended = Dispatch(log.dispatch, task, Outcome.SKIPPED, budget=settings.budget)
    skip = None if options.force else recollection.skip
    if skip is not None:
        found = probe(skip.kind, settings, task.crate)
        if found.answer is Answer.STILL:
            log.emit(Kind.SKIPPED, kind=skip.kind)
            why = f"skipped: {skip.why}; {found.why}; --force tries all the same"
            return replace(ended, why=why)
    log.emit(Kind.STARTED, task=task.id, target=str(task.target))
    try:
        judge = judge_for(task, settings.critic, cache_dir(settings))
    except NotJudgeable as error:
        unjudged = Attempt(1, SeatName.LOCAL, error.review, action=Action.STOP.value)
        memory.post_attempt(dispatch.claim_of(task, unjudged, log.dispatch, options.arm))
        return replace(ended, outcome=Outcome.BLOCKED, attempts=(unjudged,), why=str(error))
    if judge.warning is not None:
        log.emit(Kind.NOTICE, text=judge.warning)
    with judge, _opened(task, settings, options, judge, log) as (local, script):
        frontier = open_frontier(settings.frontier, script)
        desk = Desk(
            task, settings, judge, memory, local, frontier, log, recollection, arm=options.arm
        )
        target = task.crate / task.target
        desk.original = target.read_bytes() if target.is_file() else None
        end = dispatch.run(desk)
        return _conclude(desk, end, options, memory)


@contextlib.contextmanager
def _opened(
    task: Task, settings: Settings, options: Options, judge: Judge, log: EventLog
) -> Iterator[tuple[Future[ModelSeat], Script]]:
    """The local seat being opened on one thread while another checks the baseline."""
    script = Script(options.replay, options.record)
    pool = ThreadPoolExecutor(2, thread_name_prefix="opening")
    local = pool.submit(open_local, settings.local, cache_dir(settings), script, log)
    preparing = pool.submit(judge.prepare)
    try:
        yield local, script
        preparing.result()
    finally:
        judge.cancel()
        pool.shutdown(wait=True, cancel_futures=True)
        if local.done() and not local.cancelled() and local.exception() is None:
            local.result().close()


def judge_for(task: Task, settings: CriticSettings, cache: Path) -> Judge:
    """The critic, open for a task. Raises NotJudgeable."""
    assignment = Assignment(
        crate=task.crate,
        target=task.target,
        tests=task.tests,
        clippy=task.clippy,
        declare=task.declare,
        dependencies=task.dependencies,
        task=task.text,
        wanted=asked_items(task.text),
    )
    return open_judge(assignment, settings, cache)


def _conclude(desk: Desk, end: End, options: Options, memory: Anvil) -> Dispatch:
    """Write, stage or report, as the last action says."""
    last = desk.attempts[-1]
    ended = Dispatch(
        desk.log.dispatch,
        desk.task,
        Outcome.BLOCKED,
        seat=last.seat if last.review.verdict is Verdict.PASS else None,
        hint=desk.recollection.hint if desk.settings.hint else None,
        signal=end.signal,
        budget=desk.settings.signalled_budget if end.signal else desk.settings.budget,
        attempts=tuple(desk.attempts),
    )
    if end.action is Action.FINISH:
        return _deliver(desk, ended, options, memory)
    text = last.review.evidence[0].text if last.review.evidence else str(last.review.kind)
    if end.action is Action.STOP:
        return replace(ended, why=f"{last.review.kind}: {text}")
    memory.put_incident(
        {
            "id": ended.id,
            "dispatch": ended.id,
            "crate": str(desk.task.crate),
            "target": str(desk.task.target),
            "task": desk.task.id,
            "error_pattern": last.review.error_pattern,
            "report": incident_report(ended),
        }
    )
    why = f"gave up after {len(desk.attempts)} attempts; {desk.task.target} was not changed"
    return replace(ended, outcome=Outcome.FAIL, incident=ended.id, why=why)


def _deliver(desk: Desk, ended: Dispatch, options: Options, memory: Anvil) -> Dispatch:
    """Write a local pass into the crate; stage what the frontier wrote, or all on request."""
    target = desk.task.target
    if not desk.changes:
        why = f"{target} already says this: nothing to write"
        return replace(ended, outcome=Outcome.PASS, why=why)
    proposal = staging.stage(
        home_dir(desk.settings),
        ended.id,
        desk.task.crate,
        desk.judge.crate.base,
        desk.changes,
        proposal_report(ended),
    )
    written = next(c for c in desk.changes if c.path == desk.task.crate / target)
    memory.put_proposal(
        {
            "id": ended.id,
            "dispatch": ended.id,
            "crate": str(desk.task.crate),
            "target": str(target),
            "seat": ended.seat.value if ended.seat else None,
            "new": memory.put_content(written.after.decode("utf-8", "replace")),
            "report": {"task_file": str(desk.task.path), "folder": str(proposal.folder)},
        }
    )
    ended = replace(ended, proposal=ended.id)
    accept = f"`tessera review accept {ended.id}`"
    if written.before != desk.original:
        desk.log.emit(Kind.STAGED, proposal=ended.id)
        why = f"{target} was changed while the model wrote; staged instead: {accept}"
        return replace(ended, outcome=Outcome.STAGED, why=why)
    if options.stage or ended.seat is SeatName.FRONTIER:
        desk.log.emit(Kind.STAGED, proposal=ended.id)
        return replace(ended, outcome=Outcome.STAGED, why=f"staged for review: {accept}")
    try:
        staging.apply(proposal)
    except (staging.Stale, OSError) as error:
        desk.log.emit(Kind.STAGED, proposal=ended.id)
        return replace(ended, outcome=Outcome.STAGED, why=f"{error}; staged instead: {accept}")
    memory.move_proposal(ended.id, staging.State.STAGED, staging.State.ACCEPTED, None)
    desk.log.emit(Kind.WRITTEN, proposal=ended.id)
    written_to = _shown(desk.task.crate / target)
    why = f"wrote {written_to}; `tessera review undo {ended.id}` takes it back"
    return replace(ended, outcome=Outcome.PASS, why=why)


def _shown(path: Path) -> Path:
    """The path as a person would type it here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
