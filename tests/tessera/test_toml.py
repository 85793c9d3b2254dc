"""Where keys stand, and what is said about files that are no good."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tessera.errors import InputError
from tessera.toml import SIZE_LIMIT, KeyPath, parse_toml, read_toml, shown

PATH = Path("a.toml")

# A value is a list of pieces: text, and before each key or item in it the key's path.
Pieces = list[str | KeyPath]

SCALARS: list[str] = [
    "1",
    "-1.5e3",
    "true",
    "1979-05-27 07:32:00",
    '"a # = ] } \\" b"',
    "'C:\\new'",
    '""',
    '"""\nkey = 1\n[table]\n"""',
    '"""three \\"""\nquotes = [ """',
    '"""two quotes""\\"""""',
    "'''\n# ''\n[[list]]\nx = '''''",
    '""""""',
]
scalars: st.SearchStrategy[Pieces] = st.sampled_from(SCALARS).map(lambda scalar: [scalar])
blanks = st.sampled_from(["", " ", "\n", '  # ], = """\n', "\n\n\t"])
names = st.sampled_from(["{}", '"{}"', "'{}'", '"{}.x y"', '"{}\\u0041"'])


def keyed(path: KeyPath, pieces: Pieces) -> Pieces:
    return [path, *((*path, *piece) if isinstance(piece, tuple) else piece for piece in pieces)]


@st.composite
def lists(draw: st.DrawFn, inner: st.SearchStrategy[Pieces]) -> Pieces:
    pieces: Pieces = ["[", draw(blanks)]
    for index, item in enumerate(draw(st.lists(inner, max_size=3))):
        pieces += [*keyed((index,), item), draw(blanks), ",", draw(blanks)]
    return [*pieces, "]"]


@st.composite
def inline_tables(draw: st.DrawFn, inner: st.SearchStrategy[Pieces]) -> Pieces:
    pieces: Pieces = ["{ "]
    for index, item in enumerate(draw(st.lists(inner, min_size=1, max_size=3))):
        if index:
            pieces.append(", ")
        name = f"k{index}"
        dotted = draw(st.booleans())
        pieces += [(name,), f"{name} . x = " if dotted else f"{name} = "]
        pieces += keyed((name, "x") if dotted else (name,), item)
    return [*pieces, " }"]


values = st.recursive(scalars, lambda inner: lists(inner) | inline_tables(inner), max_leaves=6)


def key_and_token(name: str, form: str) -> tuple[str, str]:
    token = form.format(name)
    return next(iter(tomllib.loads(f"{token} = 0"))), token


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, dict[KeyPath, int]]:
    """A document, and the line of every key and item in it as it was put there."""
    text = ""
    lines: dict[KeyPath, int] = {}
    table: KeyPath = ()
    length = 0

    def here(path: KeyPath) -> None:
        lines.setdefault(path, text.count("\n") + 1)

    for number, kind in enumerate(draw(st.lists(st.sampled_from("kkkdtal"), max_size=8))):
        text += draw(st.sampled_from(["", "\n", "# [t] k = 1\n", "  "]))
        key, token = key_and_token(f"n{number}", draw(names))
        if kind == "t":  # a table in a table that nobody wrote
            table = (key, "sub")
            here((key,))
            here(table)
            text += f"[ {token} . sub ] # x\n"
        elif kind == "a":  # one more table of the array `all`, and a table in it
            here(("all",))
            here(("all", length))
            text += "[[all]]\n"
            table = ("all", length, "sub")
            here(table)
            text += "[all.sub]\n"
            length += 1
        else:
            path = (*table, key)
            here(path)
            text += token
            if kind == "d":
                path = (*path, "x")
                here(path)
                text += " . x"
            text += " ="
            for piece in keyed(path, draw(values)):
                if isinstance(piece, tuple):
                    here(piece)
                else:
                    text += piece
            text += draw(st.sampled_from(["\n", " # = [\n"]))
    return text, lines


@settings(deadline=None)
@given(documents())
def test_every_key_and_item_is_found_on_its_line(document: tuple[str, dict[KeyPath, int]]) -> None:
    text, lines = document
    read = parse_toml(text, PATH)
    assert read.lines == lines
    assert read.values == tomllib.loads(text)


@settings(deadline=None)
@given(documents(), st.booleans())
def test_line_ends_and_byte_order_mark_change_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    document: tuple[str, dict[KeyPath, int]],
    mark: bool,
) -> None:
    text, lines = document
    path = tmp_path_factory.mktemp("crlf") / "a.toml"
    path.write_bytes(b"\xef\xbb\xbf" * mark + text.replace("\n", "\r\n").encode())
    read = read_toml(path)
    assert read.lines == lines
    assert read.values == tomllib.loads(text)


