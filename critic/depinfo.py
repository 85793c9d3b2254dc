"""Dep-info: the list of files that rustc says it read for a compilation.

Cargo keeps one `.d` file beside each artifact, in the syntax of make.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HASHED = re.compile(r"^(?:lib)?(?P<stem>.+-[0-9a-f]{16})(?:\.\w+)?$")


def inputs_of(artifact: Mapping[str, Any], root: Path) -> frozenset[Path]:
    """The files compiled into an artifact (a `compiler-artifact` message of cargo).

    Paths in dep-info are relative to where rustc ran, which for a member of a workspace is
    the workspace's `root`.
    """
    found: set[Path] = set()
    for name in artifact.get("filenames", ()):
        path = Path(name)
        match = HASHED.match(path.name)
        if match is None:
            continue
        dep_info = path.with_name(f"{match['stem']}.d")
        if dep_info.is_file():
            for listed in parse(dep_info.read_text("utf-8", "replace")):
                found.add(Path(os.path.normpath(root / listed)))
    return frozenset(found)


def parse(text: str) -> tuple[Path, ...]:
    """The prerequisites of all rules in a make file, where `\\ ` is a space in a name."""
    found: dict[Path, None] = {}
    for line in text.splitlines():
        if line.startswith("#") or ": " not in line:
            continue
        for word in re.findall(r"(?:\\ |\S)+", line.split(": ", 1)[1]):
            found[Path(word.replace("\\ ", " "))] = None
    return tuple(found)
