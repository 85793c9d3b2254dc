"""The code context of a prompt: what the target has to fit into.

Reads the person's crate, never a candidate. The first prompt has the files the task names
and the target as it is; a wide context adds the public signatures of the rest of the crate.
A model that only continues a text gets the named files alone. Bounded, most relevant first.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from critic.crate import Crate
from critic.syntax import items, parse
from tessera.prompts import render
from tessera.records import Task

LIMIT = 12_000
FILE_LIMIT = 6_000
CUT = "\n// … (cut)"


class Breadth(StrEnum):
    """How much of the crate is shown."""

    NAMED = "named"
    USUAL = "usual"
    WIDE = "wide"


def gather(task: Task, crate: Crate, breadth: Breadth, *, limit: int = LIMIT) -> str:
    """The context as Markdown, at most `limit` characters; empty when there is none."""
    parts: list[str] = []
    room = limit
    for part in _parts(task, crate, breadth):
        if len(part) > room:
            continue
        parts.append(part)
        room -= len(part) + 2
    return "\n\n".join(parts)


def _parts(task: Task, crate: Crate, breadth: Breadth) -> Iterator[str]:
    for relative in task.context_files:
        yield _file(relative.as_posix(), task.crate / relative)
    if breadth is Breadth.NAMED:
        return
    target = task.crate / task.target
    if target.is_file() and target.stat().st_size:
        yield _file(f"{task.target} as it is now", target)
    if task.dependencies:
        yield "Dependencies to use: " + ", ".join(
            f"`{name}` {requirement}" for name, requirement in task.dependencies.items()
        )
    if breadth is Breadth.WIDE:
        yield from _signatures(task, crate)


def _file(label: str, path: Path) -> str:
    text = path.read_text("utf-8", "replace").rstrip()
    if len(text) > FILE_LIMIT:
        text = text[:FILE_LIMIT] + CUT
    language = "rust" if path.suffix == ".rs" else path.suffix.removeprefix(".")
    return render("context-file", path=label, language=language, content=text)


def _signatures(task: Task, crate: Crate) -> Iterator[str]:
    """Public items of the crate's other source files, one block a file."""
    shown = {task.crate / relative for relative in (*task.context_files, task.target)}
    for path in sorted((crate.directory / "src").rglob("*.rs")):
        if path in shown or not path.is_file():
            continue
        found = [
            item.signature
            for item in items(parse(path.read_bytes()))
            if item.visibility.startswith("pub")
        ]
        if found:
            label = path.relative_to(crate.directory).as_posix()
            yield render("context-file", path=label, language="rust", content="\n".join(found))
