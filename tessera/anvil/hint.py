"""The hint: what is known of a file, in a few sentences for the next prompt.

Pure. Says only what claims say; with no judged attempt there is no hint at all. Words that
come out of claims are cleaned and clipped, since they end up in a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from critic.review import Verdict
from tessera.anvil.tally import Tally, code_of, patterns_of
from tessera.records import PatternCount, SeatName, Signal

LIMIT = 800
MAX_PATTERNS = 8
MAX_WORDS = 40


def compose(tallies: Sequence[Tally], task: str | None, signal: Signal) -> str | None:
    """At most 800 characters about the file, this task's failures before the others'.

    `tallies` are those of all claims of the file, of all seats; without a
    task all of them are its own. BLOCKED claims are no attempts: with nothing else there is
    no hint (None).
    """
    judged = [tally for tally in tallies if tally.verdict is not Verdict.BLOCKED]
    if not judged:
        return None
    own = [tally for tally in judged if task is None or tally.task == task]
    passes = _passes(own)
    calibration = _calibration(signal)
    for shown in range(MAX_PATTERNS, -1, -1):
        parts = [_opening(judged), *_patterns(judged, own, shown), *passes, *calibration]
        text = " ".join(parts)
        if len(text) <= LIMIT:
            break
    return text


def _opening(judged: Sequence[Tally]) -> str:
    passed = sum(tally.count for tally in judged if tally.verdict is Verdict.PASS)
    total = sum(tally.count for tally in judged)
    attempts = _plural(total, "prior attempt")
    return f"This file has {attempts}: {passed} passed, {total - passed} failed."


def _patterns(judged: Sequence[Tally], own: Sequence[Tally], shown: int) -> list[str]:
    own_names = [entry.pattern for entry in patterns_of(own)]
    everything = {entry.pattern: entry for entry in patterns_of(judged)}
    names = own_names + [name for name in everything if name not in own_names]
    if not names or not shown:
        return []
    listed = [_described(everything[name]) for name in names[:shown]]
    if len(names) > shown:
        listed.append(f"{len(names) - shown} more")
    sentences = [f"Known failure patterns: {', '.join(listed)}."]
    if own_names and len(names) > len(own_names):
        mine = ", ".join(label(everything[name]) for name in own_names[:shown])
        sentences.append(f"Of these, this task has failed with {mine}.")
    elif not own_names:
        sentences.append("All of these came from other tasks of this file.")
    return sentences


def _passes(own: Sequence[Tally]) -> list[str]:
    sentences = []
    passed = [tally for tally in own if tally.verdict is Verdict.PASS]
    by_frontier = [tally for tally in passed if tally.seat is SeatName.FRONTIER]
    without = [tally for tally in passed if tally.seat is not SeatName.FRONTIER]
    if without:
        attempt = max(without, key=lambda tally: tally.last).attempt
        after = f" after {_plural(attempt, 'attempt')}" if attempt else ""
        sentences.append(f"This task previously passed{after}.")
    if by_frontier:
        failed = sum(
            tally.count
            for tally in own
            if tally.verdict is Verdict.FAIL and tally.seat is SeatName.LOCAL
        )
        after = f" after {_plural(failed, 'local failure')}" if failed else ""
        sentences.append(f"A frontier model solved this task{after}.")
    return sentences


def _calibration(signal: Signal) -> list[str]:
    if not signal.fired or signal.pattern is None:
        return []
    name = label(PatternCount(signal.pattern, code_of(signal.pattern), None, signal.failures))
    return [f"Calibration: {name} keeps defeating the local model here, with no local pass since."]


def _described(entry: PatternCount) -> str:
    occurrences = _plural(entry.count, "occurrence")
    words = words_of(entry.pattern, entry.root_cause)
    inside = f"{words}, {occurrences}" if entry.code and words else occurrences
    return f"{label(entry)} ({inside})"


def label(entry: PatternCount) -> str:
    """`E0308`, or the words of a pattern that no error code names."""
    return entry.code or words_of(entry.pattern, None) or "unnamed"


def words_of(pattern: str, root_cause: str | None) -> str:
    """What a pattern is about, in words.

    The root cause (`lifetime` of `e0106_missing_lifetime_specifier`), unless the pattern
    begins with it and so says more (`type mismatch` of `e0308_type_mismatch`); without a
    root cause the words of the pattern.
    """
    words = _clean(re.sub(r"^e\d{4}_?", "", pattern))
    cause = _clean(root_cause or "")
    return words if not cause or words.startswith(cause) else cause


def _clean(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", " ", text[: 4 * MAX_WORDS]).strip()[:MAX_WORDS].strip()


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
