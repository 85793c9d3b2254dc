"""Whole dispatches: real crates, real cargo, real memory; only the model is played back."""

from __future__ import annotations

from pathlib import Path

import pytest

from critic.review import Verdict
from tessera import staging
from tessera.anvil import open_anvil
from tessera.prompts import load
from tessera.records import Dispatch, Outcome, SeatName
from tests.tessera.conftest import FIXTURES, Watching, Workshop

REPLIES = FIXTURES / "replies"
RIGHT = (FIXTURES / "solutions/is_even.rs").read_text()


def fenced(code: str) -> str:
    return f"Here is the file.\n\n```rust\n{code}```\n"


def wrong(line: str) -> str:
    return fenced(f"pub fn is_even(n: i64) -> bool {{\n    {line}\n}}\n")


def prompts(workshop: Workshop, watching: Watching) -> list[str]:
    """The prompts that were sent, as Anvil keeps them."""
    with open_anvil(workshop.anvil) as memory:
        found = [
            memory.get_prompt(event.data["prompt"])
            for event in watching.events
            if event.kind == "prompt_sent"
        ]
    return [text for text, _ in filter(None, found)]


def verdicts(dispatch: Dispatch) -> list[tuple[str, str]]:
    return [(a.review.verdict.value, a.action) for a in dispatch.attempts]


def test_a_right_reply_is_written_into_the_crate_and_can_be_undone(workshop: Workshop) -> None:
    target = workshop.task("is_even").crate / "src/is_even.rs"
    before = target.read_bytes() if target.exists() else None
    ended = workshop.dispatch("is_even", REPLIES / "is_even.jsonl")
    assert ended.outcome is Outcome.PASS
    assert ended.seat is SeatName.LOCAL
    assert "pub fn is_even" in target.read_text()
    assert ended.proposal is not None
    staging.undo(staging.load(workshop.root / ".tessera", ended.proposal))
    assert (target.read_bytes() if target.exists() else None) == before


def test_what_passed_is_remembered(workshop: Workshop) -> None:
    workshop.dispatch("is_even", REPLIES / "is_even.jsonl")
    task = workshop.task("is_even")
    with open_anvil(workshop.anvil) as memory:
        known = memory.pre_attempt(str(task.crate), str(task.target), task.id)
        assert (known.history.total, known.history.passed) == (1, 1)
        (claim,) = memory.history().claims
        assert memory.get_dispatch(claim.dispatch or "") is not None
    assert claim.prompt_hash
    assert claim.profile == "profile-chat"


def test_feedback_leads_from_failures_to_a_pass(workshop: Workshop) -> None:
    replay = REPLIES / "string_utils.jsonl"
    ended = workshop.dispatch("string_utils", replay, {"repair.enabled": False})
    assert ended.outcome is Outcome.PASS
    assert [v for v, _ in verdicts(ended)] == ["FAIL", "FAIL", "FAIL", "PASS"]
    assert (
        "pub mod string_utils;" in (workshop.task("string_utils").crate / "src/lib.rs").read_text()
    )


def test_the_third_prompt_holds_the_first_attempts_record(workshop: Workshop) -> None:
    replay = workshop.replies(
        "is_even",
        {"reply": wrong("n % 2")},
        {"reply": wrong("missing(n)")},
        {"reply": fenced(RIGHT)},
    )
    watching = Watching()
    ended = workshop.dispatch("is_even", replay, watching=watching)
    assert ended.outcome is Outcome.PASS
    first, second, third = prompts(workshop, watching)
    assert "E0308" not in first
    assert "E0308" in second
    assert "Attempt 1 (local): FAIL" in third
    assert "E0308" in third
    assert "E0425" in third


def test_equal_failures_are_carried_once_and_answered_with_a_replan(workshop: Workshop) -> None:
    replay = workshop.replies("is_even", *[{"reply": wrong("n % 2")}] * 4)
    watching = Watching()
    ended = workshop.dispatch("is_even", replay, {"signal.threshold": 9}, watching=watching)
    assert verdicts(ended) == [
        ("FAIL", "correct"),
        ("FAIL", "replan"),
        ("FAIL", "reexplore"),
        ("FAIL", "give_up"),
    ]
    last = prompts(workshop, watching)[-1]
    assert "Attempts 1, 2, 3 (local): FAIL × 3" in last
    assert "## Why earlier attempts failed (do NOT repeat these)" in last


