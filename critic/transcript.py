"""The shape of what cargo prints on stderr: status lines, messages, chains of causes.

Pure. Splits text into blocks by the marks that cargo and rustc themselves set (column 0,
`Caused by:`, the right-aligned status word, `-->`), so that a rule can ask who said a
sentence and where. Never decides what a sentence means.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from critic.review import Diagnostic, Span

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x07\x1b]*(?:\x07|\x1b\\)")
_HEAD = re.compile(
    r"(?:(?P<file>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): )?"
    r"(?P<level>error|warning)(?:\[(?P<code>[\w:]+)\])?: ?(?P<text>.*)"
)
_STATUS_WIDTH = 12
_STATUS = re.compile(
    r" *(Updating|Locking|Downloading|Downloaded|Compiling|Checking|Documenting|Finished|"
    r"Running|Doc-tests|Blocking|Adding|Removing|Downgrading|Upgrading|Unchanged|Installing|"
    r"Packaging|Verifying|Vendoring) (.*)"
)
_BUILD_STEP = re.compile(r"`([^`]* )?\S*(rustc|build-script-\S*|rustdoc)\b(?!.* --test)")
_ARROW = re.compile(r" *--> (.+?)(?::(\d+):(\d+))?")
_TOOL_LINE = re.compile(
    r"(fatal|ssh|remote|git|\S+@\S+): |Host key verification failed|error: (RPC failed|\d+ bytes)"
)


@dataclass(frozen=True)
class Status:
    """A line such as `   Compiling serde v1.0.228`."""

    verb: str
    text: str

    @property
    def starts_program(self) -> bool:
        """Whether cargo runs something that it built: a test, a binary, the doc tests."""
        if self.verb != "Running":
            return self.verb == "Doc-tests"
        return not _BUILD_STEP.match(self.text)


@dataclass(frozen=True)
class Block:
    """One `error:` or `warning:` with all that belongs to it.

    `place` is where its primary span or its file lies, None without one; `causes` are the
    texts under each `Caused by:`, outermost first, their indentation taken off.
    """

    level: str
    code: str | None
    head: str
    body: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    place: Span | None = None

    @property
    def links(self) -> tuple[str, ...]:
        """The message and its causes, from the outermost to the root."""
        return ("\n".join((self.head, *self.body)).rstrip(), *self.causes)

    @property
    def text(self) -> str:
        """The block as it was printed, more or less."""
        code = f"[{self.code}]" if self.code else ""
        chain = "".join(f"\n\nCaused by:\n  {cause}" for cause in self.causes)
        return f"{self.level}{code}: " + self.links[0] + chain


@dataclass(frozen=True)
class Transcript:
    """stderr, read: blocks and status lines in order, and the lines of other tools.

    `tools` are lines of git and ssh; `loose` all lines that belong to no block (what tests,
    procedural macros, a crashing compiler or a shell print). The first `of_build` blocks stand
    before cargo started a program, so no program can have printed them.
    """

    blocks: tuple[Block, ...] = ()
    statuses: tuple[Status, ...] = ()
    of_build: int = 0
    tools: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.level == "error")

    @property
    def warnings(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.level == "warning")

    @property
    def build_errors(self) -> tuple[Block, ...]:
        """The errors from before a program was started."""
        return tuple(block for block in self.blocks[: self.of_build] if block.level == "error")

    @property
    def starts_program(self) -> bool:
        return any(status.starts_program for status in self.statuses)

    @property
    def last(self) -> Status | None:
        return self.statuses[-1] if self.statuses else None


def plain(text: str) -> str:
    """The text without colours, hyperlinks and carriage returns."""
    return _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")


def read(text: str) -> Transcript:
    """Split cargo's stderr. Any text can be read; what has no mark becomes loose lines."""
    blocks: list[Block] = []
    statuses: list[Status] = []
    loose: list[str] = []
    tools: list[str] = []
    pending: list[str] = []
    of_build: int | None = None

    def close() -> None:
        if pending:
            blocks.append(_block(pending))
            pending.clear()

    for line in plain(text).split("\n"):
        if _TOOL_LINE.match(line):
            tools.append(line)
        if status := _status(line):
            close()
            statuses.append(status)
            if status.starts_program and of_build is None:
                of_build = len(blocks)
        elif _HEAD.fullmatch(line):
            close()
            pending.append(line)
        elif pending:
            pending.append(line)
        elif line.strip():
            loose.append(line)
    close()
    return Transcript(
        blocks=tuple(blocks),
        statuses=tuple(statuses),
        of_build=len(blocks) if of_build is None else of_build,
        tools=tuple(tools),
        loose=tuple(loose),
    )


def _status(line: str) -> Status | None:
    """Cargo aligns the status word to column 12; rustc indents a message's lines by 7."""
    found = _STATUS.fullmatch(line)
    if found is None or found.end(1) != _STATUS_WIDTH:
        return None
    return Status(found.group(1), found.group(2))


def _block(lines: Sequence[str]) -> Block:
    head = _HEAD.fullmatch(lines[0])
    assert head is not None, "a block begins with its head"
    body, causes = _split_causes(lines[1:])
    place = _short_place(head) if head["file"] else _place(body)
    return Block(
        level=head["level"],
        code=head["code"],
        head=head["text"],
        body=tuple(body),
        causes=tuple(causes),
        place=place,
    )


def _split_causes(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before the first `Caused by:`, and the text under each.

    A cause ends at the first line that is not indented, so nothing that is printed after the
    chain becomes part of it.
    """
    body: list[str] = []
    causes: list[list[str]] = []
    inside = False
    for line in lines:
        if line == "Caused by:":
            causes.append([])
            inside = True
        elif inside and (not line or line.startswith("  ")):
            causes[-1].append(line[2:])
        else:
            inside = False
            body.append(line)
    return body, ["\n".join(cause).strip("\n") for cause in causes]


def _place(body: Sequence[str]) -> Span | None:
    """The first `-->` before any note: rustc puts the primary span there."""
    for line in body:
        if line.startswith(("note:", "help:")):
            return None
        if found := _ARROW.fullmatch(line):
            return _span(found[1], int(found[2] or 0), int(found[3] or 0))
    return None


def _short_place(head: re.Match[str]) -> Span:
    return _span(head["file"], int(head["line"]), int(head["column"]))


def _span(file: str, line: int, column: int) -> Span:
    return Span(file, line, column, byte_start=0, byte_end=0, primary=True)


_LINT = re.compile(r"`(?:#!?\[(?:deny|forbid|warn)\(([\w:]+)\)\]|-[DF] ([\w:-]+))`")


def to_diagnostic(block: Block) -> Diagnostic:
    """The record of a diagnostic that is known only as text; byte offsets are unknown."""
    code = block.code
    if code is None and (lint := _LINT.search("\n".join(block.body))):
        code = (lint[1] or lint[2]).replace("-", "_")
    return Diagnostic(
        level=block.level,
        message=block.head,
        code=code,
        spans=(block.place,) if block.place else (),
        children=tuple(_remarks(block.body)),
        rendered=block.text,
    )


def _remarks(body: Sequence[str]) -> list[Diagnostic]:
    found = (re.match(r"\s*(?:= )?(note|help): (.*)", line) for line in body)
    return [Diagnostic(level=f[1], message=f[2]) for f in found if f]
