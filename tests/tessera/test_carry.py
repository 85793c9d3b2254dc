"""The carried record: all attempts, bounded, without the candidate's own lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.review import Diagnostic, Evidence, Review, Span, Stage, Verdict
from tessera.carry import MARKER, RECORD_LIMIT, cut_around, filler, records
from tessera.records import Attempt, Carry, SeatName

WRONG_LINE = "let x: i32 = wrong_line_of_the_candidate();"


def failed(n: int, code: str = "E0308", message: str = "mismatched types") -> Attempt:
    span = Span("src/a.rs", 3, 9, 30, 40, primary=True, label="expected `i32`")
    shown = f"error[{code}]: {message}\n 3 | {WRONG_LINE}\n"
    diagnostic = Diagnostic("error", message, code, (span,), rendered=shown)
    review = Review(
        Verdict.FAIL,
        kind="code",
        signature=f"{code} {message}",
        stage=Stage.CHECK,
        diagnostics=(diagnostic,),
    )
    diff = f"@@ -0,0 +1,3 @@\n+// one\n+// two\n+{WRONG_LINE}\n"
    return Attempt(n, SeatName.LOCAL, review, source=WRONG_LINE, diff=diff)


def texts(attempts: list[Attempt], mode: Carry = Carry.DIAGNOSTICS) -> list[str]:
    return [record.text for record in records(attempts, mode)]


def test_every_failed_attempt_is_carried_oldest_first() -> None:
    found = texts([failed(1), failed(2, "E0425", "cannot find value")])
    assert [text.split(" (")[0] for text in found] == ["Attempt 1", "Attempt 2"]
    assert "E0308" in found[0]
    assert "E0425" in found[1]


def test_equal_failures_appear_once_with_their_count() -> None:
    (only,) = texts([failed(1), failed(2)])
    assert only.startswith("Attempts 1, 2 (local): FAIL × 2")


def test_attempts_that_were_blocked_are_not_failures() -> None:
    blocked = Attempt(2, SeatName.LOCAL, Review(Verdict.BLOCKED, "dns", retryable=True))
    assert len(texts([failed(1), blocked])) == 1


def test_a_format_error_is_not_called_a_compile_error() -> None:
    evidence = (Evidence("reply_format", "no Rust source in the reply"),)
    review = Review(Verdict.FAIL, kind="format", signature="format:no_code", evidence=evidence)
    (text,) = texts([Attempt(1, SeatName.LOCAL, review)])
    assert "no usable file in the reply" in text
    assert "compile" not in text


def test_by_default_the_models_own_lines_are_not_shown() -> None:
    assert WRONG_LINE not in "".join(texts([failed(1)]))


def test_diffs_show_the_patch_and_placebo_shows_neither() -> None:
    assert WRONG_LINE in "".join(texts([failed(1)], Carry.DIFFS))
    (placebo,) = texts([failed(1)], Carry.PLACEBO)
    (told,) = texts([failed(1)])
    assert "E0308" not in placebo
    assert len(placebo) == len(told)
    assert texts([failed(1)], Carry.NONE) == []


@pytest.mark.parametrize("mode", list(Carry))
@given(message=st.text(max_size=6000))
def test_no_record_is_longer_than_its_limit(mode: Carry, message: str) -> None:
    assert all(len(text) <= RECORD_LIMIT for text in texts([failed(1, message=message)], mode))


def test_a_long_patch_keeps_the_hunk_around_the_diagnosed_line() -> None:
    body = "".join(f"+// line {number}\n" for number in range(1, 400))
    patch = f"@@ -0,0 +1,399 @@\n{body}"
    short = cut_around(patch, (200,), 400)
    assert len(short) <= 400
    assert "// line 200\n" in short
    assert MARKER.strip() in short


@given(st.text(max_size=300), st.integers(0, 300))
def test_cutting_never_exceeds_and_never_touches_what_fits(text: str, limit: int) -> None:
    short = cut_around(text, (), limit)
    assert len(short) <= limit
    if len(text) <= limit:
        assert short == text


@given(st.integers(0, 1000))
def test_filler_has_the_length_asked_for(length: int) -> None:
    assert len(filler(length)) == length
