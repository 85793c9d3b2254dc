"""What a TOML file may say: its keys, and for each a reader of its value.

A reader is a function from a TOML value to what the program uses; it raises Wrong for what
it can't accept. Knows no particular file, and no default: a key that isn't there is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, time
from typing import Any

from tessera.toml import Document, KeyPath, Wrong, did_you_mean

Reader = Callable[[object], Any]
"""Accepts one value, or raises Wrong."""

Schema = Mapping[str, Reader]
"""The keys of a file, dotted (`verify.tests`); what stands before a dot is a table."""


def read_values(document: Document, schema: Schema, table: KeyPath = ()) -> dict[str, Any]:
    """The values that a document, or one table of it, sets: by dotted key of the schema.

    Raises InputError for a key that the schema doesn't have or a value it doesn't accept.
    """
    values: Any = document.values
    for name in table:
        values = values[name]
    return dict(_read(document, schema, table, values, ""))


def _read(
    document: Document, schema: Schema, table: KeyPath, values: Mapping[str, object], prefix: str
) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        key = (*table, name)
        dotted = prefix + name
        if "." not in name and dotted in schema:
            with document.blaming(key):
                read = schema[dotted](value)
            yield dotted, read
        elif "." in name or not any(known.startswith(f"{dotted}.") for known in schema):
            raise document.error(key, "unknown key", _meant(schema, prefix, name))
        elif isinstance(value, Mapping):
            yield from _read(document, schema, key, value, f"{dotted}.")
        else:
            what = f"expected a table, found {kind_of(value)}"
            raise document.error(key, what, f"write [{dotted}], and its keys below it")


def _meant(schema: Schema, prefix: str, name: str) -> str:
    """What an unknown key was probably meant to be."""
    for known in schema:
        home, _, last = known.rpartition(".")
        if last == name:
            return f"it belongs in [{home}]" if home else "it belongs above the first [table]"
    here = sorted(
        {known.removeprefix(prefix).split(".")[0] for known in schema if known.startswith(prefix)}
    )
    return did_you_mean(name, here) or f"known here: {', '.join(here)}"


def kind_of(value: object) -> str:
    """What a TOML value is, in words; text is not repeated, since it may be a secret."""
    match value:
        case bool():
            return f"the boolean {str(value).lower()}"
        case int():
            return f"the integer {value}"
        case float():
            return f"the number {value}"
        case str():
            return "text" if value else "empty text"
        case list():
            return "a list"
        case Mapping():
            return "a table"
        case datetime() | date() | time():
            return "a date or time"
    return type(value).__name__


def text(value: object) -> str:
    """Text that isn't blank."""
    if not isinstance(value, str):
        raise Wrong(f"expected text, found {kind_of(value)}", "write it in quotes")
    if not value.strip():
        raise Wrong("is empty", "write something, or delete the line")
    return value


def word(value: object) -> str:
    """Text on one line, without control characters or space around it."""
    checked = text(value)
    if not checked.isprintable() or checked != checked.strip():
        raise Wrong(
            "holds a control character or space at an end", "write it on one line, without those"
        )
    return checked


def switch(value: object) -> bool:
    """A boolean."""
    if not isinstance(value, bool):
        raise Wrong(f"expected true or false, found {kind_of(value)}", "write it without quotes")
    return value


def words(value: object) -> tuple[str, ...]:
    """A list of words."""
    if not isinstance(value, list):
        raise Wrong(f"expected a list of texts, found {kind_of(value)}", 'write ["…", "…"]')
    return tuple(_item(index, item) for index, item in enumerate(value))


def _item(index: int, value: object) -> str:
    try:
        return word(value)
    except Wrong as wrong:
        raise Wrong(wrong.message, wrong.suggestion, (index, *wrong.at)) from wrong


def table(value: object) -> Mapping[str, Any]:
    """A table, whatever is in it."""
    if not isinstance(value, Mapping):
        raise Wrong(f"expected a table, found {kind_of(value)}", "write its keys below [its name]")
    return value


def whole(minimum: int) -> Reader:
    """An integer not below the minimum."""

    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            what = f"expected a whole number, found {kind_of(value)}"
            raise Wrong(what, f"write digits without quotes, such as {max(minimum, 4)}")
        if value < minimum:
            raise Wrong(f"{value} is too small", f"write {minimum} or more")
        return value

    return read


def number(minimum: float, maximum: float) -> Reader:
    """A number within bounds, which belong to it."""

    def read(value: object) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool):
            what = f"expected a number, found {kind_of(value)}"
            raise Wrong(what, "write digits without quotes, such as 1.5")
        if not minimum <= value <= maximum:
            raise Wrong(f"{value} is out of range", f"write {minimum:g} to {maximum:g}")
        return float(value)

    return read


def choice(*options: str) -> Reader:
    """One of a few words."""

    def read(value: object) -> str:
        found = text(value)
        if found not in options:
            names = ", ".join(options[:-1]) + f" or {options[-1]}"
            guess = did_you_mean(found, options)
            raise Wrong(f"{found} is none of {names}", guess or f"write {names}")
        return found

    return read
