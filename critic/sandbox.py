"""What a child process may see and reach, and bubblewrap's words for it.

Code that a model wrote runs at compile time (build scripts, procedural macros) and in
tests. Inside the sandbox it finds the system's programs and libraries, the toolchain and
the downloaded registry, all read-only; its slot; an empty home and an empty /tmp of
limited size; no network, no other process, no privilege. Starts nothing itself but one
trial of bubblewrap, and never decides what becomes of a run.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from critic.toolchain import Toolchain

TRIAL_SECONDS = 10

# Programs and libraries. The short ones are links into /usr on most systems.
_PROGRAMS = ("/usr", "/opt", "/nix/store", "/gnu/store")
_MAYBE_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
# What compilers, linkers and tests that use loopback by name read.
_ETC = (
    *("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
    *("/etc/hosts", "/etc/ssl/certs", "/etc/pki/tls/certs"),
)
_ETC_FOR_NETWORK = (
    *("/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group"),
    *("/etc/ssl/openssl.cnf", "/etc/crypto-policies", "/etc/ca-certificates", "/etc/pki/ca-trust"),
    *("/etc/gitconfig", "/etc/ssh/ssh_config", "/etc/ssh/ssh_known_hosts"),
)
# How git and cargo prove who they are, for dependencies that are not public.
_HOME_FOR_NETWORK = (".gitconfig", ".config/git", ".git-credentials", ".netrc", ".ssh")
_VARIABLES_WITH_FILES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "CARGO_HTTP_CAINFO", "SSH_AUTH_SOCK")
_CARGO_HOME_PARTS = ("registry", "git", "config", "config.toml")
_CARGO_CREDENTIALS = ("credentials", "credentials.toml")
_NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc")
_ISOLATION = ("--die-with-parent", "--new-session", "--cap-drop", "ALL")


class Mode(StrEnum):
    """Whether bubblewrap is used: when it works, always, or never."""

    AUTO = "auto"
    REQUIRE = "require"
    OFF = "off"


class SandboxFailed(Exception):  # noqa: N818 - an expected end, named for what it says
    """The sandbox could not be set up, so that the program in it never started."""


@dataclass(frozen=True)
class Confinement:
    """How children can be confined on this machine.

    `bwrap` is the bubblewrap that was seen to work. Without one, `warning` says in plain
    words what is missing and what to do.
    """

    bwrap: Path | None
    warning: str | None = None


@dataclass(frozen=True)
class Sandbox:
    """Which places a child sees. Everything that is named nowhere here is invisible to it.

    The system's own folders come with every sandbox. `home` is empty inside, except for
    what is named; `scratch_bytes` is the size of /tmp. `network` also opens `cargo_home`
    for writing: it is for downloading only, when no code of a candidate runs.
    """

    home: Path
    cargo_home: Path
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    network: bool = False
    network_files: tuple[Path, ...] = ()
    mode: Mode = Mode.AUTO
    scratch_bytes: int = 512 << 20

    @classmethod
    def for_slot(
        cls,
        slot: Path,
        toolchain: Toolchain,
        *,
        mode: str = Mode.AUTO,
        readable: tuple[Path, ...] = (),
    ) -> Sandbox:
        """The sandbox in which candidates are built and tested: only the slot is writable."""
        fetching = toolchain.fetch_environment
        home = Path(toolchain.environment["HOME"])
        return cls(
            home=home,
            cargo_home=toolchain.cargo_home,
            readable=(*toolchain.places, *readable),
            writable=(slot,),
            network_files=(
                *(home / name for name in _HOME_FOR_NETWORK),
                *(Path(fetching[name]) for name in _VARIABLES_WITH_FILES if fetching.get(name)),
            ),
            mode=Mode(mode),
        )

    def online(self) -> Sandbox:
        """The same with network and a writable CARGO_HOME, for `cargo fetch` alone."""
        self.cargo_home.mkdir(parents=True, exist_ok=True)
        return replace(self, network=True)

    def bwrap(self) -> Path | None:
        """The bubblewrap to use, None to do without. Raises SandboxFailed if it is required."""
        if self.mode is Mode.OFF:
            return None
        confinement = detect()
        if self.mode is Mode.REQUIRE and confinement.bwrap is None:
            raise SandboxFailed(confinement.warning)
        return confinement.bwrap


@functools.cache
def detect() -> Confinement:
    """Whether bubblewrap works here, found out once by using it."""
    if sys.platform != "linux":
        return Confinement(None, _warning("bubblewrap exists for Linux only"))
    found = shutil.which("bwrap")
    if found is None:
        return Confinement(None, _warning("bubblewrap is not installed (package `bubblewrap`)"))
    nowhere = Path("/nonexistent")
    trial = wrap(Sandbox(nowhere, nowhere), ("/bin/sh", "-c", ":"), Path("/"), Path(found))
    try:
        subprocess.run(
            trial,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TRIAL_SECONDS,
            check=True,
            env={},
        )
    except subprocess.CalledProcessError as error:
        words = os.fsdecode(error.stderr).strip() or f"exit code {error.returncode}"
        return Confinement(None, _warning(f"bubblewrap does not work here: {words}"))
    except subprocess.TimeoutExpired:
        return Confinement(None, _warning("bubblewrap hangs here"))
    return Confinement(Path(found))


def _warning(reason: str) -> str:
    return (
        f"{reason}. Build scripts, macros and tests of candidates run unconfined: they can read "
        "your files and reach the network. Install bubblewrap and allow user namespaces, or "
        "work in a virtual machine."
    )


def wrap(
    sandbox: Sandbox,
    argv: Sequence[str],
    cwd: Path,
    bwrap: Path,
    *,
    status_fd: int | None = None,
    block_fd: int | None = None,
) -> tuple[str, ...]:
    """The command that runs `argv` in the sandbox, with `cwd` as its directory.

    Bubblewrap reports on `status_fd` as its `--json-status-fd` describes, and starts the
    program only when `block_fd` is closed at its other end.
    """
    return (
        str(bwrap),
        *_NAMESPACES,
        *(() if sandbox.network else ("--unshare-net",)),
        *_ISOLATION,
        *("--proc", "/proc", "--dev", "/dev"),
        *_system(),
        *_places(sandbox),
        # Root's children would own /proc/sys, capabilities or not.
        *("--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"),
        *("--setenv", "TMPDIR", "/tmp"),
        *(() if status_fd is None else ("--json-status-fd", str(status_fd))),
        *(() if block_fd is None else ("--block-fd", str(block_fd))),
        *("--chdir", str(cwd.resolve()), "--"),
        *argv,
    )


@functools.cache
def _system() -> tuple[str, ...]:
    """Bubblewrap's flags for what every sandbox sees."""
    flags = [flag for path in (*_PROGRAMS, *_ETC) for flag in _read_only(path)]
    for path in _MAYBE_LINKS:
        if os.path.islink(path):  # noqa: PTH114 - plain strings all through
            flags += ("--symlink", os.readlink(path), path)  # noqa: PTH115 - as above
        else:
            flags += _read_only(path)
    return tuple(flags)


