"""One child process from start to end, within limits.

Starts a program in its own session (inside the sandbox, when there is one), reads what it
prints while it runs, ends it with all its descendants when it goes over a limit, and
records what it did. Knows nothing of cargo but the shape of its JSON lines, and judges
nothing. Safe to use on any thread.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import resource
import selectors
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

from critic import usage
from critic.review import Run, Stage
from critic.sandbox import Sandbox, SandboxFailed, wrap

TICK_SECONDS = 0.1
KILL_SECONDS = 5.0
KEPT_BYTES = 1 << 20
LONGEST_LINE = 8 << 20
MESSAGE_BYTES = 32 << 20

_CHUNK = 1 << 16


class Limit(StrEnum):
    """Which limit ended a run."""

    WALL = "wall"
    MEMORY = "memory"
    PROCESSES = "processes"
    DISK = "disk"
    OUTPUT = "output"


class Cancelled(Exception):  # noqa: N818 - an expected end, named for what it says
    """The caller's `cancel` was set; the process was ended and what it did is of no use."""


def _half_of_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


@dataclass(frozen=True)
class Limits:
    """What a process and its descendants may use, together unless said otherwise.

    `memory_bytes` counts what is resident or swapped out, without mapped files;
    `disk_bytes` what they add to the sandbox's writable folders, `file_bytes` the size of
    one file; `output_bytes` what they print, of which `Run` keeps the first and last parts.
    Memory, processes and disk are looked at ten times a second.
    """

    wall_seconds: float
    memory_bytes: int = field(default_factory=_half_of_memory)
    processes: int = 512
    file_bytes: int = 4 << 30
    disk_bytes: int = 16 << 30
    output_bytes: int = 64 << 20


def run(  # noqa: PLR0913 - each is one plain fact about the run
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stage: Stage,
    limits: Limits,
    sandbox: Sandbox | None = None,
    stdin: bytes | None = None,
    cancel: threading.Event | None = None,
    on_line: Callable[[str], None] | None = None,
    meanwhile: Callable[[], None] | None = None,
) -> Run:
    """Run a program to its end and tell what it did.

    `env` is the child's whole environment. Lines of JSON go to `Run.messages` when `argv`
    asks cargo (stdout) or rustc (stderr) for them, all else to `on_line` and the record.
    The program starts after `meanwhile` has returned, which hides the time that setting up
    the sandbox takes.
    Whatever ends this function, an exception in `on_line` or Ctrl-C included, no process
    of the tree is left: in bubblewrap the kernel sees to that; without it, a process that
    leaves both its session and its parents escapes.

    Raises FileNotFoundError when the program, `cwd` or a writable folder does not exist,
    SandboxFailed when the sandbox kept the program from starting, and Cancelled.
    """
    if shutil.which(argv[0], path=env.get("PATH")) is None:
        raise FileNotFoundError(errno.ENOENT, "no such program", argv[0])
    json_on = _json_stream(argv)
    streams = [_Stream(name == json_on, on_line) for name in ("stdout", "stderr")]
    bwrap = sandbox.bwrap() if sandbox else None
    growth = usage.Growth(sandbox.writable if sandbox else ())
    with contextlib.ExitStack() as stack:
        gate = _Gate(stack) if bwrap else None
        if sandbox and bwrap and gate:
            command = wrap(sandbox, argv, cwd, bwrap, status_fd=gate.status, block_fd=gate.block)
        else:
            command = _behind_shell(argv, limits)
            if meanwhile:
                meanwhile()
        child = stack.enter_context(
            subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                stdin=_input(stack, stdin),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                pass_fds=(gate.status, gate.block) if gate else (),
            )
        )
        try:
            if gate:
                gate.limit(limits)
                if meanwhile:
                    meanwhile()
                gate.open()
            watch = _Watch(child.pid, limits, growth, cancel)
            limit = _follow(child, streams, watch)
        finally:
            _end(child, gate)
        if gate and limit is None and child.returncode > 0 and not gate.saw_end():
            raise SandboxFailed(streams[1].text().strip())
    exit_code, signal_number = _ending(child.returncode, confined=bwrap is not None)
    if limit is None and signal_number == signal.SIGXFSZ:
        limit = Limit.DISK
    return Run(
        argv=tuple(argv),
        stage=stage,
        exit_code=None if limit else exit_code,
        signal=signal_number or (signal.SIGKILL if limit else None),
        timed_out=limit is Limit.WALL,
        stdout=streams[0].text(),
        stderr=streams[1].text(),
        messages=tuple(message for stream in streams for message in stream.messages),
        capped=any(stream.capped for stream in streams),
        limit=limit,
        seconds=time.monotonic() - watch.started,
    )


