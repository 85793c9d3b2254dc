"""Opening the database: settings, schema, and what SQLite's errors mean to a person.

Knows files and result codes. Never reads or writes a claim. A database of a newer schema,
or of somebody else, is refused untouched; a damaged one is set aside under another name
and said so.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from tessera.anvil.errors import StorageError

# The steps of migrations.py, known here so that opening needs no sqlite-utils.
STEPS = ("m001_records", "m002_tallies")
BUSY_SECONDS = 60.0
# Pages of the write-ahead log before it is folded in; SQLite's 1,000 would make every
# hundredth commit a slow one.
CHECKPOINT_PAGES = 4000
HEADER = b"SQLite format 3\0"
SUFFIXES = (".db", ".sqlite", ".sqlite3")


def connect(path: Path) -> sqlite3.Connection:
    """An open database with the current schema, made or brought up to date where needed.

    Every commit is on the disk when it returns (WAL, synchronous=FULL). Raises StorageError.
    """
    with translated(path):
        _make_folder(path)
        connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
            connection.execute("PRAGMA cache_size = -16384")
            connection.execute(f"PRAGMA journal_size_limit = {32 << 20}")
            if _applied(connection, path) != STEPS:
                _upgrade(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


@contextlib.contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about the file into StorageError; leave our own mistakes alone."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        kind = _kind(error, path)
        if kind is None:
            raise
        if kind == "storage_damaged":
            raise _damaged(path, error) from error
        raise StorageError(kind, _words(kind, path, error)) from error
    except OSError as error:
        raise StorageError("storage_readonly", f"{path} cannot be opened: {error}") from error


@contextlib.contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction that holds the write lock from its start; all of it or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.OperationalError):
            connection.rollback()
        raise


def _make_folder(path: Path) -> None:
    if path.is_dir():
        raise StorageError("storage_foreign", f"{path} is a directory; give the database file")
    path.parent.mkdir(parents=True, exist_ok=True)


def _applied(connection: sqlite3.Connection, path: Path) -> tuple[str, ...]:
    """The steps that the database has seen. Raises StorageError if it isn't ours to touch."""
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    if not tables:
        return ()
    names: tuple[str, ...] = ()
    if "_sqlite_migrations" in tables:
        query = "SELECT name FROM _sqlite_migrations WHERE migration_set = 'anvil' ORDER BY id"
        names = tuple(row[0] for row in connection.execute(query))
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    newer = [name for name in names if name not in STEPS]
    if newer or (names and version > len(STEPS)):
        what = newer[0] if newer else f"version {version}"
        raise StorageError(
            "storage_newer",
            f"{path} was written by a newer Tessera (its schema has {what}); "
            "update Tessera, or name another database with --anvil",
        )
    if not names and tables - {"_sqlite_migrations", "sqlite_sequence"}:
        raise StorageError(
            "storage_foreign",
            f"{path} is a database of another program; name another file with --anvil",
        )
    return names


def _upgrade(connection: sqlite3.Connection, path: Path) -> None:
    from sqlite_utils import Database

    from tessera.anvil.migrations import anvil

    _use_wal(connection)
    # The lock first: another process may be making the very same steps.
    with writing(connection):
        if _applied(connection, path) != STEPS:
            anvil.apply(Database(connection, recursive_triggers=False, execute_plugins=False))


def _use_wal(connection: sqlite3.Connection) -> None:
    # Changing the mode needs the file alone and doesn't wait for it as other statements do.
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _kind(error: sqlite3.DatabaseError, path: Path) -> str | None:
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_FULL:
            return "storage_full"
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return "storage_locked"
        case sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CORRUPT:
            return "storage_damaged"
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return "storage_full" if _full(path) else "storage_readonly"
        case sqlite3.SQLITE_IOERR:
            return "storage_full" if _full(path) else "storage_io"
        case _:
            return None


def _full(path: Path) -> bool:
    # SQLite reports a log that cannot grow on a full disk as any of several errors.
    with contextlib.suppress(OSError):
        return shutil.disk_usage(path.parent).free < 64 << 10
    return False


def _words(kind: str, path: Path, error: sqlite3.DatabaseError) -> str:
    match kind:
        case "storage_full":
            return f"no space left for {path}: free some, then run the command again"
        case "storage_locked":
            return f"{path} stayed locked for {BUSY_SECONDS:.0f} s: see which process holds it"
        case "storage_readonly":
            return f"{path} cannot be written ({error}): check the permissions of it and its folder"
        case _:
            return f"{path} could not be read or written: {error}"


def _damaged(path: Path, error: sqlite3.DatabaseError) -> StorageError:
    """Set a damaged database aside, if it is one of ours and damaged indeed."""
    if not _looks_like_ours(path):
        return StorageError("storage_foreign", f"{path} is not a database; it was left as it is")
    if _opens_clean(path):
        return StorageError(
            "storage_damaged",
            f"{path} could not be read ({error}), but looks whole; it was left where it is: "
            "run `tessera anvil check`",
        )
    aside = set_aside(path)
    return StorageError(
        "storage_damaged",
        f"{path} is damaged ({error}); it was set aside as {aside}. The next command starts an "
        "empty one; `sqlite3 FILE .recover` may get claims back out of the old one",
    )


def _looks_like_ours(path: Path) -> bool:
    with contextlib.suppress(OSError), path.open("rb") as file:
        return file.read(len(HEADER)) == HEADER or path.suffix in SUFFIXES
    return False


def _opens_clean(path: Path) -> bool:
    """Whether SQLite, asked afresh, finds nothing wrong: the error may have been a passing one."""
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
            rows = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.DatabaseError:
        return False
    return rows == [("ok",)]


def set_aside(path: Path) -> Path:
    """Rename a database and its log to a name with the time in it, which is returned."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    aside = path.with_name(f"{path.name}.damaged-{stamp}")
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{path}{suffix}").replace(f"{aside}{suffix}")
    return aside