TOKENS = [*"abc.=[]{},\"'\\# \n\t-1é\x00\r", "[[", "]]", '"""', "'''", "a = 1\n", "[t]\n", "true"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=20).map("".join))
def test_whatever_stands_in_a_file_it_is_read_or_explained(text: str) -> None:
    try:
        read = parse_toml(text, PATH)
    except InputError as error:
        assert error.line is not None
        assert 1 <= error.line <= text.count("\n") + 1
    else:
        assert set(read.lines) >= {(name,) for name in read.values}


def test_a_table_is_found_at_its_header_even_if_a_part_of_it_came_first() -> None:
    read = parse_toml("[a.b]\n[c]\n[a]\nx = 1\n", PATH)
    assert read.line(("a",)) == 3
    assert read.line(("a", "b", "missing")) == 1
    assert read.line(("missing",)) is None


REFUSED = [
    ('x = 1\ntask = """a\n\n[b]\n', 2, "task", 'not closed; end it with """'),
    ('task = "one\ntwo"\n', 1, "task", 'use """ for several lines'),
    ("crate = hello\n", 1, "crate", 'hello is not a TOML value; write "hello"'),
    (
        "\n[verify]\nclippy = True # on\n",
        3,
        "verify.clippy",
        "True is not a TOML value; write true",
    ),
    ('a = 1\ncrate = "C:\\query"\n', 2, "crate", r"write \\ for a backslash"),
    ("a = 1\n\nb = 2\na = 3\n", 4, "a", "a second time; keep this one or that on line 1"),
    ("[a]\nx = 1\n[b]\n[a]\ny = 1\n", 4, "a", "a second time; keep this one or that on line 1"),
    ("a.b = 1\n[a]\nc = 1\n", 2, "a", "set it in one place only"),
    ("a = 1\n[a.b]\n", 2, "a.b", "set it in one place only"),
    ("a = [\n  1,\n  x,\n]\nb = 1\n", 3, "a", "unexpected character: 'x'"),
    ('a = [\n  "b",\n', 1, "a", "the [ is not closed; end it with ]"),
    ("a = [1, }\n", 1, "a", "unexpected }"),
    ("a = { b = 1", 1, "a", "the { is not closed"),
    ("\na =\nb = 1\n", 2, "a", "unexpected end of the value"),
    ("a = 1 b = 2\n", 1, "a", "unexpected character: 'b'"),
    ("write a parser\n", 1, "write", "expected = after the key, found a"),
    ("= 1\n", 1, None, "expected a key, found ="),
    ("a = größe\n", 1, "a", 'größe is not a TOML value; write "größe"'),
    ("[a]\n[b\n", 2, "b", "not closed by ]"),
    ("[[a]\n", 1, "a", "not closed by ]]"),
    ("a = 1\n# \x00\n", 2, None, "control character U+0000"),
    ("a = 1\rb = 2", 1, None, "control character U+000D"),
    ("a = " + "[" * 5000, 1, "a", "levels deep"),
    ("a = " + "1" * 5000, 1, "a", "invalid number"),
    ('"a\\qb" = 1\n', 1, '"a\\qb"', "invalid character 'q'"),
]


@pytest.mark.parametrize(("text", "line", "key", "said"), REFUSED)
def test_bad_syntax_is_reported_at_its_line_and_key(
    text: str, line: int, key: str | None, said: str
) -> None:
    with pytest.raises(InputError) as raised:
        parse_toml(text, PATH)
    assert (raised.value.line, raised.value.key) == (line, key)
    assert said in str(raised.value)
    place = f"a.toml:{line}: " if key is None else f"a.toml:{line}: {key}: "
    assert str(raised.value).startswith(place)


def test_a_missing_file_is_told_with_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "is_even.toml").touch()
    with pytest.raises(
        InputError, match=r"is_evn\.toml: does not exist; did you mean is_even.toml"
    ):
        read_toml(tmp_path / "is_evn.toml")
    with pytest.raises(InputError, match="does not exist; check the path"):
        read_toml(tmp_path / "no" / "where.toml")


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    pipe, loop, binary, huge = (tmp_path / name for name in ("pipe", "loop", "binary", "huge"))
    os.mkfifo(pipe)
    loop.symlink_to(loop)
    binary.write_bytes(b"a = 1\nb = '\xff'\n")
    huge.write_bytes(b"#" * (SIZE_LIMIT + 1))
    expected = {
        tmp_path: "is a directory",
        pipe: "is not a regular file",
        loop: "can't be read",
        binary / "x.toml": "can't be read",
        binary: r"is not UTF-8 text \(line 2\)",
        huge: "is larger than 256 KiB",
        tmp_path / ("x" * 300): "can't be read",
    }
    for path, said in expected.items():
        with pytest.raises(InputError, match=said) as raised:
            read_toml(path)
        assert raised.value.file == path


def test_keys_are_shown_as_they_are_written() -> None:
    assert shown(("context", "files", 1)) == "context.files[1]"
    assert shown(("dependencies", "a b", "version")) == 'dependencies."a b".version'
