"""TOML files as plain values, with the line of every key and mistakes told in words.

Knows TOML's grammar well enough to say where each key stands; what a value means and
whether it is valid is tomlkit's to judge. Knows no key of any file. Never changes a file.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError

from tessera.errors import InputError

KeyPath = tuple[str | int, ...]
"""Where a value stands: the names of tables and of the key, and an item's index."""

SIZE_LIMIT = 256 << 10
"""The largest file that is read, in bytes."""


class Wrong(Exception):  # noqa: N818 - an expected end, named for what it says
    """Something that can't be used: what is wrong with it and what to do.

    `at` leads from the value that was looked at to the part that is meant.
    """

    def __init__(self, message: str, suggestion: str, at: KeyPath = ()) -> None:
        super().__init__(f"{message}; {suggestion}")
        self.message = message
        self.suggestion = suggestion
        self.at = at


@dataclass(frozen=True)
class Document:
    """A TOML file as it was read: its values, and the line (from 1) of each key and item."""

    path: Path
    values: Mapping[str, Any]
    lines: Mapping[KeyPath, int]

    def line(self, key: KeyPath) -> int | None:
        """The line of a key or, where it isn't written, of the innermost table around it."""
        known = (key[:end] for end in range(len(key), 0, -1))
        return next((self.lines[part] for part in known if part in self.lines), None)

    def error(self, key: KeyPath, message: str, suggestion: str) -> InputError:
        """The error that names this file, the key's line and the key."""
        return InputError(message, suggestion, file=self.path, line=self.line(key), key=shown(key))

    @contextmanager
    def blaming(self, key: KeyPath) -> Iterator[None]:
        """Turn Wrong, and a place that the system refuses, into the error for this key."""
        try:
            yield
        except Wrong as wrong:
            raise self.error((*key, *wrong.at), wrong.message, wrong.suggestion) from wrong
        except OSError as error:
            what = f"{error.filename} can't be used ({error.strerror})"
            raise self.error(key, what, "check the path and its rights") from error


def read_toml(path: Path) -> Document:
    """Read a TOML file. Raises InputError, with the line where there is one."""
    try:
        text = read_text(path)
    except Wrong as wrong:
        raise InputError(wrong.message, wrong.suggestion, file=path) from wrong
    return parse_toml(text, path)


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, its line ends as `\\n`, without a byte order mark.

    Raises Wrong for what is no regular file, can't be read, is larger than SIZE_LIMIT or
    isn't UTF-8.
    """
    try:
        if path.is_dir():
            raise Wrong("is a directory", "name a file in it")
        if path.exists() and not path.is_file():  # reading a pipe could wait for ever
            raise Wrong("is not a regular file", "name a file on disk")
        with path.open("rb") as file:
            data = file.read(SIZE_LIMIT + 1)
    except FileNotFoundError as error:
        raise Wrong("does not exist", nearby(path) or "check the path") from error
    except OSError as error:
        raise Wrong(f"can't be read ({error.strerror})", "check the path and its rights") from error
    if len(data) > SIZE_LIMIT:
        raise Wrong(f"is larger than {SIZE_LIMIT >> 10} KiB", "name a smaller file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Wrong(f"is not UTF-8 text (line {line})", "save it as UTF-8") from error
    return text.replace("\r\n", "\n")


def nearby(path: Path) -> str:
    """A question that names what lies beside a missing file and is called much like it."""
    try:
        return did_you_mean(path.name, [entry.name for entry in path.parent.iterdir()])
    except OSError:  # nothing can be listed there, so nothing can be proposed
        return ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names the closest known word, empty where none is close."""
    by_lower = {word.lower(): word for word in known}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return f"did you mean {by_lower[close[0]]}?" if close else ""


def parse_toml(text: str, path: Path) -> Document:
    """Read TOML whose lines end in `\\n`; `path` is the file that errors name."""
    if found := _CONTROL.search(text):
        raise InputError(
            f"the control character U+{ord(found[0]):04X} can't stand in TOML",
            f'delete it, or write \\u{ord(found[0]):04X} in a string in "double quotes"',
            file=path,
            line=text.count("\n", 0, found.start()) + 1,
        )
    scanner = _Scanner(text, path)
    scanner.scan()
    try:
        values = tomlkit.parse(text).unwrap()
    except TOMLKitError as error:
        raise _explained(scanner) from error
    return Document(path, values, scanner.lines)


