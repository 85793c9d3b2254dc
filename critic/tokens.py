"""Rust source as tokens.

A small lexer after The Rust Reference ("Lexical structure"): exact, linear in time, and the
same inside and outside of macros, so that neither a string nor a macro hides anything. On
top of it what can be read off the tokens alone: paths, imports, macro calls, attributes and
the names of items, in sources that don't parse as well. Offsets are bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

# The strict and reserved keywords that no item can be named by and no macro called by.
KEYWORDS = frozenset(
    "abstract as async await become box break const continue crate do dyn else enum extern false"  # noqa: SIM905
    " final fn for gen if impl in let loop macro match mod move mut override priv pub ref return"
    " self Self static struct super trait true try type typeof unsafe unsized use virtual where"
    " while yield".split()
)
_NAMING = frozenset({"fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"})


class Kind(StrEnum):
    """What a token is; BROKEN is a literal or comment that never ends."""

    IDENT = "ident"
    LIFETIME = "lifetime"
    NUMBER = "number"
    CHAR = "char"
    STRING = "string"
    PUNCT = "punct"
    COMMENT = "comment"
    BROKEN = "broken"


class Token(NamedTuple):
    """A keyword is an IDENT; a raw identifier keeps its `r#`."""

    kind: Kind
    text: str
    start: int
    end: int


_TOKEN = re.compile(
    rb"""
    (?P<space>[\s\x0b\x0c]++)
  | (?P<comment>//[^\n]*+)
  | (?P<block>/\*)
  | (?P<raw>[bc]?r(?P<hashes>\#*+)")
  | (?P<string>[bc]?"[^"\\]*+(?:\\.[^"\\]*+)*+")
  | (?P<broken>[bc]?")
  | (?P<char>b?'(?:\\(?:u\{[^}'\n]*\}|x[0-9a-fA-F]{2}|.)
                |[^'\\\n\x80-\xff]|[\xc0-\xff][\x80-\xbf]+)')
  | (?P<lifetime>'(?:r\#)?[A-Za-z_\x80-\xff][\w\x80-\xff]*+)
  | (?P<ident>(?:r\#)?[A-Za-z_\x80-\xff][\w\x80-\xff]*+)
  | (?P<number>\d\w*+(?:\.\d\w*+)?)
  | (?P<punct>::|->|=>|\.\.[.=]?|[!=<>]=|&&|\|\||.)
    """,
    re.VERBOSE | re.DOTALL,
)
_BLOCK = re.compile(rb"/\*|\*/")
_SHEBANG = re.compile(rb"(?:\xef\xbb\xbf)?#!(?!\s*\[)[^\n]*")


def lex(source: bytes, start: int = 0, end: int | None = None) -> Iterator[Token]:
    """All tokens from `start` to `end`, comments included, as they are found."""
    end = len(source) if end is None else end
    at = start
    if start == 0 and (shebang := _SHEBANG.match(source)):
        at = shebang.end()
    while match := _TOKEN.match(source, at, end):
        found, begin, at = match.lastgroup or "", at, match.end()
        if found == "space":
            continue
        if found in _OPENINGS:
            at = _block_end(source, at, end) if found == "block" else _raw_end(source, match, end)
            found = _OPENINGS[found] if at >= 0 else "broken"
        if found == "broken":
            at = end
        yield Token(_KINDS[found], source[begin:at].decode("utf-8", "replace"), begin, at)


_OPENINGS = {"block": "comment", "raw": "string", "hashes": "string"}
_KINDS = {kind.value: kind for kind in Kind}


def _raw_end(source: bytes, opening: re.Match[bytes], end: int) -> int:
    closing = b'"' + opening["hashes"]
    found = source.find(closing, opening.end(), end)
    return found + len(closing) if found >= 0 else -1


def _block_end(source: bytes, at: int, end: int) -> int:
    """The end of a block comment; they nest."""
    depth = 1
    for mark in _BLOCK.finditer(source, at, end):
        depth += 1 if mark.group() == b"/*" else -1
        if depth == 0:
            return mark.end()
    return -1


def tokens(source: bytes) -> list[Token]:
    """The tokens that are code: no comments and no documentation."""
    return [token for token in lex(source) if token.kind is not Kind.COMMENT]


def plain(name: str) -> str:
    """An identifier without its `r#`."""
    return name.removeprefix("r#")


def line_at(source: bytes, offset: int) -> int:
    """The line of an offset, counted from 1."""
    return source.count(b"\n", 0, offset) + 1


_CLOSING = {"(": ")", "[": "]", "{": "}"}


def partners(code: Sequence[Token]) -> dict[int, int]:
    """For each bracket's index that of its partner; brackets without one are left out."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(code):
        if token.kind is not Kind.PUNCT:
            continue
        if token.text in _CLOSING:
            opened.append(index)
        elif token.text in ")]}" and opened and _CLOSING[code[opened[-1]].text] == token.text:
            found[index] = opened.pop()
            found[found[index]] = index
    return found


def is_whole(code: Sequence[Token]) -> bool:
    """Whether every literal ends and every bracket has its partner; if not, rustc stops here."""
    brackets = sum(t.kind is Kind.PUNCT and t.text in "()[]{}" for t in code)
    return all(t.kind is not Kind.BROKEN for t in code) and len(partners(code)) == brackets


class Path(NamedTuple):
    """A path as written, without generic arguments: tokens `at..stop`."""

    segments: tuple[str, ...]
    at: int
    stop: int


def paths(code: Sequence[Token]) -> Iterator[Path]:
    """Every path of one segment or more, in `use` declarations and macros too."""
    index = 0
    while index < len(code):
        if code[index].kind is not Kind.IDENT:
            index += 1
            continue
        stop = index + 1
        while (
            stop + 1 < len(code) and code[stop].text == "::" and code[stop + 1].kind is Kind.IDENT
        ):
            stop += 2
        yield Path(tuple(plain(t.text) for t in code[index:stop:2]), index, stop)
        index = stop


class MacroCall(NamedTuple):
    """`path!(…)` with any brackets; the arguments are the tokens between `open` and `close`."""

    segments: tuple[str, ...]
    at: int
    open: int
    close: int


def macro_calls(code: Sequence[Token]) -> Iterator[MacroCall]:
    """Macro invocations, also those within the arguments of others."""
    closing = partners(code)
    for segments, index, stop in paths(code):
        if stop + 1 >= len(code) or code[stop].text != "!" or code[stop - 1].text in KEYWORDS:
            continue
        if stop + 1 in closing and code[stop + 1].text in _CLOSING:
            yield MacroCall(segments, index, stop + 1, closing[stop + 1])


class Use(NamedTuple):
    """One name a `use` brings in; `name` is `*` for a glob and `_` for an unnamed import."""

    segments: tuple[str, ...]
    name: str
    at: int
    public: bool


def uses(code: Sequence[Token]) -> Iterator[Use]:
    """What each `use` and `extern crate … as …` brings in, trees taken apart."""
    for index, token in enumerate(code):
        if token.text == "use" and not (index + 1 < len(code) and code[index + 1].text == "<"):
            yield from _use_tree(code, index)
        elif token.text == "extern" and _text(code, index + 1) == "crate":
            name = plain(_text(code, index + 2))
            alias = _text(code, index + 4) if _text(code, index + 3) == "as" else name
            yield Use((name,), plain(alias), index, _is_public(code, index))


def _text(code: Sequence[Token], index: int) -> str:
    return code[index].text if 0 <= index < len(code) else ""


def _is_public(code: Sequence[Token], index: int) -> bool:
    return _text(code, index - 1) in ("pub", ")")


def _use_tree(code: Sequence[Token], index: int) -> Iterator[Use]:
    prefixes: list[list[str]] = []
    path: list[str] = []
    alias, begin, public = "", index + 1, _is_public(code, index)
    at = index + 1
    while at < len(code):
        text = code[at].text
        if text in (",", "}", ";"):
            if path and at > begin:
                yield _used(path, alias, begin, public)
            if text == "}" and prefixes:
                prefixes.pop()
            path = list(prefixes[-1]) if prefixes and text == "," else []
            alias, begin = "", at + 1
            if text == ";" or (text == "}" and not prefixes):
                return
        elif text == "{":
            prefixes.append(path)
            path, begin = list(path), at + 1
        elif text == "as":
            alias, at = _text(code, at + 1), at + 1
        elif text == "*" or code[at].kind is Kind.IDENT:
            path.append(plain(text))
        elif text != "::":
            return
        at += 1


def _used(path: list[str], alias: str, index: int, public: bool) -> Use:
    if path[-1] == "self" and len(path) > 1:
        path = path[:-1]
    return Use(tuple(path), plain(alias) or path[-1], index, public)


def defined_names(code: Sequence[Token]) -> frozenset[str]:
    """Names of items at any depth, methods and `pub use` included, also in broken sources."""
    named = {
        plain(code[i + 1].text)
        for i, token in enumerate(code[:-1])
        if token.text in _NAMING
        and code[i + 1].kind is Kind.IDENT
        and code[i + 1].text not in KEYWORDS
    }
    imported = {use.name for use in uses(code) if use.public}
    return frozenset(named | own_macros(code) | imported)


def own_macros(code: Sequence[Token]) -> frozenset[str]:
    """Names of the macros that `macro_rules!` defines."""
    return frozenset(
        plain(code[i + 2].text)
        for i, token in enumerate(code[:-2])
        if token.text == "macro_rules" and code[i + 1].text == "!"
    )


class Attribute(NamedTuple):
    """`#[…]` or `#![…]`; its content is the tokens between `open` and `close`."""

    at: int
    open: int
    close: int
    inner: bool


def attributes(code: Sequence[Token]) -> Iterator[Attribute]:
    """Attributes anywhere, in macros too."""
    closing = partners(code)
    for index, token in enumerate(code):
        inner = _text(code, index + 1) == "!"
        at = index + 2 if inner else index + 1
        if token.text == "#" and _text(code, at) == "[" and at in closing:
            yield Attribute(index, at, closing[at], inner)
