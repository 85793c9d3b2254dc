"""What can be read out of one run of cargo: its messages, its text, the compiler's errors.

Pure. Brings the two forms of output, JSON messages and plain text, to the same records and says
of each error of the compiler whose source it is about and how far it can be trusted. Decides no
verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from critic import diagnostics, faults
from critic.faults import Fault
from critic.patterns import Pattern
from critic.review import Diagnostic, Stage
from critic.transcript import Block, Transcript, read, to_diagnostic

COULD_NOT_COMPILE = re.compile(r"could not (?:compile|document) `([^`]+)`")
OF_CARGO = re.compile(
    r"could not (compile|document) `|failed to run custom build command for |"
    r"build script logged errors|\S+@\d\S*: |(doc)?test failed, to rerun|\d+ targets? failed:|"
    r"bench failed, to rerun"
)
CRASHED = re.compile(r"rustc interrupted by SIG|the compiler unexpectedly panicked")
_CLOSING = re.compile(r"aborting due to ")
REGISTRY_PATH = re.compile(r"/registry/src/[^/]+-[0-9a-f]{16}/|/git/checkouts/")


@dataclass(frozen=True)
class Finding:
    """A fault and, where it is the candidate's, the name of the failure."""

    fault: Fault
    pattern: Pattern | None = None


@dataclass(frozen=True)
class CompilerError:
    """One error of the compiler: as a record, with its notes, and where it stands.

    `foreign` is true for sources of a registry or git package; `doubtful` when the compiler
    that reported it was killed, since with little memory rustc reports nonsense; `counted`
    when cargo counted it, so that it is rustc's and nothing a macro printed.
    """

    diagnostic: Diagnostic
    notes: str
    foreign: bool
    doubtful: bool
    counted: bool = True

    @property
    def placed(self) -> bool:
        return self.diagnostic.primary is not None


@dataclass(frozen=True)
class Reading:
    """What is known of the run, and what can be read out of it."""

    exit_code: int | None
    stderr: str
    messages: Sequence[Mapping[str, Any]]
    phase: Stage | None
    signal: int | None
    timed_out: bool
    stdout: str

    @cached_property
    def transcript(self) -> Transcript:
        return read(self.stderr)

    @cached_property
    def last(self) -> Block | None:
        """The final error: the one that decides, when no compiler has."""
        return self.transcript.errors[-1] if self.transcript.errors else None

    @cached_property
    def built(self) -> bool | None:
        """What `build-finished` says; None without the message."""
        said = [m.get("success") for m in self.messages if m.get("reason") == "build-finished"]
        return bool(said[-1]) if said else None

    @property
    def ran(self) -> bool:
        """Whether cargo got so far as to start what it had built."""
        return self.transcript.starts_program

    @cached_property
    def failed_units(self) -> tuple[Block, ...]:
        """The "could not compile" blocks; none when cargo's last word is of something else."""
        if self.last is None or not OF_CARGO.match(self.last.head):
            return ()
        errors = self.transcript.build_errors
        return tuple(b for b in errors if COULD_NOT_COMPILE.match(b.head))

    @cached_property
    def errors(self) -> tuple[CompilerError, ...]:
        """The compiler's errors: from the messages, else from the text."""
        return tuple(_errors_of_messages(self) if self.messages else _errors_of_text(self))


def _errors_of_messages(run: Reading) -> Iterator[CompilerError]:
    killed = {_unit_name(unit) for unit in run.failed_units if _killed(unit)}
    for diagnostic in diagnostics.errors(diagnostics.from_messages(run.messages)):
        yield CompilerError(
            diagnostic,
            notes="\n".join(child.message for child in diagnostic.children),
            foreign=bool(diagnostic.package) and "path+" not in diagnostic.package,
            doubtful=_package_name(diagnostic.package) in killed,
        )


def _errors_of_text(run: Reading) -> Iterator[CompilerError]:
    """The diagnostics among cargo's lines: those that a "could not compile" closes."""
    foreign_units = {name for name, folder in units(run.transcript) if folder is None}
    waiting: list[Block] = []
    for block in run.transcript.build_errors:
        if not OF_CARGO.match(block.head) or block.place is not None:
            waiting.append(block)
        elif COULD_NOT_COMPILE.match(block.head):
            foreign = _unit_name(block) in foreign_units
            counted = any("due to " in b.head for b in (block, *waiting))
            yield from (_of_block(b, foreign, _killed(block), counted) for b in _rustcs(waiting))
            waiting.clear()
    # A log that was cut before "could not compile": only what can be nothing but rustc's.
    for block in _rustcs(waiting):
        if not run.ran and (block.code or (block.place and block.place.file.endswith(".rs"))):
            yield _of_block(block, foreign=False, doubtful=False, counted=True)


def _rustcs(blocks: Sequence[Block]) -> Iterator[Block]:
    """Without the closing remark and without the cry of a dying compiler."""
    return (b for b in blocks if not CRASHED.match(b.head) and not _CLOSING.match(b.head))


def _of_block(block: Block, foreign: bool, doubtful: bool, counted: bool) -> CompilerError:
    in_registry = bool(block.place and REGISTRY_PATH.search(block.place.file))
    return CompilerError(
        to_diagnostic(block),
        notes="\n".join(block.body),
        foreign=in_registry if block.place else foreign,
        doubtful=doubtful,
        counted=counted,
    )


_UNIT = re.compile(r"(\S+) v\S+(?: \(proc-macro\))?(?: \(([^()]*)\))?")


def units(transcript: Transcript) -> Iterator[tuple[str, str | None]]:
    """The packages that were compiled, each with its folder; None for one of a registry or git."""
    for status in transcript.statuses:
        if status.verb not in ("Compiling", "Checking", "Documenting"):
            continue
        if found := _UNIT.match(status.text):
            yield found[1], found[2] if is_folder(found[2]) else None


def is_folder(source: str | None) -> bool:
    """Whether a package comes from a folder; its source is a URL when it comes from git."""
    return bool(re.match(r"[/\\]|[A-Za-z]:[/\\]", source or ""))


def _unit_name(unit: Block) -> str:
    found = COULD_NOT_COMPILE.match(unit.head)
    return found[1] if found else ""


def _killed(unit: Block) -> bool:
    number = faults.signal_of(unit.links)
    return number is not None and faults.of_signal(number, "") is not None


def _package_name(package_id: str) -> str:
    """`path+file:///home/user/app#0.1.0` → app; `…#serde@1.0.0` → serde; old: `app 0.1.0 (…)`."""
    if " " in package_id:
        return package_id.split(" ", 1)[0]
    place, _, version = package_id.rpartition("#")
    return version.split("@")[0] if "@" in version else place.rstrip("/").rpartition("/")[2]
