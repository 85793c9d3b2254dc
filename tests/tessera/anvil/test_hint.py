"""What the next prompt is told, to the letter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.review import Verdict
from tessera.anvil.hint import LIMIT, compose, words_of
from tessera.anvil.signal import calibration_signal
from tessera.anvil.tally import tally_up
from tessera.records import Claim, SeatName

LIFETIME = {"error_pattern": "e0106_missing_lifetime_specifier", "root_cause": "lifetime"}
MISMATCH = {"error_pattern": "e0308_type_mismatch", "root_cause": "type"}
OPERATOR = {"error_pattern": "e0369_binary_operator_missing", "root_cause": "trait"}


def claim(verdict: str, seat: str = "local", task: str = "mine", **rest: Any) -> Claim:
    return Claim("/c", "src/lib.rs", task, SeatName(seat), Verdict(verdict), **rest)


def hint(claims: Iterable[Claim], task: str | None = "mine") -> str | None:
    claims = tuple(claims)
    return compose(tally_up(claims), task, calibration_signal(claims, task))


def test_a_file_with_two_passes_and_three_failures() -> None:
    claims = [
        claim("FAIL", **LIFETIME),
        claim("FAIL", **MISMATCH),
        claim("FAIL", **LIFETIME),
        claim("PASS", task="other"),
        claim("PASS", task="other"),
    ]
    assert hint(claims) == (
        "This file has 5 prior attempts: 2 passed, 3 failed. Known failure patterns: "
        "E0106 (lifetime, 2 occurrences), E0308 (type mismatch, 1 occurrence)."
    )


def test_four_failures_of_one_pattern_then_a_pass() -> None:
    failed = [claim("FAIL", attempt=n, dispatch="first", **LIFETIME) for n in (1, 2, 3, 4)]
    assert hint([*failed, claim("PASS", attempt=1, dispatch="second")]) == (
        "This file has 5 prior attempts: 1 passed, 4 failed. Known failure patterns: "
        "E0106 (lifetime, 4 occurrences). This task previously passed after 1 attempt."
    )


def test_six_local_failures_and_a_frontier_pass() -> None:
    failed = [claim("FAIL", **OPERATOR)] * 6
    assert hint([*failed, claim("PASS", "frontier")]) == (
        "This file has 7 prior attempts: 1 passed, 6 failed. Known failure patterns: "
        "E0369 (trait, 6 occurrences). A frontier model solved this task after 6 local failures. "
        "Calibration: E0369 keeps defeating the local model here, with no local pass since."
    )


def test_two_tasks_that_fail_differently_on_one_file() -> None:
    claims = [claim("FAIL", task="theirs", **MISMATCH)] * 3 + [claim("FAIL", **LIFETIME)]
    assert hint(claims) == (
        "This file has 4 prior attempts: 0 passed, 4 failed. Known failure patterns: "
        "E0106 (lifetime, 1 occurrence), E0308 (type mismatch, 3 occurrences). "
        "Of these, this task has failed with E0106."
    )
    assert hint(claims, "new") == (
        "This file has 4 prior attempts: 0 passed, 4 failed. Known failure patterns: "
        "E0308 (type mismatch, 3 occurrences), E0106 (lifetime, 1 occurrence). "
        "All of these came from other tasks of this file."
    )


@pytest.mark.parametrize("claims", [[], [claim("BLOCKED", blocked_kind="dns")] * 3])
def test_there_is_no_hint_without_a_judged_attempt(claims: list[Claim]) -> None:
    assert hint(claims) is None


def test_blocked_claims_are_not_attempts() -> None:
    claims = [claim("BLOCKED", blocked_kind="dns"), claim("PASS", attempt=2, dispatch="d")]
    assert hint(claims) == (
        "This file has 1 prior attempt: 1 passed, 0 failed. "
        "This task previously passed after 2 attempts."
    )


def test_a_pass_whose_attempt_nobody_recorded_gets_no_number() -> None:
    assert hint([claim("PASS", dispatch="d")]) == (
        "This file has 1 prior attempt: 1 passed, 0 failed. This task previously passed."
    )


@pytest.mark.parametrize(
    ("pattern", "cause", "words"),
    [
        ("e0308_type_mismatch", "type", "type mismatch"),
        ("e0106_missing_lifetime_specifier", "lifetime", "lifetime"),
        ("e0382_use_of_moved_value", "borrow", "borrow"),
        ("e0382_use_of_moved_value", None, "use of moved value"),
        ("e0382", None, ""),
        ("test_failed", "behaviour", "behaviour"),
    ],
)
def test_a_pattern_is_named_by_its_cause_or_by_more(
    pattern: str, cause: str | None, words: str
) -> None:
    assert words_of(pattern, cause) == words


patterns = st.one_of(
    st.sampled_from(["e0106_missing_lifetime_specifier", "e0308_type_mismatch", "tests_failed"]),
    st.text(max_size=200),
    st.integers(100, 999).map("e0{}_of_some_kind_with_a_long_name_that_goes_on".format),
)
any_claims = st.lists(
    st.builds(
        claim,
        verdict=st.sampled_from([verdict.value for verdict in Verdict]),
        seat=st.sampled_from([seat.value for seat in SeatName]),
        task=st.sampled_from(["mine", "other"]),
        error_pattern=st.none() | patterns,
        root_cause=st.none() | st.text(max_size=100),
        blocked_kind=st.none() | st.just("dns"),
        attempt=st.none() | st.integers(1, 9),
    ),
    max_size=40,
)


@given(any_claims)
def test_a_hint_is_bounded_plain_and_never_invented(claims: list[Claim]) -> None:
    judged = [claim for claim in claims if claim.verdict is not Verdict.BLOCKED]
    text = hint(claims)
    assert (text is None) == (not judged)
    if text is not None:
        passed = sum(claim.verdict is Verdict.PASS for claim in judged)
        assert f"{passed} passed, {len(judged) - passed} failed." in text
        assert len(text) <= LIMIT
        assert re.fullmatch(r"[A-Za-z0-9 .,:()]+", text)
        told = set(re.findall(r"E\d{4}", text))
        known = {(c.error_pattern or "")[:5].upper() for c in judged if c.verdict is Verdict.FAIL}
        assert told <= known


@given(any_claims, st.randoms())
def test_the_order_of_failures_does_not_change_their_counts(
    claims: list[Claim], random: Any
) -> None:
    shuffled = list(claims)
    random.shuffle(shuffled)

    def listed(of: list[Claim]) -> str:
        return (hint(of) or "").split(" This task previously")[0].split(" Calibration")[0]

    assert listed(claims) == listed(shuffled)
