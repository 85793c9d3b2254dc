"""The search keeps its bounds, keeps only progress, and never touches what it must not."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.edits import Applicability, apply
from critic.progress import Compilation, Progress, progress, score
from critic.repair import Repair, RepairLimits, repair
from critic.review import Diagnostic, Span
from critic.rustc import stand_alone
from critic.toolchain import find_toolchain

DATA = Path(__file__).parents[2] / "fixtures" / "repair" / "polyhumaneval"
PATIENT = RepairLimits(seconds=120)

Mend = Callable[..., Repair]


@pytest.fixture(scope="module")
def mend(tmp_path_factory: pytest.TempPathFactory) -> Mend:
    """Repair with the real rustc."""
    toolchain = find_toolchain(Path.cwd())
    scratch = tmp_path_factory.mktemp("repair")

    def work(
        source: bytes,
        limits: RepairLimits = PATIENT,
        verify: Callable[[bytes], bool] | None = None,
        protect: Callable[[bytes], tuple[tuple[int, int], ...]] | None = None,
    ) -> Repair:
        compiler = stand_alone(source, toolchain, scratch)
        found = repair(
            source, compiler, file=compiler.file, limits=limits, verify=verify, protect=protect
        )
        assert apply(source, found.edits) == found.source
        assert found.rustc_runs <= limits.rustc_runs
        return found

    return work


def test_a_file_that_compiles_is_left_as_it_is(mend: Mend) -> None:
    source = b"pub fn f() -> i32 { 1 }\r\n\t// \xc3\xa9\n"
    found = mend(source)
    assert (found.compiles, found.source, found.edits, found.rustc_runs) == (True, source, (), 1)


def test_what_only_tests_use_is_no_mistake(mend: Mend) -> None:
    asserts = "    assert_eq!(HashMap::<i32, i32>::new().len(), 0);\n" * 20
    source = f"#![deny(warnings)]\nuse std::collections::HashMap;\nfn main() {{\n{asserts}}}\n"
    found = mend(source.encode())
    assert (found.compiles, found.source) == (True, source.encode())


def test_one_mistake_takes_two_runs(mend: Mend) -> None:
    found = mend(b"pub fn f() -> i32 {\n    let x = 1;\n    x += 1;\n    x\n}\n")
    assert found.compiles
    assert (found.errors_before, found.errors_after, found.rustc_runs) == (1, 0, 2)
    (edit,) = found.edits
    assert (edit.replacement, edit.code) == ("mut ", "E0384")
    assert edit.applicability is Applicability.MACHINE_APPLICABLE
    assert found.by_code["E0384"].worked == 1


def test_mistakes_that_hide_others_are_mended_in_rounds(mend: Mend) -> None:
    source = b"""pub fn f(v: &Vec<i32>, i: i32) -> HashMap<i32, String> {
    let m = HashMap::new();
    if i in [1, 2] { m.insert(v[i], "a"); }
    m
}
"""
    found = mend(source)
    assert found.compiles, found.source.decode()
    assert b"[1, 2].contains(&i)" in found.source
    assert b"let mut m" in found.source


def test_an_error_without_an_edit_ends_the_search_at_once(mend: Mend) -> None:
    source = b"use regex::Regex;\npub fn f() { let x = 1; x = 2; }\n"
    found = mend(source)
    assert (found.compiles, found.source, found.rustc_runs) == (False, source, 1)
    assert found.errors_after == found.errors_before


def test_a_test_is_never_edited(mend: Mend) -> None:
    source = b"""fn two() -> i32 { 2 }
fn main() { let x: i64 = two(); assert_eq!(x, 2); }
"""
    assert mend(source).source == source


def test_a_protected_part_is_never_edited(mend: Mend) -> None:
    source = b"pub fn f() -> i32 {\n    let x = 1;\n    x += 1;\n    x\n}\n"
    assert not mend(source, protect=lambda text: ((0, len(text)),)).compiles


def test_a_macro_body_is_never_edited(mend: Mend) -> None:
    source = b"""macro_rules! grow { ($v:ident) => { let x = 1; x += 1; $v.push(x); } }