def shown(key: KeyPath) -> str:
    """A key as a person writes it: `context.files[1]`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _BARE_KEY.fullmatch(part) else f'"{part}"'
            text += f".{name}" if text else name
    return text


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_BETWEEN_ITEMS = re.compile(r"(?:[ \t\n,]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_REST = re.compile(r"[^\n]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"(?:\\[^\n]|[^"\\\n])*"|'[^'\n]*'""")
# A multi-line string may end in one or two quotes of its own, just before the closing ones.
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|(?!""")"(?:\\[^\n]|[^"\\\n])*"'
    r"|(?!''')'[^'\n]*'",
    re.DOTALL,
)
_QUOTE = re.compile(r"\"\"\"|'''|[\"']")
_BARE_VALUE = re.compile(r"[^,\]}#\n]*")
_DEPTH = 90  # levels of brackets; tomlkit ends at 100


@dataclass(frozen=True)
class _Statement:
    """A table's header, or a key with its value: what stands from `start` to `end`."""

    key: KeyPath
    start: int
    end: int


class _Scanner:
    """Walks a text once and notes the line of every key and item (`lines`).

    Where the text isn't valid TOML, it still finds where each statement ends, or raises
    InputError. It judges neither values nor whether a key is set twice.
    """

    def __init__(self, text: str, path: Path) -> None:
        self.text = text
        self.path = path
        self.lines: dict[KeyPath, int] = {}
        self.statements: list[_Statement] = []
        self._at = 0
        self._table: KeyPath = ()
        self._lengths: dict[KeyPath, int] = {}  # of the arrays of tables
        self._breaks = [found.start() for found in re.finditer("\n", text)]

    def line(self, at: int) -> int:
        """The line, from 1, in which an offset lies."""
        return bisect_left(self._breaks, at) + 1

    def scan(self) -> None:
        """Walk the text from its start to its end."""
        self._skip(_BLANK)
        while self._at < len(self.text):
            start = self._at
            key = self._header() if self._here("[") else self._pair(self._table, 0)
            self._skip(_REST)
            self.statements.append(_Statement(key, start, self._at))
            self._skip(_BLANK)

    def _header(self) -> KeyPath:
        start = self._at
        line = self.line(start)
        closing = "]]" if self._here("[[") else "]"
        self._at += len(closing)
        *parents, name = self._names(())
        key: KeyPath = ()
        for parent in parents:
            key = (*key, parent)
            self.lines.setdefault(key, line)
            if key in self._lengths:  # [list.table] belongs to the list's last item
                key = (*key, self._lengths[key] - 1)
        key = (*key, name)
        if not self._here(closing):
            self._fail(start, key, f"the table's name is not closed by {closing}", "close it")
        self._at += len(closing)
        if closing == "]]":
            index = self._lengths.get(key, 0)
            self._lengths[key] = index + 1
            self.lines.setdefault(key, line)
            key = (*key, index)
        self.lines[key] = line
        self._table = key
        return key

    def _pair(self, table: KeyPath, depth: int) -> KeyPath:
        line = self.line(self._at)
        key = table
        for name in self._names(table):
            key = (*key, name)
            self.lines.setdefault(key, line)
        if not self._here("="):
            what = f"expected = after the key, found {self._found()}"
            self._fail(self._at, key, what, 'write key = value, with text in quotes: key = "text"')
        self._at += 1
        self._skip(_SPACE)
        self._value(key, depth)
        return key

    def _names(self, table: KeyPath) -> list[str]:
        """The parts of a dotted key, read together with the space around them."""
        names = []
        while True:
            self._skip(_SPACE)
            token = _KEY.match(self.text, self._at)
            if token is None:
                what = f"expected a key, found {self._found()}"
                self._fail(self._at, table, what, "write key = value, or [name] for a table")
            names.append(_name(token[0]))
            self._at = token.end()
            self._skip(_SPACE)
            if not self._here("."):
                return names
            self._at += 1

    def _value(self, key: KeyPath, depth: int) -> None:
        if depth > _DEPTH:
            what = f"nested more than {_DEPTH} levels deep"
            self._fail(self._at, key[:-depth], what, "use fewer")
        if quote := _QUOTE.match(self.text, self._at):
            token = _STRING.match(self.text, self._at)
            if token is None:
                close = quote[0]
                several = "" if len(close) == 3 else f", or use {close * 3} for several lines"
                self._fail(self._at, key, "the text is not closed", f"end it with {close}{several}")
            self._at = token.end()
        elif self._here("["):
            self._items(key, depth + 1)
        elif self._here("{"):
            opened = self._at
            self._at += 1
            while not self._closed(opened, key, "}"):
                self._pair(key, depth + 1)
        else:
            self._skip(_BARE_VALUE)

    def _items(self, key: KeyPath, depth: int) -> None:
        opened = self._at
        self._at += 1
        index = 0
        while not self._closed(opened, key, "]"):
            start = self._at
            item = (*key, index)
            self.lines[item] = self.line(start)
            self._value(item, depth)
            if self._at == start:
                self._fail(start, key, f"unexpected {self._found()}", "end the list with ]")
            index += 1

    def _closed(self, opened: int, key: KeyPath, closing: str) -> bool:
        """Go on to the next item, or past the closing bracket; whether it was that."""
        self._skip(_BETWEEN_ITEMS)
        if self._at == len(self.text):
            what = f"the {self.text[opened]} is not closed"
            self._fail(opened, key, what, f"end it with {closing}")
        ends = self._here(closing)
        self._at += len(closing) if ends else 0
        return ends

    def _here(self, token: str) -> bool:
        return self.text.startswith(token, self._at)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        if found := pattern.match(self.text, self._at):
            self._at = found.end()

    def _found(self) -> str:
        character = self.text[self._at : self._at + 1]
        return "the end of the line" if character in ("", "\n") else character

    def _fail(self, at: int, key: KeyPath, message: str, suggestion: str) -> NoReturn:
        raise InputError(
            message, suggestion, file=self.path, line=self.line(at), key=shown(key) or None
        )


def _name(token: str) -> str:
    """What a key is called: its token without quotes and escapes."""
    if token.startswith("'"):
        return token[1:-1]
    if not token.startswith('"'):
        return token
    try:
        return str(next(iter(tomlkit.parse(f"{token} = 0").unwrap())))
    except TOMLKitError:  # no such escape; tomlkit will refuse the statement as well
        return token[1:-1]


def _explained(scanner: _Scanner) -> InputError:
    """The error for the first statement that tomlkit refuses.

    tomlkit names no key and, for one that is set twice, a wrong line. So this looks for the
    shortest run of statements that it refuses: the last of them is the one to blame.
    """
    statements, text = scanner.statements, scanner.text
    index = bisect_left(statements, True, key=lambda each: bool(_objection(text[: each.end])))
    blamed = statements[index]
    objection = _objection(text[: blamed.end])
    first, last = scanner.line(blamed.start), scanner.line(blamed.end)
    told = objection.line if isinstance(objection, ParseError) else first
    message, suggestion = _in_words(str(objection), text[blamed.start : blamed.end])
    if twin := next((each for each in statements[:index] if each.key == blamed.key), None):
        message = "stands here a second time"
        suggestion = f"keep this one or that on line {scanner.line(twin.start)}"
    return InputError(
        message,
        suggestion,
        file=scanner.path,
        line=told if first < told <= last else first,
        key=shown(blamed.key),
    )


def _objection(text: str) -> TOMLKitError | None:
    try:
        tomlkit.parse(text).unwrap()
    except TOMLKitError as error:
        return error
    return None


_PLACE = re.compile(r"\.? at line \d+ col \d+$")
_UNQUOTED = re.compile(r"[^=\n]*=[ \t]*([A-Za-z_./~][^#\n]*)")


def _in_words(objection: str, statement: str) -> tuple[str, str]:
    """tomlkit's objection to a statement, and what to do about it."""
    message = _PLACE.sub("", objection).replace("character: '\\x00'", "end of the value")
    message = message[:1].lower() + message[1:]
    if found := _UNQUOTED.match(statement):
        word = found[1].strip()
        known = word.lower() if word.lower() in ("true", "false") else None
        return (
            f"{word} is not a TOML value",
            f"write {known or json.dumps(word, ensure_ascii=False)}",
        )
    if "in string" in message and "\\" in statement:
        return message, r"write \\ for a backslash, or put the text in single quotes"
    if "exist" in message:
        return message, "set it in one place only"
    return message, "see https://toml.io for how it is written"
