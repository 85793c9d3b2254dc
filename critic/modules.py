"""Which `mod` line reaches a file, and how to write one that is missing.

Follows rustc's rules for where a module's file lies (The Rust Reference, "Module source
filenames"). Reads sources; whether a file was really compiled is told by dep-info alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from critic.crate import Crate
from critic.syntax import ItemKind, items, parse

ROOT_NAMES = ("lib.rs", "main.rs", "mod.rs")


def module_name(target: Path) -> str:
    """The name of the module whose file this is."""
    return target.parent.name if target.name == "mod.rs" else target.stem


def parent_files(crate: Crate, target: Path) -> tuple[Path, ...]:
    """The existing files that may hold the `mod` line for `target`, the likeliest first."""
    folder = target.parent.parent if target.name == "mod.rs" else target.parent
    entries = [entry.source for entry in crate.entries]
    here = [entry for entry in entries if entry.parent == folder]
    nested = [folder / "mod.rs", folder.parent / f"{folder.name}.rs"]
    return tuple(path for path in dict.fromkeys([*here, *nested]) if path.is_file())


def is_entry(crate: Crate, target: Path) -> bool:
    """Whether cargo compiles the file as the root of a target, so that no `mod` is needed."""
    return any(entry.source == target for entry in crate.targets)


def declares(source: bytes, name: str) -> bool:
    """Whether a source has a `mod name;` at its top level, whatever its visibility."""
    return any(declared == name for declared, _ in _declarations(source))


def missing_declaration(
    crate: Crate, target: Path, read: Callable[[Path], bytes]
) -> tuple[Path, str] | None:
    """The file that should declare the target and the line it lacks; None when it has one."""
    parents = parent_files(crate, target)
    name = module_name(target)
    if is_entry(crate, target) or not parents or any(declares(read(p), name) for p in parents):
        return None
    return parents[0], f"pub mod {name};"


def with_declaration(source: bytes, line: str) -> bytes:
    """The source with the line after its last `mod` line, or else before its first item."""
    newline = b"\r\n" if b"\r\n" in source else b"\n"
    declared = _declarations(source)
    at = max((end for _, end in declared), default=_after_preamble(source))
    if at and not source[:at].endswith(b"\n"):
        rest = source.find(b"\n", at)
        at = len(source) if rest < 0 else rest + 1
    head, tail = source[:at], source[at:]
    if head and not head.endswith(b"\n"):
        head += newline
    gap = newline if tail.strip() and not declared else b""
    return head + line.encode() + newline + gap + tail


def _declarations(source: bytes) -> list[tuple[str, int]]:
    """Names and end offsets of the top-level `mod name;` lines."""
    return [
        (item.name, item.end)
        for item in items(parse(source))
        if item.kind is ItemKind.MODULE and source[item.end - 1 : item.end] == b";"
    ]


PREAMBLE = re.compile(
    rb"""
    \A (?:\xef\xbb\xbf)? (?:\#!(?!\[)[^\n]*\n)?                             # mark, shebang
    (?: \s* (?: //![^\n]*(?:\n|\Z) | /\*!.*?\*/ | \#!\[[^\]]*\] ) )*
    (?: [ \t]*\r?\n )*
    """,
    re.DOTALL | re.VERBOSE,
)


def _after_preamble(source: bytes) -> int:
    """The offset after inner attributes and inner documentation, which must come first."""
    match = PREAMBLE.match(source)
    return match.end() if match else 0
