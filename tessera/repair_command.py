"""`tessera repair`: what rustc knows how to fix, applied without a model.

Reads a file or a crate's target, calls the critic's repair and prints. Writes the result
back only when asked to, and only one that compiles.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

import click

from critic.edits import Edit
from critic.repair import Repair
from critic.repair import repair as search
from critic.rustc import stand_alone
from critic.toolchain import ToolchainMissing, find_toolchain
from tessera.errors import InputError
from tessera.exits import Exit
from tessera.views import console_for, print_json


class Blocked(Exception):  # noqa: N818 - an expected end, named for what it says
    """The crate can't be compiled here, whatever the file says."""


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--target", metavar="FILE", help="The crate's file to repair (its root if not given)."
)
@click.option("--edition", default="2021", show_default=True, help="For a file without a crate.")
@click.option("--write", is_flag=True, help="Write the file back when it compiles.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def repair(path: Path, target: str | None, edition: str, write: bool, as_json: bool) -> NoReturn:
    """Repair a Rust file, or one file of a crate, without a model.

    \b
    Example:
      tessera repair src/main.rs --json
      tessera repair . --target src/lru_cache.rs --write
    """
    console = console_for(as_json=as_json)
    try:
        file = path / (target or _root_file(path)) if path.is_dir() else path
        before = _read(file)
        found = _in_crate(path, file, before) if path.is_dir() else _alone(path, before, edition)
    except (Blocked, ToolchainMissing) as error:
        console.print(f"blocked: {error}")
        if as_json:
            print_json({"compiles": None, "blocked": str(error)})
        sys.exit(Exit.BLOCKED)
    if write and found.compiles and found.edits:
        from tessera.staging import write_atomically

        write_atomically(file, found.source)
    if as_json:
        print_json(repair_json(found))
    else:
        console.print(_sentence(found, file, written=write), markup=False, soft_wrap=True)
        for edit in found.edits:
            console.print(_line(edit, before), markup=False, soft_wrap=True)
    sys.exit(Exit.DONE if found.compiles else Exit.FAIL)


def _alone(file: Path, source: bytes, edition: str) -> Repair:
    with tempfile.TemporaryDirectory(prefix="tessera-repair-") as scratch:
        toolchain = find_toolchain(file.resolve().parent)
        compiler = stand_alone(source, toolchain, Path(scratch), edition=edition)
        return search(source, compiler, file=compiler.file)


def _in_crate(crate: Path, file: Path, source: bytes) -> Repair:
    # A file without a crate needs none of these, and they take time to import.
    from critic.judge import Assignment, NotJudgeable, open_judge
    from critic.mending import repair_target
    from tessera.config import cache_dir, load_settings

    resolved, home = file.resolve(), crate.resolve()
    if not resolved.is_relative_to(home):
        raise InputError("the target lies outside the crate", "name a file below it", file=file)
    settings = load_settings(home, os.environ, {})
    assignment = Assignment(home, PurePosixPath(resolved.relative_to(home).as_posix()))
    try:
        with open_judge(assignment, settings.critic, cache_dir(settings)) as judge:
            blocked = judge.prepare()
            if blocked is not None:
                raise NotJudgeable(blocked)
            return repair_target(judge, source)
    except NotJudgeable as error:
        raise Blocked(str(error)) from None


def _root_file(crate: Path) -> str:
    for name in ("src/lib.rs", "src/main.rs"):
        if (crate / name).is_file():
            return name
    raise InputError("there is no src/lib.rs or src/main.rs", "name --target", file=crate)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(
            f"can't be read: {error.strerror}", "name a Rust file", file=file
        ) from None


def repair_json(found: Repair) -> dict[str, Any]:
    """A repair in the exchange format; offsets are bytes of the file as it was."""
    return {
        "compiles": found.compiles,
        "errors_before": found.errors_before,
        "errors_after": found.errors_after,
        "edits": [edit.as_json() for edit in found.edits],
        "rustc_runs": found.rustc_runs,
        "seconds": round(found.seconds, 4),
        "source": found.source.decode("utf-8", "replace"),
        "vouched_by": "compiler" if found.compiles else None,
    }


def _sentence(found: Repair, file: Path, *, written: bool) -> str:
    if found.compiles and not found.edits:
        return f"{file} compiles; nothing to do"
    if not found.compiles:
        return (
            f"{file} can't be repaired mechanically: "
            f"{found.errors_after} of {found.errors_before} errors are left"
        )
    done = "was repaired" if written else "can be repaired (--write does it)"
    edits = "1 edit" if len(found.edits) == 1 else f"{len(found.edits)} edits"
    return f"{file} {done}: {edits}; only the compiler vouches for it"


def _line(edit: Edit, source: bytes) -> str:
    """One edit for a person: code, line, what goes and what comes."""
    line = source.count(b"\n", 0, edit.start) + 1
    old = source[edit.start : edit.end].decode("utf-8", "replace")
    who = edit.rule or edit.applicability.value
    return f"  {edit.code or 'syntax'} line {line}, {old!r} -> {edit.replacement!r} ({who})"
