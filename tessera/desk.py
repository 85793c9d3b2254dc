"""What one dispatch works with, and what it has done so far.

Two records and nothing else; the loop and the making of an attempt share them.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from critic.judge import Judge
from critic.slot import Change
from tessera.anvil import Anvil
from tessera.compose import Composed
from tessera.events import EventLog
from tessera.records import Attempt, Recollection, Reply, Settings, Task
from tessera.reply import FormatError
from tessera.seats import ModelSeat


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
    for twice. `original` is the target as it was when the dispatch began.
    """

    task: Task
    settings: Settings
    judge: Judge
    memory: Anvil
    local: Future[ModelSeat]
    frontier: Callable[[], ModelSeat] | None
    log: EventLog
    recollection: Recollection
    original: bytes | None = None
    arm: str | None = None
    attempts: list[Attempt] = field(default_factory=list)
    changes: tuple[Change, ...] = ()
    unjudged: Written | None = None
    waited: float = 0.0
    waits: int = 0
    retry_after: float | None = None
