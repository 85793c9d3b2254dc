"""The skip signal: the same infrastructure fault was met again after a blind retry.

Pure: claims in, signal out. Whether the fault is gone by now is for a probe to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from critic.review import Verdict
from tessera.anvil.tally import Seen
from tessera.records import SeatName, Skip

MET = 2
# A frontier that can't be asked says nothing about a dispatch that may not need it.
MODEL_KINDS = ("model", "prompt", "replay")


def skip_signal(claims: Sequence[Seen]) -> Skip | None:
    """The fault that was met twice with no pass since; the one met last, if there are more.

    `claims` are those of one file, oldest first. Only a PASS ends a fault: a FAIL says that
    the candidate was judged, but a missing linker, for one, stays missing behind it.
    """
    met: Counter[str] = Counter()
    last: dict[str, int] = {}
    for place, claim in enumerate(claims):
        if claim.verdict is Verdict.PASS:
            met.clear()
        elif claim.verdict is Verdict.BLOCKED and claim.blocked_kind and not _of_frontier(claim):
            met[claim.blocked_kind] += 1
            last[claim.blocked_kind] = place
    again = [kind for kind, times in met.items() if times >= MET]
    if not again:
        return None
    kind = max(again, key=lambda name: last[name])
    when = claims[last[kind]].at
    since = f", last at {when}" if when else ""
    return Skip(kind, f"blocked {met[kind]} times by {kind} with no pass between{since}")


def _of_frontier(claim: Seen) -> bool:
    kind = (claim.blocked_kind or "").split("_")[0]
    return claim.seat is SeatName.FRONTIER and kind in MODEL_KINDS
