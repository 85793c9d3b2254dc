"""Edits combine and apply as rustfix does: all or nothing, in any order, bytes kept."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.edits import Edit, EditError, EditSet, apply, combine, compose, is_boundary

TEXTS = st.text(alphabet="aé€𝄞\n\r (){};", max_size=40)


def boundaries(source: bytes) -> list[int]:
    return [at for at in range(len(source) + 1) if is_boundary(source, at)]


@st.composite
def sources_with_edits(draw: st.DrawFn) -> tuple[bytes, list[Edit]]:
    """A source and edits that don't clash."""
    source = draw(TEXTS).encode()
    places = draw(st.lists(st.sampled_from(boundaries(source)), max_size=8))
    cuts = sorted(set(places))
    edits = [
        Edit(start, end, draw(TEXTS))
        for start, end in pairwise(cuts)
        if draw(st.booleans()) and start < end
    ]
    return source, edits


@given(sources_with_edits(), st.randoms())
def test_the_order_of_edits_is_of_no_account(
    case: tuple[bytes, list[Edit]], random: st.DataObject
) -> None:
    source, edits = case
    shuffled = list(edits)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert apply(source, shuffled) == apply(source, edits)


@given(sources_with_edits())
def test_the_result_is_utf8_and_other_bytes_stay(case: tuple[bytes, list[Edit]]) -> None:
    source, edits = case
    result = apply(source, edits)
    result.decode()
    first = min((e.start for e in edits), default=len(source))
    last = max((e.end for e in edits), default=0)
    assert result.startswith(source[:first])
    assert result.endswith(source[max(last, first) :])


@given(sources_with_edits(), st.data())
def test_rounds_compose_to_edits_of_the_first_text(
    case: tuple[bytes, list[Edit]], data: st.DataObject
) -> None:
    source, first = case
    between = apply(source, first)
    cuts = sorted(set(data.draw(st.lists(st.sampled_from(boundaries(between)), max_size=6))))
    second = [Edit(a, b, data.draw(TEXTS)) for a, b in pairwise(cuts)]
    composed = compose(source, [first, second])
    assert apply(source, composed) == apply(between, second)


@given(st.binary(max_size=30), st.lists(st.tuples(st.integers(-3, 33), st.integers(-3, 33), TEXTS)))
def test_any_edit_applies_cleanly_or_is_refused(
    source: bytes, raw: list[tuple[int, int, str]]
) -> None:
    try:
        apply(source, [Edit(*each) for each in raw])
    except EditError:
        return


def test_edits_of_one_set_go_in_together() -> None:
    wrapped = EditSet((Edit(8, 8, "("), Edit(13, 13, ") as u32")))
    assert apply(b"let x = a + b;", wrapped.edits) == b"let x = (a + b) as u32;"


@pytest.mark.parametrize(
    "edits",
    [
        (Edit(0, 3, "x"), Edit(2, 4, "y")),
        (Edit(1, 1, "&"), Edit(1, 1, "*")),
        (Edit(0, 4, "x"), Edit(2, 2, "y")),
        (Edit(0, 9, "x"),),
        (Edit(3, 2, "x"),),
    ],
    ids=["overlap", "two insertions", "insertion inside", "beyond the end", "backwards"],
)
def test_what_cannot_be_applied_is_an_error(edits: tuple[Edit, ...]) -> None:
    with pytest.raises(EditError):
        apply(b"abcdef", edits)


def test_an_edit_inside_a_character_is_an_error() -> None:
    with pytest.raises(EditError):
        apply("é".encode(), [Edit(1, 1, "x")])


def test_the_same_edit_twice_is_made_once() -> None:
    assert apply(b"a", [Edit(0, 0, "&"), Edit(0, 0, "&", code="E0308")]) == b"&a"


def test_whole_lines_share_a_place() -> None:
    lines = [Edit(0, 0, "use b;\n"), Edit(0, 0, "use a;\n")]
    assert apply(b"fn f() {}", lines) == b"use a;\nuse b;\nfn f() {}"


def test_new_lines_take_the_line_end_of_the_file() -> None:
    assert apply(b"a\r\nb\r\n", [Edit(3, 3, "use x;\n")]) == b"a\r\nuse x;\r\nb\r\n"


def test_a_set_that_clashes_is_left_over_whole() -> None:
    first = EditSet((Edit(0, 1, "x"),))
    second = EditSet((Edit(0, 1, "y"), Edit(4, 5, "z")))
    assert combine([first, second]) == ((first,), (second,))


def test_the_author_of_a_composed_edit_is_the_first() -> None:
    rounds = [[Edit(0, 0, "&", code="E0308")], [Edit(1, 1, "mut ", code="E0596")]]
    assert compose(b"x", rounds) == (Edit(0, 0, "&mut ", code="E0308"),)
