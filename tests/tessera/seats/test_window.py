from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.records import Message, Prompt
from tessera.seats import SeatBlocked
from tessera.seats.window import SMALLEST_REPLY, estimate, fewest, room, was_cut

texts = st.lists(st.text(), min_size=1, max_size=4)


def prompt(*texts: str) -> Prompt:
    return Prompt(tuple(Message("user", text) for text in texts))


@given(texts)
def test_the_estimates_enclose_the_truth(parts: list[str]) -> None:
    assert 0 <= fewest(prompt(*parts)) < estimate(prompt(*parts))


@given(texts, st.text())
def test_a_longer_prompt_is_never_estimated_shorter(parts: list[str], more: str) -> None:
    assert estimate(prompt(*parts, more)) > estimate(prompt(*parts))


@given(st.integers(0, 10_000), st.integers(1, 5_000), st.integers(1, 10_000))
def test_what_is_granted_fits(tokens: int, wanted: int, window: int) -> None:
    try:
        granted = room(tokens, wanted, window)
    except SeatBlocked as blocked:
        assert blocked.kind == "prompt_too_long" and not blocked.retryable
        assert tokens + min(wanted, SMALLEST_REPLY) > window
    else:
        assert tokens + granted <= window
        assert min(wanted, SMALLEST_REPLY) <= granted <= wanted


def test_an_unknown_window_limits_nothing() -> None:
    assert room(1_000_000, 2048, None) == 2048


def test_a_run_of_blanks_may_be_one_token() -> None:
    assert fewest(prompt(" " * 4000 + "-" * 4000)) == 0


@pytest.mark.parametrize(
    ("counted", "reported", "cut"),
    [
        (1000, 1000, False),
        (1000, 950, False),
        (1000, 800, True),
        (1000, 0, False),
        (1000, None, False),
        (None, 2000, False),
        (None, 1100, False),
        (None, 200, True),
    ],
)
def test_far_fewer_tokens_than_sent_are_a_cut(
    counted: int | None, reported: int | None, cut: bool
) -> None:
    sent = prompt("let value = compute(3);\n" * 300)  # 7,200 bytes
    assert was_cut(sent, counted, reported) is cut
