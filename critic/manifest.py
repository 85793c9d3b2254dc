"""Cargo.toml and cargo's configuration, as far as a slot needs them.

Adds the dependencies a task asks for, keeping comments and order, and finds configuration
files that cargo would read for the crate but not for its copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit

from critic.crate import Crate


def with_dependencies(manifest: bytes, dependencies: Mapping[str, Any]) -> bytes:
    """The manifest with those dependencies; one that it names already stays as it is."""
    text = manifest.decode("utf-8")
    document = tomlkit.parse(text)
    table = document.setdefault("dependencies", tomlkit.table())
    for name, requirement in dependencies.items():
        if name not in table:
            table[name] = requirement
    return tomlkit.dumps(document).encode()


def outer_configs(crate: Crate, cargo_home: Path) -> tuple[Path, ...]:
    """The `.cargo/config.toml` files above the mirrored folders, outermost first.

    Cargo reads those of every directory above the crate, and the slot lies elsewhere. The
    one in cargo's own home is read in any case.
    """
    found = []
    for folder in reversed((crate.directory, *crate.directory.parents)):
        mirrored = any(folder.is_relative_to(root) for root in crate.local_roots)
        for name in () if mirrored else ("config.toml", "config"):
            path = folder / ".cargo" / name
            if path.is_file() and path.parent != cargo_home:
                found.append(path)
                break
    return tuple(found)
