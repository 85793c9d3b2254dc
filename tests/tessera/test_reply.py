"""Replies in every dress give back the file; what holds no file is a typed error."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from critic.tokens import defined_names, tokens
from tessera.reply import FormatError, asked_items, extract

FIXTURES = Path(__file__).parents[2] / "fixtures"
SOLUTIONS = sorted((FIXTURES / "solutions").glob("*.rs"))
TASKS = sorted((FIXTURES / "tasks").glob("*.toml"))

IS_EVEN = "pub fn is_even(n: i64) -> bool {\n    n % 2 == 0\n}\n"
BROKEN = "pub fn is_even(n: i64) -> bool {\n    let x = ;\n    n % 2 == 0\n}\n"
USAGE = 'use crate::is_even;\n\nfn main() {\n    println!("{}", is_even(3));\n}\n'
# Fences inside of literals and comments, tags inside of strings.
NASTY = [
    'fn text() -> &\'static str {\n    r#"\n```\nfn x() {}\n```\n"#\n}\n\n' + IS_EVEN,
    "/*\n```\nlet a = 1;\n```\n*/\n" + IS_EVEN,
    "//! ```\n//! assert!(is_even(2));\n//! ```\n\n/// ```\n/// x();\n/// ```\n" + IS_EVEN,
    'pub const TAG: &str = "</think>";\n\n' + IS_EVEN,
    'pub const TAG: &str = r"<think>a</think>";\n\n' + IS_EVEN,
    'pub const TEXT: &str = "\n~~~\n```rust\n";\npub const Q: char = \'"\';\n\n' + IS_EVEN,
    "#![forbid(unsafe_code)]\n// src/is_even.rs\n\nuse std::fmt;\n\n" + IS_EVEN,
    "mod helper;\npub use helper::Ünïcode;\nthread_local! {\n    static N: u8 = 1;\n}\n\n"
    + IS_EVEN,
]
FILES = [IS_EVEN, *NASTY, *(path.read_text("utf-8") for path in SOLUTIONS)]


def names(source: str) -> tuple[str, ...]:
    """What a file defines outside of literals, as a task might ask for it."""
    return tuple(sorted(defined_names(tokens(source.encode()))))


# --- Any dress ---------------------------------------------------------------------------------

PROSE = [
    "",
    "Sure! Here's the file you asked for.\n\n",
    'It isn\'t hard: "fn main() {}" calls it, and the `use` line imports it.\n\n## Solution\n\n',
    "The function\nfn main() is where programs begin.\nuse it well.\n\n",
    "1. Sort; then\n2. loop {\n\n",
]
THOUGHTS = [
    "",
    "<think>\nA draft:\n```rust\npub fn is_even(n: i64) -> bool { true }\n```\n</think>\n\n",
    "I'd say:\n```\nfn draft( {\n\"\n```\nbut no.\n</think>\n",
    "<think></think>",
    "[THINK]Use a map?[/THINK]",
]
FENCES = [
    ("```rust", "```"),
    ("```rs", "```"),
    ("```", "```"),
    ("```Rust", "```"),
    ("```rust,no_run", "```"),
    ('```rust title="src/x.rs"', "```"),
    ("```src/x.rs", "```"),
    ("````rust", "````"),
    ("~~~rust", "~~~"),
    ("~~~", "~~~~"),
    ("```rust", "````"),
    ("```rust\nsrc/x.rs", "```"),
    ("```\n**src/x.rs**", "```"),
    ("```\nrust", "```"),
    ("```markdown\n# File\n```rust", "```\n```"),
]
OTHERS = [
    "",
    '```toml\n[dependencies]\nfnv = "1"\n```\n',
    "```sh\ncargo test\n```\n",
    "Output:\n```\n$ cargo run\ntrue\n```\n",
    "```text\nfn is not a word\n```\n",
    f"Usage:\n\n```rust\n{USAGE}```\n",
    "```\nlet x = 3;\nassert!(x == 3);\n```\n",
]


@st.composite
def dressed(draw: st.DrawFn) -> tuple[str, str]:
    """(a file, a reply that holds it)."""
    source = draw(st.sampled_from(FILES))
    opening, closing = draw(st.sampled_from(FENCES))
    code = f"{opening}\n{source}{closing}\n"
    if draw(st.booleans()) and "\n#" not in source and '"\n' not in source:
        code = "".join(f"   {line}" for line in code.splitlines(keepends=True))
    parts = [
        draw(st.sampled_from(THOUGHTS)),
        draw(st.sampled_from(PROSE)),
        draw(st.sampled_from(OTHERS)),
        code,
        draw(st.sampled_from(OTHERS)),
        draw(st.sampled_from(PROSE)),
    ]
    reply = "".join(parts)
    if draw(st.booleans()):
        reply = reply.replace("\n", "\r\n")
    return source, draw(st.sampled_from(["", "\ufeff", "\n\n"])) + reply


@settings(max_examples=300, deadline=None)
@given(dressed())
def test_a_file_comes_back_from_any_dress(case: tuple[str, str]) -> None:
    source, reply = case
    assert extract(reply, wanted=names(source), target="src/x.rs").source == source


@pytest.mark.parametrize("source", [file for file in FILES if "\n```" not in file])
@pytest.mark.parametrize("before", PROSE[:4])
@pytest.mark.parametrize("after", ["", '\nThat\'s it: no "panic", done.\n'])
def test_bare_code_between_prose_comes_back(source: str, before: str, after: str) -> None:
    assert extract(before + source + after, wanted=names(source)).source == source


@pytest.mark.parametrize("source", FILES)
def test_an_unclosed_fence_reaches_to_the_end(source: str) -> None:
    assert extract(f"Here:\n```rust\n{source}", wanted=names(source)).source == source


@pytest.mark.parametrize("source", FILES)
def test_a_completion_ends_at_the_fence_it_did_not_open(source: str) -> None:
    more = f"```\n\nRequest: write main.\n```rust\n{USAGE}```\n"
    assert extract(source + more, wanted=names(source)).source == source
    assert extract(source, wanted=names(source)).source == source


# --- Choosing ----------------------------------------------------------------------------------


def fenced(*sources: str, between: str = "\n") -> str:
    return between.join(f"```rust\n{source}```\n" for source in sources)


STRUCT = "pub struct Stack {\n    items: Vec<u8>,\n}\n"
IMPL = "impl Stack {\n    pub fn push(&mut self, b: u8) {\n        self.items.push(b);\n    }\n}\n"
OTHER_VERSION = IS_EVEN.replace("n % 2 == 0", "n & 1 == 0")
TESTS = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn is_even_test() {}\n}\n"

CHOICES = {
    "of two versions the last": (fenced(IS_EVEN, OTHER_VERSION), ("is_even",), OTHER_VERSION),
    "the file, not its use": (fenced(IS_EVEN, USAGE), (), IS_EVEN),
    "the file, not its tests": (fenced(TESTS, IS_EVEN), (), IS_EVEN),
    "the version that parses": (fenced(IS_EVEN, BROKEN), ("is_even",), IS_EVEN),
    "a broken file over a clean example": (fenced(BROKEN, USAGE), ("is_even",), BROKEN),
    "what was asked for": (fenced(IS_EVEN, STRUCT + IMPL), ("is_even",), IS_EVEN),
    "the whole over a quoted part": (
        fenced(STRUCT + IMPL + IS_EVEN, IS_EVEN),
        ("is_even",),
        STRUCT + IMPL + IS_EVEN,
    ),
    "two halves joined": (fenced(STRUCT, IMPL), ("Stack", "push"), STRUCT + "\n" + IMPL),
    "a file cut in the middle of an item joined": (
        fenced("mod a {\n    fn b() {}\n", "    fn c() {}\n}\n"),
        ("b", "c"),
        "mod a {\n    fn b() {}\n\n    fn c() {}\n}\n",
    ),
    "the block named for the target": (
        f"src/lib.rs:\n```rust\npub mod x;\n```\n\n`src/x.rs`:\n```rust\n{IS_EVEN}```\n",
        (),
        IS_EVEN,
    ),
    "the block whose comment names the target": (
        fenced("// src/lib.rs\npub mod x;\npub mod y;\npub mod z;\n", "// src/x.rs\n" + IS_EVEN),
        (),
        "// src/x.rs\n" + IS_EVEN,
    ),
    "a fence glued to the last brace": (f"```rust\n{IS_EVEN[:-1]}```\nDone.\n", (), IS_EVEN),
    "Rust that is called text": (f"```text\n{IS_EVEN}```\n", ("is_even",), IS_EVEN),
    "Rust that is called C": (f"```c\n{IS_EVEN}```\n", ("is_even",), IS_EVEN),
    "an answer within unclosed reasoning": (f"<think>\n{fenced(IS_EVEN)}", ("is_even",), IS_EVEN),
    "the answer, not a draft": (
        f"<think>{fenced(OTHER_VERSION)}</think>{fenced(IS_EVEN)}",
        ("is_even",),
        IS_EVEN,
    ),
    "a missing quote does not swallow the next block": (
        fenced('fn a() {\n    println!("x);\n}\n', IS_EVEN),
        ("is_even",),
        IS_EVEN,
    ),
    "a fence opened twice": (f"```\n```rust\n{IS_EVEN}```\n", (), IS_EVEN),
    "broken code as it is": (fenced(BROKEN), ("is_even",), BROKEN),
    "broken bare code as it is": (BROKEN, ("is_even",), BROKEN),
    "no newline at the end": (f"```rust\n{IS_EVEN.rstrip()}", (), IS_EVEN),
}


@pytest.mark.parametrize("name", CHOICES)
def test_the_right_piece_is_taken(name: str) -> None:
    reply, wanted, expected = CHOICES[name]
    assert extract(reply, wanted=wanted, target="src/x.rs").source == expected


def test_a_program_may_have_a_main() -> None:
    program = 'fn main() {\n    println!("hi");\n}\n'
    reply = fenced(program, "use std::io;\npub fn helper() {}\n")
    assert extract(reply, target="src/bin/hi.rs").source == program
    assert extract(fenced(program), wanted=("main",), target="src/hi.rs").source == program


def test_notes_say_what_was_passed_over() -> None:
    assert extract(fenced(IS_EVEN), wanted=("is_even",)).notes == ()
    notes = extract(fenced(BROKEN, USAGE, STRUCT), wanted=("is_even", "lost")).notes
    assert notes == ("took one of 2 pieces of Rust", "does not parse", "does not define lost")


# --- No file -----------------------------------------------------------------------------------

FAILURES = {
    "empty": ["", " \r\n\t", "\ufeff"],
    "only_thinking": ["<think>hm", "<think>\nhm\n</think>\n", f"<think>{fenced(BROKEN)}"],
    "prose_only": [
        "I can't do that.",
        "The function\nfn main() is where programs begin.\nIt is called by the runtime.\n",
        "use it as follows: call is_even(3); then print.\n",
        "<think>" + fenced(IS_EVEN) + "</think>\nDone, see above.",
    ],
    "not_rust": [
        "```python\ndef is_even(n):\n    return n % 2 == 0\n```\n",
        "```diff\n+pub fn is_even(n: i64) -> bool {\n```\n",
        "```c\nstruct A {\n    int x;\n};\n```\n",
        "```toml\n[package]\nname = 'x'\n```\n```sh\ncargo add x\n```\n",
    ],
    "no_code": [
        "```rust\n```\n",
        "```rust\n// your code here\n```\n",
        "```\nlet x = is_even(3);\n```\n",
        "```rust\nThe fn is simple: it returns\nwhat you want. Here,\nfn main() is needed\n```\n",
        "```rust\nfn f() {}\n" + "The quick brown fox isn't code. " * 40 + "\n```\n",
    ],
    "several_files": [
        f"src/a.rs:\n```rust\n{STRUCT}```\nsrc/b.rs:\n```rust\n{IS_EVEN}```\n",
        fenced(STRUCT + "fn f(\n", IS_EVEN),
    ],
    "unclosed_and_broken": [
        "```rust\npub fn is_even(n: i64) -> bool {\n    n % 2 ==",
        "Here it is:\n```rust\n",
        '```rust\nfn f() {\n    let s = "abc\n',
    ],
}


@pytest.mark.parametrize(("kind", "reply"), [(k, r) for k, rs in FAILURES.items() for r in rs])
def test_a_reply_without_a_file_is_a_typed_error(kind: str, reply: str) -> None:
    with pytest.raises(FormatError) as error:
        extract(reply, wanted=("is_even", "Stack"), target="src/x.rs")
    assert error.value.kind == kind
    assert str(error.value) == error.value.message


def test_an_example_alone_is_not_the_file() -> None:
    with pytest.raises(FormatError):
        extract(fenced(USAGE), wanted=("is_even",), target="src/x.rs")


# --- Any text ----------------------------------------------------------------------------------

WORDS = (
    r"""``` ```rust ~~~ <think> </think> fn f() { } " ' r#" /* */ // use a::b; #[x] 1. ` \ é x.rs"""
)
SCRAPS = st.sampled_from([*WORDS.split(" "), "\n", "\r\n"])


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(), st.lists(SCRAPS, max_size=40).map(" ".join)))
def test_no_text_crashes_it_and_every_source_is_normalised(reply: str) -> None:
    try:
        source = extract(reply, wanted=("f",), target="src/x.rs").source
    except FormatError as error:
        assert error.kind
    else:
        assert source == source.rstrip() + "\n"
        assert source.strip()
        assert "\r\n" not in source
    assert len(set(asked_items(reply))) == len(asked_items(reply))


