"""rustc called directly, for the many compilations of a repair.

Knows how to compile a stand-alone file, and how to compile a crate's target again with
the very arguments and environment that cargo used: they are read from `cargo check -vv`,
never guessed. Writes the candidate and its own scratch folder and nothing of cargo's, so
that cargo's fingerprints stay true. Decides nothing; the last word on a crate is cargo's.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from critic.depinfo import parse as parse_dep_info
from critic.diagnostics import from_messages
from critic.process import Limits, run
from critic.progress import Compilation
from critic.review import Run, Stage
from critic.sandbox import Sandbox
from critic.syntax import parse
from critic.toolchain import Toolchain

LIMITS = Limits(wall_seconds=30.0)
VERBOSE = "-vv"
"""What makes `cargo check` print each command with its environment."""

_RUNNING = re.compile(r"^ *Running `(?P<command>.*)`$")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_DROPPED = ("--error-format", "--json", "--emit", "--out-dir", "--diagnostic-width", "--color")


@dataclass(frozen=True)
class Invocation:
    """How cargo called rustc for one target of a package of the workspace.

    `arguments` are rustc's, `source` the root file among them, `environment` what cargo
    added to its own.
    """

    crate_name: str
    source: Path
    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    @property
    def is_test(self) -> bool:
        """Whether it builds the target with its unit tests."""
        return "--test" in self.arguments


@dataclass(frozen=True)
class Compiler:
    """Compiles texts in the place of one file; call it with the text.

    `path` is the file that is written, `file` its name in diagnostics, `dep_info` the list
    of inputs that proves the file was compiled (None where it is the root itself).
    """

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    path: Path
    file: str
    dep_info: Path | None = None
    sandbox: Sandbox | None = None
    limits: Limits = LIMITS

    def __call__(self, source: bytes) -> Compilation:
        """What rustc says of the text. A run over its limits is a failure without errors."""
        self.path.write_bytes(source)
        if self.dep_info is not None:
            self.dep_info.unlink(missing_ok=True)
        ended = run(
            self.argv,
            cwd=self.cwd,
            env=self.environment,
            stage=Stage.REPAIR,
            limits=self.limits,
            sandbox=self.sandbox,
        )
        messages = (_at_call_sites(message, self.file) for message in ended.messages)
        return Compilation(ended.ok and self._was_compiled(), from_messages(messages))

    def _was_compiled(self) -> bool:
        if self.dep_info is None:
            return True
        if not self.dep_info.is_file():
            return False
        inputs = parse_dep_info(self.dep_info.read_text("utf-8", "replace"))
        return any((self.cwd / name).resolve() == self.path.resolve() for name in inputs)


def _at_call_sites(message: Mapping[str, Any], file: str) -> Mapping[str, Any]:
    """The message with places inside foreign macros moved to where the file calls them.

    rustc points at the text of `format!` itself; what can be mended is the call.
    """
    spans = message.get("spans")
    if not isinstance(spans, list):
        return message
    return {**message, "spans": [_at_call_site(span, file) for span in spans]}


def _at_call_site(span: Mapping[str, Any], file: str) -> Mapping[str, Any]:
    outer = span
    while outer.get("file_name") != file and outer.get("expansion"):
        outer = outer["expansion"]["span"]
    if outer is span or outer.get("file_name") != file:
        return span
    kept = {key: span.get(key) for key in ("label", "is_primary", "expansion")}
    return {**outer, **kept}


def stand_alone(
    source: bytes, toolchain: Toolchain, scratch: Path, *, edition: str = "2021"
) -> Compiler:
    """A compiler for a file without a crate: a program if it has a `main`, else a library.

    No code of the file runs: there are no build scripts and no procedural macros. Errors
    only; warnings are not asked for.
    """
    path = scratch / "candidate.rs"
    kind = "bin" if _has_main(source) else "lib"
    argv = (
        *(str(toolchain.rustc), "--crate-name", "candidate", "--crate-type", kind),
        *("--edition", edition, "--error-format=json", "--emit=metadata", "-Awarnings"),
        *("--out-dir", str(scratch), str(path)),
    )
    return Compiler(argv, scratch, toolchain.environment, path, str(path))


def _has_main(source: bytes) -> bool:
    root = parse(source).root
    names = (
        node.child_by_field_name("name") for node in root.children if node.type == "function_item"
    )
    return any(name is not None and name.text == b"main" for name in names)


def invocations(checked: Run) -> tuple[Invocation, ...]:
    """rustc's calls for packages of the workspace, as a `cargo check -vv` printed them.

    Build scripts are left out. What was fresh was not compiled and is not among them.
    """
    found = []
    for line in checked.stderr.splitlines():
        match = _RUNNING.match(line)
        invocation = _read(match["command"]) if match else None
        if invocation is not None:
            found.append(invocation)
    return tuple(found)


def _read(command: str) -> Invocation | None:
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    environment: dict[str, str] = {}
    while words and _ASSIGNMENT.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if "--crate-name" not in words or "CARGO_PRIMARY_PACKAGE" not in environment:
        return None
    arguments = tuple(words[words.index("--crate-name") :])
    source = next((Path(word) for word in arguments if word.endswith(".rs")), None)
    if source is None or arguments[1] == "build_script_build":
        return None
    return Invocation(arguments[1], source, arguments, environment)


def invocation_for(target: Path, found: Iterable[Invocation], root: Path) -> Invocation | None:
    """The call that compiles a file: its own root's, else the one whose folder holds it.

    Paths of the calls are relative to `root`, where cargo runs rustc. Without its unit
    tests a target compiles faster and says the same of its code.
    """
    target = target.resolve()

    def distance(call: Invocation) -> tuple[bool, int, bool]:
        source = (root / call.source).resolve()
        steps = len(target.parts) - len(source.parent.parts)
        return (source != target, steps, call.is_test)

    holding = [
        call
        for call in found
        if (root / call.source).resolve() == target
        or target.is_relative_to((root / call.source).resolve().parent)
    ]
    return min(holding, key=distance, default=None)


def for_target(
    invocation: Invocation,
    target: Path,
    toolchain: Toolchain,
    *,
    root: Path,
    scratch: Path,
    sandbox: Sandbox | None = None,
    limits: Limits = LIMITS,
) -> Compiler:
    """A compiler for one file of a crate, with cargo's arguments and incremental.

    `root` is where cargo ran rustc (the workspace's root), `scratch` an own folder for
    output, writable in the sandbox. The file at `target` is overwritten by each text.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    argv = (
        *(str(toolchain.rustc), *own_arguments(invocation.arguments)),
        *("--error-format=json", "--emit=dep-info,metadata", "--out-dir", str(scratch)),
        f"-Cincremental={scratch / 'incremental'}",
    )
    relative = target.is_relative_to(root)
    return Compiler(
        argv=argv,
        cwd=root,
        environment={**toolchain.environment, **invocation.environment},
        path=target,
        file=str(target.relative_to(root) if relative else target),
        dep_info=scratch / f"{invocation.crate_name}{_extra_filename(argv)}.d",
        sandbox=sandbox,
        limits=limits,
    )


def own_arguments(arguments: Iterable[str]) -> tuple[str, ...]:
    """Cargo's arguments without those that say where and in what form output goes."""
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word.startswith(_DROPPED):
            if "=" not in word:
                next(words, None)
        elif word == "-C":
            value = next(words, "")
            if not value.startswith("incremental="):
                kept += [word, value]
        elif not word.startswith("-Cincremental="):
            kept.append(word)
    return tuple(kept)


def _extra_filename(argv: Iterable[str]) -> str:
    names = (word.removeprefix("-C") for word in argv)
    return next((n.partition("=")[2] for n in names if n.startswith("extra-filename=")), "")
