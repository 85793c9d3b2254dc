"""What process trees use, read from real ones."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from critic import usage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
MEBIBYTE = 1 << 20


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """A shell in its own session with two children, one of them in another session."""
    script = "sleep 60 & setsid sh -c 'sleep 60; true' & wait"
    with subprocess.Popen(("/bin/sh", "-c", script), start_new_session=True) as process:
        deadline = time.monotonic() + 5
        while len(usage.tree(process.pid)) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        yield process
        for member in usage.tree(process.pid):
            os.kill(member.pid, 9)


def test_a_tree_has_its_descendants_closest_first(family: subprocess.Popen[bytes]) -> None:
    found = usage.tree(family.pid)
    assert len(found) == 4
    assert found[0].pid == family.pid
    places = {process.pid: place for place, process in enumerate(found)}
    assert all(places[p.parent] < places[p.pid] for p in found[1:])


def test_the_dead_are_not_alive(family: subprocess.Popen[bytes]) -> None:
    found = usage.tree(family.pid)
    assert usage.alive(found) == found
    os.kill(found[-1].pid, 9)
    deadline = time.monotonic() + 5
    while found[-1] in usage.alive(found) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert found[-1] not in usage.alive(found)


def test_a_number_that_is_used_again_is_another_process() -> None:
    own = usage.by_number(os.getpid())
    assert own is not None
    assert usage.alive([own]) == [own]
    assert usage.alive([own._replace(started=own.started - 1)]) == []


def test_memory_counts_what_is_touched() -> None:
    script = "x = bytearray(b'1') * (64 << 20); print(flush=True); input()"
    with subprocess.Popen(
        (sys.executable, "-c", script), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        held = usage.memory(usage.tree(process.pid))
        process.kill()
    assert 64 * MEBIBYTE < held < 200 * MEBIBYTE


def test_growth_counts_only_what_was_written_since(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"1" * 4 * MEBIBYTE)
    os.sync()
    time.sleep(0.2)
    growth = usage.Growth([tmp_path])
    assert not growth.exceeds(MEBIBYTE, [])
    (tmp_path / "new").write_bytes(b"1" * 4 * MEBIBYTE)
    assert growth.exceeds(2 * MEBIBYTE, [])
    assert not growth.exceeds(20 * MEBIBYTE, [])


def test_growth_sees_what_others_do_elsewhere_as_not_its_own(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    mine.mkdir()
    theirs.mkdir()
    growth = usage.Growth([mine])
    (theirs / "file").write_bytes(b"1" * 4 * MEBIBYTE)
    os.sync()
    assert not growth.exceeds(2 * MEBIBYTE, [])


def test_growth_counts_deleted_files_that_are_still_open(tmp_path: Path) -> None:
    growth = usage.Growth([tmp_path])
    with (tmp_path / "hidden").open("wb") as file:
        (tmp_path / "hidden").unlink()
        file.write(b"1" * 4 * MEBIBYTE)
        file.flush()
        own = usage.by_number(os.getpid())
        assert own
        assert growth.exceeds(2 * MEBIBYTE, [own])
