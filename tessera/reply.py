"""A model's reply → exactly one Rust source, or a typed format error.

Whether a piece is the file is judged by reading it as Rust, never by its dress alone. A
source that doesn't parse but is plainly the one intended is still returned, because rustc
says better what is wrong with it; prose never is. Pure: asks no model, reads no file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

from critic.syntax import ItemKind, has_statements, items, parse
from critic.tokens import Kind, Token, defined_names, is_whole, lex, tokens
from tessera.fences import (
    CLOSING_TAG,
    ITEM_LINE,
    NOTE_LINE,
    RUST_FILE,
    RUST_LANGUAGES,
    Segment,
    segments,
    without_thinking,
)

# More pieces of code than this aren't read; it bounds the time a reply can take.
_PIECES = 12


class FormatError(Exception):
    """The reply holds no file; nothing was compiled.

    `kind` is `empty`, `only_thinking`, `prose_only`, `no_code` (fences without an item),
    `not_rust` (fences in other languages), `several_files`, `unclosed_and_broken`, or
    `reply_cut_at_limit`, which only the caller can know.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


@dataclass(frozen=True)
class Extracted:
    """The file: line feeds as line ends, no byte order mark, one newline at its end.

    `notes` say what was passed over or put together to get it.
    """

    source: str
    notes: tuple[str, ...] = ()


def extract(reply: str, *, wanted: Sequence[str] = (), target: str = "") -> Extracted:
    """Find the one file that the reply is meant to give.

    `wanted` are names of items the file was asked to define, `target` its path; both only
    help to choose between several pieces of code. Raises FormatError.
    """
    text = reply.encode("utf-8", "replace").removeprefix(b"\xef\xbb\xbf")
    text = text.replace(b"\r\n", b"\n")
    if not text.strip():
        raise FormatError("empty", "the reply is empty")
    goal = _Goal(frozenset(wanted), target)
    answer, thought, finished = without_thinking(text)
    if thought:
        answer = _despite_tags(text, answer, finished, goal)
    return _choose(answer, goal)


def _despite_tags(text: bytes, answer: bytes, finished: bool, goal: _Goal) -> bytes:
    """The part of the reply to search, when it holds the tags of reasoning.

    The tag may stand in the code itself, or the model forgot to close its reasoning: so a
    complete file found across the tag counts.
    """
    best = _best(_pieces(segments(answer), goal))
    if not finished and not (best and best.is_complete):
        raise FormatError("only_thinking", "the reply ends within its reasoning; no file follows")
    across = _best(_pieces(segments(text), goal)) if finished else None
    if across and across.is_complete and CLOSING_TAG.search(across.source):
        return text if best is None or across.names > best.names else answer
    if not answer.strip():
        raise FormatError("only_thinking", "nothing follows the reasoning")
    return answer


_CODE_END = re.compile(
    rb"[{}();,\[\]|=>+*&]\s*$|=\s*[bc]?r?#*\"[^\"]*$|^\s*(?://|/\*|\*|#!?\[|\.|&&|\|\|)"
)
_PLAIN_LANGUAGES = ("", "text", "txt", "plaintext", "plain", "code")


@dataclass(frozen=True)
class _Goal:
    """What the file should be."""

    wanted: frozenset[str]
    target: str

    @property
    def is_program(self) -> bool:
        """Whether the file is one with a `main`."""
        path = PurePosixPath(self.target)
        programs = {"bin", "examples"} & set(path.parts)
        return "main" in self.wanted or path.name in ("main.rs", "build.rs") or bool(programs)


