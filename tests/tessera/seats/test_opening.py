from __future__ import annotations

import json
from pathlib import Path

import pytest

from tessera.events import EventLog
from tessera.records import Event, Message, ModelSettings, Prompt, SeatName
from tessera.seats import SeatBlocked
from tessera.seats.opening import Script, open_frontier, open_local, plan_local
from tessera.seats.replay import ReplaySeat, read_replies

PROMPT = Prompt((Message("user", "hello"),))


class Nobody:
    def on_event(self, event: Event) -> None: ...

    def on_text(self, piece: str) -> None: ...


def log() -> EventLog:
    return EventLog("d", Nobody(), lambda event: None)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "replies.jsonl"
    rows = [
        {"task": "t", "seat": seat, "attempt": 1, "reply": f"by {seat}"}
        for seat in ("local", "frontier")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_replay_takes_the_place_of_both_seats(recorded: Path, tmp_path: Path) -> None:
    script = Script(replay=recorded, record=tmp_path / "again.jsonl")
    frontier = open_frontier(ModelSettings(model="anthropic/claude-sonnet-4-5"), script)
    assert frontier is not None
    for seat in (open_local(ModelSettings(), tmp_path, script, log()), frontier()):
        reply = seat.write(PROMPT, task="t", attempt=1, on_text=lambda _: None)
        assert reply.text == f"by {seat.name}"
    again = ReplaySeat(SeatName.FRONTIER, read_replies(tmp_path / "again.jsonl"))
    reply = again.write(PROMPT, task="t", attempt=1, on_text=lambda _: None)
    assert reply.text == "by frontier"


def test_without_a_model_there_is_no_frontier() -> None:
    assert open_frontier(ModelSettings(), Script()) is None


def test_an_address_is_taken_at_its_word() -> None:
    plan = plan_local(ModelSettings(model="m", url="http://127.0.0.1:9/v1"))
    assert (plan.model, plan.url, plan.ready) == ("m", "http://127.0.0.1:9/v1", True)


def test_a_gguf_file_is_for_the_embedded_server(tmp_path: Path) -> None:
    settings = ModelSettings(model=str(tmp_path / "missing.gguf"))
    assert plan_local(settings).file == tmp_path / "missing.gguf"
    with pytest.raises(SeatBlocked, match=r"missing\.gguf: No such file"):
        open_local(settings, tmp_path, Script(), log())
