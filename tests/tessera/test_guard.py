"""The stream guard on what small models really write, and on real code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera.guard import is_runaway

SOLUTIONS = sorted((Path(__file__).parents[2] / "fixtures/solutions").glob("*.rs"))


@pytest.mark.parametrize(
    "text",
    [
        "fn f() {\n" + "    let mut x = 1;\n" * 20,
        "fn f() {\n" + "".join(f"    let mut {c} = 1;\n" for c in "abcdefghijkl"),
        "fn f() {\n" + "".join(f"    v.push({n});\n" for n in range(40)),
        "let mut min" + "_value" * 40,
        "fn f() {\n" + "    if r.is_empty() {\n        r.push(i.to_i())\n    }\n" * 6,
        "a" * 400,
    ],
)
def test_what_repeats_itself_is_stopped(text: str) -> None:
    assert is_runaway(text)


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_no_moment_of_a_right_solution_is_taken_for_a_runaway(path: Path) -> None:
    text = path.read_text()
    assert not any(is_runaway(text[:end]) for end in range(0, len(text), 16))


def test_a_table_with_different_rows_is_no_runaway() -> None:
    table = "".join(f'    ("{name}", {len(name)}),\n' for name in ("alpha", "beta", "gamma") * 3)
    assert not is_runaway(table)


def test_blank_space_is_no_runaway() -> None:
    assert not is_runaway(" " * 500)
