from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.errors import InputError
from tessera.records import Message, Prompt, Reply, SeatName
from tessera.seats import Enough, ModelSeat, SeatBlocked
from tessera.seats.replay import PIECE, RecordingSeat, ReplaySeat, read_replies

PROMPT = Prompt((Message("user", "Write is_even."),))
REPLY = {"task": "t", "seat": "local", "attempt": 1, "reply": "fn a() {}"}


def replay(path: Path, *rows: object, name: SeatName = SeatName.LOCAL) -> ReplaySeat:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return ReplaySeat(name, read_replies(path))


def write(seat: ModelSeat, attempt: int = 1, task: str = "t") -> Reply:
    return seat.write(PROMPT, task=task, attempt=attempt, on_text=lambda _: None)


def fault(seat: ModelSeat, attempt: int = 1) -> SeatBlocked:
    with pytest.raises(SeatBlocked) as caught:
        write(seat, attempt)
    return caught.value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "replies.jsonl"


def test_a_reply_is_found_by_task_seat_and_attempt(path: Path) -> None:
    seat = replay(
        path,
        {**REPLY, "task": "other", "reply": "1"},
        {**REPLY, "seat": "frontier", "reply": "2"},
        {**REPLY, "attempt": 2, "reply": "3", "finish_reason": "length"},
        {**REPLY, "usage": {"prompt_tokens": 812, "completion_tokens": 240}},
    )
    reply = write(seat)
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("fn a() {}", 812, 240)
    assert (reply.finish_reason, write(seat, 2).finish_reason) == ("stop", "length")
    assert write(seat, task="other").text == "1"


def test_faults_of_an_attempt_are_played_before_its_reply(path: Path) -> None:
    limited = {"status": 429, "message": "slow down", "retry_after": 1}
    down = {"status": 503, "message": "loading"}
    base = {"task": "t", "seat": "local", "attempt": 1}
    seat = replay(path, {**base, "error": limited}, {**base, "error": down}, REPLY)
    first = fault(seat)
    assert (first.kind, first.retryable, first.retry_after) == ("model_rate_limited", True, 1)
    assert fault(seat).kind == "model_overloaded"
    assert write(seat).text == "fn a() {}"


def test_what_was_not_recorded_is_named(path: Path) -> None:
    seat = replay(path, REPLY)
    write(seat)
    for attempt in (1, 3):
        blocked = fault(seat, attempt)
        assert (blocked.kind, blocked.retryable) == ("replay_missing", False)
        assert all(word in blocked.message for word in ("task t", "local", f"attempt {attempt}"))


def test_a_replay_streams_and_stops_when_it_is_enough(path: Path) -> None:
    seat = replay(path, {**REPLY, "reply": "x" * (3 * PIECE)})
    pieces: list[str] = []

    def two(piece: str) -> None:
        pieces.append(piece)
        if len(pieces) == 2:
            raise Enough("length")

    reply = seat.write(PROMPT, task="t", attempt=1, on_text=two)
    assert (reply.text, reply.finish_reason) == ("x" * (2 * PIECE), "length")


@given(st.text(), st.sampled_from(["stop", "length"]), st.integers(0, 10**6))
def test_what_is_recorded_plays_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, text: str, finish: str, tokens: int
) -> None:
    folder = tmp_path_factory.mktemp("record")
    usage = {"prompt_tokens": tokens, "completion_tokens": 1}
    row = {**REPLY, "reply": text, "finish_reason": finish, "usage": usage, "model": "m"}
    written = write(RecordingSeat(replay(folder / "a", row), folder / "b"))
    again = write(ReplaySeat(SeatName.LOCAL, read_replies(folder / "b")))
    assert written == again
    assert (again.text, again.finish_reason, again.tokens_in) == (text, finish, tokens)


def test_recorded_faults_play_back_the_same(path: Path, tmp_path: Path) -> None:
    faults = [{"status": s, "message": "no", "retry_after": 2} for s in (401, 404, 429, 503, 504)]
    base = {"task": "t", "seat": "local", "attempt": 1}
    recording = RecordingSeat(
        replay(path, *({**base, "error": each} for each in faults)), tmp_path / "new/b.jsonl"
    )
    for _ in faults:
        fault(recording)
    missing = fault(recording)
    again = ReplaySeat(SeatName.LOCAL, read_replies(tmp_path / "new/b.jsonl"))
    played = [fault(again) for _ in range(len(faults) + 1)]
    assert [blocked.kind for blocked in played[:3]] == [
        "model_refused_key",
        "model_unknown",
        "model_rate_limited",
    ]
    assert vars(played[-1]) == vars(missing)


def test_a_recording_is_there_before_the_seat_is_closed(path: Path, tmp_path: Path) -> None:
    seat = RecordingSeat(replay(path, REPLY), tmp_path / "b.jsonl")
    write(seat)
    assert len(read_replies(tmp_path / "b.jsonl")) == 1
    seat.close()


@pytest.mark.parametrize(
    ("row", "key"),
    [
        ("nonsense", None),
        ("[1]", None),
        ('{"task": "t", "seat": "local", "attempt": 1}', None),
        ('{"task": "t", "seat": "local", "attempt": "1", "reply": ""}', "attempt"),
        ('{"task": ["t"], "seat": "local", "attempt": 1, "reply": ""}', "task"),
        ('{"seat": "local", "attempt": 1, "reply": ""}', "task"),
        ('{"task": "t", "seat": "compiler", "attempt": 1, "reply": ""}', "seat"),
        ('{"task": "t", "seat": "local", "attempt": 1, "error": {"status": "x"}}', None),
        ('{"task": "t", "seat": "local", "attempt": 1, "error": {}}', None),
        ('{"task": "t", "seat": "local", "attempt": 1, "reply": "", "usage": 3}', "usage"),
    ],
)
def test_a_line_that_can_not_be_used_is_named(path: Path, row: str, key: str | None) -> None:
    path.write_text(json.dumps(REPLY) + "\n\n" + row + "\n")
    with pytest.raises(InputError) as caught:
        read_replies(path)
    assert (caught.value.file, caught.value.line, caught.value.key) == (path, 3, key)


def test_a_file_that_is_not_there_is_named(path: Path) -> None:
    with pytest.raises(InputError, match=str(path)):
        read_replies(path)