@dataclass(frozen=True)
class _Piece:
    """A segment read as Rust."""

    source: bytes
    segment: Segment
    goal: _Goal
    order: int

    @cached_property
    def code(self) -> list[Token]:
        return tokens(self.source)

    @cached_property
    def names(self) -> frozenset[str]:
        return defined_names(self.code)

    @property
    def hits(self) -> frozenset[str]:
        return self.names & self.goal.wanted

    @cached_property
    def is_clean(self) -> bool:
        """Whether it parses and holds items and nothing but items, as a file does."""
        if not is_whole(self.code):
            return False
        syntax = parse(self.source)
        return syntax.parses and bool(items(syntax)) and not has_statements(syntax)

    @property
    def is_complete(self) -> bool:
        return self.is_clean and self.hits == self.goal.wanted

    @cached_property
    def is_code(self) -> bool:
        """Whether it is Rust, or was meant to be: most of it are lines that end as code does."""
        if self.goal.wanted and self.names == {"main"} and not self.goal.is_program:
            return False  # an example of how to call the file
        if self.segment.language not in (*RUST_LANGUAGES, *_PLAIN_LANGUAGES):
            return bool(self.hits) and self.is_clean
        lines = self.source.split(b"\n")
        code = sum(len(line) for line in lines if _CODE_END.search(line))
        return 2 * code >= len(self.source.strip()) or self.is_clean

    @property
    def label(self) -> int:
        """1 when the reply calls it the target's file, -1 when another's, else 0."""
        name = _file_named(self)
        if name is None or not self.goal.target:
            return 0
        return 1 if _is_same_file(name, self.goal.target) else -1

    @property
    def rank(self) -> tuple[int, bool, int, bool, bool, int, int]:
        """The higher, the likelier it is the file; of equal versions the last one counts."""
        fits = ("main" in self.names) == self.goal.is_program
        only_tests = bool(self.names) and all("test" in name for name in self.names)
        return (
            len(self.hits),
            self.is_clean,
            self.label,
            fits and not only_tests,
            self.segment.language in RUST_LANGUAGES,
            len(self.names),
            self.order,
        )


def _pieces(found: Sequence[Segment], goal: _Goal) -> list[_Piece]:
    """What of the segments is Rust, in their order."""
    pieces = [
        _Piece(_undressed(segment), segment, goal, order)
        for order, segment in enumerate(found)
        if ITEM_LINE.search(segment.text)
    ]
    pieces.sort(key=lambda piece: (len(piece.hits), len(piece.source)), reverse=True)
    code = [piece for piece in pieces[:_PIECES] if ITEM_LINE.search(piece.source) and piece.is_code]
    return sorted(code, key=lambda piece: piece.order)


_GLUED_FENCE = re.compile(rb"(?<=[};])[ \t]*`{3,}[ \t]*$", re.MULTILINE)


def _undressed(segment: Segment) -> bytes:
    if not segment.fenced:
        return _out_of_prose(segment.text)
    glued = _GLUED_FENCE.search(segment.text)
    code = segment.text[: glued.start()] if glued else b""
    return code if glued and is_whole(tokens(code)) else segment.text


def _out_of_prose(text: bytes) -> bytes:
    """Code without a fence: from its first line to the end of its last item."""
    for line in re.finditer(rb"^.+$", text, re.MULTILINE):
        if _opens_code(text, line.start()) and _CODE_END.search(line[0]):
            return text[line.start() : _end_of_items(text, line.start())]
    return b""


def _opens_code(text: bytes, at: int) -> bool:
    return bool(ITEM_LINE.match(text, at) or NOTE_LINE.match(text, at))


_LAST_LINE = re.compile(rb"^[ \t]*}[)}\];,]*[ \t]*$", re.MULTILINE)
_REST_OF_LINE = re.compile(rb"[ \t`]*(?://[^\n]*)?(?:\n\s*^|\Z)", re.MULTILINE)


def _end_of_items(text: bytes, start: int) -> int:
    """Where the run of items from `start` on ends."""
    depth = 0
    for token in lex(text, start):
        if token.kind is not Kind.PUNCT:
            continue
        if token.text in "([{":
            depth += 1
        elif token.text in ")]}":
            depth = max(0, depth - 1)
        if depth == 0 and token.text in "};":
            rest = _REST_OF_LINE.match(text, token.end)
            if rest and not _opens_code(text, rest.end()):
                return token.end
    return max((m.end() for m in _LAST_LINE.finditer(text, start)), default=len(text))


