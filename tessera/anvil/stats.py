"""What all the claims add up to: rates, patterns, classes, tokens and dollars.

Pure. BLOCKED is in no denominator; it is shown as coverage.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from critic.review import Verdict
from tessera.anvil.classes import Classes, classes_of
from tessera.anvil.runs import Run, runs_of
from tessera.anvil.tally import code_of
from tessera.records import Claim, SeatName
from tessera.statistics import Rate, rate


@dataclass(frozen=True)
class Rates:
    """How runs went. `blocked` of them were never judged and count in no rate."""

    first_try: Rate
    final: Rate
    blocked: int

    @property
    def coverage(self) -> float | None:
        """The share of runs that were judged; None without any."""
        total = self.final.of + self.blocked
        return self.final.of / total if total else None


@dataclass
class SeatSums:
    """What one seat did and cost. Tokens are counted as the model's endpoint counts them."""

    verdicts: Counter[Verdict] = field(default_factory=Counter)
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0

    def add(self, claim: Claim) -> None:
        """Take one claim of this seat."""
        self.verdicts[claim.verdict] += 1
        self.tokens_in += claim.tokens_in or 0
        self.tokens_out += claim.tokens_out or 0
        self.cost_usd += claim.cost_usd or 0.0


@dataclass(frozen=True)
class Stats:
    """Everything `tessera anvil stats` shows."""

    claims: int
    all: Rates
    cold_start: Rates
    with_history: Rates
    seats: dict[SeatName, SeatSums]
    classes: Classes
    patterns: tuple[tuple[str, int], ...]


def summarise(claims: Iterable[Claim]) -> Stats:
    """Everything about the claims, which come in the order they were recorded."""
    seats: defaultdict[SeatName, SeatSums] = defaultdict(SeatSums)
    patterns: Counter[str] = Counter()
    runs = runs_of(_counted(claims, seats, patterns))
    return Stats(
        claims=sum(sums.verdicts.total() for sums in seats.values()),
        all=_rates(runs),
        cold_start=_rates([run for run in runs if run.cold]),
        with_history=_rates([run for run in runs if not run.cold]),
        seats={seat: seats[seat] for seat in SeatName if seat in seats},
        classes=classes_of(runs),
        patterns=tuple(sorted(patterns.items(), key=lambda entry: (-entry[1], entry[0]))),
    )


def _counted(
    claims: Iterable[Claim], seats: defaultdict[SeatName, SeatSums], patterns: Counter[str]
) -> Iterator[Claim]:
    """Pass the claims on while summing them, since there may be too many to keep."""
    for claim in claims:
        seats[claim.seat].add(claim)
        if claim.verdict is Verdict.FAIL and claim.error_pattern:
            patterns[claim.error_pattern] += 1
        yield claim


def _rates(runs: Sequence[Run]) -> Rates:
    judged = [steps for run in runs if (steps := run.judged)]
    first = sum(steps[0].verdict is Verdict.PASS for steps in judged)
    final = sum(steps[-1].verdict is Verdict.PASS for steps in judged)
    of = len(judged)
    return Rates(rate(first, of), rate(final, of), len(runs) - of)


def as_json(stats: Stats, *, top: int = 20) -> dict[str, Any]:
    """The exchange form; `top` patterns at most."""
    return {
        "claims": stats.claims,
        **_rates_json(stats.all),
        "cold_start": _rates_json(stats.cold_start),
        "with_history": _rates_json(stats.with_history),
        "patterns": [
            {"pattern": name, "code": code_of(name), "count": count}
            for name, count in stats.patterns[:top]
        ],
        "classes": [
            {
                "pattern": entry.pattern,
                "class": entry.kind,
                "cases": entry.cases,
                "counts": dict(entry.counts),
                "solved_by": dict(entry.solved_by),
            }
            for entry in stats.classes.patterns[:top]
        ],
        "over_time": [
            {"day": day, "counts": dict(counts)} for day, counts in stats.classes.by_day.items()
        ],
        "seats": {
            seat.value: {
                "passed": sums.verdicts[Verdict.PASS],
                "failed": sums.verdicts[Verdict.FAIL],
                "blocked": sums.verdicts[Verdict.BLOCKED],
                "tokens_in": sums.tokens_in,
                "tokens_out": sums.tokens_out,
                "cost_usd": sums.cost_usd,
            }
            for seat, sums in stats.seats.items()
        },
        "tokens": sum(sums.tokens_in + sums.tokens_out for sums in stats.seats.values()),
        "cost_usd": sum(sums.cost_usd for sums in stats.seats.values()),
    }


def _rates_json(rates: Rates) -> dict[str, Any]:
    return {
        "first_try": rate_json(rates.first_try),
        "final": rate_json(rates.final),
        "blocked": rates.blocked,
        "coverage": rates.coverage,
    }


def rate_json(found: Rate) -> dict[str, Any]:
    """A rate in the exchange form."""
    return {
        "rate": found.rate,
        "passed": found.passed,
        "of": found.of,
        "interval": list(found.interval) if found.interval else None,
    }