def test_every_prompt_has_the_profile_and_none_shows_the_models_own_wrong_lines(
    workshop: Workshop,
) -> None:
    lines = [
        "n % 2 == 0 && marker_one(n)",
        "n.marker_two()",
        "marker_three!(n)",
        "let marker_four = 1",
    ]
    replay = workshop.replies("is_even", *({"reply": wrong(line)} for line in lines))
    watching = Watching()
    ended = workshop.dispatch("is_even", replay, watching=watching)
    assert ended.outcome is Outcome.FAIL
    sent = prompts(workshop, watching)
    assert len(sent) == 4
    for text in sent:
        assert load("profile-chat") in text
        assert not any(line in text for line in lines)


def test_giving_up_changes_nothing_and_leaves_an_incident(workshop: Workshop) -> None:
    target = workshop.task("is_even").crate / "src/is_even.rs"
    before = target.read_bytes()
    ended = workshop.dispatch("is_even", workshop.replies("is_even", *[{"reply": "no"}] * 4))
    assert ended.outcome is Outcome.FAIL
    assert target.read_bytes() == before
    with open_anvil(workshop.anvil) as memory:
        (incident,) = memory.list_incidents()
    assert len(incident["report"]["attempts"]) == 4


def test_the_signal_cuts_the_budget_and_the_frontier_is_asked(workshop: Workshop) -> None:
    flags: dict[str, object] = {"frontier.model": "replayed", "repair.enabled": False}
    watching = Watching()
    ended = workshop.dispatch(
        "binary_tree", REPLIES / "binary_tree.jsonl", flags, watching=watching
    )
    assert ended.outcome is Outcome.STAGED
    assert ended.seat is SeatName.FRONTIER
    assert not (workshop.task("binary_tree").crate / "src/binary_tree.rs").exists()
    assert ended.attempts[-2].action == "escalate"
    again = workshop.dispatch("binary_tree", REPLIES / "binary_tree.jsonl", flags)
    assert again.signal
    assert again.budget == 2
    assert [a.seat for a in again.attempts] == [SeatName.LOCAL] * 2 + [SeatName.FRONTIER]
    assert again.hint is not None


def test_a_reply_cut_at_its_limit_is_never_compiled(workshop: Workshop) -> None:
    cut = {"reply": fenced(RIGHT), "finish_reason": "length"}
    watching = Watching()
    replay = workshop.replies("is_even", cut, {"reply": fenced(RIGHT)})
    ended = workshop.dispatch("is_even", replay, watching=watching)
    assert ended.attempts[0].review.error_pattern == "reply_cut_at_limit"
    assert sum(event.kind == "checking" for event in watching.events) == 1
    assert ended.outcome is Outcome.PASS


def test_a_rate_limit_is_waited_for_and_costs_no_attempt(workshop: Workshop) -> None:
    busy = {"attempt": 1, "error": {"status": 429, "message": "slow down", "retry_after": 0.1}}
    replay = workshop.replies("is_even", busy, {"attempt": 1, "reply": fenced(RIGHT)})
    ended = workshop.dispatch("is_even", replay)
    assert ended.outcome is Outcome.PASS
    assert ended.attempts[-1].n == 1
    with open_anvil(workshop.anvil) as memory:
        assert memory.history().total == 1


@pytest.mark.parametrize("status", [401, 404, 400])
def test_what_waiting_cannot_mend_stops_at_once(workshop: Workshop, status: int) -> None:
    replay = workshop.replies("is_even", {"error": {"status": status, "message": "no"}})
    ended = workshop.dispatch("is_even", replay)
    assert ended.outcome is Outcome.BLOCKED
    assert len(ended.attempts) == 1


def test_a_reply_that_was_not_recorded_names_task_seat_and_attempt(workshop: Workshop) -> None:
    ended = workshop.dispatch("is_even", workshop.replies("is_even", {"reply": "nothing"}))
    assert ended.outcome is Outcome.BLOCKED
    text = ended.attempts[-1].review.evidence[0].text
    assert "is_even" in text
    assert "local" in text
    assert "2" in text


