"""Diagnostics: what the real compiler prints, read and rendered."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.diagnostics import (
    errors,
    from_message,
    from_messages,
    render,
    render_for_person,
)
from critic.review import Diagnostic, Span

MOVED = """\
pub fn lengths(names: Vec<String>) -> usize {
    let SECRET_MARK = names;
    names.len() + SECRET_MARK.len()
}
"""
MISMATCH = """\
pub fn count(items: &[u8]) -> u32 {
    let total: u32 = items.len();
    total
}
"""


def rustc_json(folder: Path, source: str) -> list[Mapping[str, Any]]:
    """What rustc says of a library, as JSON objects."""
    file = folder / "lib.rs"
    file.write_text(source, encoding="utf-8")
    argv = ["rustc", "--edition=2021", "--crate-type=lib", "--emit=metadata", "-o", "lib.rmeta"]
    run = subprocess.run(
        [*argv, "--error-format=json", "lib.rs"], cwd=folder, capture_output=True, text=True
    )
    return [json.loads(line) for line in run.stderr.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Diagnostic, ...]:
    return from_messages(rustc_json(tmp_path_factory.mktemp("moved"), MOVED))


@pytest.fixture(scope="module")
def mismatch(tmp_path_factory: pytest.TempPathFactory) -> tuple[Diagnostic, ...]:
    return from_messages(rustc_json(tmp_path_factory.mktemp("mismatch"), MISMATCH))


def test_a_diagnostic_keeps_code_places_labels_and_suggestions(
    mismatch: tuple[Diagnostic, ...],
) -> None:
    (error,) = errors(mismatch)
    assert (error.level, error.code, error.message) == ("error", "E0308", "mismatched types")
    primary = error.primary
    assert primary is not None
    assert (primary.file, primary.line, primary.column) == ("lib.rs", 2, 22)
    assert MISMATCH.encode()[primary.byte_start : primary.byte_end] == b"items.len()"
    assert primary.label == "expected `u32`, found `usize`"
    fixes = [s for child in error.children for s in child.spans if s.replacement]
    assert [(f.replacement, f.applicability) for f in fixes] == [
        (".try_into().unwrap()", "MachineApplicable")
    ]


def test_closing_remarks_of_rustc_are_no_diagnostics(moved: tuple[Diagnostic, ...]) -> None:
    assert [d.code for d in errors(moved)] == ["E0382"]
    assert not [d for d in moved if d.message.startswith(("aborting", "For more"))]


def test_what_two_targets_report_is_one_diagnostic(tmp_path: Path) -> None:
    raw = rustc_json(tmp_path, MISMATCH)[0]
    messages = [
        {
            "reason": "compiler-message",
            "package_id": "path+file:///home/user/app#0.1.0",
            "target": {"name": name},
            "message": raw,
        }
        for name in ("app", "app_test")
    ]
    artifact = {"reason": "compiler-artifact", "target": {"name": "app"}}
    (only,) = from_messages([artifact, *messages])
    assert (only.package, only.target) == ("path+file:///home/user/app#0.1.0", "app")


def test_errors_at_two_places_stay_two(tmp_path: Path) -> None:
    twice = MISMATCH + MISMATCH.replace("count", "again")
    assert len(errors(from_messages(rustc_json(tmp_path, twice)))) == 2


def test_a_span_inside_a_macro_expansion_says_so(tmp_path: Path) -> None:
    source = 'macro_rules! m { () => { let x: u8 = "a"; } }\npub fn f() { m!(); }\n'
    (error,) = errors(from_messages(rustc_json(tmp_path, source)))
    assert error.primary is not None and error.primary.from_macro


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"message": None},
        {"reason": "compiler-message"},
        {"reason": "compiler-message", "message": {"spans": [None, 3], "children": "x"}},
        {"message": {"code": {"code": None}, "spans": [{"line_start": "7"}]}, "target": 4},
    ],
)
def test_a_damaged_message_is_read_as_far_as_it_goes(message: Mapping[str, Any]) -> None:
    assert from_message(message).level == "error"


def test_a_prompt_holds_the_facts_and_none_of_the_candidates_lines(
    moved: tuple[Diagnostic, ...],
) -> None:
    text = render(errors(moved), limit_chars=4000)
    assert "error[E0382]: borrow of moved value: `names`" in text
    assert "at lib.rs:3:5: value borrowed here after move" in text
    assert "move occurs because `names` has type `Vec<String>`" in text
    assert "insert `.clone()`" in text
    assert "SECRET_MARK" not in text


def test_with_source_the_snippet_is_shown(moved: tuple[Diagnostic, ...]) -> None:
    text = render(errors(moved), limit_chars=4000, show_source=True)
    assert "let SECRET_MARK = names;" in text


def test_a_person_reads_what_rustc_printed(moved: tuple[Diagnostic, ...]) -> None:
    (error,) = errors(moved)
    assert render_for_person([error], limit_chars=9000) == error.rendered.strip("\n")


def test_the_most_telling_error_comes_first_and_the_rest_is_counted(tmp_path: Path) -> None:
    found = errors(from_messages(rustc_json(tmp_path, MOVED + MISMATCH)))
    assert {d.code for d in found} == {"E0308", "E0382"}
    for order in (found, found[::-1]):
        text = render(order, limit_chars=250)
        assert text.startswith("error[E0308]: mismatched types")
        assert text.endswith("(1 more not shown)")


def test_many_errors_fit_into_the_limit() -> None:
    span = Span("src/lib.rs", 1, 1, 0, 1, primary=True)
    many = [Diagnostic("error", f"number {n}", "E0308", (span,)) for n in range(100)]
    text = render(many, limit_chars=400)
    assert len(text) <= 400
    shown = text.count("error[E0308]")
    assert text.endswith(f"({100 - shown} more not shown)")


def test_a_long_or_many_lined_suggestion_is_not_quoted() -> None:
    def suggested(new: str) -> str:
        fix = Span("a.rs", 1, 1, 0, 4, primary=True, replacement=new)
        helped = Diagnostic("help", "try this", spans=(fix,))
        return render([Diagnostic("error", "no", children=(helped,))], limit_chars=9000)

    assert "write `abc`" in suggested("abc")
    assert "write" not in suggested("x" * 200)
    assert "write" not in suggested("a\nb")
    assert "remove 4 bytes" in suggested("")


SPANS = st.builds(
    Span,
    st.sampled_from(["src/a.rs", "/rustc/0abc/library/core/src/option.rs"]),
    st.integers(0, 99),
    st.integers(0, 99),
    st.integers(0, 99),
    st.integers(0, 99),
    primary=st.booleans(),
    label=st.none() | st.text(max_size=30),
    replacement=st.none() | st.text(max_size=30),
)
LEAVES = st.builds(Diagnostic, st.sampled_from(["note", "help"]), st.text(max_size=40))
DIAGNOSTICS = st.builds(
    Diagnostic,
    st.sampled_from(["error", "warning"]),
    st.text(max_size=60),
    st.sampled_from([None, "E0308", "E0432", "dead_code"]),
    st.lists(SPANS, max_size=3).map(tuple),
    st.lists(LEAVES, max_size=3).map(tuple),
    rendered=st.text(max_size=80),
)


@given(st.lists(DIAGNOSTICS, max_size=6), st.integers(0, 300), st.booleans())
def test_no_rendering_exceeds_its_limit(
    found: list[Diagnostic], limit: int, show_source: bool
) -> None:
    assert len(render(found, limit_chars=limit, show_source=show_source)) <= limit
    assert len(render_for_person(found, limit_chars=limit)) <= limit
