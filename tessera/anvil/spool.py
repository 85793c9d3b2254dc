"""Writes that wait for a service that is away: a file of lines, in order, on the disk.

Knows files and locks, no HTTP. Several processes may share one spool.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Write:
    """One operation of the service. Sent again under the same `key` it is made once only."""

    key: str
    operation: str
    arguments: dict[str, Any]


class Spool:
    """The file. Writes that the service refused lie beside it in `NAME.refused`, with why."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def empty(self) -> bool:
        """Whether nothing waits."""
        return not self.path.exists() or self.path.stat().st_size == 0

    def add(self, write: Write) -> None:
        """Put a write at the end; on the disk when this returns."""
        with self._locked():
            _append(self.path, json.dumps(asdict(write)))

    def deliver(self, send: Callable[[Write], object]) -> None:
        """Send what waits, in order. What `send` refuses with ValueError is put beside.

        Any other error of `send` ends the delivery; what was not sent stays.
        """
        with self._locked():
            lines = self._lines()
            sent = 0
            try:
                for line in lines:
                    try:
                        send(Write(**json.loads(line)))
                    except ValueError as error:
                        refused = json.dumps({"why": str(error), "write": line})
                        _append(self.path.with_suffix(".refused"), refused)
                    sent += 1
            finally:
                if sent:
                    self._keep(lines[sent:])

    def _lines(self) -> list[str]:
        if self.empty:
            return []
        # A last line without its end was cut by a crash, before it was acknowledged.
        return self.path.read_text(encoding="ascii").split("\n")[:-1]

    def _keep(self, lines: list[str]) -> None:
        made = self.path.with_suffix(".new")
        with made.open("w", encoding="ascii") as file:
            file.writelines(f"{line}\n" for line in lines)
            _sync(file.fileno())
        made.replace(self.path)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _append(path: Path, line: str) -> None:
    with path.open("a+b") as file:
        # What a crash cut off must not run into the next line.
        if file.tell() and not _ends_with_newline(path):
            file.write(b"\n")
        file.write(f"{line}\n".encode("ascii"))
        file.flush()
        _sync(file.fileno())


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _sync(file: int) -> None:
    os.fsync(file)
