"""Words about a dispatch for a person: the report of a proposal, the report of a give-up.

Pure: records in, Markdown or JSON values out.
"""

from __future__ import annotations

from typing import Any

from tessera.records import Attempt, Dispatch


def proposal_report(dispatch: Dispatch) -> str:
    """What a reviewer reads first: the task, how it was solved, what vouches for it."""
    last = dispatch.attempts[-1]
    lines = [
        f"# {dispatch.task.id}",
        "",
        f"- Target: `{dispatch.task.target}` of `{dispatch.task.crate}`",
        f"- Written by: the {last.seat.value} seat ({last.model or 'no model'})",
        f"- Attempts: {len(dispatch.attempts)}, ${sum(a.cost_usd for a in dispatch.attempts):.4f}",
        f"- Verdict: {last.review.verdict.value}",
        *(f"  - {e.text}" for e in last.review.evidence),
        *(f"  - {note}" for note in last.review.notes),
        "",
        "## Task",
        "",
        dispatch.task.text.strip(),
        "",
        "## Attempts",
        "",
        *(_attempt_line(attempt) for attempt in dispatch.attempts),
    ]
    return "\n".join(lines) + "\n"


def incident_report(dispatch: Dispatch) -> dict[str, Any]:
    """What was tried before the dispatch was given up, with what feedback."""
    return {
        "task": dispatch.task.id,
        "crate": str(dispatch.task.crate),
        "target": str(dispatch.task.target),
        "attempts": [
            {
                "n": a.n,
                "seat": a.seat.value,
                "model": a.model,
                "verdict": a.review.verdict.value,
                "error_pattern": a.review.error_pattern,
                "signature": a.review.signature,
                "stage": a.review.stage.value if a.review.stage else None,
                "action": a.action,
                "prompt_hash": a.prompt_hash,
                "evidence": [e.text for e in a.review.evidence],
            }
            for a in dispatch.attempts
        ],
    }


def _attempt_line(attempt: Attempt) -> str:
    review = attempt.review
    pattern = f" {review.error_pattern}" if review.error_pattern else ""
    why = review.evidence[0].text.splitlines()[0] if review.evidence else ""
    return f"{attempt.n}. {attempt.seat.value}: {review.verdict.value}{pattern}: {why}"
