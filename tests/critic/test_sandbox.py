"""What is seen inside the sandbox, looked at from inside."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.process import Limits, run
from critic.review import Run, Stage
from critic.sandbox import Mode, Sandbox, SandboxFailed, detect, wrap
from critic.toolchain import find_toolchain

needs_bubblewrap = pytest.mark.skipif(detect().bwrap is None, reason=str(detect().warning))


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """A person's home with secrets, a CARGO_HOME in it and a slot beside."""
    home = tmp_path / "home"
    cargo_home = home / ".cargo"
    for path in ("registry", "git"):
        (cargo_home / path).mkdir(parents=True)
    (cargo_home / "config.toml").write_text("[net]\n")
    (cargo_home / "credentials.toml").write_text("token")
    (home / ".gitconfig").write_text("[user]\n")
    (home / "secret").write_text("secret")
    slot = home / ".cache" / "slot ü \U0001f980"
    slot.mkdir(parents=True)
    return Sandbox(home, cargo_home, writable=(slot,), mode=Mode.REQUIRE)


def inside(sandbox: Sandbox, script: str, cwd: Path | None = None) -> Run:
    return run(
        ("/bin/sh", "-c", script),
        cwd=cwd or sandbox.writable[0],
        env={"PATH": "/usr/bin:/bin", "HOME": str(sandbox.home), "TMPDIR": "/somewhere/else"},
        stage=Stage.TEST,
        limits=Limits(10),
        sandbox=sandbox,
    )


@needs_bubblewrap
def test_the_home_is_empty_but_for_what_is_named(sandbox: Sandbox) -> None:
    told = inside(sandbox, 'ls -A "$HOME" "$HOME/.cache"')
    assert told.stdout.split() == [
        *(f"{sandbox.home}:", ".cache", ".cargo"),
        *(f"{sandbox.home}/.cache:", "slot", "ü", "\U0001f980"),
    ]


@needs_bubblewrap
@pytest.mark.parametrize(
    ("script", "works"),
    [
        ("echo x > file && cat file", True),
        ("echo x > /tmp/file && cat /tmp/file", True),
        ("echo x > $TMPDIR/file", True),
        ("echo x > $HOME/file", True),
        ("echo x > /dev/null && echo x > /dev/shm/x", True),
        ("head -c 8 /dev/urandom", True),
        ("cat $HOME/.cargo/config.toml", True),
        ("echo x > $HOME/.cargo/registry/file", False),
        ("echo x > $HOME/.cargo/file", False),
        ("grep token $HOME/.cargo/credentials.toml", False),
        ("cat $HOME/secret", False),
        ("cat $HOME/.gitconfig", False),
        ("cat /etc/passwd", False),
        ("ls /root /home /var /run /sys /mnt", False),
        ("echo x > /file", False),
        ("echo x > /usr/file", False),
        ("echo x > /etc/file", False),
        ("echo x > /dev/file", False),
        ("f=/proc/sys/kernel/panic; v=$(cat $f) && echo $v > $f", False),
        ("chmod 777 /usr/bin", False),
        ("mount -t tmpfs none /tmp", False),
        ("unshare -m true", False),
        (f"kill -0 {os.getpid()}", False),
        ("grep -E 'CapEff:.*[1-9a-f]' /proc/self/status", False),
    ],
)
def test_what_can_be_done_inside(sandbox: Sandbox, script: str, works: bool) -> None:
    told = inside(sandbox, script)
    assert told.ok == works, (told.stdout, told.stderr)


