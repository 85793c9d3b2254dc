"""A model's reply taken apart: what is fenced, what stands between, what was only thought.

Knows Markdown's fences and the tags of reasoning models. Reads a fence's content as Rust
tokens, because three backticks inside a raw string or a comment end nothing. Never decides
which stretch is the file. Pure; works on bytes with line feeds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from critic.syntax import parse
from critic.tokens import Token, is_whole, lex, tokens

RUST_LANGUAGES = ("rust", "rs")
_TRANSPARENT = ("markdown", "md")
# More fence lines than these, in a reply and within one literal, are a model that repeats
# itself; the rest is taken as text, which bounds the time.
_FENCES = 256
_NESTED_FENCES = 16

_TAGS = rb"think|thinking|thought|reasoning"
CLOSING_TAG = re.compile(rb"</(?:" + _TAGS + rb")>|\[/THINK\]", re.IGNORECASE)
_OPENING_TAG = re.compile(rb"\s*(?:<(?:" + _TAGS + rb")>|\[THINK\])", re.IGNORECASE)
_FENCE = re.compile(
    rb"^(?P<indent>[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?)(?P<mark>`{3,}|~{3,})(?P<info>[^\n`]*)$",
    re.MULTILINE,
)
_FILE_LINE = re.compile(
    rb"\n[ \t]*+(?!//)(?:rust|rs"
    rb"|[#*`\t ]*+(?:file(?:name)?[ \t]*+:[*`\t ]*+)?[\w./-]+\.rs[`*:]*)[ \t]*\n",
    re.IGNORECASE,
)
RUST_FILE = re.compile(r"\w[\w./-]*\.rs\b")

_VISIBLE = rb"(?:pub(?:\s*\([^)\n]*\))?\s+)?"
ITEM_LINE = re.compile(
    rb"^[ \t]*(?:"
    + _VISIBLE
    + rb"(?:"
    + rb"(?:(?:default|const|async|unsafe|extern(?:\s*\"[^\"\n]*\")?)\s+)*fn\s+[\w#]+\s*[(<]"
    + rb"|(?:unsafe\s+)?(?:struct|enum|union|trait|mod|type)\s+[\w#]+\s*(?:[<{(;:=]|where\b|$)"
    + rb"|(?:const|static)\s+(?:mut\s+)?[\w#]+\s*:"
    + rb"|use\b\s*(?:::\s*)?(?:[\w#]+\s*(?:::|;|\s+as\s)|\{)"
    + rb"|extern\s+(?:crate\s+\w+|\"[^\"\n]*\"\s*\{)"
    + rb")|(?:unsafe\s+)?impl(?:<|\s+[\w:!&(\[])[^;\n]*(?:\{|,|>|\w)[ \t]*+\}?[ \t]*+$"
    + rb"|macro_rules!\s*\w+|[\w:]+!\s*\{)",
    re.MULTILINE,
)
NOTE_LINE = re.compile(rb"[ \t]*(?://|/\*|#!?\[)")


@dataclass(frozen=True)
class Segment:
    """A stretch of the reply that may be code.

    `info` is what follows the opening fence, with a line that only names the file or the
    language; `lead` is the last line of prose before it. An unfenced stretch counts as closed.
    """

    text: bytes
    fenced: bool = False
    info: str = ""
    lead: str = ""
    closed: bool = True

    @property
    def language(self) -> str:
        """`rust` of `rust,no_run`, `{.rust}` or `src/lib.rs`; empty when nothing is said."""
        if RUST_FILE.search(self.info):
            return "rust"
        match = re.match(r"[{.\s]*([\w+#-]*)", self.info)
        return match[1].lower() if match else ""


def without_thinking(text: bytes) -> tuple[bytes, bool, bool]:
    """(the answer, whether reasoning stood before it, whether that was closed).

    Some servers strip the opening tag, so a closing tag alone ends the reasoning too.
    """
    at = 0
    while closing := CLOSING_TAG.search(text, at):
        if at and not _OPENING_TAG.match(text, at):
            break
        at = closing.end()
    opening = _OPENING_TAG.match(text, at)
    return (text[opening.end() :], True, False) if opening else (text[at:], at > 0, True)


def segments(text: bytes) -> list[Segment]:
    """The reply taken apart at its fences, in order; nothing of it is lost but the fences."""
    fences = (mark for mark in _FENCE.finditer(text) if _info(mark).language not in _TRANSPARENT)
    marks = list(islice(fences, _FENCES))
    found: list[Segment] = []
    at = following = 0
    if marks and _is_code_from_the_start(text, marks):
        # A completion goes on inside the fence that its prompt has opened.
        end = _end_of_code(text, 0, marks, 0, b"```")
        found.append(Segment(text[: end.at]))
        at, following = end.resume, end.following
    while following < len(marks):
        opening = marks[following]
        before = text[at : opening.start()]
        named = _FILE_LINE.match(text, opening.end())
        begin = named.end() if named else min(opening.end() + 1, len(text))
        end = _end_of_code(text, begin, marks, following + 1, opening["mark"])
        code = _dedented(text[begin : end.at], len(opening["indent"]))
        lead = before.decode("utf-8", "replace").strip().rsplit("\n", 1)[-1].strip()
        info = text[opening.start("info") : begin].decode("utf-8", "replace").strip()
        found += [Segment(before), Segment(code, True, info, lead, end.closed)]
        at, following = end.resume, end.following
    return [*found, Segment(text[at:])]


def _info(mark: re.Match[bytes]) -> Segment:
    return Segment(b"", info=mark["info"].decode("utf-8", "replace").strip())


def _is_code_from_the_start(text: bytes, marks: Sequence[re.Match[bytes]]) -> bool:
    start = text.lstrip()
    if not (ITEM_LINE.match(start) or NOTE_LINE.match(start)):
        return False
    first = _first_outside(text, 0, marks, 0)
    return (
        ITEM_LINE.search(text, 0, marks[first].start() if first is not None else len(text))
        is not None
    )


@dataclass(frozen=True)
class _End:
    """Where code ends, where the text goes on, and which fence line comes next."""

    at: int
    resume: int
    following: int
    closed: bool


def _end_of_code(
    text: bytes, begin: int, marks: Sequence[re.Match[bytes]], first: int, opened: bytes
) -> _End:
    """The fence line that ends the code from `begin` on.

    Reading the code as Rust tells which fences lie inside a literal; where it is too broken
    for that (a quote is missing), the first fence that may close it does.
    """
    outside = _first_outside(text, begin, marks, first)
    plain = next((i for i in range(first, len(marks)) if _may_end(marks[i], opened)), None)
    chosen = outside
    if plain is not None and (outside is None or outside > plain):
        code = text[begin : marks[outside].start() if outside is not None else len(text)]
        chosen = outside if is_whole(tokens(code)) and parse(code).parses else plain
    if chosen is None:
        return _End(len(text), len(text), len(marks), closed=False)
    end = marks[chosen]
    if end["info"].strip():  # the opening of another piece
        return _End(end.start(), end.start(), chosen, closed=True)
    return _End(end.start(), end.end(), chosen + 1, closed=True)


def _may_end(mark: re.Match[bytes], opened: bytes) -> bool:
    closes = mark["mark"].startswith(opened) and not mark["info"].strip()
    return closes or _info(mark).language in RUST_LANGUAGES


def _first_outside(
    text: bytes, begin: int, marks: Sequence[re.Match[bytes]], first: int
) -> int | None:
    """The first fence line that lies in no literal and no comment."""
    window = marks[first : first + _NESTED_FENCES]
    if not window:
        return None
    code = lex(text, begin, window[-1].end())
    token: Token | None = next(code, None)
    for index, mark in enumerate(window, first):
        place = mark.start("mark")
        while token is not None and token.end <= place:
            token = next(code, None)
        if token is None or token.start >= place:
            return index
    return None


def _dedented(text: bytes, indent: int) -> bytes:
    """The text without the fence's indentation, if all of its lines have it."""
    lines = text.split(b"\n")
    if indent and all(not line[:indent].strip() for line in lines):
        lines = [line[indent:] for line in lines]
    return b"\n".join(lines)
