"""Opening a seat: from settings to a model that can be asked.

Decides which kind of seat the settings mean and says so; what talks to a model is in the
other modules. A script plays recorded replies instead, or records those that come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tessera.events import EventLog, Kind
from tessera.records import ModelSettings, SeatName
from tessera.seats import ModelSeat
from tessera.seats.client import LiteLLMSeat, warm_up
from tessera.seats.discovery import Found, check_listed, discover
from tessera.seats.embedded import is_installed, open_embedded
from tessera.seats.replay import RecordingSeat, ReplaySeat, read_replies

# Tokens; what a model of this size writes after that many is never a file.
EMBEDDED_REPLY = 768


@dataclass(frozen=True)
class Script:
    """Files that replies are played from and recorded to; None for neither."""

    replay: Path | None = None
    record: Path | None = None


@dataclass(frozen=True)
class Plan:
    """Which local model a dispatch would ask; `ready` is false when it must be installed."""

    text: str
    model: str
    url: str | None = None
    ready: bool = True
    found: Found | None = None
    file: Path | None = None


def plan_local(settings: ModelSettings) -> Plan:
    """Find out which local model the settings mean, asking this machine when they say `auto`."""
    if settings.url:
        return Plan(f"{settings.model} at {settings.url}", settings.model, settings.url)
    if settings.model.endswith(".gguf"):
        file = Path(settings.model).expanduser()
        text = f"{file}, run by the embedded server"
        return Plan(text, settings.model, ready=is_installed(file), file=file)
    if settings.model not in ("", "auto"):
        found = discover(settings.model)
        if found is None:
            return Plan(f"{settings.model}, as litellm names it", settings.model)
        return Plan(found.text, found.model, found.url, found=found)
    found = discover()
    if found is not None:
        return Plan(found.text, found.model, found.url, found=found)
    text = "no model server answers on this machine: the embedded gemma-3-270m"
    return Plan(text, "gemma-3-270m", ready=is_installed())


def open_local(settings: ModelSettings, cache: Path, script: Script, log: EventLog) -> ModelSeat:
    """Open the local seat and say which it is. Raises SeatBlocked."""
    if script.replay is not None:
        return _recorded(ReplaySeat(SeatName.LOCAL, read_replies(script.replay)), script)
    plan = plan_local(settings)
    warm_up()  # not earlier: it would compete with the servers' short time limit
    log.emit(Kind.SEAT_READY, text=f"local model: {plan.text}")
    if plan.found is not None:
        return _recorded(plan.found.open(settings), script)
    if settings.url or not (plan.file or settings.model in ("", "auto")):
        if not settings.url:
            check_listed(settings.model)
        return _recorded(LiteLLMSeat(SeatName.LOCAL, settings), script)
    if plan.file is None:
        settings = replace(settings, max_tokens=min(settings.max_tokens, EMBEDDED_REPLY))
    return _recorded(open_embedded(settings, cache, model=plan.file), script)


def open_frontier(settings: ModelSettings, script: Script) -> Callable[[], ModelSeat] | None:
    """How to open the frontier seat; None when none is configured."""
    if not settings.model:
        return None

    def opened() -> ModelSeat:
        if script.replay is not None:
            return _recorded(ReplaySeat(SeatName.FRONTIER, read_replies(script.replay)), script)
        return _recorded(LiteLLMSeat(SeatName.FRONTIER, settings), script)

    return opened


def _recorded(seat: ModelSeat, script: Script) -> ModelSeat:
    return seat if script.record is None else RecordingSeat(seat, script.record)
