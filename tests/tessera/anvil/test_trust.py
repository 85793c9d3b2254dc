"""What Anvil promises when many write, when it is killed and when the disk is full."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from critic.review import Verdict
from tessera.anvil import open_anvil
from tessera.records import Claim, SeatName


def claim(dispatch: str, attempt: int) -> Claim:
    return Claim(
        "/c",
        f"src/{attempt % 7}.rs",
        "t",
        SeatName.LOCAL,
        Verdict.FAIL,
        dispatch=dispatch,
        attempt=attempt,
        error_pattern="e0308_type_mismatch",
        candidate=f"fn of_{dispatch}_{attempt}() {{}}\n" * 20,
    )


WRITER = """
    import sys
    from tessera.anvil import open_anvil
    from test_trust import claim
    path, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open_anvil(path) as anvil:
        for attempt in range(1, count + 1):
            anvil.pre_attempt("/c", "src/1.rs", "t")
            anvil.post_attempt(claim(name, attempt))
"""
READER = """
    import sys
    from pathlib import Path
    from tessera.anvil import open_anvil
    seen = 0
    with open_anvil(sys.argv[1]) as anvil:
        while not Path(sys.argv[2]).exists():
            page = anvil.history(limit=5, offset=max(seen - 5, 0))
            assert page.total >= seen, "claims vanished"
            seen = page.total
            found = anvil.pre_attempt("/c", "src/1.rs", "t").history
            assert found.total == found.failed == sum(entry.count for entry in found.patterns)
"""


def python(script: str, *args: str) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *args],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_sixteen_processes_record_while_four_read(tmp_path: Path) -> None:
    path, done = str(tmp_path / "anvil.db"), tmp_path / "done"
    readers = [python(READER, path, str(done)) for _ in range(4)]
    writers = [python(WRITER, path, f"d{n}", "200") for n in range(16)]
    for writer in writers:
        assert writer.communicate(timeout=280)[1] == ""
    done.touch()
    for reader in readers:
        assert reader.communicate(timeout=60)[1] == ""
    with open_anvil(path) as anvil:
        orders: dict[str, list[int]] = {}
        for found in anvil.each_claim():
            orders.setdefault(found.dispatch or "", []).append(found.attempt or 0)
        assert orders == {f"d{n}": list(range(1, 201)) for n in range(16)}
        assert anvil.check().problems == ()


def killed_while_recording(path: Path, name: str, seconds: float) -> list[int]:
    """Record in a child until SIGKILL; the attempts that were acknowledged."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with open_anvil(path) as anvil:
                for attempt in range(1, 10_000):
                    anvil.post_attempt(claim(name, attempt))
                    os.write(write, f"{attempt}\n".encode())
        finally:
            os._exit(1)
    os.close(write)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        return [int(line) for line in pipe.read().split(b"\n")[:-1]]


@pytest.mark.parametrize("moments", [30, pytest.param(100, marks=pytest.mark.slow)])
def test_nothing_acknowledged_is_lost_to_kill_9(tmp_path: Path, moments: int) -> None:
    path = tmp_path / "anvil.db"
    chance = random.Random(moments)
    acknowledged: dict[str, int] = {}
    for moment in range(moments):
        name = f"d{moment}"
        said = killed_while_recording(path, name, chance.uniform(0.0, 0.06))
        acknowledged[name] = len(said)
        with open_anvil(path) as anvil:
            kept = [c.attempt for c in anvil.each_claim() if c.dispatch == name]
            # One more may be on the disk than could be said.
            assert kept[: len(said)] == said
            assert len(kept) <= len(said) + 1
            assert anvil.check().problems == ()
    assert sum(acknowledged.values()) > moments


FILLER = """
    import json, sys
    from pathlib import Path
    from tessera.anvil import StorageError, open_anvil
    from test_trust import claim
    folder = Path(sys.argv[1])
    filler = folder / "filler"
    filler.write_bytes(b"x" * int(sys.argv[2]))
    said, kinds = 0, []
    while len(kinds) < 3:
        try:
            with open_anvil(folder / "anvil.db") as anvil:
                while True:
                    anvil.post_attempt(claim("d", said + 1))
                    said += 1
        except StorageError as error:
            kinds.append(error.kind)
    filler.unlink()
    with open_anvil(folder / "anvil.db") as anvil:
        kept = [c.attempt for c in anvil.each_claim()]
        problems = anvil.check().problems
        anvil.post_attempt(claim("d", said + 1))
    print(json.dumps({"said": said, "kinds": kinds, "kept": kept, "problems": problems}))
"""


def small_disk() -> list[str]:
    """A command that runs what follows with a 6 MiB file system at $DISK, where that works."""
    mounts = 'mount -t tmpfs -o size=6m tmpfs "$DISK" && exec "$@"'
    for unshare in (["unshare", "-m"], ["unshare", "-rm"]):
        command = [*unshare, "sh", "-c", mounts, "sh"]
        if shutil.which("unshare"):
            tried = subprocess.run(
                [*command, "true"], env={**os.environ, "DISK": "/mnt"}, capture_output=True
            )
            if tried.returncode == 0:
                return command
    pytest.skip("this machine lets nobody mount a small disk")


@pytest.mark.slow
@pytest.mark.parametrize("filler", [500_000, 3_000_000, 5_500_000, 6_150_000])
def test_a_full_disk_loses_nothing_acknowledged(tmp_path: Path, filler: int) -> None:
    command = small_disk()
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    ended = subprocess.run(
        [*command, sys.executable, "-c", textwrap.dedent(FILLER), str(tmp_path), str(filler)],
        env={**os.environ, "DISK": str(tmp_path), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert set(found["kinds"]) == {"storage_full"}
    assert found["kept"] == list(range(1, found["said"] + 1))
    assert found["problems"] == []
