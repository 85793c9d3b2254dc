"""The compiler seat: what rustc knows how to fix is fixed before a model is asked again.

Runs the critic's repair on a text that does not compile and lets the judge have the last
word, its tests included. Asks no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from critic.judge import Judge, Judgement
from critic.mending import repair_target
from critic.review import Review, Stage, Verdict


@dataclass(frozen=True)
class Mended:
    """A text that passes after mechanical edits; `seconds` is the wall time of the search."""

    source: bytes
    judgement: Judgement
    edits: tuple[Mapping[str, Any], ...]
    seconds: float


def is_mendable(review: Review) -> bool:
    """Whether the compiler seat may be asked: the text failed to compile, and only that."""
    return review.verdict is Verdict.FAIL and review.stage is Stage.CHECK and review.kind == "code"


def mend(judge: Judge, source: bytes, earlier: Sequence[Review]) -> Mended | None:
    """Repair a text for the judge's target; None when no repair passes."""
    passed: dict[bytes, Judgement] = {}

    def verify(text: bytes) -> bool:
        judgement = judge.judge(text, earlier)
        if judgement.review.verdict is Verdict.PASS:
            passed[text] = judgement
        return text in passed

    found = repair_target(judge, source, verify=verify)
    judgement = passed.get(found.source)
    if judgement is None or not found.edits:
        return None
    edits = tuple(edit.as_json() for edit in found.edits)
    return Mended(found.source, judgement, edits, found.seconds)
