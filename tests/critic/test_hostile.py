"""Candidates that attack: what they may not see, reach or use up, and that all goes on after.

Each attack of fixtures/hostile is started from a test, from a build script and from a
procedural macro. The limits are small, and each attack bounds itself, so that a failure
of the sandbox shows here without harm to the machine.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from critic.process import Limit, Limits, run
from critic.review import Run, Stage
from critic.sandbox import Mode, Sandbox, detect
from critic.toolchain import Toolchain, find_toolchain

HOSTILE = Path(__file__).parents[2] / "fixtures" / "hostile"
MEBIBYTE = 1 << 20
BUILD_LIMITS = Limits(wall_seconds=60)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the limits need /proc")
needs_bubblewrap = pytest.mark.skipif(detect().bwrap is None, reason=str(detect().warning))


@dataclass(frozen=True)
class Attack:
    """An attack, the limits it runs into and how it must end.

    `limit` is the one that must end it. Without one the attack must come to its end
    without success and say `outcome`.
    """

    name: str
    limits: Limits
    limit: Limit | None = None
    outcome: str = ""

    def __str__(self) -> str:
        return self.name


SMALL = Limits(
    wall_seconds=5,
    memory_bytes=400 * MEBIBYTE,
    processes=40,
    file_bytes=64 * MEBIBYTE,
    disk_bytes=64 * MEBIBYTE,
    output_bytes=4 * MEBIBYTE,
)
SEEING = (
    Attack("read_home", SMALL, outcome="secret: NotFound"),
    Attack("read_environment", SMALL, outcome="no key in the environment"),
    Attack("write_outside", SMALL, outcome="seemed to write"),
    Attack("connect", SMALL, outcome="not connected"),
    Attack("fill_scratch", SMALL, outcome="stopped after 16 MiB: StorageFull"),
)
USING_UP = (
    Attack("fork", SMALL, Limit.PROCESSES),
    Attack("fill_disk", replace(SMALL, disk_bytes=16 * MEBIBYTE), Limit.DISK),
    Attack("fill_disk_unseen", replace(SMALL, disk_bytes=16 * MEBIBYTE), Limit.DISK),
    Attack("allocate", replace(SMALL, memory_bytes=200 * MEBIBYTE), Limit.MEMORY),
    Attack("spin", replace(SMALL, wall_seconds=0.8), Limit.WALL),
)
PRINT = Attack("print", SMALL, Limit.OUTPUT)
LARGE_FILE = Attack("large_file", replace(SMALL, file_bytes=8 * MEBIBYTE), Limit.DISK)


@dataclass(frozen=True)
class Site:
    """A slot with one hostile crate that is built, and what the attacks are aimed at."""

    crate: str
    slot: Path
    toolchain: Toolchain
    sandbox: Sandbox
    outside: tuple[Path, ...]
    listener: socket.socket
    program: Path | None = None

    def attack(self, attack: Attack, mode: Mode = Mode.REQUIRE) -> Run:
        """Start it where this crate starts it."""
        token = f"{time.time_ns()}"
        environment = {
            **self.toolchain.environment,
            "ATTACK": attack.name,
            "ATTACK_RUN": token,
            "ATTACK_PLACE": str(self.slot / "target"),
            "ATTACK_SECRET_FILE": str(self.sandbox.home / "secret"),
            "ATTACK_MARKER": "hush-hush",
            "ATTACK_OUTSIDE": ":".join(map(str, self.outside)),
            "ATTACK_ADDRESS": "{}:{}".format(*self.listener.getsockname()),
        }
        return run(
            self._command(),
            cwd=self.slot / self.crate,
            env=environment,
            stage=Stage.TEST if self.program else Stage.CHECK,
            limits=attack.limits,
            sandbox=replace(self.sandbox, mode=mode),
        )

    def _command(self) -> tuple[str, ...]:
        if self.program:
            return (str(self.program), "--nocapture")
        return (str(self.toolchain.cargo), "check", "--offline")


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture(scope="module", autouse=True)
def neighbour() -> Iterator[None]:
    """Another process of the same person, with a key in its environment."""
    environ = {"FAKE_API_KEY": "hush-hush"}
    with subprocess.Popen(("/bin/sleep", "600"), env=environ) as process:
        yield
        process.kill()


@pytest.fixture(scope="module", params=["in_test", "in_build", "in_macro"])
def site(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    listener: socket.socket,
) -> Site:
    return _site(request.param, tmp_path_factory.mktemp(request.param), listener)


@pytest.fixture(scope="module")
def test_site(tmp_path_factory: pytest.TempPathFactory, listener: socket.socket) -> Site:
    return _site("in_test", tmp_path_factory.mktemp("in_test"), listener)


def _site(crate: str, folder: Path, listener: socket.socket) -> Site:
    home = folder / "home"
    home.mkdir()
    (home / "secret").write_text("the secret")
    slot = folder / "the slot ü"
    shutil.copytree(HOSTILE, slot)
    (slot / "target").mkdir()
    environ = {
        **os.environ,
        "HOME": str(home),
        "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        "CARGO_BUILD_JOBS": "2",
        "FAKE_API_KEY": "hush-hush",
    }
    toolchain = find_toolchain(slot, environ)
    assert toolchain.cargo_home.is_dir()
    sandbox = replace(Sandbox.for_slot(slot, toolchain), scratch_bytes=16 * MEBIBYTE)
    outside = (
        *(folder / "pwned", home / "pwned", toolchain.sysroot / "pwned"),
        *(toolchain.cargo_home / "pwned", Path("/usr/pwned"), Path("/etc/pwned"), Path("/pwned")),
        Path("/dev/shm/pwned"),
    )
    site = Site(crate, slot, toolchain, sandbox, outside, listener)
    built = run(
        (str(toolchain.cargo), "test", "--no-run", "--offline", "--message-format=json"),
        cwd=slot / crate,
        env={**toolchain.environment, "ATTACK": "none"},
        stage=Stage.CHECK,
        limits=BUILD_LIMITS,
        sandbox=sandbox,
    )
    assert built.ok, built.stderr
    programs = [
        Path(message["executable"])
        for message in built.messages
        if message.get("executable") and message["target"]["kind"] == ["test"]
    ]
    return replace(site, program=programs[0] if programs else None)


def assert_all_is_well(site: Site, mode: Mode = Mode.REQUIRE) -> None:
    """Nothing was left behind, and the next run works."""
    for file in (site.slot / "target").glob("fill-*"):
        file.unlink()
    (site.slot / "target" / "large").unlink(missing_ok=True)
    assert not [path for path in site.outside if path.exists()]
    assert not _processes_with(b"ATTACK_MARKER=hush-hush")
    with pytest.raises(BlockingIOError):
        site.listener.accept()
    after = site.attack(Attack("none", SMALL), mode)
    assert after.ok, after.stderr
    assert "did nothing" in after.stdout + after.stderr


def _processes_with(variable: bytes) -> list[Path]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if variable in (process / "environ").read_bytes():
                found.append(process)
        except OSError:
            continue
    return found


@needs_bubblewrap
@pytest.mark.parametrize("attack", SEEING, ids=str)
def test_a_candidate_sees_and_reaches_nothing_outside(site: Site, attack: Attack) -> None:
    done = site.attack(attack)
    told = done.stdout + done.stderr
    assert done.ok, told
    assert attack.outcome in told
    assert "LEAK" not in told
    assert_all_is_well(site)


@needs_bubblewrap
@pytest.mark.parametrize("attack", USING_UP, ids=str)
def test_a_candidate_is_stopped_at_its_limit(site: Site, attack: Attack) -> None:
    _assert_stopped(site.attack(attack), attack)
    assert_all_is_well(site)


@needs_bubblewrap
@pytest.mark.parametrize("attack", (PRINT, LARGE_FILE), ids=str)
def test_a_test_is_stopped_at_its_limit(test_site: Site, attack: Attack) -> None:
    _assert_stopped(test_site.attack(attack), attack)
    assert_all_is_well(test_site)


@needs_bubblewrap
def test_a_build_script_that_prints_without_end_is_stopped(site: Site) -> None:
    """Cargo and rustc pass it on or hold it in memory; one limit or the other is met."""
    done = site.attack(PRINT)
    assert done.limit in (Limit.OUTPUT, Limit.MEMORY, Limit.DISK, Limit.WALL)
    assert_all_is_well(site)


@pytest.mark.parametrize("attack", (*USING_UP, PRINT, LARGE_FILE), ids=str)
def test_limits_hold_without_bubblewrap(test_site: Site, attack: Attack) -> None:
    _assert_stopped(test_site.attack(attack, Mode.OFF), attack)
    assert_all_is_well(test_site, Mode.OFF)


@pytest.mark.parametrize("name", ["read_home", "read_environment", "connect"])
def test_the_attacks_succeed_where_nothing_is_in_their_way(test_site: Site, name: str) -> None:
    """So that the tests above can fail."""
    done = test_site.attack(Attack(name, SMALL), Mode.OFF)
    assert "LEAK" in done.stdout
    if name == "connect":
        test_site.listener.accept()[0].close()


def test_no_key_is_seen_without_bubblewrap(test_site: Site) -> None:
    """The person's other processes can be looked at then; the child's own environment not."""
    done = run(
        ("/usr/bin/env",),
        cwd=test_site.slot,
        env=test_site.toolchain.environment,
        stage=Stage.TEST,
        limits=SMALL,
        sandbox=replace(test_site.sandbox, mode=Mode.OFF),
    )
    assert done.ok
    assert "hush-hush" not in done.stdout


@needs_bubblewrap
def test_two_candidates_at_once_are_held_apart(test_site: Site) -> None:
    """One that eats memory is stopped; one beside it on another thread is not touched."""
    allocate, spin = USING_UP[3], USING_UP[4]
    done: list[Run] = []
    beside = threading.Thread(target=lambda: done.append(test_site.attack(spin)))
    beside.start()
    stopped = test_site.attack(allocate)
    beside.join()
    assert stopped.limit is Limit.MEMORY
    assert done[0].limit is Limit.WALL
    assert_all_is_well(test_site)


def _assert_stopped(done: Run, attack: Attack) -> None:
    assert done.limit is attack.limit, (done.exit_code, done.signal, done.stdout, done.stderr)
    assert done.exit_code is None
    assert done.signal is not None
    assert "LEAK" not in done.stdout + done.stderr
    assert done.seconds < attack.limits.wall_seconds + 1.0