def test_events_tell_of_injections_only_with_the_prompt_that_holds_them(workshop: Workshop) -> None:
    replay = workshop.replies("is_even", {"reply": wrong("n % 2")}, {"reply": fenced(RIGHT)})
    workshop.dispatch("is_even", replay)
    watching = Watching()
    workshop.dispatch("is_even", replay, watching=watching)
    with open_anvil(workshop.anvil) as memory:
        for event in watching.events:
            if event.kind in ("hint_injected", "carry_injected"):
                found = memory.get_prompt(event.data["prompt"])
                assert found is not None
                mark = "What is known" if event.kind == "hint_injected" else "Attempt 1"
                assert mark in found[0]
    kinds = [event.kind for event in watching.events]
    assert kinds.count("hint_injected") == 2
    assert kinds.count("carry_injected") == 1


def test_a_file_changed_by_the_person_meanwhile_is_not_overwritten(workshop: Workshop) -> None:
    target = workshop.task("is_even").crate / "src/is_even.rs"

    class Editing(Watching):
        def on_event(self, event: object) -> None:
            if getattr(event, "kind", "") == "judged":
                target.write_text("// mine\n")

    ended = workshop.dispatch("is_even", REPLIES / "is_even.jsonl", watching=Editing())
    assert ended.outcome is Outcome.STAGED
    assert target.read_text() == "// mine\n"


def test_a_crate_that_is_gone_is_blocked(workshop: Workshop, tmp_path: Path) -> None:
    manifest = workshop.task("is_even").crate / "Cargo.toml"
    manifest.write_text("[package]\nname = 7\n")
    ended = workshop.dispatch("is_even", REPLIES / "is_even.jsonl")
    assert ended.outcome is Outcome.BLOCKED
    assert ended.attempts[-1].review.verdict is Verdict.BLOCKED


def test_a_broken_target_is_mended_without_a_model(workshop: Workshop) -> None:
    nothing = workshop.replies("run_length")
    ended = workshop.dispatch("run_length", nothing)
    assert ended.outcome is Outcome.PASS
    assert ended.seat is SeatName.COMPILER
    (attempt,) = ended.attempts
    assert attempt.repaired
    assert {edit["code"] for edit in attempt.edits}
    with open_anvil(workshop.anvil) as memory:
        claims = memory.history().claims
    assert [(c.seat, c.verdict) for c in claims] == [
        (SeatName.COMPILER, Verdict.FAIL),
        (SeatName.COMPILER, Verdict.PASS),
    ]


def test_a_candidate_that_rustc_can_mend_costs_no_second_model_call(workshop: Workshop) -> None:
    mut = "pub fn is_even(n: i64) -> bool {\n    let r = n;\n    r %= 2;\n    r == 0\n}\n"
    replay = workshop.replies("is_even", {"reply": fenced(mut)}, {"reply": fenced(RIGHT)})
    ended = workshop.dispatch("is_even", replay)
    assert ended.outcome is Outcome.PASS
    assert (len(ended.attempts), ended.attempts[0].repaired) == (1, True)
    assert "let mut r" in (workshop.task("is_even").crate / "src/is_even.rs").read_text()
    with open_anvil(workshop.anvil) as memory:
        claims = memory.history().claims
    assert [(c.seat, c.verdict) for c in claims] == [
        (SeatName.LOCAL, Verdict.FAIL),
        (SeatName.COMPILER, Verdict.PASS),
    ]


def test_without_repair_the_model_is_asked_again(workshop: Workshop) -> None:
    mut = "pub fn is_even(n: i64) -> bool {\n    let r = n;\n    r %= 2;\n    r == 0\n}\n"
    replay = workshop.replies("is_even", {"reply": fenced(mut)}, {"reply": fenced(RIGHT)})
    ended = workshop.dispatch("is_even", replay, {"repair.enabled": False})
    assert [a.review.verdict for a in ended.attempts] == [Verdict.FAIL, Verdict.PASS]


def test_a_memory_that_can_no_longer_be_written_blocks_the_dispatch(workshop: Workshop) -> None:
    target = workshop.task("is_even").crate / "src/is_even.rs"
    before = target.read_bytes()

    class Losing(Watching):
        def on_event(self, event: object) -> None:
            if getattr(event, "kind", "") == "judged":
                for path in workshop.anvil.parent.glob("anvil.db*"):
                    path.write_bytes(b"no database")

    ended = workshop.dispatch("is_even", REPLIES / "is_even.jsonl", watching=Losing())
    assert ended.outcome is Outcome.BLOCKED
    assert (ended.attempts[-1].review.kind or "").startswith("storage_")
    assert target.read_bytes() == before