@needs_bubblewrap
def test_nothing_written_elsewhere_stays(sandbox: Sandbox, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert inside(sandbox, "echo x > $HOME/new && echo x > /tmp/new && echo x > new").ok
    assert sorted(set(tmp_path.rglob("*")) - set(before)) == [sandbox.writable[0] / "new"]


@needs_bubblewrap
def test_no_other_process_is_seen(sandbox: Sandbox) -> None:
    told = inside(sandbox, "ls /proc | grep -c '^[0-9]'")
    assert int(told.stdout) <= 5


@needs_bubblewrap
def test_scratch_space_is_bounded(sandbox: Sandbox) -> None:
    small = replace(sandbox, scratch_bytes=1 << 20)
    for place in ("/tmp", "$HOME", "/dev/shm"):
        assert not inside(small, f"head -c 3000000 /dev/zero > {place}/file").ok


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(2)
        yield server


@needs_bubblewrap
def test_the_network_is_there_only_when_fetching(sandbox: Sandbox, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    command = f"bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"
    assert not inside(sandbox, command).ok
    assert inside(sandbox.online(), command).ok
    listener.accept()[0].close()


@needs_bubblewrap
def test_loopback_works_within_the_sandbox(sandbox: Sandbox) -> None:
    server = "import socket; s = socket.create_server(('localhost', 0)); "
    client = "socket.create_connection(s.getsockname()); s.accept()"
    told = inside(sandbox, f'/usr/bin/env python3 -c "{server}{client}"')
    if "not found" in told.stderr or "No such file" in told.stderr:
        pytest.skip("no python in the system's own folders")
    assert told.ok, told.stderr


@needs_bubblewrap
def test_fetching_may_write_to_cargo_home_and_read_credentials(sandbox: Sandbox) -> None:
    online = sandbox.online()
    script = "cd $HOME && cat .gitconfig .cargo/credentials.toml && echo x > .cargo/registry/new"
    online = replace(online, network_files=(sandbox.home / ".gitconfig",))
    told = inside(online, script)
    assert told.ok, told.stderr
    assert (sandbox.cargo_home / "registry" / "new").is_file()
    assert not inside(online, "cat $HOME/secret").ok


def test_fetching_makes_a_missing_cargo_home(tmp_path: Path) -> None:
    Sandbox(tmp_path, tmp_path / "a" / "b").online()
    assert (tmp_path / "a" / "b").is_dir()


@needs_bubblewrap
def test_a_home_inside_cargo_home_stays_hidden(sandbox: Sandbox) -> None:
    (sandbox.home / "registry").mkdir()
    odd = replace(sandbox, cargo_home=sandbox.home)
    assert not inside(odd, "cat $HOME/secret").ok
    assert inside(odd, "ls $HOME/registry").ok


@needs_bubblewrap
def test_links_in_cargo_home_lead_on_but_not_to_credentials(sandbox: Sandbox) -> None:
    dotfiles = sandbox.home / "dotfiles"
    dotfiles.mkdir()
    for name in ("config.toml", "credentials.toml"):
        (sandbox.cargo_home / name).rename(dotfiles / name)
        (sandbox.cargo_home / name).symlink_to(Path("..", "dotfiles", name))
    assert inside(sandbox, "cat $HOME/.cargo/config.toml").ok
    assert not inside(sandbox, "cat $HOME/.cargo/credentials.toml").ok


@needs_bubblewrap
def test_paths_through_links_are_found_by_both_names(sandbox: Sandbox, tmp_path: Path) -> None:
    link = tmp_path / "a link"
    link.symlink_to(sandbox.writable[0])
    (sandbox.writable[0] / "file").write_text("here")
    linked = replace(sandbox, writable=(link,))
    for directory in (link, sandbox.writable[0]):
        assert inside(linked, "cat file", cwd=directory).stdout == "here"
    assert inside(linked, f"cat '{link}/file'").stdout == "here"


@needs_bubblewrap
def test_a_readable_folder_in_the_slot_can_be_kept_from_writing(sandbox: Sandbox) -> None:
    tests = sandbox.writable[0] / "tests"
    tests.mkdir()
    guarded = replace(sandbox, readable=(tests,))
    assert not inside(guarded, "echo x > tests/file").ok
    assert inside(guarded, "echo x > file").ok


@needs_bubblewrap
@pytest.mark.parametrize("path", ["plain", "with space", "ünï çødé", "semi;colon $HOME 'q'"])
def test_real_cargo_builds_and_tests_in_the_sandbox(tmp_path: Path, path: str) -> None:
    slot = tmp_path / path
    (slot / "src").mkdir(parents=True)
    (slot / "Cargo.toml").write_text('[package]\nname = "p"\nversion = "0.1.0"\n')
    (slot / "src" / "lib.rs").write_text("#[test] fn t() { std::env::temp_dir(); }")
    toolchain = find_toolchain(slot)
    done = run(
        (str(toolchain.cargo), "test", "--lib", "--offline"),
        cwd=slot,
        env=toolchain.environment,
        stage=Stage.TEST,
        limits=Limits(60),
        sandbox=Sandbox.for_slot(slot, toolchain, mode="require"),
    )
    assert done.ok, done.stderr
    assert "1 passed" in done.stdout


def test_without_bubblewrap_the_warning_says_what_to_do(tmp_path: Path) -> None:
    answer = _detect_elsewhere(str(tmp_path))
    assert "not installed" in answer
    assert "Install bubblewrap" in answer


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap exists for Linux only")
def test_a_bubblewrap_that_fails_is_not_relied_on(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2; exit 1\n")
    fake.chmod(0o755)
    assert "uid map: Permission denied" in _detect_elsewhere(str(tmp_path))


def _detect_elsewhere(path: str) -> str:
    """What another Python says, for the answer is kept for the life of one."""
    script = (
        "from pathlib import Path; from critic.sandbox import *\n"
        "box = Sandbox(Path('/nonexistent'), Path('/nonexistent'), mode=Mode.AUTO)\n"
        "assert box.bwrap() is None\n"
        "try: Sandbox(box.home, box.home, mode=Mode.REQUIRE).bwrap()\n"
        "except SandboxFailed as error: print(error)\n"
    )
    told = subprocess.run(
        (sys.executable, "-c", script),
        cwd=Path(__file__).parents[2],
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout


def test_off_means_off() -> None:
    assert Sandbox(Path("/h"), Path("/c"), mode=Mode.OFF).bwrap() is None


def test_an_unknown_mode_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="maybe"):
        Sandbox.for_slot(tmp_path, find_toolchain(tmp_path), mode="maybe")


PLACES = st.lists(st.sampled_from(["a", "b", "c/d", "tmp/x"]), min_size=1, max_size=4).map("/".join)


@given(home=PLACES, cargo=PLACES, readable=st.lists(PLACES), writable=st.lists(PLACES, min_size=1))
def test_a_place_is_mounted_after_what_it_lies_in(
    home: str, cargo: str, readable: list[str], writable: list[str]
) -> None:
    sandbox = Sandbox(
        Path("/h", home),
        Path("/h", cargo),
        readable=tuple(Path("/h", path) for path in readable),
        writable=tuple(Path("/h", path) for path in writable),
    )
    words = wrap(sandbox, ("true",), Path("/"), Path("bwrap"))
    mounted = [Path(words[i + 1]) for i, word in enumerate(words) if word in ("--bind", "--tmpfs")]
    for place, path in enumerate(mounted):
        assert not any(path in later.parents for later in mounted[:place])
    assert {Path("/h", path) for path in writable} <= set(mounted)


@needs_bubblewrap
def test_a_program_kept_from_starting_is_told_apart(sandbox: Sandbox, tmp_path: Path) -> None:
    invisible = tmp_path / "invisible"
    invisible.mkdir()
    with pytest.raises(SandboxFailed, match="Can't chdir"):
        inside(sandbox, "true", cwd=invisible)
    with pytest.raises(FileNotFoundError, match="no-slot"):
        inside(replace(sandbox, writable=(tmp_path / "no-slot",)), "true", cwd=invisible)
