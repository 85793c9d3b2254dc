"""Proposals: what was written, kept until a person accepts it, and undone on request.

Knows files alone; a proposal's state is kept in Anvil. A proposal is a folder with all that is
needed to apply it, to refuse it as stale and to undo it: for each file its content before and
after. Nothing is ever deleted.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from critic.slot import Change


class State(StrEnum):
    """The states of a proposal."""

    STAGED = "staged"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    STALE = "stale"
    UNDONE = "undone"


class Stale(Exception):  # noqa: N818 - an expected end, named for what it says
    """A file is no longer what the proposal was made for; `path` says which."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


@dataclass(frozen=True)
class Proposal:
    """A set of file changes to one crate, stored in `folder`."""

    id: str
    folder: Path
    crate: Path
    root: Path
    changes: tuple[Change, ...]


def stage(
    home: Path, identity: str, crate: Path, root: Path, changes: Sequence[Change], report: str
) -> Proposal:
    """Store a proposal under `home`; complete when this returns, absent if it doesn't."""
    folder = home / "proposals" / identity
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as name:
        making = Path(name) / identity
        making.mkdir()
        rows = [_store(making, number, change) for number, change in enumerate(changes)]
        index = {"crate": str(crate), "root": str(root), "files": rows}
        write_atomically(making / "proposal.json", _bytes(json.dumps(index, indent=2) + "\n"))
        write_atomically(making / "change.patch", _bytes(patch(changes, root)))
        write_atomically(making / "report.md", _bytes(report))
        making.rename(folder)
    _sync_folder(folder.parent)
    return Proposal(identity, folder, crate, root, tuple(changes))


def load(home: Path, identity: str) -> Proposal:
    """Read a proposal back. Raises FileNotFoundError when there is none of that name."""
    folder = home / "proposals" / identity
    index = json.loads((folder / "proposal.json").read_text("utf-8"))
    changes = tuple(
        Change(
            Path(row["path"]),
            (folder / row["before"]).read_bytes() if row["before"] else None,
            (folder / row["after"]).read_bytes(),
        )
        for row in index["files"]
    )
    return Proposal(identity, folder, Path(index["crate"]), Path(index["root"]), changes)


def patch(changes: Iterable[Change], root: Path) -> str:
    """All changes as one patch relative to `root`."""
    return "".join(change.diff(root) for change in changes)


def is_applied(proposal: Proposal) -> bool:
    """Whether every file is as the proposal wants it."""
    return all(c.path.is_file() and c.path.read_bytes() == c.after for c in proposal.changes)


def apply(proposal: Proposal) -> None:
    """Write the new contents, the target last. Raises Stale, having changed nothing, when a
    file is neither as it was nor already as it will be (which a killed run leaves behind)."""
    _write_all(proposal, [(c.path, c.before, c.after) for c in proposal.changes])


def undo(proposal: Proposal) -> None:
    """Put the old contents back, byte for byte; a file that was not there goes. Raises Stale."""
    _write_all(proposal, [(c.path, c.after, c.before) for c in reversed(proposal.changes)])


def check(proposal: Proposal) -> None:
    """Whether the proposal can be applied as things are. Raises Stale when it can't."""
    _check_all(proposal, [(c.path, c.before, c.after) for c in proposal.changes])


Step = tuple[Path, bytes | None, bytes | None]


def _check_all(proposal: Proposal, steps: Sequence[Step]) -> None:
    for path, expected, wanted in steps:
        if not path.parent.resolve().is_relative_to(proposal.root) or path.is_symlink():
            raise Stale(path, f"{path} is a link or lies behind one that leaves {proposal.root}")
        current = path.read_bytes() if path.is_file() else None
        if current not in (expected, wanted):
            raise Stale(path, f"{path} has changed since this was written for it")


def _write_all(proposal: Proposal, steps: Sequence[Step]) -> None:
    """All of the steps or, whatever interrupts them, none."""
    _check_all(proposal, steps)
    before = [(path, path.read_bytes() if path.is_file() else None) for path, _, _ in steps]
    try:
        for path, _, wanted in steps:
            _put(path, wanted)
    except BaseException:
        for path, content in before:
            with contextlib.suppress(OSError):
                _put(path, content)
        raise


def _put(path: Path, content: bytes | None) -> None:
    """Give a file its content, or take it away."""
    if content is None:
        path.unlink(missing_ok=True)
    elif not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file so that a reader, or a crash, sees the old or the new one. Keeps its mode."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask()
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise
    _sync_folder(path.parent)


def as_written(text: str, existing: bytes | None) -> bytes:
    """A candidate in the byte form of the file it replaces: its byte-order mark, its line ends."""
    content = text.encode("utf-8", "replace")
    if existing is None:
        return content
    if existing.count(b"\r\n") * 2 > existing.count(b"\n"):
        content = content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    return (b"\xef\xbb\xbf" if existing.startswith(b"\xef\xbb\xbf") else b"") + content


def _store(folder: Path, number: int, change: Change) -> dict[str, str | None]:
    before = f"{number}.before" if change.before is not None else None
    if before and change.before is not None:
        write_atomically(folder / before, change.before)
    write_atomically(folder / f"{number}.after", change.after)
    return {"path": str(change.path), "before": before, "after": f"{number}.after"}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
