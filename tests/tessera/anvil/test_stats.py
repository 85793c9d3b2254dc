"""What the claims add up to: runs, rates, classes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.review import Verdict
from tessera.anvil.classes import Class, classes_of
from tessera.anvil.runs import runs_of
from tessera.anvil.stats import as_json, summarise
from tessera.records import Claim, SeatName

MOVED = "e0382_use_after_move"


def claim(verdict: str, dispatch: str | None = None, seat: str = "local", **rest: Any) -> Claim:
    task = rest.pop("task", "t")
    return Claim("/c", "a.rs", task, SeatName(seat), Verdict(verdict), dispatch=dispatch, **rest)


def failed(dispatch: str | None = None, seat: str = "local", **rest: Any) -> Claim:
    return claim("FAIL", dispatch, seat, error_pattern=MOVED, root_cause="borrow", **rest)


def test_a_run_is_a_dispatch_however_claims_are_mixed() -> None:
    runs = runs_of([failed("a"), failed("b"), claim("PASS", "a"), claim("PASS", "b")])
    assert [[step.verdict for step in run.steps] for run in runs] == [["FAIL", "PASS"]] * 2


@pytest.mark.parametrize(
    ("attempts", "sizes"),
    [
        pytest.param([1, 2, 3, 1, 2], [3, 2], id="numbers start again"),
        pytest.param([None, None, None], [3], id="no numbers"),
        pytest.param([1, 1], [1, 1], id="the same number"),
    ],
)
def test_claims_without_a_dispatch_are_put_together_by_their_numbers(
    attempts: list[int | None], sizes: list[int]
) -> None:
    runs = runs_of([failed(attempt=n) for n in attempts])
    assert [len(run.steps) for run in runs] == sizes


def test_a_pass_ends_a_run_without_a_dispatch() -> None:
    assert len(runs_of([failed(), claim("PASS"), failed()])) == 2


def test_a_run_is_cold_until_something_was_judged() -> None:
    claims = [claim("BLOCKED", "a", blocked_kind="dns"), failed("b"), claim("PASS", "c")]
    assert [run.cold for run in runs_of(claims)] == [True, True, False]


def test_an_arm_remembers_only_itself() -> None:
    claims = [failed("a", arm="x"), failed("b", arm="y"), failed("c", arm="x"), failed("d")]
    assert [run.cold for run in runs_of(claims)] == [True, True, False, False]


def test_first_try_and_final_rates_leave_out_what_was_blocked() -> None:
    found = as_json(
        summarise(
            [
                failed("a"),
                claim("PASS", "a", "frontier", tokens_in=5, tokens_out=2, cost_usd=0.25),
                claim("PASS", "b", tokens_in=1, tokens_out=1),
                failed("c"),
                failed("c"),
                claim("BLOCKED", "d", blocked_kind="dns"),
            ]
        )
    )
    assert (found["first_try"]["passed"], found["first_try"]["of"]) == (1, 3)
    assert (found["final"]["passed"], found["final"]["of"]) == (2, 3)
    assert (found["blocked"], found["coverage"]) == (1, 0.75)
    assert found["cold_start"]["final"]["of"] == 1
    assert found["with_history"]["first_try"]["passed"] == 1
    assert (found["tokens"], found["cost_usd"]) == (9, 0.25)
    assert found["patterns"] == [{"pattern": MOVED, "code": "E0382", "count": 3}]
    assert found["seats"]["frontier"]["passed"] == 1


def test_what_the_compiler_seat_mended_counts_as_one_attempt() -> None:
    mended = [failed("a", attempt=1), claim("PASS", "a", "compiler", attempt=1)]
    found = as_json(summarise(mended))
    assert (found["first_try"]["passed"], found["first_try"]["of"]) == (1, 1)
    later = [failed("b", attempt=1), claim("PASS", "b", "compiler", attempt=2)]
    assert as_json(summarise(later))["first_try"]["passed"] == 0


def test_nothing_recorded_gives_no_rate() -> None:
    found = as_json(summarise([]))
    assert found["first_try"] == {"rate": None, "passed": 0, "of": 0, "interval": None}
    assert found["coverage"] is None


@pytest.mark.parametrize(
    ("claims", "kind", "solver"),
    [
        pytest.param([failed("a"), claim("PASS", "a")], Class.LOCAL, "local", id="local"),
        pytest.param(
            [failed("a"), claim("PASS", "a", "compiler")], Class.LOCAL, "compiler", id="repaired"
        ),
        pytest.param(
            [failed("a"), failed("a"), claim("PASS", "b")], Class.HINT, "local", id="hint"
        ),
        pytest.param(
            [failed("a"), claim("PASS", "a", "frontier")], Class.CAPACITY, "frontier", id="capacity"
        ),
        pytest.param([failed("a"), failed("a", "frontier")], Class.HARD, None, id="hard"),
        pytest.param([failed("a"), failed("a")], Class.OPEN, None, id="open"),
        pytest.param(
            [failed("a"), claim("PASS", "b", task="other")], Class.OPEN, None, id="another task"
        ),
    ],
)
def test_the_class_of_a_pattern(claims: list[Claim], kind: Class, solver: str | None) -> None:
    [found] = classes_of(runs_of(claims)).patterns
    assert (found.pattern, found.kind, found.cases) == (MOVED, kind, 1)
    assert [seat.value for seat in found.solved_by] == ([solver] if solver else [])


def test_faults_are_a_class_of_their_own() -> None:
    [found] = classes_of(runs_of([claim("BLOCKED", "a", blocked_kind="dns")] * 3)).patterns
    assert (found.pattern, found.kind, found.cases) == ("dns", Class.INFRASTRUCTURE, 3)


def test_classes_are_counted_by_the_day_they_came_up() -> None:
    claims = [
        failed("a", at="2026-01-31T12:00:00Z"),
        claim("PASS", "a", at="2026-02-01T12:00:00Z"),
        claim("BLOCKED", "b", blocked_kind="dns", at="2026-02-02T12:00:00Z"),
    ]
    days = classes_of(runs_of(claims)).by_day
    assert days == {"2026-01-31": {Class.LOCAL: 1}, "2026-02-02": {Class.INFRASTRUCTURE: 1}}


any_claims = st.lists(
    st.builds(
        claim,
        verdict=st.sampled_from([verdict.value for verdict in Verdict]),
        dispatch=st.sampled_from([None, "a", "b"]),
        seat=st.sampled_from([seat.value for seat in SeatName]),
        task=st.sampled_from(["t", "u"]),
        error_pattern=st.sampled_from([None, MOVED, "e0308_type_mismatch"]),
        attempt=st.none() | st.integers(1, 4),
    ),
    max_size=30,
)


@given(any_claims)
def test_no_claim_is_lost_or_counted_twice(claims: list[Claim]) -> None:
    runs = runs_of(claims)
    assert sum(len(run.steps) for run in runs) == len(claims)
    found = summarise(claims)
    assert found.all.final.of + found.all.blocked == len(runs)
    assert found.cold_start.final.of + found.with_history.final.of == found.all.final.of
    assert found.all.first_try.of == found.all.final.of
    classes = found.classes
    days = sum(counts.total() for counts in classes.by_day.values())
    assert days == sum(entry.cases for entry in classes.patterns)
    blocked = sum(c.verdict is Verdict.BLOCKED for c in claims)
    assert blocked == sum(entry.counts[Class.INFRASTRUCTURE] for entry in classes.patterns)
