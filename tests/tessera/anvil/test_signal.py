"""When history says that the local model will not do it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.review import Verdict
from tessera.anvil.signal import OTHERS_PER_OWN, calibration_signal
from tessera.records import Claim, SeatName, Signal

LIFETIME = "e0106_missing_lifetime_specifier"
OPERATOR = "e0369_binary_operator"


def claim(verdict: str, pattern: str | None = None, seat: str = "local", **rest: Any) -> Claim:
    task = rest.pop("task", "mine")
    return Claim(
        "/c", "src/lib.rs", task, SeatName(seat), Verdict(verdict), error_pattern=pattern, **rest
    )


failed = claim("FAIL", LIFETIME)
passed = claim("PASS")
elsewhere = claim("FAIL", LIFETIME, task="other")


@pytest.mark.parametrize(
    ("claims", "signal"),
    [
        pytest.param([], Signal(), id="nothing"),
        pytest.param([failed] * 3, Signal(False, LIFETIME, 3), id="three"),
        pytest.param([failed] * 4, Signal(True, LIFETIME, 4), id="string_utils: four E0106"),
        pytest.param(
            [claim("FAIL", OPERATOR)] * 6, Signal(True, OPERATOR, 6), id="binary_tree: six E0369"
        ),
        pytest.param([failed] * 4 + [passed], Signal(), id="a local pass resets"),
        pytest.param(
            [failed] * 4 + [claim("PASS", seat="compiler")], Signal(), id="a repaired pass resets"
        ),
        pytest.param(
            [failed] * 4 + [claim("PASS", seat="frontier")],
            Signal(True, LIFETIME, 4),
            id="a frontier pass does not",
        ),
        pytest.param(
            [failed] * 3 + [passed] + [failed] * 3, Signal(False, LIFETIME, 3), id="since the pass"
        ),
        pytest.param(
            [claim("FAIL", LIFETIME, "frontier")] * 9, Signal(), id="frontier failures never count"
        ),
        pytest.param(
            [claim("FAIL", LIFETIME, "compiler")] * 9, Signal(), id="compiler failures never count"
        ),
        pytest.param(
            [claim("BLOCKED", LIFETIME, blocked_kind="dns")] * 9, Signal(), id="faults never count"
        ),
        pytest.param([claim("FAIL")] * 9, Signal(), id="failures without a pattern"),
        pytest.param([elsewhere] * 40, Signal(), id="other tasks alone never fire"),
        pytest.param(
            [elsewhere] * 12 + [failed], Signal(True, LIFETIME, 4), id="others weigh a quarter"
        ),
        pytest.param(
            [elsewhere] * 11 + [failed], Signal(False, LIFETIME, 3), id="less than a quarter"
        ),
        pytest.param(
            [elsewhere] * 12 + [claim("PASS", task="other"), failed],
            Signal(False, LIFETIME, 1),
            id="a pass of the other task ends what it weighs",
        ),
        pytest.param(
            [failed, claim("FAIL", OPERATOR)] * 3, Signal(False, OPERATOR, 3), id="not mixed"
        ),
    ],
)
def test_the_signal_of_a_history(claims: list[Claim], signal: Signal) -> None:
    assert calibration_signal(claims, "mine") == signal


def test_the_signal_can_appear_within_a_run() -> None:
    history = [failed] * 3
    assert not calibration_signal(history, "mine").fired
    assert calibration_signal([*history, failed], "mine").fired


def test_without_a_task_there_is_no_signal() -> None:
    assert calibration_signal([failed] * 9, None) == Signal()


any_claim = st.builds(
    claim,
    verdict=st.sampled_from([verdict.value for verdict in Verdict]),
    pattern=st.sampled_from([None, LIFETIME, OPERATOR]),
    seat=st.sampled_from([seat.value for seat in SeatName]),
    task=st.sampled_from(["mine", "other"]),
)
histories = st.lists(any_claim, max_size=30)


@given(histories, any_claim)
def test_only_local_failures_and_passes_without_the_frontier_matter(
    history: list[Claim], extra: Claim
) -> None:
    matters = extra.verdict is Verdict.PASS and extra.seat is not SeatName.FRONTIER
    matters |= extra.verdict is Verdict.FAIL and extra.seat is SeatName.LOCAL
    if not matters:
        before = calibration_signal(history, "mine")
        assert calibration_signal([*history, extra], "mine") == before


@given(histories)
def test_a_local_pass_always_resets(history: list[Claim]) -> None:
    assert calibration_signal([*history, passed], "mine") == Signal()


@given(histories)
def test_another_failure_never_makes_the_signal_vanish(history: list[Claim]) -> None:
    if calibration_signal(history, "mine").fired:
        assert calibration_signal([*history, failed], "mine").fired


@given(histories, st.integers(1, 8))
def test_a_higher_threshold_fires_no_more_often(history: list[Claim], threshold: int) -> None:
    if calibration_signal(history, "mine", threshold=threshold + 1).fired:
        assert calibration_signal(history, "mine", threshold=threshold).fired


@given(histories)
def test_the_count_is_that_of_failures_that_happened(history: list[Claim]) -> None:
    signal = calibration_signal(history, "mine")
    alike = [c for c in history if c.error_pattern == signal.pattern and c.verdict is Verdict.FAIL]
    own = sum(c.task == "mine" for c in alike)
    assert signal.failures <= own + (len(alike) - own) // OTHERS_PER_OWN