def _places(sandbox: Sandbox) -> Iterator[str]:
    """Bubblewrap's flags for this sandbox's places, each after the place it lies in.

    A read-only CARGO_HOME is not only safer: cargo then leaves out its locks and its
    last-use database, which it would have to set up anew each time in an empty one.
    """
    small = min(sandbox.scratch_bytes, 64 << 20)
    flags = {"/tmp": _tmpfs("/tmp", sandbox.scratch_bytes), "/dev/shm": _tmpfs("/dev/shm", small)}
    if sandbox.home != Path("/"):
        flags[str(sandbox.home)] = _tmpfs(str(sandbox.home), small)
    for path in _spellings(sandbox.readable):
        flags[path] = _read_only(path)
    if sandbox.network:
        for path in (*_ETC_FOR_NETWORK, *_spellings(sandbox.network_files)):
            flags[path] = _read_only(path)
        for path in _spellings([sandbox.cargo_home]):
            flags[path] = ("--bind", path, path)
    else:
        for path in _spellings(_parts_of_cargo_home(sandbox)):
            flags[path] = _read_only(path)
        for path in _credentials(sandbox):
            flags[path] = ("--ro-bind", "/dev/null", path)
    for path in _spellings(sandbox.writable):
        flags[path] = ("--bind", path, path)
    for path in sorted(flags, key=lambda path: path.count("/")):
        yield from flags[path]


def _parts_of_cargo_home(sandbox: Sandbox) -> Iterator[Path]:
    """What builds read of CARGO_HOME, and where links in it lead, as dotfiles are often kept.

    All of it, except where the person's home is that very folder or lies in it.
    """
    parts = [sandbox.cargo_home / name for name in _CARGO_HOME_PARTS]
    if sandbox.home.resolve().is_relative_to(sandbox.cargo_home.resolve()):
        yield from parts
    else:
        yield sandbox.cargo_home
        yield from (part.parent / part.readlink() for part in parts if part.is_symlink())


def _credentials(sandbox: Sandbox) -> Iterator[str]:
    """Cargo's credentials, to be hidden; where they are links, what they lead to is not there."""
    for folder in _spellings([sandbox.cargo_home]):
        for name in _CARGO_CREDENTIALS:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield str(path)


def _read_only(path: str) -> tuple[str, ...]:
    exists = os.path.exists(path)  # noqa: PTH110 - as above
    return ("--ro-bind", path, path) if exists else ()


def _tmpfs(path: str, size: int) -> tuple[str, ...]:
    return ("--size", str(size), "--tmpfs", path)


def _spellings(paths: Iterable[Path]) -> list[str]:
    """Each path as given, and free of symlinks."""
    return list(dict.fromkeys(s for path in paths for s in (str(path), os.path.realpath(path))))
