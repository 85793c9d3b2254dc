"""What happens in a dispatch, as typed events.

An event goes to Anvil and to whoever watches. Knows no
terminal and decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

from tessera.records import Event


class Kind(StrEnum):
    """The events there are."""

    STARTED = "started"
    SEAT_READY = "seat_ready"
    PROMPT_SENT = "prompt_sent"
    HINT_INJECTED = "hint_injected"
    CARRY_INJECTED = "carry_injected"
    REPLIED = "replied"
    CHECKING = "checking"
    REPAIRED = "repaired"
    JUDGED = "judged"
    REPEATED_SIGNATURE = "repeated_signature"
    SIGNAL_FIRED = "signal_fired"
    REPLANNED = "replanned"
    REEXPLORED = "reexplored"
    WAITED = "waited"
    BLOCKED = "blocked"
    ESCALATED = "escalated"
    STAGED = "staged"
    WRITTEN = "written"
    SKIPPED = "skipped"
    GAVE_UP = "gave_up"
    INTERRUPTED = "interrupted"
    FINISHED = "finished"
    NOTICE = "notice"


class Observer(Protocol):
    """Who watches a dispatch: a terminal view, a batch, a log."""

    def on_event(self, event: Event) -> None: ...

    def on_text(self, piece: str) -> None: ...


@dataclass
class EventLog:
    """Stamps events, counts them and passes them on."""

    dispatch: str
    observer: Observer
    store: Callable[[Event], None]
    counts: Counter[str] = field(default_factory=Counter)

    def emit(self, kind: Kind, /, **data: Any) -> None:
        """Record that something happened. `data` holds JSON values only."""
        event = Event(kind.value, now(), self.dispatch, data)
        self.counts[kind.value] += 1
        self.store(event)
        self.observer.on_event(event)


def now() -> str:
    """The time in UTC as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
