"""What a batch says, worked out by hand."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from critic.review import Review, Verdict
from tessera.errors import InputError
from tessera.records import Attempt, Dispatch, Outcome, SeatName, Task
from tessera.statistics import rate
from tessera.teacher import summarise, task_files

TASK = Task("t", Path("t.toml"), Path("/crate"), PurePosixPath("src/a.rs"), "text")


def ended(outcome: Outcome, attempts: int = 1, hint: str | None = None) -> Dispatch:
    reviews = [Review(Verdict.FAIL)] * (attempts - 1) + [
        Review(Verdict.PASS if outcome in (Outcome.PASS, Outcome.STAGED) else Verdict.FAIL)
    ]
    made = tuple(
        Attempt(n, SeatName.LOCAL, review, tokens_in=10, tokens_out=5)
        for n, review in enumerate(reviews, start=1)
    )
    return Dispatch("id", TASK, outcome, hint=hint, attempts=made)


def test_what_was_blocked_is_in_no_denominator() -> None:
    batch = [
        ended(Outcome.PASS),
        ended(Outcome.PASS, attempts=3),
        ended(Outcome.FAIL, attempts=4, hint="h"),
        ended(Outcome.STAGED, hint="h"),
        ended(Outcome.BLOCKED),
        ended(Outcome.SKIPPED),
    ]
    found = summarise(batch)
    assert (found["first_try"]["passed"], found["first_try"]["of"]) == (2, 4)
    assert (found["final"]["passed"], found["final"]["of"]) == (3, 4)
    assert (found["cold_start"]["passed"], found["cold_start"]["of"]) == (2, 2)
    assert (found["with_history"]["passed"], found["with_history"]["of"]) == (1, 2)
    assert found["blocked"] == 2
    assert found["coverage"] == pytest.approx(4 / 6)
    assert found["tokens"] == 15 * 11


def test_the_wilson_interval_is_the_textbook_one() -> None:
    # With n = 11, p = 5/11, z = 1.959964: centre (p + z²/2n) / (1 + z²/n) = 0.46631,
    # half-width z / (1 + z²/n) · sqrt(p(1 - p)/n + z²/4n²) = 0.25360.
    found = rate(5, 11)
    assert found.interval is not None
    assert found.interval[0] == pytest.approx(0.21271, abs=1e-5)
    assert found.interval[1] == pytest.approx(0.71991, abs=1e-5)


def test_nothing_judged_is_undefined_and_not_zero() -> None:
    assert rate(0, 0).rate is None
    assert summarise([ended(Outcome.BLOCKED)])["final"]["rate"] is None


def test_a_place_without_tasks_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no task file there"):
        task_files([str(tmp_path)])


def test_files_folders_and_repeats_are_each_taken_once(tmp_path: Path) -> None:
    for name in ("b.toml", "a.toml", "notes.md"):
        (tmp_path / name).write_text("")
    found = task_files([str(tmp_path), str(tmp_path / "a.toml")])
    assert [path.name for path in found] == ["a.toml", "b.toml"]
