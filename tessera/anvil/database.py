"""Connections and transactions on one database, for threads and forked children alike.

Also keeps texts once, by their hash. Knows no claim.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from tessera.anvil.connection import connect, translated, writing


class Delivered(Exception):  # noqa: N818 - an expected end, named for what it says
    """The write was made before, under the same key; nothing was written now."""


class Database:
    """One SQLite file. Opened where it is first used in a thread; closed with `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._opened: list[tuple[int, sqlite3.Connection]] = []
        self._connection()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view for all that is read inside."""
        with translated(self.path):
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, on the disk when the block has ended; nothing of it on an error.

        Raises Delivered inside `delivering`, if the key was used before.
        """
        with translated(self.path):
            connection = self._connection()
            with writing(connection):
                key = getattr(self._local, "key", None)
                if key is not None and not _is_new(connection, key):
                    raise Delivered(key)
                yield connection

    @contextmanager
    def delivering(self, key: str | None) -> Iterator[None]:
        """What this thread writes inside is written once only for the key.

        None changes nothing: what is around it stands.
        """
        around = getattr(self._local, "key", None)
        self._local.key = key or around
        try:
            yield
        finally:
            self._local.key = around

    def forget_deliveries(self, before: str) -> None:
        """Forget the keys used before a time (as `now` writes it)."""
        with self.writing() as connection:
            connection.execute("DELETE FROM deliveries WHERE at < ?", (before,))

    def close(self) -> None:
        """Close every connection that this process opened."""
        while self._opened:
            process, connection = self._opened.pop()
            if process == os.getpid():
                connection.close()
        self._local = threading.local()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _connection(self) -> sqlite3.Connection:
        # SQLite's connections must not cross a fork, and are quickest one to a thread.
        process = os.getpid()
        if getattr(self._local, "process", None) != process:
            self._local.connection = connect(self.path)
            self._local.process = process
            self._opened.append((process, self._local.connection))
        connection: sqlite3.Connection = self._local.connection
        return connection


def now() -> str:
    """The time as Anvil writes it: ISO 8601, UTC, milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_new(connection: sqlite3.Connection, key: str) -> bool:
    query = "INSERT OR IGNORE INTO deliveries VALUES (?, ?)"
    return connection.execute(query, (key, now())).rowcount == 1


def content_id(connection: sqlite3.Connection, text: str | None) -> int | None:
    """The row of a text, which is stored compressed if it is new. Inside a transaction."""
    if text is None:
        return None
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).hexdigest()
    row = connection.execute("SELECT id FROM contents WHERE hash = ?", (digest,)).fetchone()
    if row is None:
        row = connection.execute(
            "INSERT INTO contents (hash, size, data) VALUES (?, ?, ?) RETURNING id",
            (digest, len(data), zlib.compress(data)),
        ).fetchone()
    identity: int = row[0]
    return identity


def content_hash(text: str) -> str:
    """The hash a text is kept under: SHA-256 of its UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def unpacked(data: bytes | None) -> str | None:
    """The text of a row's data."""
    return None if data is None else zlib.decompress(data).decode("utf-8", "surrogatepass")
