"""The exchange form of a claim: strict, and lossless."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.review import Axes, Verdict
from tessera.anvil.claims import FIELDS, as_json, as_line, parse, parse_text
from tessera.anvil.errors import ClaimError
from tessera.records import Claim, SeatName

LEAST = {"crate": "/c", "target": "src/a.rs", "task": "a", "seat": "local", "verdict": "FAIL"}


def test_the_least_claim() -> None:
    assert parse(LEAST) == Claim("/c", "src/a.rs", "a", SeatName.LOCAL, Verdict.FAIL)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seat": None}, "'seat' is missing"),
        ({"colour": "red"}, "unknown field 'colour'"),
        ({"seat": "human"}, "one of compiler, local, frontier, not 'human'"),
        ({"verdict": "pass"}, "one of PASS, FAIL, BLOCKED, not 'pass'"),
        ({"verdict": ["PASS"]}, "'verdict' must be one of"),
        ({"crate": ""}, "'crate' is empty"),
        ({"task": 3}, "'task' must be a text, not int"),
        ({"model": "a\0b"}, "'model' contains a NUL"),
        ({"error_pattern": "\ud800"}, "'error_pattern' contains half of a surrogate pair"),
        ({"root_cause": "x" * 70_000}, "'root_cause' is longer than"),
        ({"attempt": 0}, "'attempt' must be at least 1"),
        ({"attempt": True}, "'attempt' must be a whole number"),
        ({"attempt": 1.5}, "'attempt' must be a whole number"),
        ({"tokens_in": -1}, "'tokens_in' must be at least 0"),
        ({"tokens_out": 10**30}, "'tokens_out' must be"),
        ({"cost_usd": "1"}, "'cost_usd' must be a number"),
        ({"cost_usd": float("inf")}, "'cost_usd' must be at least 0 and finite"),
        ({"seconds": [1]}, "'seconds' must be an object"),
        ({"seconds": {"check": "1"}}, "'seconds.check' must be a number"),
        ({"axes": {"safety": 1}}, "'axes' needs 'correctness'"),
        ({"axes": {"correctness": 2}}, "'axes.correctness' must be a number from 0 to 1"),
        ({"axes": {"correctness": 1, "beauty": 1}}, "unknown axis 'beauty'"),
        ({"at": "yesterday"}, "'at' must be a time"),
        ({"candidate": 1}, "'candidate' must be a text"),
    ],
)
def test_what_is_refused_and_with_which_words(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ClaimError) as error:
        parse({**LEAST, **change})
    assert words in str(error.value)


@pytest.mark.parametrize("data", [None, [], "claim", 3])
def test_only_an_object_is_a_claim(data: object) -> None:
    with pytest.raises(ClaimError):
        parse(data)


def test_one_object_over_several_lines() -> None:
    assert parse_text(json.dumps(LEAST, indent=2)) == [parse(LEAST)]


def test_json_lines_with_empty_ones() -> None:
    line = json.dumps(LEAST)
    assert parse_text(f"\n{line}\n\n{line}\n") == [parse(LEAST)] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no claim"),
        ("{", "line 1: not JSON"),
        (json.dumps(LEAST) + "\n{}", "line 2: field 'crate' is missing"),
        (json.dumps(LEAST) + "\nNaN", "line 2: NaN is not a number"),
    ],
)
def test_a_bad_line_is_named(text: str, words: str) -> None:
    with pytest.raises(ClaimError) as error:
        parse_text(text)
    assert words in str(error.value)


shorts = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
# A high and a low half side by side are one character in JSON.
PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
texts = st.none() | st.text(st.characters()).filter(lambda text: not PAIR.search(text))
counts = st.none() | st.integers(1, 2**53)
numbers = st.floats(0, 1e9)
scores = st.floats(0, 1)
claims = st.builds(
    Claim,
    crate=names,
    target=names,
    task=names,
    seat=st.sampled_from(SeatName),
    verdict=st.sampled_from(Verdict),
    **dict.fromkeys(("model", "dispatch", "arm", "error_pattern", "signature"), shorts),
    **dict.fromkeys(("attempt", "tokens_in", "tokens_out"), counts),
    cost_usd=st.none() | numbers,
    seconds=st.none() | st.dictionaries(names, numbers, max_size=3),
    axes=st.none() | st.builds(Axes, scores, scores, scores, scores),
    diff=texts,
    candidate=texts,
    at=st.none() | st.datetimes().map(lambda time: time.isoformat()),
)


@given(claims)
def test_a_claim_survives_its_json(claim: Claim) -> None:
    assert set(as_json(claim)) <= set(FIELDS)
    assert parse_text(as_line(claim)) == [claim]
