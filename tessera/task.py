"""Task files: what is to be written, and where.

Knows the task file's keys and looks at the crate as far as the task names it. Leaves what
Cargo.toml says to cargo, except for a workspace where a crate is asked for. Writes nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tessera.errors import InputError
from tessera.records import Task
from tessera.schema import Schema, read_values, switch, table, text, word, words
from tessera.toml import Document, Wrong, nearby, read_text, read_toml


def load_task(path: Path) -> Task:
    """Read a task file. Raises InputError for whatever can't be used as it stands."""
    document = read_toml(path)
    given = read_values(document, SCHEMA)
    for key, example in REQUIRED.items():
        if key not in given:
            raise document.error((key,), "is missing", f"add {example}")
    with document.blaming(("crate",)):
        crate = _crate(path.parent, given["crate"])
    with document.blaming(("target",)):
        target = _target(crate, given["target"])
    return Task(
        id=path.stem,
        path=path.absolute(),
        crate=crate,
        target=target,
        text=given["task"].strip(),
        tests=given.get("verify.tests", ()),
        clippy=given.get("verify.clippy", False),
        declare=given.get("verify.declare", False),
        context_files=_context(document, crate, given.get("context.files", ())),
        dependencies=_dependencies(document, given.get("dependencies", {})),
    )


REQUIRED: Mapping[str, str] = {
    "crate": 'crate = "path of the crate, relative to this file"',
    "target": 'target = "src/name.rs"',
    "task": 'task = "what to write"',
}


def _crate(base: Path, name: str) -> Path:
    """The crate's directory, with no symbolic link left in its path."""
    place = base / name
    if place.is_file():
        raise Wrong(f"{name} is a file", "name the directory that holds the crate's Cargo.toml")
    if not place.is_dir():
        elsewhere = f"write it as seen from {base.absolute()}"
        raise Wrong(f"there is no directory {name}", nearby(place) or elsewhere)
    if not (place / "Cargo.toml").is_file():
        raise Wrong(f"{name} holds no Cargo.toml", "name the directory of a crate")
    if (members := _members(place / "Cargo.toml")) is not None:
        examples = ", ".join(f"{name}/{member}" for member in members[:3]) or "one with a package"
        raise Wrong(f"{name} is a workspace, not a crate", f"name a member: {examples}")
    return Path(os.path.realpath(place))


def _members(manifest: Path) -> list[str] | None:
    """The members of a workspace that is no package itself; None for everything else."""
    try:
        values = read_toml(manifest).values
    except InputError:  # cargo says it better, and with the manifest's own rules
        return None
    workspace = values.get("workspace")
    if "package" in values or not isinstance(workspace, Mapping):
        return None
    members = workspace.get("members", [])
    return [str(member) for member in members] if isinstance(members, list) else []


def _target(crate: Path, name: str) -> PurePosixPath:
    target = _inside(crate, name)
    real = Path(os.path.realpath(crate / target)).relative_to(crate)
    if not target.suffix == real.suffix == ".rs":
        raise Wrong(f"{name} is no Rust file", "name one that ends in .rs")
    if "target" in (target.parts[0], real.parts[0]):
        raise Wrong(f"{name} lies in cargo's build directory", "name a source file, as in src/")
    if (crate / target).exists():
        _readable(crate, target)
    return target


def _context(document: Document, crate: Path, names: tuple[str, ...]) -> tuple[PurePosixPath, ...]:
    files = []
    for index, name in enumerate(names):
        with document.blaming(("context", "files", index)):
            files.append(_inside(crate, name))
            _readable(crate, files[-1])
    return tuple(files)


def _inside(crate: Path, name: str) -> PurePosixPath:
    """A path relative to the crate that stays in it, wherever symbolic links lead."""
    path = PurePosixPath(name)
    if "\\" in name:
        raise Wrong(f"{name} holds a backslash", "part directories with /")
    if path.is_absolute():
        raise Wrong(f"{name} is an absolute path", "write it as seen from the crate")
    if ".." in path.parts or not path.parts:
        raise Wrong(f"{name} does not name a file in the crate", "write it without . and ..")
    real = Path(os.path.realpath(crate / path))
    if not real.is_relative_to(crate):
        raise Wrong(f"{name} leads out of the crate, to {real}", "name a file that lies in it")
    for parent in path.parents:
        if (crate / parent).exists() and not (crate / parent).is_dir():
            raise Wrong(f"{parent} is no directory", "name a file in a directory")
    return path


def _readable(crate: Path, path: PurePosixPath) -> None:
    try:
        read_text(crate / path)
    except Wrong as wrong:
        raise Wrong(f"{path} {wrong.message}", wrong.suggestion) from wrong


def _tests(value: object) -> tuple[str, ...]:
    names = words(value)
    for index, name in enumerate(names):
        if name.startswith("-"):
            raise Wrong(f"{name} is a flag", "name a test, or a part of test names", (index,))
    return names


# https://doc.rust-lang.org/cargo/reference/specifying-dependencies.html, as the crate semver
# reads it: no leading zeros, commas between comparators, nothing but wildcards after one.
_NUMBER = r"(?:0|[1-9][0-9]*)"
_LABEL = rf"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_TAIL = rf"(?:-{_LABEL}(?:\.{_LABEL})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
_PATCH = rf"\.(?:{_NUMBER}{_TAIL}|[*xX])"
_VERSION = rf"{_NUMBER}(?:\.{_NUMBER}(?:{_PATCH})?|(?:\.[*xX]){{1,2}})?"
_COMPARATOR = rf" *(?:=|>=|>|<=|<|~|\^)? *{_VERSION} *"
_REQUIREMENT = re.compile(rf" *[*xX] *|{_COMPARATOR}(?:,{_COMPARATOR})*")


def _requirement(value: object) -> str:
    found = text(value)
    if not _REQUIREMENT.fullmatch(found):
        raise Wrong(f"{found!r} is no version requirement", 'write one as "1.2" or ">=1.2, <3"')
    return found


def _workspace(value: object) -> bool:
    if switch(value) is not True:
        raise Wrong("can't be false", "delete it")
    return True


DEPENDENCY: Schema = {
    "version": _requirement,
    "path": word,
    "git": word,
    "branch": word,
    "tag": word,
    "rev": word,
    "registry": word,
    "package": word,
    "features": words,
    "default-features": switch,
    "optional": switch,
    "workspace": _workspace,
}


SOURCES = ("version", "path", "git", "workspace")
REVISIONS = ("branch", "tag", "rev")


def _dependencies(document: Document, wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is wanted as it stands, once cargo would accept the form of each entry."""
    for name, dependency in wanted.items():
        key = ("dependencies", name)
        with document.blaming(key):
            if not name.replace("-", "_").isidentifier() or name.startswith("-"):
                raise Wrong("is no package name", "use letters, digits, - and _")
            if not isinstance(dependency, Mapping):
                _requirement(dependency)
                continue
            given = read_values(document, DEPENDENCY, key)
            if not any(source in given for source in SOURCES):
                raise Wrong("has no source", 'add version = "…", path, git or workspace = true')
            revisions = [revision for revision in REVISIONS if revision in given]
            if len(revisions) > ("git" in given):
                raise Wrong(
                    "can't stand here",
                    "give one of branch, tag and rev, and only with git",
                    (revisions[-1],),
                )
    return wanted


SCHEMA: Schema = {
    "crate": word,
    "target": word,
    "task": text,
    "verify.tests": _tests,
    "verify.clippy": switch,
    "verify.declare": switch,
    "context.files": words,
    "dependencies": table,
}