def test_a_lone_surrogate_is_no_crash() -> None:
    assert "?" in extract(f"```rust\n// \ud800\n{IS_EVEN}```").source


UNITS = [
    "```\n",
    'fn f() { "x }\n```rust\n',
    '"" ',
    "` * ",
    "fn f() {\n",
    "The quick fox isn't lazy. ",
]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_a_reply_of_a_megabyte_is_read_in_bounded_time(unit: str) -> None:
    size = 1 << 20
    began = time.monotonic()
    for reply in (
        unit * (size // len(unit)),
        f"```rust\nfn f() {{}}\n{unit * (size // len(unit))}\n```",
    ):
        try:
            extract(reply, wanted=("f",))
        except FormatError:
            continue
    assert time.monotonic() - began < 120


# --- What a task asks for ----------------------------------------------------------------------

ASKED = {
    "Write `pub fn a(x: u8) -> u8` and `pub struct B<T>` with `pub enum C { D }`.": ("a", "B", "C"),
    "Add the trait `pub trait T: Clone` and ``const LIMIT: usize = 3``.": ("T", "LIMIT"),
    "Implement `macro_rules! twice` and `type Alias = u8`.": ("twice", "Alias"),
    "Its methods are `new() -> Self`, `put(&mut self, k: K)` and `len(self) -> usize`.": (
        "new",
        "put",
        "len",
    ),
    "For `T: Clone` it has `copy_of(&self) -> Vec<T>`.": ("copy_of",),
    "`fn a()` returns 1. `fn b()` returns 2; `fn c()` nothing.": ("a", "b", "c"),
    "- `fn a()`: one\n- `fn b()`: two": ("a", "b"),
    "1. `fn a()`\n2. `pub(crate) async unsafe fn b()`": ("a", "b"),
    "Write `#[derive(Debug)] pub struct S`.": ("S",),
    "Write `pub fn at<'a>(\n    x: &'a str) -> &'a str`.": ("at",),
    # What exists, is called, or is only an example isn't asked for.
    "The library crate `tools` has `pub struct Counts` with public fields.": (),
    "Write it with the existing `fn helper(x: u8)`.": (),
    "Write a parser that uses `fn next(&mut self)`, and calls `fn peek(&self)`.": (),
    "Write `fn f()`, so that `f(3) -> 4` and `f() -> None`; not `fn g()`.": ("f",),
    "It must be generic over `T: Ord` and use `std::fs::read`.": (),
    "Replace `fn old()` by a loop.": (),
    "Money is `money::Money` of the crate: a type with `checked_add(self, Money) -> Money`.": (),
    "Write the loop:\n```rust\nfn example() {}\n```\n": (),
    "": (),
}


@pytest.mark.parametrize("task", ASKED)
def test_asked_items_are_those_the_task_plainly_wants(task: str) -> None:
    assert asked_items(task) == ASKED[task]


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.stem)
def test_what_a_real_task_asks_for_is_in_its_solution(path: Path) -> None:
    task = tomllib.loads(path.read_text("utf-8"))["task"]
    solution = (FIXTURES / "solutions" / f"{path.stem}.rs").read_bytes()
    asked = asked_items(task)
    assert asked
    assert set(asked) <= defined_names(tokens(solution))