pub fn f(v: &mut Vec<i32>) { grow!(v); }
"""
    found = mend(source)
    assert found.source.split(b"\n")[0] == source.split(b"\n")[0]


def test_a_public_signature_stays(mend: Mend) -> None:
    source = b"pub fn f(v: &Vec<i32>) {\n    v.push(1);\n}\n"
    assert mend(source).source == source


def test_the_tests_have_the_last_word(mend: Mend) -> None:
    source = b"pub fn f(a: &str, b: &str) -> String {\n    a + b\n}\n"
    assert mend(source, verify=lambda text: True).verified is True
    refused = mend(source, verify=lambda text: False)
    assert refused.verified is False
    other = mend(source, verify=lambda text: b"format!" in text)
    assert other.verified is True
    assert b"format!" in other.source


def test_line_ends_tabs_and_characters_are_kept(mend: Mend) -> None:
    source = "// é €\r\npub fn f() -> i32 {\r\n\tlet x = 'é' as i32;\r\n\tx += 1;\r\n\tx\r\n}\r\n"
    found = mend(source.encode())
    assert found.source.decode() == source.replace("let x", "let mut x")
    imported = mend(b"pub fn f() -> HashMap<i32, i32> {\r\n    HashMap::new()\r\n}\r\n")
    assert imported.compiles
    assert imported.source.count(b"\n") == imported.source.count(b"\r\n")


def test_nothing_is_left_to_do_at_the_end(mend: Mend) -> None:
    found = mend(
        b"pub fn f(v: &[i32], i: i32) -> i32 {\n    let x = v[i];\n    x += 1;\n    x\n}\n"
    )
    assert found.compiles
    again = mend(found.source)
    assert (again.source, again.edits) == (found.source, ())


def test_a_search_ends_at_its_limits(mend: Mend) -> None:
    body = "".join(f"    let a{i} = 1; a{i} = {i};\n    q{i}();\n" for i in range(9))
    source = f"pub fn f() {{\n{body}}}\n".encode()
    assert mend(source, RepairLimits(rustc_runs=1)).rustc_runs == 1
    assert mend(source, RepairLimits(seconds=0.0)).rustc_runs == 1
    grown = mend(b"pub fn f() -> HashMap<i32, i32> { HashMap::new() }", RepairLimits(growth=3))
    assert not grown.compiles


def programs() -> list[bytes]:
    tasks = {}
    with gzip.open(DATA / "tasks.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            task = json.loads(line)
            tasks[task["task"]] = task["prelude"]
    with gzip.open(DATA / "candidates.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [(tasks[row["task"]] + row["candidate"]).encode() for row in rows]


@pytest.mark.slow
def test_broken_sources_end_within_the_limits(mend: Mend) -> None:
    chance = random.Random(5)
    for source in chance.sample(programs(), 15):
        cut = source[: chance.randrange(len(source))]
        noisy = bytearray(source)
        for _ in range(4):
            noisy[chance.randrange(len(noisy))] = chance.randrange(256)
        for broken in (cut, bytes(noisy)):
            mend(broken, RepairLimits(seconds=30))


@pytest.mark.slow
def test_real_programs_are_mended_without_taking_code_away(mend: Mend) -> None:
    found = [mend(source) for source in random.Random(6).sample(programs(), 25)]
    assert sum(one.compiles for one in found) >= 10


@st.composite
def diagnostics(draw: st.DrawFn) -> Diagnostic:
    def span(primary: bool, text: str | None) -> Span:
        start = draw(st.integers(-2, 40))
        end = start + draw(st.integers(-1, 10))
        kind = draw(st.sampled_from(["MachineApplicable", "MaybeIncorrect", "Unspecified"]))
        return Span("a.rs", 1, 1, start, end, primary, None, text, kind)

    pieces = st.sampled_from(["&", "*", ".clone()", "x", "use a;\n", "", "é"])
    help_ = Diagnostic("help", "try", spans=tuple(span(False, draw(pieces)) for _ in range(3)))
    code = draw(st.sampled_from(["E0308", "E0382", "E0425", "E0599", None]))
    return Diagnostic("error", "mismatched types", code, (span(True, None),), (help_,))


@given(
    st.text(alphabet="fn (){}&*é;\r\n.x", max_size=40),
    st.lists(st.lists(diagnostics(), min_size=1, max_size=4), min_size=1, max_size=6),
    st.integers(1, 8),
)
def test_whatever_rustc_says_the_bounds_hold(
    text: str, answers: list[list[Diagnostic]], runs: int
) -> None:
    asked: list[bytes] = []

    def compile(source: bytes) -> Compilation:
        asked.append(source)
        source.decode()
        return Compilation(False, tuple(answers[len(asked) % len(answers)]))

    source = text.encode()
    found = repair(source, compile, file="a.rs", limits=RepairLimits(runs, 10.0, 30))
    assert len(asked) == len(set(asked)) == found.rustc_runs <= runs
    assert len(found.source) <= len(source) + 30
    assert apply(source, found.edits) == found.source
    assert not found.compiles


def error(code: str | None, at: int = 0, message: str = "m") -> Diagnostic:
    return Diagnostic("error", message, code, (Span("a.rs", 1, 1, at, at + 1, primary=True),))


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ([error("E0382")] * 5, [error("E0308")]),
        ([error("E0308")], [error("E0308")] * 2),
        ([error("E0308")] * 9, [error("E0425")]),
        ([error("E0425")] * 9, [error(None)]),
        ([error(None, at=50)], [error(None, at=10)]),
        ([error("overflowing_literals")] * 2, [error("E0502")]),
    ],
    ids=["later stage", "fewer", "names known", "parses", "read further", "lints last"],
)
def test_progress_is_fewer_or_later_errors(
    better: list[Diagnostic], worse: list[Diagnostic]
) -> None:
    assert score(Compilation(False, tuple(better)), 100) < score(
        Compilation(False, tuple(worse)), 100
    )


def test_compiling_is_best_and_silence_is_worst() -> None:
    one = score(Compilation(False, (error("E0308"),)), 10)
    assert score(Compilation(True), 10) < one < score(Compilation(False), 10)


def test_a_missing_macro_is_a_missing_name() -> None:
    assert (
        progress(error(None, message="cannot find macro `float` in this scope")) is Progress.NAMES
    )
    assert progress(error(None, message="expected `;`")) is Progress.SYNTAX
    lifetime = error(None, message="lifetime may not live long enough")
    assert progress(lifetime) is Progress.BORROWS
