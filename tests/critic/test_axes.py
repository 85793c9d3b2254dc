"""Scores and how they move."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.axes import Change, axes_of, regression
from critic.findings import Audit, Axis
from critic.review import Axes

CLEAN = Audit()


@pytest.mark.parametrize(
    ("errors", "passed", "total", "correctness"),
    [
        (0, 0, 0, 1.0),
        (0, 4, 4, 1.0),
        (0, 2, 4, 0.75),
        (0, 0, 4, 0.5),
        (1, 0, 4, 0.25),
        (2, 0, 0, 0.1667),
    ],
)
def test_correctness_is_compiling_then_tests(
    errors: int, passed: int, total: int, correctness: float
) -> None:
    axes = axes_of(CLEAN, errors=errors, tests_passed=passed, tests_total=total)
    assert axes == Axes(correctness=correctness)


def test_the_audit_gives_the_other_axes_and_warnings_cost_usability() -> None:
    audit = Audit(safety=0.5, usability=0.9, completeness=0.25)
    assert axes_of(audit) == Axes(1.0, 0.5, 0.9, 0.25)
    assert axes_of(audit, warnings=2).usability == 0.7
    assert axes_of(audit, warnings=1, formatted=False).usability == 0.6
    assert axes_of(audit, warnings=50).usability == 0.0


@given(st.integers(0, 50), st.integers(1, 50))
def test_fewer_errors_and_more_passes_are_never_worth_less(a: int, total: int) -> None:
    fewer, more = axes_of(CLEAN, errors=a), axes_of(CLEAN, errors=a + 1)
    assert more.correctness < fewer.correctness
    assert more.correctness < 0.5
    scores = [
        axes_of(CLEAN, tests_passed=p, tests_total=total).correctness for p in range(total + 1)
    ]
    assert scores == sorted(scores)


def test_still_failing_is_not_worse() -> None:
    earlier = [Axes(0.25, 1.0, 0.9, 0.5), Axes(0.5, 0.5, 0.8, 0.0)]
    now = Axes(0.5, 0.5, 0.95, 1.0)
    assert regression(now, earlier) == {
        Axis.CORRECTNESS: Change.STILL_FAILING,
        Axis.SAFETY: Change.WORSE,
        Axis.USABILITY: Change.BETTER,
        Axis.COMPLETENESS: Change.BETTER,
    }
    assert set(regression(Axes(1.0), [Axes(1.0)]).values()) == {Change.SAME}


def test_a_first_review_has_nothing_to_be_compared_with() -> None:
    assert regression(Axes(0.0), []) == {}
