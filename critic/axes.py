"""The four axes of a review, and how they moved since the earlier reviews of a dispatch.

Pure arithmetic on what cargo and the audit found; decides no verdict.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from critic.findings import Audit, Axis
from critic.review import Axes


class Change(StrEnum):
    """How an axis compares with the best of the earlier reviews."""

    BETTER = "better"
    SAME = "same"
    STILL_FAILING = "still failing"
    WORSE = "worse"


def axes_of(
    audit: Audit,
    *,
    errors: int = 0,
    tests_passed: int = 0,
    tests_total: int = 0,
    warnings: int = 0,
    formatted: bool = True,
) -> Axes:
    """The scores of one candidate.

    Correctness is below 0.5 for a source with compiler errors, the lower the more there are
    (1 error 0.25, 2 errors 0.17); from 0.5 on it grows with the share of tests that pass.
    Without any test a source that compiles has 1. Usability takes the audit's, less 0.1 for
    each warning of rustc or clippy and 0.2 for a source that rustfmt would change.
    """
    return Axes(
        correctness=_correctness(errors, tests_passed, tests_total),
        safety=audit.safety,
        usability=_share(audit.usability - 0.1 * warnings - (0.0 if formatted else 0.2)),
        completeness=audit.completeness,
    )


def _correctness(errors: int, passed: int, total: int) -> float:
    if errors:
        return _share(0.5 / (1 + errors))
    return _share(0.5 + 0.5 * passed / total) if total else 1.0


def _share(value: float) -> float:
    return round(min(1.0, max(0.0, value)), 4)


def regression(now: Axes, earlier: Sequence[Axes]) -> dict[Axis, Change]:
    """Each axis against the best earlier score of it; empty when nothing came before."""
    if not earlier:
        return {}
    return {
        axis: _change(getattr(now, axis), max(getattr(axes, axis) for axes in earlier))
        for axis in Axis
    }


def _change(now: float, best: float) -> Change:
    if now > best:
        return Change.BETTER
    if now < best:
        return Change.WORSE
    return Change.SAME if now >= 1.0 else Change.STILL_FAILING
