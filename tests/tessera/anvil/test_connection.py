"""Opening: older, newer, foreign, damaged, read-only."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlite_utils import Database

from critic.review import Verdict
from tessera.anvil import StorageError, open_anvil
from tessera.anvil.connection import STEPS
from tessera.anvil.migrations import anvil as migrations
from tessera.records import Claim, SeatName

FAILED = Claim("/c", "a.rs", "t", SeatName.LOCAL, Verdict.FAIL, error_pattern="e0308_type_mismatch")


def test_the_steps_known_at_opening_are_the_migrations(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        pending = migrations.pending(Database(connection))
    assert tuple(step.name for step in pending) == STEPS


def test_a_fresh_database_is_durable_and_readable_by_name(tmp_path: Path) -> None:
    with open_anvil(tmp_path / "new" / "anvil.db"):
        pass
    with closing(sqlite3.connect(tmp_path / "new" / "anvil.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS),)


def test_an_older_database_is_brought_up_to_date_with_its_claims(tmp_path: Path) -> None:
    path = tmp_path / "anvil.db"
    with closing(sqlite3.connect(path)) as connection:
        migrations.apply(Database(connection), stop_before="m002_tallies")
        connection.executescript(
            """
            INSERT INTO files VALUES (1, '/c', 'a.rs');
            INSERT INTO tasks VALUES (1, 1, 't');
            INSERT INTO claims (file, task, seat, verdict, at, error_pattern, root_cause)
            VALUES (1, 1, 'local', 'FAIL', '2026', 'e0308_type_mismatch', 'type'),
                (1, 1, 'local', 'FAIL', '2026', 'e0308_type_mismatch', 'type');
            INSERT INTO claims (file, task, seat, verdict, at, blocked_kind)
            VALUES (1, 1, 'local', 'BLOCKED', '2026', 'dns');
            """
        )
    with open_anvil(path) as anvil:
        anvil.post_attempt(FAILED)
        found = anvil.pre_attempt("/c", "a.rs", "t")
        assert anvil.check().problems == ()
    assert (found.history.failed, found.history.blocked, found.signal.failures) == (3, 1, 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
            " VALUES ('anvil', 'm999_dreams', 'later')",
            "m999_dreams",
        ),
        ("PRAGMA user_version = 99", "version 99"),
    ],
)
def test_a_newer_schema_is_refused_untouched(tmp_path: Path, change: str, words: str) -> None:
    path = tmp_path / "anvil.db"
    with open_anvil(path) as anvil:
        anvil.post_attempt(FAILED)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(change)
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(StorageError, match=f"newer Tessera .*{words}.* update Tessera") as error:
        open_anvil(path)
    assert error.value.kind == "storage_newer"
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "music.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE songs (name)")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(StorageError, match="another program") as error:
        open_anvil(path)
    assert error.value.kind == "storage_foreign"
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("# Notes\n" * 100)
    with pytest.raises(StorageError, match="not a database; it was left as it is"):
        open_anvil(path)
    assert path.read_text() == "# Notes\n" * 100


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is a directory"):
        open_anvil(tmp_path)


@pytest.mark.parametrize("start", [0, 18, 100], ids=["header", "settings", "schema"])
def test_a_damaged_database_is_set_aside_and_said_so(tmp_path: Path, start: int) -> None:
    path = tmp_path / "anvil.db"
    with open_anvil(path) as anvil:
        anvil.record([FAILED] * 500)
    data = bytearray(path.read_bytes())
    data[start : start + 4000] = os.urandom(4000)
    path.write_bytes(data)
    with (
        pytest.raises(StorageError, match=r"is damaged .* set aside as") as error,
        open_anvil(path) as anvil,
    ):
        anvil.pre_attempt("/c", "a.rs", "t")
    assert error.value.kind == "storage_damaged"
    [aside] = tmp_path.glob("anvil.db.damaged-*Z")
    assert aside.read_bytes() == bytes(data)
    assert str(aside) in error.value.message
    with open_anvil(path) as anvil:
        assert anvil.history().total == 0


def test_damage_that_is_met_later_is_set_aside_too(tmp_path: Path) -> None:
    path = tmp_path / "anvil.db"
    with open_anvil(path) as anvil:
        anvil.record([FAILED] * 500)
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(StorageError) as error, open_anvil(path) as anvil:
        list(anvil.each_claim())
    assert error.value.kind == "storage_damaged"
    assert len(list(tmp_path.glob("anvil.db.damaged-*Z"))) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StorageError) as error:
            open_anvil(tmp_path / "deeper" / "anvil.db")
        assert error.value.kind == "storage_readonly"
    finally:
        tmp_path.chmod(0o700)


def test_a_path_through_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be opened") as error:
        open_anvil(tmp_path / "file" / "anvil.db")
    assert error.value.kind == "storage_readonly"
