from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.seats.faults import blocked_by_status, chain, explain, retry_after, shorten

NOW = datetime(2026, 5, 4, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "message", "kind", "retryable"),
    [
        (400, "bad parameter", "model_bad_request", False),
        (400, "This model's maximum context length is 8192 tokens", "prompt_too_long", False),
        (413, "", "prompt_too_long", False),
        (400, "model 'x' not found", "model_unknown", False),
        (404, "", "model_unknown", False),
        (401, "", "model_refused_key", False),
        (402, "no credit left", "model_refused_key", False),
        (403, "", "model_refused_key", False),
        (408, "", "model_timeout", True),
        (429, "slow down", "model_rate_limited", True),
        (429, "insufficient_quota", "model_rate_limited", False),
        (500, "", "model_overloaded", True),
        (501, "", "model_bad_request", False),
        (503, "Loading model", "model_overloaded", True),
        (504, "", "model_timeout", True),
        (529, "", "model_overloaded", True),
        (301, "", "model_bad_request", False),
    ],
)
def test_a_status_says_what_is_wrong_and_whether_waiting_helps(
    status: int, message: str, kind: str, retryable: bool
) -> None:
    blocked = blocked_by_status(status, message)
    assert (blocked.kind, blocked.retryable) == (kind, retryable)
    assert str(status) in blocked.message and message in blocked.message


@given(st.integers(300, 599), st.text())
def test_every_status_means_something(status: int, message: str) -> None:
    assert blocked_by_status(status, message, retry_after=2).kind


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        (" 0.25 ", 0.25),
        ("-1", 0.0),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("tomorrow", None),
        ("Mon, 04 May 2026 12:00:30 GMT", 30.0),
        ("Mon, 04 May 2026 12:00:30", 30.0),
        ("Mon, 04 May 2026 14:00:30 +0200", 30.0),
        ("Mon, 04 May 2026 11:00:00 GMT", 0.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}, NOW) == seconds


@given(st.text())
def test_no_header_breaks_retry_after(value: str) -> None:
    wait = retry_after({"retry-after": value}, NOW)
    assert wait is None or wait >= 0


def test_a_fault_is_found_however_deep_it_lies() -> None:
    inner = blocked_by_status(429, "slow down", retry_after=4)
    try:
        try:
            raise inner
        except Exception as error:
            raise RuntimeError("wrapped") from error
    except RuntimeError as outer:
        outer.__context__ = outer.__cause__
        assert explain(outer) is inner
        assert next(iter(chain(outer))) is outer


def test_a_circle_of_causes_ends() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__context__, second.__cause__ = second, first
    assert list(chain(first)) == [first, second]


@given(st.text())
def test_a_message_is_one_short_line(text: str) -> None:
    assert "\n" not in shorten(text) and len(shorten(text)) <= 300
