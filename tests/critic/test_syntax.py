"""The tree: whether a source parses, its items, functions and modules."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from critic.syntax import (
    Place,
    Source,
    functions,
    has_statements,
    items,
    modules,
    parse,
    walk,
)

SOLUTIONS = sorted((Path(__file__).parents[2] / "fixtures" / "solutions").glob("*.rs"))


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_right_sources_parse(path: Path) -> None:
    syntax = parse(path.read_bytes())
    assert syntax.parses
    assert items(syntax)
    assert not has_statements(syntax)


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("fn f() {}", None),
        ("", None),
        ("fn f() {}\nfn g( {}\n", 12),
        ("fn f() { let x = 1 }", 18),
        ("Not Rust at all.", 0),
    ],
)
def test_the_first_error_is_placed(source: str, error: int | None) -> None:
    found = parse(source.encode()).first_error
    assert (found is None) == (error is None)
    if found is not None and error is not None:
        assert abs(found - error) <= 6


ITEMS = {
    "pub fn f(x: u8) -> u8 { x }": ("fn", "f", "pub", "pub fn f(x: u8) -> u8"),
    "pub(crate) async unsafe fn g<T>() where T: Copy {}": (
        "fn",
        "g",
        "pub(crate)",
        "pub(crate) async unsafe fn g<T>() where T: Copy",
    ),
    "struct S<T> { a: T }": ("struct", "S", "", "struct S<T> { a: T }"),
    "pub struct U(u8);": ("struct", "U", "pub", "pub struct U(u8);"),
    "enum E { A, B }": ("enum", "E", "", "enum E { A, B }"),
    "union N { a: u8 }": ("union", "N", "", "union N { a: u8 }"),
    "trait T: Clone { fn m(&self); }": ("trait", "T", "", "trait T: Clone"),
    "impl<T> Iterator for S<T> { type Item = u8; }": (
        "impl",
        "S",
        "",
        "impl<T> Iterator for S<T>",
    ),
    "pub const K: u8 = 1;": ("const", "K", "pub", "pub const K: u8"),
    "static Z: u8 = 1;": ("static", "Z", "", "static Z: u8"),
    "type A = u8;": ("type", "A", "", "type A = u8;"),
    "mod m;": ("mod", "m", "", "mod m;"),
    "pub mod n { fn f() {} }": ("mod", "n", "pub", "pub mod n"),
    "use a::b;": ("use", "", "", "use a::b;"),
    "macro_rules! mac { () => {} }": ("macro_rules", "mac", "", "macro_rules! mac { () => {} }"),
    "thread_local! { static X: u8 = 1; }": (
        "macro call",
        "thread_local",
        "",
        "thread_local! { static X: u8 = 1; }",
    ),
    'extern "C" { fn puts(); }': ("extern", "", "", 'extern "C"'),
    "fn r#try() {}": ("fn", "try", "", "fn r#try()"),
}


@pytest.mark.parametrize("source", ITEMS)
def test_an_item_has_kind_name_visibility_and_signature(source: str) -> None:
    (item,) = items(parse(source.encode()))
    assert (item.kind, item.name, item.visibility, item.signature) == ITEMS[source]
    assert (item.start, item.end) == (0, len(source))


def test_items_keep_their_attributes_and_documentation() -> None:
    source = (
        b"//! crate\n/// doc\n#[derive(Debug)]\n#[x]\nstruct A;\n// no doc\nstruct B;\n"
        b'/** doc */ fn c() {}\n//// no doc\nfn d() {}\n#[doc = "x"] fn e() {}\n'
    )
    found = [(item.name, item.attributes, item.documented) for item in items(parse(source))]
    assert found == [
        ("A", ("#[derive(Debug)]", "#[x]"), True),
        ("B", (), False),
        ("c", (), True),
        ("d", (), False),
        ("e", ('#[doc = "x"]',), True),
    ]


@pytest.mark.parametrize(
    ("source", "snippet"),
    [
        ("fn f() {}", False),
        ("#![a]\nuse b;\nm!{}\nm!();\n// c\n", False),
        ("let x = 1;", True),
        ("use a;\nf(1);", True),
        ("fn f() {}\nx", True),
    ],
)
def test_statements_tell_a_snippet_from_a_file(source: str, snippet: bool) -> None:
    assert has_statements(parse(source.encode())) is snippet


FUNCTIONS = b"""
#[inline]
/// doc
pub fn free(a: u8, (b, _c): (u8, u8), _: u8) -> Option<u8> { fn nested() {} None }
struct S { #[x] a: u8 }
impl S { fn own(&mut self, x: u8) {} }
impl Clone for S { fn clone(&self) -> S { S } }
trait T { fn without(&self); fn with(self: Box<Self>) -> () {} }
#[cfg(test)]
mod tests {
    use super::*;
    fn helper() {}
    #[test]
    #[ignore]
    fn a() {}
}
#[tokio::test] async fn t() {}
#[cfg(not(test))] fn shipped() {}
mod inner { impl super::S { pub(super) fn deep(&self) {} } }
m! { fn hidden() {} }
"""


def test_functions_know_where_they_stand() -> None:
    found = {f.name: f for f in functions(parse(FUNCTIONS))}
    assert {name: (f.place, f.owner) for name, f in found.items()} == {
        "free": (Place.FREE, ""),
        "nested": (Place.FREE, ""),
        "own": (Place.INHERENT, "S"),
        "clone": (Place.TRAIT_IMPL, "S"),
        "with": (Place.TRAIT, "T"),
        "helper": (Place.FREE, ""),
        "a": (Place.FREE, ""),
        "t": (Place.FREE, ""),
        "shipped": (Place.FREE, ""),
        "deep": (Place.INHERENT, "super::S"),
    }
    assert {name for name, f in found.items() if f.for_tests} == {"helper", "a", "t"}
    free = found["free"]
    assert (free.parameters, free.returns) == (("a", "b", "_c", "_"), "Option<u8>")
    assert (free.attributes, free.documented, free.visibility) == (("#[inline]",), True, "pub")
    assert FUNCTIONS[slice(*free.body)] == b" fn nested() {} None "
    assert (found["own"].receiver, found["own"].parameters) == ("&mut self", ("x",))
    assert found["own"].attributes == ()
    assert found["with"].returns == ""
    assert found["a"].around == ("#[cfg(test)]",)


def test_modules_carry_path_cfg_and_parents() -> None:
    source = (
        b'mod a;\n#[path = "../x.rs"]\n#[cfg(unix)]\npub mod b;\n'
        b"mod c { mod d; mod e { mod f; } }\nmod g;\n"
    )
    found = [(m.name, m.parents, m.inline, m.file, m.cfg) for m in modules(parse(source))]
    assert found == [
        ("a", (), False, None, ()),
        ("b", (), False, "../x.rs", ("#[cfg(unix)]",)),
        ("c", (), True, None, ()),
        ("d", ("c",), False, None, ()),
        ("e", ("c",), True, None, ()),
        ("f", ("c", "e"), False, None, ()),
        ("g", (), False, None, ()),
    ]


def test_a_source_counts_lines_from_one() -> None:
    source = Source(b"a\nb\n\nc")
    assert [source.line(at) for at in range(6)] == [1, 1, 2, 2, 3, 4]


@settings(deadline=None)
@given(st.text(alphabet="fn(){}[]<>'\"#!;:, ab\n/*=&|x1é"))
def test_any_text_is_read(text: str) -> None:
    source = Source(text.encode())
    spans = [(item.start, item.end) for item in items(source.syntax)]
    spans += [(function.start, function.end) for function in source.functions]
    assert all(0 <= start < end <= len(source.text) for start, end in spans)
    assert len(source.functions) <= text.count("fn")


@pytest.mark.parametrize(
    "source",
    [
        b"fn f() {" + b"(" * 50_000 + b"1" + b")" * 50_000 + b"}",
        b"fn f() {" + b"{" * 50_000 + b"}" * 50_000 + b"}",
        b"mod a {" * 2_000 + b"fn f() {}" + b"}" * 2_000,
        b"fn f() { vec![" + b"[" * 50_000 + b"]" * 50_000 + b"] }",
    ],
)
def test_depth_is_no_limit(source: bytes) -> None:
    syntax = parse(source)
    assert sum(1 for _ in walk(syntax.root)) > 6_000
    assert [f.name for f in functions(syntax)] == ["f"]
    assert len(modules(syntax)) == source.count(b"mod")


@pytest.mark.slow
def test_a_megabyte_is_read_in_seconds_and_garbage_is_given_up() -> None:
    one = SOLUTIONS[0].read_bytes()
    big = Source(one * (1_000_000 // len(one)))
    began = time.monotonic()
    assert big.syntax.parses
    assert len(big.functions) > 1000
    assert big.names
    assert time.monotonic() - began < 15
    began = time.monotonic()
    garbage = parse(b"fn f() {}" + b'r#"' * 300_000)
    assert not garbage.parses
    assert items(garbage) == ()
    assert time.monotonic() - began < 15