@dataclass
class _Watch:
    """Looks whether a limit is passed; the costly looks only every tick."""

    root: int
    limits: Limits
    growth: usage.Growth
    cancel: threading.Event | None
    started: float = field(default_factory=time.monotonic)
    looked: float = field(default_factory=time.monotonic)

    def breach(self, printed: int) -> Limit | None:
        """The limit that is passed, if any. Raises Cancelled."""
        if self.cancel and self.cancel.is_set():
            raise Cancelled
        now = time.monotonic()
        if now - self.started >= self.limits.wall_seconds:
            return Limit.WALL
        if printed > self.limits.output_bytes:
            return Limit.OUTPUT
        if now - self.looked < TICK_SECONDS:
            return None
        breach = self._look()
        self.looked = time.monotonic()
        return breach

    def pause(self) -> float:
        """How long nothing needs to be looked at, in seconds."""
        left = self.started + self.limits.wall_seconds - time.monotonic()
        return max(0.0, min(TICK_SECONDS, left))

    def _look(self) -> Limit | None:
        tree = usage.tree(self.root)
        if len(tree) > self.limits.processes:
            return Limit.PROCESSES
        if usage.memory(tree) > self.limits.memory_bytes:
            return Limit.MEMORY
        if self.growth.exceeds(self.limits.disk_bytes, tree):
            return Limit.DISK
        return None


class _Stream:
    """What came out of one pipe: the first and last parts as text, JSON lines as objects."""

    def __init__(self, json_lines: bool, on_line: Callable[[str], None] | None) -> None:
        self.messages: list[Mapping[str, Any]] = []
        self.printed = 0
        self._json_lines = json_lines
        self._on_line = on_line
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0
        self._line = bytearray()
        self._message_bytes = 0
        self._messages_dropped = False

    @property
    def capped(self) -> bool:
        return self._dropped > 0 or self._messages_dropped

    def feed(self, data: bytes) -> None:
        self.printed += len(data)
        if not self._json_lines and self._on_line is None:
            self._keep(data)
            return
        self._line += data
        if b"\n" in data:
            *lines, rest = self._line.split(b"\n")
            self._line = rest
            for line in lines:
                self._take(bytes(line) + b"\n")
        elif len(self._line) > LONGEST_LINE:
            self.finish()

    def finish(self) -> None:
        """Take what is left without an end of line."""
        if self._line:
            self._take(bytes(self._line))
            self._line.clear()

    def text(self) -> str:
        cut = f"\n[… {self._dropped} bytes were not kept …]\n".encode() if self._dropped else b""
        return (self._head + cut + self._tail).decode("utf-8", "replace")

    def _take(self, line: bytes) -> None:
        message = _message(line) if self._json_lines else None
        if message is None:
            self._keep(line)
            if self._on_line:
                self._on_line(line.decode("utf-8", "replace").rstrip("\r\n"))
        elif self._message_bytes + len(line) <= MESSAGE_BYTES:
            self._message_bytes += len(line)
            self.messages.append(message)
        else:
            self._messages_dropped = True

    def _keep(self, data: bytes) -> None:
        half = KEPT_BYTES // 2
        room = half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        surplus = len(self._tail) - half
        if surplus > 0:
            del self._tail[:surplus]
            self._dropped += surplus


class _Gate:
    """Holds a sandbox that is set up, before the program in it starts.

    Two pipes: on `status` bubblewrap reports, out of the program's reach, its child's
    number and later its end; `block` it waits on until the other end is closed.
    """

    def __init__(self, stack: contextlib.ExitStack) -> None:
        report, self.status = os.pipe()
        self.block, hold = os.pipe()
        self.namespace: list[usage.Process] = []
        self._report = stack.enter_context(os.fdopen(report, "rb", buffering=0))
        self._hold = stack.enter_context(os.fdopen(hold, "wb", buffering=0))
        self._theirs = stack.enter_context(contextlib.ExitStack())
        for descriptor in (self.status, self.block):
            self._theirs.callback(os.close, descriptor)

    def limit(self, limits: Limits) -> None:
        """Once bubblewrap has the other ends: wait for its child and set the kernel's limits."""
        self._theirs.close()
        report = b""
        while b"}" not in report:
            chunk = self._report.read(_CHUNK)
            if not chunk:
                return  # It failed; its words are on stderr.
            report += chunk
        pid = int(json.loads(report)["child-pid"])
        self.namespace = [first] if (first := usage.by_number(pid)) else []
        with contextlib.suppress(ProcessLookupError):
            for name, value in _kernel_limits(limits).items():
                _, hard = resource.prlimit(pid, name)
                lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
                resource.prlimit(pid, name, (lower, lower))

    def open(self) -> None:
        """Let the program start."""
        self._hold.close()

    def saw_end(self) -> bool:
        """Whether the program was started and came to an end."""
        return b'"exit-code"' in self._report.readall()


