"""Recorded replies: played back in place of a model, and recorded from one.

One JSON object a line, as the exchange format says: task, seat, attempt, and a reply or an
error. A fault uses no attempt, so several lines may have the same three; they are played in
their order. Knows no endpoint and no prompt.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tessera.errors import InputError
from tessera.records import Prompt, Reply, SeatName
from tessera.seats import Enough, ModelSeat, SeatBlocked, SeatInfo
from tessera.seats.faults import blocked_by_status

SHAPE: Mapping[str, type] = {"task": str, "seat": str, "attempt": int}
SEATS = (SeatName.LOCAL.value, SeatName.FRONTIER.value)
PIECE = 200
Key = tuple[str, str, int]


def read_replies(path: Path) -> list[Mapping[str, Any]]:
    """The lines of a replay file. Raises InputError, naming the line that can't be used."""
    try:
        # Not splitlines: a reply may hold other characters that count as line ends there.
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"can't be read: {error}", "name a file of replies", file=path) from error
    rows = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            rows.append(_row(path, number, line))
    return rows


def _row(path: Path, number: int, line: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InputError(f"is no JSON: {error}", file=path, line=number) from error
    if not isinstance(row, dict):
        raise InputError("is no JSON object", file=path, line=number)
    for name, kind in SHAPE.items():
        if not isinstance(row.get(name), kind):
            what = "is missing" if name not in row else f"is {row[name]!r}"
            expected = "a whole number" if kind is int else "text"
            raise InputError(what, f"it must be {expected}", file=path, line=number, key=name)
    if row["seat"] not in SEATS:
        message = f"there is no model seat {row['seat']!r}"
        raise InputError(message, "it is local or frontier", file=path, line=number, key="seat")
    if not isinstance(row.get("reply"), str) and not _is_fault(row.get("error")):
        raise InputError(
            "has neither a reply nor an error",
            "give `reply` (text), or `error` (with a whole-number `status`, or a `kind`)",
            file=path,
            line=number,
        )
    usage = row.get("usage") or {}
    if not isinstance(usage, dict) or not all(isinstance(n, int | None) for n in usage.values()):
        raise InputError("is no table of token counts", file=path, line=number, key="usage")
    return row


def _is_fault(fault: object) -> bool:
    return (
        isinstance(fault, dict)
        and (isinstance(fault.get("status"), int) or isinstance(fault.get("kind"), str))
        and isinstance(fault.get("retry_after"), int | float | None)
    )


class ReplaySeat:
    """Plays replies by task, seat and attempt; faults of an attempt come before its reply."""

    def __init__(self, name: SeatName, rows: list[Mapping[str, Any]]) -> None:
        self.name = name
        self.info = SeatInfo("replay", origin="recorded replies")
        self._rows: dict[Key, deque[Mapping[str, Any]]] = defaultdict(deque)
        for row in rows:
            self._rows[(row["task"], row["seat"], row["attempt"])].append(row)

    def fits(self, prompt: Prompt) -> bool:
        """Recorded replies have no window."""
        return True

    def write(
        self, prompt: Prompt, *, task: str, attempt: int, on_text: Callable[[str], None]
    ) -> Reply:
        """The recorded reply. Raises SeatBlocked for a recorded fault, or when there is none."""
        waiting = self._rows[(task, self.name.value, attempt)]
        if not waiting:
            text = f"no reply is recorded for task {task}, seat {self.name}, attempt {attempt}"
            raise SeatBlocked("replay_missing", text, retryable=False)
        row = waiting.popleft()
        if "error" in row:
            raise _fault(row["error"])
        text, finish = row["reply"], str(row.get("finish_reason") or "stop")
        try:
            for start in range(0, len(text), PIECE):
                on_text(text[start : start + PIECE])
        except Enough as enough:
            text, finish = text[: start + PIECE], enough.finish_reason
        usage = row.get("usage") or {}
        return Reply(
            text,
            finish,
            usage.get("prompt_tokens") or 0,
            usage.get("completion_tokens") or 0,
            model=str(row.get("model") or "replay"),
        )

    def close(self) -> None:
        """Nothing was started."""


def _fault(fault: Mapping[str, Any]) -> SeatBlocked:
    """A fault as it was recorded: by its kind, or by the HTTP status that a server sent."""
    message, wait = str(fault.get("message", "")), fault.get("retry_after")
    if "kind" in fault:
        retryable = bool(fault.get("retryable"))
        return SeatBlocked(fault["kind"], message, retryable=retryable, retry_after=wait)
    return blocked_by_status(fault["status"], message, retry_after=wait)


class RecordingSeat:
    """Another seat, each of whose replies and faults is appended to a file at once."""

    def __init__(self, seat: ModelSeat, path: Path) -> None:
        self._seat = seat
        self._path = path

    @property
    def name(self) -> SeatName:
        return self._seat.name

    @property
    def info(self) -> SeatInfo:
        return self._seat.info

    def fits(self, prompt: Prompt) -> bool:
        """Whether it fits the other seat."""
        return self._seat.fits(prompt)

    def write(
        self, prompt: Prompt, *, task: str, attempt: int, on_text: Callable[[str], None]
    ) -> Reply:
        """Ask the other seat and record what came."""
        row: dict[str, Any] = {"task": task, "seat": self.name.value, "attempt": attempt}
        try:
            reply = self._seat.write(prompt, task=task, attempt=attempt, on_text=on_text)
        except SeatBlocked as blocked:
            fault = {
                "kind": blocked.kind,
                "message": blocked.message,
                "retryable": blocked.retryable,
                "retry_after": blocked.retry_after,
            }
            self._append({**row, "error": fault})
            raise
        usage = {"prompt_tokens": reply.tokens_in, "completion_tokens": reply.tokens_out}
        self._append(
            {
                **row,
                "reply": reply.text,
                "finish_reason": reply.finish_reason,
                "usage": usage,
                "model": reply.model,
            }
        )
        return reply

    def _append(self, row: Mapping[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(row) + "\n")

    def close(self) -> None:
        """Close the other seat."""
        self._seat.close()
