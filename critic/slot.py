"""Persistent scratch copies of crates, each with its own warm target directory.

A slot mirrors the crate's workspace (and path dependencies beside it) under the cache
directory at a path that stays the same, so that dependencies are built once and checks
are incremental. Two processes never share a slot, and no two crates share a target
directory: cargo would take one package for the other. The person's own directory is only
ever read.
"""

from __future__ import annotations

import difflib
import fcntl
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from critic.crate import Crate

SKIPPED_DIRECTORIES = frozenset(
    {".git", ".hg", ".svn", ".jj", "node_modules", ".tessera", ".venv", "__pycache__"}
)
SLOTS_PER_CRATE = 64
TICK_NS = 10_000_000


class NoFreeSlot(Exception):  # noqa: N818 - an expected end, named for what it says
    """Every slot of the crate is in use by another process."""


@dataclass(frozen=True)
class Change:
    """One file as it is (None: absent) and as it would be; `path` is in the person's crate."""

    path: Path
    before: bytes | None
    after: bytes

    def diff(self, base: Path) -> str:
        """The change as a unified diff with paths relative to `base`."""
        return unified(self.before, self.after, self.path.relative_to(base).as_posix())


@dataclass
class Slot:
    """One scratch copy. Use it as a context manager: leaving it frees the slot.

    `overlay` holds files (relative to the mirrored base) that differ from the person's on
    purpose: a manifest with the dependencies a task asks for, a library with the `mod` line.
    """

    crate: Crate
    path: Path
    lock: IO[bytes]
    overlay: dict[Path, bytes] = field(default_factory=dict)
    _stamped: int = 0
    _placed: set[Path] = field(default_factory=set)
    _seen: dict[Path, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)

    @property
    def tree(self) -> Path:
        """The mirrored sources."""
        return self.path / "tree"

    @property
    def target_dir(self) -> Path:
        """Cargo's target directory, this slot's alone."""
        return self.path / "target"

    @property
    def directory(self) -> Path:
        """The package's directory inside the slot."""
        return self.tree / self.crate.directory.relative_to(self.crate.base)

    @property
    def root(self) -> Path:
        """The workspace's root inside the slot."""
        return self.tree / self.crate.root.relative_to(self.crate.base)

    def __enter__(self) -> Slot:
        return self

    def __exit__(self, *_: object) -> None:
        self.lock.close()

    def inside(self, original: Path) -> Path:
        """Where a file of the crate lies in the slot."""
        return self.tree / original.relative_to(self.crate.base)

    def read(self, relative: Path) -> bytes | None:
        """A file as the slot should have it without a candidate; None when there is none."""
        if relative in self.overlay:
            return self.overlay[relative]
        original = self.crate.base / relative
        return original.read_bytes() if original.is_file() else None

    def sync(self) -> None:
        """Make the copy equal the crate plus the overlay, whatever happened to it before.

        Files whose content is right are left alone, so that cargo sees no change; a
        changed file gets a new modification time, never the old one.
        """
        wanted = set(self.overlay)
        self._placed.clear()
        for relative, content in self.overlay.items():
            self._write(relative, content)
        for relative, original in _files(self.crate):
            if relative in wanted:
                continue
            wanted.add(relative)
            self._copy(relative, original)
        self._remove_others(wanted)

    def place(self, relative: Path, content: bytes) -> None:
        """Write a file so that cargo must take it as changed."""
        self._seen.pop(relative, None)
        self._placed.add(relative)
        _make_room(self.tree, relative)
        (self.tree / relative).write_bytes(content)
        self._stamp(relative)

    def ran(self) -> None:
        """Note that cargo has run, so that what is written from now on counts as later."""
        moment = max(self._last_run(), time.time_ns())
        os.utime(self.path / "lock", ns=(moment, moment))

    def _last_run(self) -> int:
        return (self.path / "lock").stat().st_mtime_ns

    def _stamp(self, relative: Path) -> None:
        """Make a file later than the last run, also when the clock was set back since.

        Cargo takes a source for changed only if it is later than the last compilation.
        """
        moment = max(time.time_ns(), self._last_run() + TICK_NS, self._stamped + 1)
        self._stamped = moment
        os.utime(self.tree / relative, ns=(moment, moment))

    def changes(self) -> tuple[Change, ...]:
        """What the slot would change in the crate: the candidate and the overlay."""
        found = []
        for relative in sorted({*self.overlay, *self._placed}):
            original = self.crate.base / relative
            before = original.read_bytes() if original.is_file() else None
            after = (self.tree / relative).read_bytes()
            if relative.name != "Cargo.lock" and before != after:
                found.append(Change(original, before, after))
        return tuple(found)

    def _copy(self, relative: Path, original: Path) -> None:
        destination = self.tree / relative
        before = self._seen.get(relative)
        if before and before == (_identity(original), _identity(destination)):
            return
        content = original.read_bytes()
        self._write(relative, content)
        mode = stat.S_IMODE(original.stat().st_mode) | stat.S_IWUSR | stat.S_IRUSR
        if stat.S_IMODE(destination.stat().st_mode) != mode:
            destination.chmod(mode)
        self._seen[relative] = (_identity(original), _identity(destination))

    def _write(self, relative: Path, content: bytes) -> None:
        """Write only what differs."""
        path = self.tree / relative
        if not path.is_symlink() and path.is_file() and path.read_bytes() == content:
            return
        _make_room(self.tree, relative)
        path.write_bytes(content)
        self._stamp(relative)

    def _remove_others(self, wanted: set[Path]) -> None:
        folders = {parent for path in wanted for parent in path.parents}
        lockfile = self.root.relative_to(self.tree) / "Cargo.lock"
        for directory, names, files in os.walk(self.tree, topdown=True):
            here = Path(directory).relative_to(self.tree)
            for name in files:
                if here / name not in wanted and here / name != lockfile:
                    (self.tree / here / name).unlink()
            for name in list(names):
                path = self.tree / here / name
                if path.is_symlink():
                    path.unlink()
                elif here / name not in folders:
                    _remove_tree(path)
                    names.remove(name)