def _follow(child: subprocess.Popen[bytes], streams: list[_Stream], watch: _Watch) -> Limit | None:
    """Read until the child has ended and its pipes are empty, or a limit is passed."""
    with contextlib.ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        for pipe, stream in zip(_pipes(child), streams, strict=True):
            selector.register(pipe, selectors.EVENT_READ, stream)
        wakes = _wake_at_end(child, selector, stack)
        unread = len(streams)
        while unread or child.poll() is None:
            patience = watch.pause() if unread or wakes else min(watch.pause(), 0.001)
            ready = selector.select(patience)
            for key, _ in ready:
                data = os.read(key.fd, _CHUNK) if key.data else b""
                if data:
                    key.data.feed(data)
                else:
                    selector.unregister(key.fileobj)
                    unread -= key.data is not None
            limit = watch.breach(sum(stream.printed for stream in streams))
            if limit:
                return _finish(streams, limit)
            # The look may have taken long: what the child printed meanwhile is read first.
            if not ready and child.poll() is not None and not selector.select(0):
                break  # Something else holds the pipes open; it is ended with the tree.
    return _finish(streams, None)


def _wake_at_end(
    child: subprocess.Popen[bytes], selector: selectors.BaseSelector, stack: contextlib.ExitStack
) -> bool:
    """Have the selector wake when the child ends, where the system can do that (Linux)."""
    if not hasattr(os, "pidfd_open"):
        return False
    descriptor = os.pidfd_open(child.pid)
    stack.callback(os.close, descriptor)
    selector.register(descriptor, selectors.EVENT_READ, None)
    return True


def _finish(streams: list[_Stream], limit: Limit | None) -> Limit | None:
    for stream in streams:
        stream.finish()
    return limit


def _pipes(child: subprocess.Popen[bytes]) -> Iterator[IO[bytes]]:
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            yield pipe


def _end(child: subprocess.Popen[bytes], gate: _Gate | None) -> None:
    """Leave nothing of the tree alive.

    A group is killed as one, so that none of it can fork away. With a sandbox's first
    process all others of its namespace go; after a normal end it is on its way already.
    """
    if gate and child.returncode is not None:
        tree = usage.alive(gate.namespace)
    else:
        tree = usage.tree(child.pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    deadline = time.monotonic() + KILL_SECONDS
    while (tree or child.poll() is None) and time.monotonic() < deadline:
        for process in tree:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.0002)
        child.poll()
        tree = usage.alive(tree if gate else {*tree, *usage.tree(child.pid)})


def _kernel_limits(limits: Limits) -> dict[int, int]:
    """Limits that the kernel holds for each process, behind those of the watch.

    They are wider, for what passes one looks like the program's own fault. The number of
    processes counts threads too, within the sandbox's user namespace (Linux 5.14), and
    means nothing to root.
    """
    return {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_DATA: 2 * limits.memory_bytes,
        resource.RLIMIT_NPROC: 16 * limits.processes,
    }


def _behind_shell(argv: Sequence[str], limits: Limits) -> tuple[str, ...]:
    """`argv` behind a shell that sets the kernel's limits, but for the number of processes.

    Without a sandbox that number would count all that the person runs. A Python function
    between fork and exec could set limits too, but may deadlock beside other threads.
    """
    blocks = limits.file_bytes // 512
    kilobytes = 2 * limits.memory_bytes // 1024
    script = f'{{ ulimit -c 0; ulimit -f {blocks}; ulimit -d {kilobytes}; }} 2>/dev/null; exec "$@"'
    return ("/bin/sh", "-c", script, "sh", *argv)


def _input(stack: contextlib.ExitStack, content: bytes | None) -> int | IO[bytes]:
    """A file rather than a pipe: nobody has to feed it while the child prints."""
    if content is None:
        return subprocess.DEVNULL
    file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    file.write(content)
    file.seek(0)
    return file


def _ending(returncode: int, *, confined: bool) -> tuple[int | None, int | None]:
    """(exit code, signal), one of them None. Bubblewrap reports a signal as 128 + number."""
    if returncode < 0:
        return None, -returncode
    if confined and returncode > 128:
        return None, returncode - 128
    return returncode, None


def _json_stream(argv: Sequence[str]) -> str | None:
    """The stream on which the command prints JSON: cargo's on stdout, rustc's on stderr."""
    own = list(argv[: argv.index("--")]) if "--" in argv else list(argv)
    words = " ".join(own).replace("=", " ").split()
    for flag, name in (("--message-format", "stdout"), ("--error-format", "stderr")):
        if any(a == flag and b.startswith("json") for a, b in itertools.pairwise(words)):
            return name
    return None


def _message(line: bytes) -> Mapping[str, Any] | None:
    if not line.startswith(b"{"):
        return None
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    is_message = isinstance(message, dict) and ("reason" in message or "$message_type" in message)
    return message if is_message else None
