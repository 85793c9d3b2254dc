"""What cargo says a crate is: its package, its targets, its neighbours.

Reads `cargo metadata --no-deps`, which resolves nothing, writes nothing and needs no
network. Knows no slot and no candidate.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from critic.process import Limits, run
from critic.review import Evidence, Run, Stage
from critic.toolchain import Toolchain

METADATA_LIMITS = Limits(wall_seconds=30)


class CrateUnreadable(Exception):  # noqa: N818 - an expected end, named for what it says
    """Cargo can't read the crate as it stands; `evidence` holds its words, `run` all of them."""

    def __init__(self, message: str, evidence: Evidence, run: Run) -> None:
        super().__init__(message)
        self.evidence = evidence
        self.run = run


@dataclass(frozen=True)
class CargoTarget:
    """One thing cargo builds of a package; `kind` is cargo's (`lib`, `bin`, `test`, …)."""

    name: str
    kind: str
    source: Path

    @property
    def selector(self) -> tuple[str, ...]:
        """The flags that make cargo build this target alone."""
        if self.kind in ("bin", "example", "test", "bench"):
            return (f"--{self.kind}", self.name)
        return ("--lib",)


@dataclass(frozen=True)
class Member:
    """A package of the workspace."""

    directory: Path
    name: str
    version: str


@dataclass(frozen=True)
class Crate:
    """A package and where it lives.

    `root` is its workspace's root, `local_roots` the directories that must be copied for
    it to build: the workspace and every path dependency outside of it. `dependents` are
    the other workspace members that depend on it directly. All paths are absolute and
    free of symlinks.
    """

    directory: Path
    root: Path
    name: str
    version: str
    edition: str
    targets: tuple[CargoTarget, ...]
    local_roots: tuple[Path, ...]
    dependents: tuple[Member, ...] = ()
    has_registry_dependencies: bool = False

    @property
    def base(self) -> Path:
        """The closest directory that holds all local roots."""
        return Path(os.path.commonpath(self.local_roots))

    @property
    def entries(self) -> tuple[CargoTarget, ...]:
        """Libraries and binaries: what a plain `cargo check` compiles."""
        return tuple(t for t in self.targets if t.kind in (*LIBRARY_KINDS, "bin"))

    @property
    def member(self) -> Member:
        """The package itself."""
        return Member(self.directory, self.name, self.version)

    def test_target(self, name: str) -> CargoTarget | None:
        """The integration test of that name."""
        return next((t for t in self.targets if t.kind == "test" and t.name == name), None)


LIBRARY_KINDS = ("lib", "rlib", "dylib", "cdylib", "staticlib", "proc-macro")


def read_crate(directory: Path, toolchain: Toolchain) -> Crate:
    """Read the package in `directory`. Raises CrateUnreadable in cargo's own words."""
    directory = directory.resolve()
    packages, root = _metadata(directory, toolchain)
    manifest = directory / "Cargo.toml"
    by_manifest = {Path(p["manifest_path"]).resolve(): p for p in packages}
    package = by_manifest.get(manifest)
    if package is None:
        members = ", ".join(sorted(p["name"] for p in packages)) or "none"
        text = f"{manifest} describes a workspace, not a package; its members: {members}"
        run_ = Run((), Stage.PREFLIGHT, 0)
        raise CrateUnreadable(text, Evidence("no_package", text), run_)
    outside, registry = _neighbours(packages, root, toolchain)
    return Crate(
        directory=directory,
        root=root,
        name=package["name"],
        version=package["version"],
        edition=package["edition"],
        targets=tuple(
            CargoTarget(t["name"], t["kind"][0], Path(t["src_path"]).resolve())
            for t in package["targets"]
        ),
        local_roots=(root, *outside),
        dependents=_dependents(packages, directory, root),
        has_registry_dependencies=registry,
    )


def _dependents(
    packages: Iterable[Mapping[str, Any]], directory: Path, root: Path
) -> tuple[Member, ...]:
    """The members that use the package, directly or through each other."""
    members = [
        (
            Member(Path(p["manifest_path"]).resolve().parent, p["name"], p["version"]),
            {_path_of(dependency) for dependency in p["dependencies"]},
        )
        for p in packages
    ]
    reached = {directory}
    found: dict[Member, None] = {}
    for _ in members:
        found |= dict.fromkeys(member for member, uses in members if uses & reached)
        reached |= {member.directory for member in found}
    return tuple(m for m in found if m.directory != directory and m.directory.is_relative_to(root))


def _metadata(directory: Path, toolchain: Toolchain) -> tuple[list[dict[str, Any]], Path]:
    argv = (
        *(str(toolchain.cargo), "metadata", "--no-deps", "--offline"),
        *("--format-version", "1", "--manifest-path", str(directory / "Cargo.toml")),
    )
    env = toolchain.environment
    result = run(argv, cwd=directory, env=env, stage=Stage.PREFLIGHT, limits=METADATA_LIMITS)
    if not result.ok:
        text = result.stderr.strip() or "cargo metadata failed without a word"
        raise CrateUnreadable(text, Evidence("cargo_metadata", text, " ".join(argv)), result)
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer["packages"], Path(answer["workspace_root"]).resolve()


def _neighbours(
    packages: Iterable[Mapping[str, Any]], root: Path, toolchain: Toolchain
) -> tuple[tuple[Path, ...], bool]:
    """Path dependencies outside the workspace, found transitively; any registry or git source."""
    outside: dict[Path, None] = {}
    registry = False
    pending = [d for p in packages for d in p["dependencies"]]
    while pending:
        dependency = pending.pop()
        place = _path_of(dependency)
        registry = registry or place is None
        if place is None or place.is_relative_to(root) or place in outside:
            continue
        theirs, their_root = _metadata(place, toolchain)
        outside[their_root if place.is_relative_to(their_root) else place] = None
        outside[place] = None
        pending += [d for p in theirs for d in p["dependencies"]]
    minimal = [p for p in outside if not any(p != q and p.is_relative_to(q) for q in outside)]
    return tuple(sorted(minimal)), registry


def _path_of(dependency: Mapping[str, Any]) -> Path | None:
    path = dependency.get("path")
    return Path(path).resolve() if path else None
