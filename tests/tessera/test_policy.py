"""The policy table, row by row, and what must hold for every run."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.review import Review, Verdict
from tessera.policy import ENDS, STRUCTURAL, Action, State, next_action, state_of
from tessera.records import Attempt, SeatName

FAIL = State(verdict=Verdict.FAIL, used=1, signatures=("a",))


@pytest.mark.parametrize(
    ("state", "action"),
    [
        pytest.param(State(), Action.TRY, id="nothing tried yet"),
        pytest.param(State(broken=True), Action.REPAIR, id="the target is broken"),
        pytest.param(State(verdict=Verdict.PASS), Action.FINISH, id="pass"),
        pytest.param(
            State(verdict=Verdict.BLOCKED, retryable=True, waits_left=1), Action.WAIT, id="may pass"
        ),
        pytest.param(
            State(verdict=Verdict.BLOCKED, retryable=True), Action.STOP, id="patience is used up"
        ),
        pytest.param(
            State(verdict=Verdict.BLOCKED, waits_left=9), Action.STOP, id="waiting can't help"
        ),
        pytest.param(FAIL, Action.CORRECT, id="a new failure"),
        pytest.param(
            replace(FAIL, used=2, signatures=("a", "b")), Action.CORRECT, id="another failure"
        ),
        pytest.param(replace(FAIL, used=2, signatures=("a", "a")), Action.REPLAN, id="seen before"),
        pytest.param(
            replace(FAIL, used=3, signatures=("a", "b", "a")), Action.REPLAN, id="seen earlier"
        ),
        pytest.param(
            replace(FAIL, used=3, signatures=("a",) * 3, structural=((Action.REPLAN, 2),)),
            Action.REEXPLORE,
            id="seen again after a replan",
        ),
        pytest.param(
            replace(FAIL, used=3, signatures=("a", "a", "b"), structural=((Action.REPLAN, 2),)),
            Action.CORRECT,
            id="a new failure after a replan",
        ),
        pytest.param(
            replace(FAIL, used=2, signal=True, frontier=True), Action.ESCALATE, id="signal"
        ),
        pytest.param(
            replace(FAIL, used=1, signal=True, frontier=True),
            Action.CORRECT,
            id="signal, too early",
        ),
        pytest.param(replace(FAIL, used=4, frontier=True), Action.ESCALATE, id="budget used up"),
        pytest.param(replace(FAIL, used=4), Action.GIVE_UP, id="no frontier to ask"),
        pytest.param(
            replace(FAIL, used=4, frontier=True, seat=SeatName.FRONTIER),
            Action.GIVE_UP,
            id="the frontier failed too",
        ),
        pytest.param(
            State(verdict=Verdict.FAIL, seat=SeatName.COMPILER), Action.TRY, id="repair failed"
        ),
    ],
)
def test_each_row_of_the_table(state: State, action: Action) -> None:
    assert next_action(state) is action


def play(outcomes: list[str], *, budget: int, signal_at: int, frontier: bool) -> list[Action]:
    """Run the policy against a scripted world; every attempt takes the next outcome.

    As in the loop, a wait is followed by what was asked before it.
    """
    attempts: list[Attempt] = []
    taken: list[Action] = []
    waits = 2
    asked = Action.TRY
    for _ in range(100):
        action = next_action(
            state_of(
                attempts,
                signal=len(attempts) >= signal_at,
                budget=budget,
                signalled_budget=2,
                waits_left=waits,
                frontier=frontier,
            )
        )
        if attempts:
            attempts[-1] = replace(attempts[-1], action=action.value)
        taken.append(action)
        if action in ENDS:
            return taken
        if action is Action.WAIT:
            waits -= 1
        else:
            asked = action
        outcome = outcomes[len(attempts) % len(outcomes)]
        seat = SeatName.FRONTIER if asked is Action.ESCALATE else SeatName.LOCAL
        attempts.append(Attempt(len(attempts) + 1, seat, review(outcome)))
    raise AssertionError("the policy does not end")


def review(outcome: str) -> Review:
    if outcome == "pass":
        return Review(Verdict.PASS)
    if outcome.startswith("blocked"):
        return Review(Verdict.BLOCKED, kind="dns", retryable=outcome.endswith("!"))
    return Review(Verdict.FAIL, kind="code", signature=outcome)


def hold(taken: list[Action], outcomes: list[str], *, budget: int, frontier: bool) -> None:
    """What every run keeps to."""
    asked = [a for a in taken if a in (Action.TRY, Action.CORRECT, *STRUCTURAL)]
    blocked = sum(o.startswith("blocked") for o in outcomes)
    assert taken.count(Action.ESCALATE) <= (1 if frontier else 0)
    if not blocked:
        assert len(asked) <= budget
    failures = [o for o in outcomes if len(o) == 1]
    if taken[-1] is Action.GIVE_UP:
        assert failures


@given(
    outcomes=st.lists(
        st.sampled_from(["a", "b", "c", "pass", "blocked", "blocked!"]), min_size=1, max_size=12
    ),
    budget=st.integers(1, 6),
    signal_at=st.integers(0, 8),
    frontier=st.booleans(),
)
def test_every_run_ends_within_its_budget(
    outcomes: list[str], budget: int, signal_at: int, frontier: bool
) -> None:
    taken = play(outcomes, budget=budget, signal_at=signal_at, frontier=frontier)
    hold(taken, outcomes, budget=budget, frontier=frontier)


def test_the_whole_state_space_of_small_budgets() -> None:
    for budget, length, signal_at, frontier in product(
        (1, 2, 3), (1, 2, 3, 4), (0, 1, 2, 9), (0, 1)
    ):
        for outcomes in product(("a", "b", "pass", "blocked!"), repeat=length):
            taken = play(
                list(outcomes), budget=budget, signal_at=signal_at, frontier=bool(frontier)
            )
            hold(taken, list(outcomes), budget=budget, frontier=bool(frontier))


@given(
    signatures=st.lists(st.sampled_from("ab"), min_size=2, max_size=5),
    frontier=st.booleans(),
    signal=st.booleans(),
)
def test_a_repeated_failure_is_never_answered_with_plain_correct(
    signatures: list[str], frontier: bool, signal: bool
) -> None:
    state = State(
        verdict=Verdict.FAIL,
        used=len(signatures),
        signatures=tuple(signatures),
        signal=signal,
        budget=9,
        frontier=frontier,
    )
    if signatures[-1] in signatures[:-1]:
        assert next_action(state) is not Action.CORRECT


@given(used=st.integers(0, 8), budget=st.integers(1, 8), cut=st.integers(1, 8))
def test_the_signal_never_lengthens_a_run(used: int, budget: int, cut: int) -> None:
    state = State(verdict=Verdict.FAIL, used=used, budget=budget, signalled_budget=cut)
    signatures = tuple(str(number) for number in range(used))
    state = replace(state, signatures=signatures)
    if next_action(state) is Action.GIVE_UP:
        assert next_action(replace(state, signal=True)) is Action.GIVE_UP


def test_a_structural_change_is_followed_by_an_attempt() -> None:
    taken = play(["a"], budget=4, signal_at=99, frontier=False)
    assert taken == [
        Action.TRY,
        Action.CORRECT,
        Action.REPLAN,
        Action.REEXPLORE,
        Action.GIVE_UP,
    ]