def _file_named(piece: _Piece) -> str | None:
    """The one Rust file that the info string, the first line or the line before names."""
    first = piece.segment.text.lstrip().split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    for place in (
        piece.segment.info,
        first if first.startswith("//") else "",
        piece.segment.lead,
    ):
        named = set(RUST_FILE.findall(place))
        if named:
            return named.pop() if len(named) == 1 else None
    return None


def _is_same_file(name: str, target: str) -> bool:
    ours, theirs = PurePosixPath(target).parts, PurePosixPath(name).parts
    shorter = min(len(ours), len(theirs))
    return ours[-shorter:] == theirs[-shorter:]


def _best(pieces: Sequence[_Piece]) -> _Piece | None:
    return max(pieces, key=lambda piece: piece.rank, default=None)


def _choose(text: bytes, goal: _Goal) -> Extracted:
    found = segments(text)
    pieces = _pieces(found, goal)
    best = _best(pieces)
    if best is None:
        raise _nothing(found)
    if not best.is_complete:
        joined = _joined(pieces, best)
        if joined is not None:
            return _finished(joined, ("joined the fenced parts of one file",))
    elsewhere = [piece for piece in pieces if piece.hits - best.hits]
    if elsewhere:
        parts = "; ".join(", ".join(sorted(piece.hits)) for piece in (best, *elsewhere))
        raise FormatError("several_files", f"the items are spread over several blocks: {parts}")
    if not (best.segment.closed or best.is_clean or is_whole(best.code)):
        raise FormatError("unclosed_and_broken", "the code block isn't closed and its code is cut")
    return _finished(best.source, _notes(best, pieces))


def _joined(pieces: Sequence[_Piece], best: _Piece) -> bytes | None:
    """The fenced parts as one file, if only that is complete."""
    parts = [piece for piece in pieces if piece.segment.fenced and piece.label >= 0]
    source = b"\n".join(piece.source.strip(b"\n") + b"\n" for piece in parts)
    whole = replace(best, source=source)
    return source if len(parts) > 1 and whole.is_complete and not _repeats(source) else None


def _repeats(source: bytes) -> bool:
    """Whether two items have one name, as when the parts are versions of each other."""
    unnamed = (ItemKind.IMPL, ItemKind.USE, ItemKind.MACRO_CALL)
    named = [item.name for item in items(parse(source)) if item.kind not in unnamed]
    return len(named) != len(set(named))


def _notes(best: _Piece, pieces: Sequence[_Piece]) -> tuple[str, ...]:
    lacking = ", ".join(sorted(best.goal.wanted - best.hits))
    notes = {
        f"took one of {len(pieces)} pieces of Rust": len(pieces) > 1,
        "the code block is never closed": not best.segment.closed,
        "does not parse": not best.is_clean,
        f"does not define {lacking}": bool(lacking),
    }
    return tuple(note for note, applies in notes.items() if applies)


def _finished(source: bytes, notes: tuple[str, ...]) -> Extracted:
    return Extracted(source.decode("utf-8", "replace").rstrip() + "\n", notes)


def _nothing(found: Sequence[Segment]) -> FormatError:
    """Why there is no file in the reply."""
    fenced = [segment for segment in found if segment.fenced]
    others = {s.language for s in fenced if s.text.strip()} - {*RUST_LANGUAGES, *_PLAIN_LANGUAGES}
    if not fenced:
        return FormatError("prose_only", "the reply is prose; it has no code")
    if others:
        return FormatError("not_rust", f"the reply has no Rust, only {', '.join(sorted(others))}")
    if not fenced[-1].closed:
        return FormatError("unclosed_and_broken", "the code block isn't closed and holds no item")
    return FormatError("no_code", "the code blocks of the reply hold no Rust item")


