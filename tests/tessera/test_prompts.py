"""Prompt files: strict placeholders, and every prompt holds what must never be lost."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tessera.carry import Record
from tessera.compose import Material, compose
from tessera.policy import Action
from tessera.prompts import FOLDER, PromptError, load, render
from tessera.records import Prompt

ASKING = (Action.TRY, Action.CORRECT, Action.REPLAN, Action.REEXPLORE, Action.ESCALATE)
MATERIAL = Material(
    task="Write `pub fn is_even(n: i64) -> bool`.",
    target="src/is_even.rs",
    crate="arith",
    edition="2021",
    profile="profile-chat",
    context="CONTEXT",
    hint="HINT",
    records=(Record((1,), "RECORD ONE", "RECORD ONE"), Record((2, 3), "RECORD TWO", "RECORD TWO")),
)


def everything_fits(_: Prompt) -> bool:
    return True


def test_a_missing_or_unused_value_is_an_error() -> None:
    with pytest.raises(PromptError, match="missing values: task"):
        render("task-chat", target="t", crate="c", edition="e")
    with pytest.raises(PromptError, match="unused: more"):
        render("hint-chat", hint="h", more="m")


def test_no_python_file_is_needed_to_read_a_prompt() -> None:
    assert {path.stem for path in FOLDER.glob("*.md")} >= {"profile-chat", "profile-completion"}
    assert all(load(path.stem) for path in FOLDER.glob("*.md"))


@pytest.mark.parametrize("action", ASKING)
@pytest.mark.parametrize("completion", [False, True])
def test_every_prompt_holds_profile_and_task(action: Action, completion: bool) -> None:
    profile = "profile-completion" if completion else "profile-chat"
    material = Material(**{**vars(MATERIAL), "completion": completion, "profile": profile})
    text = compose(material, action, everything_fits).text
    for part in (load(profile), "pub fn is_even(n: i64) -> bool", "CONTEXT", "HINT", "RECORD ONE"):
        assert part in text


@pytest.mark.parametrize("action", ASKING)
def test_the_order_is_profile_task_context_hint_record_request(action: Action) -> None:
    text = compose(MATERIAL, action, everything_fits).text
    request = load({Action.CORRECT: "request-correct"}.get(action, "request-first"))[:20]
    words = [load("profile-chat")[:20], "is_even(n", "CONTEXT", "HINT", "RECORD ONE", "RECORD TWO"]
    places = [text.index(word) for word in words]
    assert places == sorted(places)
    if action in (Action.TRY, Action.CORRECT, Action.ESCALATE):
        assert text.rindex(request) > places[-1]


def test_a_replan_says_what_not_to_repeat() -> None:
    text = compose(MATERIAL, Action.REPLAN, everything_fits).text
    assert "## Why earlier attempts failed (do NOT repeat these)" in text


def test_a_kept_conversation_has_a_ceiling() -> None:
    """However many attempts were made, the conversation has the same few turns."""
    records = tuple(Record((n,), f"RECORD {n}") for n in range(50))
    material = Material(**{**vars(MATERIAL), "records": records})
    prompt = compose(material, Action.CORRECT, everything_fits).prompt
    assert [m.role for m in prompt.messages] == ["system", "user", "assistant", "user"]


@given(limit=st.integers(0, 6000))
def test_the_oldest_records_give_way_first_and_profile_and_task_never(limit: int) -> None:
    composed = compose(
        MATERIAL, Action.TRY, lambda p: sum(len(m.content) for m in p.messages) <= limit
    )
    assert load("profile-chat") in composed.text
    assert MATERIAL.task in composed.text
    assert composed.carried in ((1, 2, 3), (2, 3), ())
    assert ("RECORD ONE" in composed.text) == (1 in composed.carried)
    assert composed.hint == ("HINT" in composed.text)
    if composed.carried:
        assert "CONTEXT" in composed.text


def test_without_history_there_is_no_heading_for_it() -> None:
    material = Material(**{**vars(MATERIAL), "records": (), "hint": "", "context": ""})
    text = compose(material, Action.TRY, everything_fits).text
    assert re.findall(r"^## .*", text, re.MULTILINE) == ["## Task"]
