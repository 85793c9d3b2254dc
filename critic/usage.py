"""What a tree of processes uses: how many there are, their memory, the disk they filled.

Reads /proc and the file system; stops nothing and decides nothing. Where there is no
/proc (macOS) a tree looks empty.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

# Private and shared memory that belongs to the process, not the files it has mapped.
_MEMORY = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap):\s+(\d+) kB", re.MULTILINE)
# File systems stamp files with a clock that ticks this much coarser than ours (seconds).
_CLOCK_TICK = 0.05


class Process(NamedTuple):
    """A process; numbers are used again, so its start (in clock ticks) belongs to it."""

    pid: int
    started: int
    parent: int
    session: int


def by_number(pid: int) -> Process | None:
    """A process by its number, None when it has ended, waited for or not.

    proc_pid_stat(5): the name, in brackets, may hold anything; then come state, parent,
    group, session and, as the 20th after the name, the start.
    """
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split(None, 20)
    if len(fields) < 20 or fields[0] in b"ZX":
        return None
    return Process(pid, int(fields[19]), int(fields[1]), int(fields[3]))


def tree(root: int) -> list[Process]:
    """The process `root`, its descendants and its session's members, closest first."""
    children: dict[int, list[Process]] = {}
    found: dict[int, Process] = {}
    for process in _processes():
        children.setdefault(process.parent, []).append(process)
        if root in (process.pid, process.session):
            found[process.pid] = process
    pending = list(found.values())
    for process in pending:
        new = [child for child in children.get(process.pid, ()) if child.pid not in found]
        found.update((child.pid, child) for child in new)
        pending += new
    return pending


def alive(processes: Iterable[Process]) -> list[Process]:
    """Those that still run."""
    return [old for old in processes if (now := by_number(old.pid)) and now.started == old.started]


def memory(processes: Iterable[Process]) -> int:
    """The memory those processes hold, in bytes, without the files they have mapped."""
    total = 0
    for process in processes:
        status = _read(f"/proc/{process.pid}/status")
        total += sum(int(kilobytes) for kilobytes in _MEMORY.findall(status))
    return total * 1024


@dataclass
class Growth:
    """How much a run has added to some folders.

    Looking at every file is slow, so that is done only when the file system has lost so
    much free space that it may matter.
    """

    folders: Sequence[Path]
    started: float = field(default_factory=time.time)
    _free: dict[Path, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._free = {folder: _free_bytes(folder) for folder in self.folders}

    def exceeds(self, limit: int, processes: Iterable[Process]) -> bool:
        """Whether files written since the start, deleted but open ones too, exceed `limit`."""
        if all(free - _free_bytes(folder) < limit for folder, free in self._free.items()):
            return False
        grown = sum(map(self._written, self.folders)) + self._deleted_but_open(processes)
        # Others fill the disk as well; look again when as much is gone once more.
        self._free = {folder: _free_bytes(folder) + grown for folder in self.folders}
        return grown >= limit

    def _written(self, folder: Path) -> int:
        since = self.started - _CLOCK_TICK
        return sum(s.st_blocks * 512 for s in _statuses(folder) if s.st_ctime >= since)

    def _deleted_but_open(self, processes: Iterable[Process]) -> int:
        devices = {folder.stat().st_dev for folder in self.folders}
        files = {}
        for status in _open_files(processes):
            if status.st_nlink == 0 and status.st_dev in devices:
                files[status.st_ino] = status.st_blocks * 512
        return sum(files.values())


def _processes() -> Iterator[Process]:
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib takes three times as long
            if name.isdigit() and (found := by_number(int(name))):
                yield found


def _read(path: str) -> bytes:
    """A file of /proc; nothing when the process is gone or not ours to look at."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as above
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def _free_bytes(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


def _statuses(folder: Path) -> Iterator[os.stat_result]:
    for directory, _, names in os.walk(folder):
        for name in names:
            try:
                yield Path(directory, name).lstat()
            except FileNotFoundError:
                continue


def _open_files(processes: Iterable[Process]) -> Iterator[os.stat_result]:
    for process in processes:
        folder = f"/proc/{process.pid}/fd"
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            for name in os.listdir(folder):  # noqa: PTH208 - as above
                with contextlib.suppress(FileNotFoundError):
                    yield os.stat(f"{folder}/{name}")  # noqa: PTH116 - as above
