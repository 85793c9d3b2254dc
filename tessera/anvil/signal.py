"""The calibration signal: whether history says that a task is beyond the local model.

Pure: claims in, signal out. Whoever asks gives the claims of one file, oldest first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from critic.review import Verdict
from tessera.anvil.tally import Seen
from tessera.records import SeatName, Signal

# How many failures on other tasks of the file weigh as much as one on this task.
OTHERS_PER_OWN = 4


def calibration_signal(claims: Iterable[Seen], task: str | None, *, threshold: int = 4) -> Signal:
    """Fired when one pattern has defeated the local model `threshold` times on this task.

    Only what the local model failed at counts: never a BLOCKED claim, never a claim of the
    frontier or of the compiler. A pass without the frontier (the local model's, also one
    that the compiler seat repaired) resets the task it belongs to. Every four failures with
    the same pattern on other tasks of the file count as one more, but only for a pattern
    that has defeated the local model on this task, too. Of several patterns the one with
    the most failures speaks; of equals, the one met last.
    """
    streaks = Streaks()
    for claim in claims:
        streaks.add(claim)
    return streaks.signal(task, threshold)


@dataclass
class Streaks:
    """The failures of one file since the last pass, by task and pattern, as claims come in."""

    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    met: dict[tuple[str, str], int] = field(default_factory=dict)
    seen: int = 0

    def add(self, claim: Seen) -> None:
        """Take the next claim."""
        self.seen += 1
        if claim.verdict is Verdict.PASS and claim.seat is not SeatName.FRONTIER:
            self.counts.pop(claim.task, None)
        elif claim.verdict is Verdict.FAIL and claim.seat is SeatName.LOCAL and claim.error_pattern:
            self.counts[claim.task][claim.error_pattern] += 1
            self.met[claim.task, claim.error_pattern] = self.seen

    def signal(self, task: str | None, threshold: int) -> Signal:
        """The signal for a task as things stand."""
        if task is None or task not in self.counts:
            return Signal(threshold=threshold)
        others = [counter for name, counter in self.counts.items() if name != task]
        weights = {
            pattern: count + sum(other[pattern] for other in others) // OTHERS_PER_OWN
            for pattern, count in self.counts[task].items()
        }
        pattern = max(weights, key=lambda name: (weights[name], self.met[task, name]))
        failures = weights[pattern]
        return Signal(failures >= threshold, pattern, failures, threshold)
