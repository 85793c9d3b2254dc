"""The lexer and what is read off the tokens alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.syntax import parse, walk
from critic.tokens import (
    Kind,
    attributes,
    defined_names,
    is_whole,
    lex,
    macro_calls,
    paths,
    tokens,
    uses,
)

SOLUTIONS = sorted((Path(__file__).parents[2] / "fixtures" / "solutions").glob("*.rs"))

LEXED = {
    "a b": ["a", "b"],
    "// x\na": ["a"],
    "/* a /* b */ c */d": ["d"],
    "/** doc */ a /// doc": ["a"],
    '"a\\"b" c': ['"a\\"b"', "c"],
    '"a\\\\" c': ['"a\\\\"', "c"],
    'r"\\" c': ['r"\\"', "c"],
    'r#"a"b"# c': ['r#"a"b"#', "c"],
    'br##"a"#b"## c': ['br##"a"#b"##', "c"],
    'b"x" c"y" cr"z"': ['b"x"', 'c"y"', 'cr"z"'],
    "r#fn x": ["r#fn", "x"],
    "'a' 'b": ["'a'", "'b"],
    "<'a,'b>": ["<", "'a", ",", "'b", ">"],
    "'\"' '\\'' '\\\\' b'x'": ["'\"'", "'\\''", "'\\\\'", "b'x'"],
    "'\\u{1F600}' 'é' '\\x7f'": ["'\\u{1F600}'", "'é'", "'\\x7f'"],
    'it\'s "x"': ["it", "'s", '"x"'],
    "0..10 1.5e3 0xff_u8": ["0", "..", "10", "1.5e3", "0xff_u8"],
    "a::b->c=>d!=e": ["a", "::", "b", "->", "c", "=>", "d", "!=", "e"],
    "naïve_ñ": ["naïve_ñ"],
    "#!/usr/bin/env run\nfn": ["fn"],
    "#![x]": ["#", "!", "[", "x", "]"],
    '"never ends': ['"never ends'],
    "/* never ends": ["/* never ends"],
}


@pytest.mark.parametrize("source", LEXED)
def test_tokens_are_those_of_the_reference(source: str) -> None:
    assert [token.text for token in tokens(source.encode())] == LEXED[source]


@pytest.mark.parametrize(
    ("source", "whole"),
    [
        ("fn f() { [1] }", True),
        ("fn f() { [1 }", False),
        ("fn f() { ')' }", True),
        ('fn f() { "', False),
        ("}", False),
        ("(]", False),
        ("/*", False),
        ("", True),
    ],
)
def test_a_source_is_whole_when_brackets_and_literals_end(source: str, whole: bool) -> None:
    assert is_whole(tokens(source.encode())) is whole


@given(st.text(alphabet="ab'\"\\/*#r!{}()\n é0"))
def test_tokens_cover_any_text_in_order(text: str) -> None:
    source = text.encode()
    end = 0
    for token in lex(source):
        assert token.start >= end
        assert token.end > token.start
        assert source[token.start : token.end].decode("utf-8", "replace") == token.text
        end = token.end


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_literals_are_where_tree_sitter_has_them(path: Path) -> None:
    source = path.read_bytes()
    literals = ("string_literal", "raw_string_literal", "char_literal")
    tree = {(n.start_byte, n.end_byte) for n in walk(parse(source).root) if n.type in literals}
    ours = {(t.start, t.end) for t in tokens(source) if t.kind in (Kind.STRING, Kind.CHAR)}
    assert ours == tree


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("todo!()", ["todo"]),
        ("std::todo! {}", ["std::todo"]),
        ("vec![f(todo!(1)), 2]", ["vec", "todo"]),
        ('"todo!()" // todo!()', []),
        ("macro_rules! m { () => { todo!() } }", ["todo"]),
        ("a != (b); return !(x); if !(y) {}", []),
        ("r#try!(x)", ["try"]),
        ("m!", []),
        ("m!(", []),
    ],
)
def test_macro_calls_are_found_at_any_depth(source: str, names: list[str]) -> None:
    calls = macro_calls(tokens(source.encode()))
    assert ["::".join(call.segments) for call in calls] == names


USES = {
    "use a;": ["a=a"],
    "use a::b::c;": ["c=a::b::c"],
    "use ::a::b as d;": ["d=a::b"],
    "use a::{b, c::{self, d as e}, f::*,};": ["b=a::b", "c=a::c", "e=a::c::d", "*=a::f::*"],
    "use {a, b::c};": ["a=a", "c=b::c"],
    "use a::{self};": ["a=a"],
    "use a::T as _;": ["_=a::T"],
    "use a::r#fn;": ["fn=a::fn"],
    "fn f() { use a::b; }": ["b=a::b"],
    "m! { use a::b; }": ["b=a::b"],
    "extern crate std as s;": ["s=std"],
    "extern crate core;": ["core=core"],
    "fn f() -> impl Sized + use<'a> {}": [],
    '"use a::b;" // use c;': [],
    "use a::{b": [],
}


@pytest.mark.parametrize("source", USES)
def test_imports_are_taken_apart(source: str) -> None:
    found = uses(tokens(source.encode()))
    assert [f"{use.name}={'::'.join(use.segments)}" for use in found] == USES[source]


def test_public_imports_are_told() -> None:
    code = tokens(b"pub use a::b; pub(crate) use c; use d;")
    assert [use.public for use in uses(code)] == [True, True, False]


def test_paths_have_no_generic_arguments() -> None:
    code = tokens(b"let x: a::B<c::D> = a :: /* x */ b::<u8>::r#e();")
    found = ["::".join(path.segments) for path in paths(code)]
    assert found == ["let", "x", "a::B", "c::D", "a::b", "u8", "e"]


def test_attributes_are_found_in_macros_too() -> None:
    code = tokens(b'#![a] m! { #[b(c)] fn f() {} } "#[d]" # [e]')
    found = [(code[a.open + 1].text, a.inner) for a in attributes(code)]
    assert found == [("a", True), ("b", False), ("e", False)]


def test_names_are_defined_at_any_depth_even_in_broken_sources() -> None:
    source = b"""
        pub fn f<T>() { fn inner() {} } struct S; enum E { A } trait T { fn m(&self); const C: u8; }
        type Y = u8; static mut Z: u8 = 1; macro_rules! mac { () => { fn $x() {} } }
        pub use a::{b as c}; use d::hidden; const fn k() {} fn r#try() {} const _: () = ();
        "fn not()" /* fn nor */ fn broken( {
    """
    names = defined_names(tokens(source))
    assert {"f", "inner", "S", "E", "T", "m", "C", "Y", "mac", "c", "k", "try", "broken"} <= names
    assert not {"not", "nor", "hidden", "fn", "b", "A"} & names