_CODE_SPAN = re.compile(r"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_BLOCK = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_CLAUSE_END = re.compile(r"[.;!?](?=\s)|\n\s*\n|\n\s*(?=(?:[-*+]|\d+[.)])\s)")
_DEFINITION = re.compile(
    r"(?:#\[[^\]]*\]\s*)*(?:pub(?:\s*\([^)]*\))?\s+)?"
    r"(?:(?:(?:const|async|unsafe|extern(?:\s+\"[^\"]*\")?)\s+)*fn"
    r"|(?:unsafe\s+)?(?:struct|enum|union|trait|type|const|static)(?:\s+mut)?|macro_rules!)"
    r"\s+(?P<name>[A-Za-z_]\w*)"
)
# `push(&mut self, value: T) -> bool`: a signature without its `fn`. Every argument must be
# a `name: Type` or a receiver, so that an example of a call is none.
_RECEIVER = r"(?:&\s*(?:'\w+\s+)?)?(?:mut\s+)?self"
_ARGUMENT = rf"(?:{_RECEIVER}|(?:mut\s+)?[a-z_]\w*\s*:[^,()]*+(?:\([^()]*\)[^,()]*+)*)"
_METHOD = re.compile(
    rf"(?P<name>[a-z_]\w*)(?:<[^()]*>)?\(\s*(?P<args>{_ARGUMENT}(?:\s*,\s*{_ARGUMENT})*\s*,?)?\s*\)"
    r"\s*(?P<result>->\s*(?!None\b|Some\b|Ok\b|Err\b|true\b|false\b)[A-Za-z&(\[].*)?",
    re.DOTALL,
)
_ASKS = re.compile(
    r"\b(?:writ|implement|add|creat|defin|provid|mak|build|export|expos|declar)(?:e|es|s|ing)?\b"
    r"|\b(?:methods?|functions?|items?|types?)\b[^.;]*?(?:\b(?:are|is)\b|:)"
    r"|\b(?:it|they|which)\s+(?:also\s+)?(?:has|have)\b",
    re.IGNORECASE,
)
_THERE = re.compile(
    r"\b(?:already|existing|exists?|librar(?:y|ies)|neighbou?ring|crates?|dependency|std)\b",
    re.IGNORECASE,
)
_USED = re.compile(
    r"\b(?:uses?|using|used|calls?|calling|like|via|from|than|not|never|without|instead|see"
    r"|similar|given|as|by|through|takes?|accepts?|passe[sd]|replaces?|removes?|renames?)\s*"
    r"(?:the|a|an|any|of|to|in|with|method|function|type|struct|trait|does|\s)*$",
    re.IGNORECASE,
)


def asked_items(task: str) -> tuple[str, ...]:
    """The items a task text plainly asks for: those whose definitions stand in inline code.

    A name counts when the code span begins a definition (`pub fn f`, `struct S`, …) or is a
    method's whole signature, and the clause asks for it ("Write …", "its methods are …") or
    begins with it. What the clause calls existing, or uses, doesn't count: the list may be
    too short, but should never hold what the file need not define.
    """
    text = _BLOCK.sub("\n\n", task)
    masked = _CODE_SPAN.sub(lambda m: "`" * len(m[0]), text)
    ends = [m.end() for m in _CLAUSE_END.finditer(masked)]
    found: dict[str, None] = {}
    for span in _CODE_SPAN.finditer(text):
        name = _defined_by(span[2].strip())
        start = max((end for end in ends if end <= span.start()), default=0)
        if name is not None and _is_asked(masked[start : span.start()]):
            found[name] = None
    return tuple(found)


def _defined_by(code: str) -> str | None:
    """The name that a code span defines, if it is a definition."""
    definition = _DEFINITION.match(code)
    if definition:
        return definition["name"]
    method = _METHOD.fullmatch(code)
    if method and (method["args"] or method["result"]):
        return method["name"]
    return None


def _is_asked(before: str) -> bool:
    """Whether the words of the clause before a definition ask for it."""
    words = before.strip(" \t\n-*+0123456789.)")
    since = words.rsplit("`", 1)[-1]
    if _THERE.search(words) or _USED.search(since):
        return False
    return not words or _ASKS.search(words) is not None