def open_slot(crate: Crate, cache: Path) -> Slot:
    """Take the crate's first slot that no other process holds. Raises NoFreeSlot."""
    digest = hashlib.sha256(os.fsencode(crate.directory)).hexdigest()[:12]
    for number in range(SLOTS_PER_CRATE):
        path = cache.resolve() / "slots" / f"{crate.name}-{digest}" / str(number)
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / "lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        (path / "tree").mkdir(exist_ok=True)
        (path / "target").mkdir(exist_ok=True)
        return Slot(crate, path, lock)
    raise NoFreeSlot(f"{SLOTS_PER_CRATE} processes are at work on {crate.directory}")


def unified(before: bytes | None, after: bytes, name: str) -> str:
    """A unified diff that `git apply` takes; undecodable bytes become replacement characters."""
    old, new = _lines(before or b""), _lines(after)
    head = f"diff --git a/{name} b/{name}\n"
    if before is None:
        head += "new file mode 100644\n"
    source = "/dev/null" if before is None else f"a/{name}"
    rows = difflib.unified_diff(old, new, source, f"b/{name}")
    no_newline = "\n\\ No newline at end of file\n"
    return head + "".join(row if row.endswith("\n") else row + no_newline for row in rows)


def _lines(content: bytes) -> list[str]:
    """Lines as git counts them: split at line feeds only."""
    return re.findall(r"[^\n]*\n|[^\n]+", content.decode("utf-8", "replace"))


def _files(crate: Crate) -> Iterator[tuple[Path, Path]]:
    """The crate's files as (relative to the base, where they are), links followed once."""
    for root in crate.local_roots:
        for path in _regular_files(root):
            yield path.relative_to(crate.base), path


def _regular_files(root: Path) -> Iterator[Path]:
    seen: set[Path] = set()
    for directory, names, files in os.walk(root, followlinks=True):
        here = Path(directory)
        real = here.resolve()
        if real in seen or (here / "CACHEDIR.TAG").is_file():
            names.clear()
            continue
        seen.add(real)
        names[:] = [name for name in names if name not in SKIPPED_DIRECTORIES]
        yield from (here / name for name in files if (here / name).is_file())


def _identity(path: Path) -> tuple[int, ...]:
    """What changes whenever a file's content may have; the change time can't be set back."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return ()
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _make_room(tree: Path, relative: Path) -> None:
    """Make the parents, and clear away what stands where the file or its folders go."""
    for parent in reversed(relative.parents[:-1]):
        if (tree / parent).is_symlink() or (tree / parent).is_file():
            (tree / parent).unlink()
    path = tree / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        path.unlink()
    elif path.is_dir():
        _remove_tree(path)


def _remove_tree(path: Path) -> None:
    """Remove a folder even where the candidate took its own permissions away."""
    for directory, names, _ in os.walk(path):
        for name in names:
            folder = Path(directory, name)
            if not folder.is_symlink():
                folder.chmod(stat.S_IRWXU)
    shutil.rmtree(path)
