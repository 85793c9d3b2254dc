"""Rates that can be trusted: proportions with their intervals.

Pure. The arithmetic is scipy's; imported when a number is wanted, since that takes a second.
"""

from __future__ import annotations

from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Rate:
    """`passed` of `of`, with the Wilson score interval at 95 %.

    With nothing judged, the rate and the interval are None: undefined, not zero.
    """

    passed: int
    of: int
    rate: float | None
    interval: tuple[float, float] | None


def rate(passed: int, of: int) -> Rate:
    """The rate of `passed` among `of` judged tasks; what was BLOCKED belongs in neither."""
    if of == 0:
        return Rate(0, 0, None, None)
    from scipy.stats import binomtest

    bounds = binomtest(passed, of).proportion_ci(CONFIDENCE, method="wilson")
    return Rate(passed, of, passed / of, (float(bounds.low), float(bounds.high)))
