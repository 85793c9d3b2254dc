"""What earlier attempts put into the next prompt.

Pure: attempts in, bounded records out. By default a record holds the compiler's words and
none of the candidate's own lines, since showing a model its wrong code may hold it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from critic.diagnostics import render as render_diagnostics
from critic.review import Stage, Verdict
from tessera.records import Attempt, Carry

RECORD_LIMIT = 2_000
BRIEF_LIMIT = 160
MARKER = "\n[… cut …]\n"
PLACEBO = (
    "This attempt was made, was looked at, and was then put back. Nothing of it was kept. "
    "The work goes on from the same place as before, with the same task and the same crate. "
)
STAGE_WORDS = {
    "format": "no usable file in the reply",
    Stage.CHECK: "did not compile",
    Stage.TEST: "compiled, failed its tests",
    Stage.LINT: "compiled, failed the lints",
    Stage.AUDIT: "compiled, failed the audit",
}


@dataclass(frozen=True)
class Record:
    """One carried record: the attempts it stands for (equal failures share one) and its text.

    `brief` is the same in one line, for models that only continue a text.
    """

    numbers: tuple[int, ...]
    text: str
    brief: str = ""


def records(
    attempts: Sequence[Attempt], mode: Carry, *, limit: int = RECORD_LIMIT
) -> tuple[Record, ...]:
    """The records of the failed attempts, oldest first, one for each signature."""
    if mode is Carry.NONE:
        return ()
    groups: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.review.verdict is Verdict.FAIL:
            groups.setdefault(_identity(attempt), []).append(attempt)
    return tuple(
        Record(tuple(a.n for a in group), _record(group, mode, limit), _brief(group[-1], mode))
        for group in groups.values()
    )


def _identity(attempt: Attempt) -> str:
    return attempt.review.signature or f"attempt {attempt.n}"


def _record(group: Sequence[Attempt], mode: Carry, limit: int) -> str:
    numbers = ", ".join(str(attempt.n) for attempt in group)
    latest = group[-1]
    plural = "s" if len(group) > 1 else ""
    times = f" × {len(group)}" if len(group) > 1 else ""
    head = f"Attempt{plural} {numbers} ({latest.seat}): FAIL{times}, {_step(latest)}\n"
    room = limit - len(head)
    body = _feedback(latest, room)
    if mode is Carry.PLACEBO:
        return head + filler(len(body))
    if mode is Carry.DIFFS and latest.diff:
        patch = cut_around(latest.diff, _diagnosed_lines(latest), room // 2)
        body = f"{cut_around(body, (), room - len(patch) - 1)}\n{patch}"
    return head + body


def _brief(attempt: Attempt, mode: Carry) -> str:
    told = _feedback(attempt, BRIEF_LIMIT).splitlines()
    line = f"{_step(attempt)}: {told[0] if told else ''}"[:BRIEF_LIMIT]
    return filler(len(line)) if mode is Carry.PLACEBO else line


def _step(attempt: Attempt) -> str:
    review = attempt.review
    if review.kind == "format":
        return STAGE_WORDS["format"]
    if review.kind == "timeout_code":
        return "ran out of time"
    return STAGE_WORDS.get(review.stage or "", "failed")


def _feedback(attempt: Attempt, limit: int) -> str:
    review = attempt.review
    if review.diagnostics:
        return render_diagnostics(review.diagnostics, limit_chars=limit)
    return cut_around("\n".join(e.text for e in review.evidence), (), limit)


def _diagnosed_lines(attempt: Attempt) -> tuple[int, ...]:
    spans = (diagnostic.primary for diagnostic in attempt.review.diagnostics)
    return tuple(span.line for span in spans if span)


def filler(length: int) -> str:
    """Text of the given length that says nothing."""
    return (PLACEBO * (length // len(PLACEBO) + 1))[:length]


def cut_around(text: str, lines: Iterable[int], limit: int) -> str:
    """Shorten to `limit` characters; in a patch, keep the hunk around the first line named.

    A marker stands where something is missing. A text that fits is returned as it is.
    """
    if len(text) <= limit:
        return text
    if limit <= len(MARKER):
        return text[: max(limit, 0)]
    at = _offset_of(text, next(iter(lines), None))
    if at is None:
        head = (limit - len(MARKER)) // 2
        return text[:head] + MARKER + text[len(text) - (limit - len(MARKER) - head) :]
    room = limit - 2 * len(MARKER)
    start = max(0, min(at - room // 2, len(text) - room))
    return MARKER + text[start : start + room] + MARKER


def _offset_of(patch: str, line: int | None) -> int | None:
    """Where a new file's line stands in a unified diff; None when it isn't in there."""
    if line is None:
        return None
    current, offset = 0, 0
    for row in patch.splitlines(keepends=True):
        if row.startswith("@@"):
            current = int(row.split("+")[1].split(",")[0].split(" ")[0]) - 1
        elif current and not row.startswith("-"):
            current += 1
        elif not current and row.startswith("+") and not row.startswith("+++"):
            current = 1
        if current == line and not row.startswith(("@@", "-")):
            return offset
        offset += len(row)
    return None
