"""What a person sees: nothing a model wrote is obeyed by the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from critic.review import Diagnostic, Evidence, Review, Stage, Verdict
from tessera.records import Event
from tessera.views import DispatchView, attempt_line, show_proposal, show_review

EVIL = "\x1b[31m[red]\x1b]0;title\x07 \x9b2J [/nope]"


def shown(terminal: bool = False) -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, force_terminal=terminal, width=100, color_system=None), out


def judged(text: str) -> Event:
    data = {
        "attempt": 1,
        "seat": "local",
        "verdict": "FAIL",
        "kind": "code",
        "error_pattern": "e0308_type_mismatch",
        "text": text,
        "seconds": {"model": 1.0},
    }
    return Event("judged", "", "d", data)


def test_escape_sequences_and_markup_are_shown_and_not_obeyed() -> None:
    console, out = shown()
    evidence = (Evidence("rule", EVIL),)
    diagnostic = Diagnostic("error", EVIL, rendered=EVIL)
    review = Review(
        Verdict.FAIL, "code", stage=Stage.CHECK, evidence=evidence, diagnostics=(diagnostic,)
    )
    show_review(console, review)
    show_proposal(console, "staged", EVIL, EVIL)
    console.print(attempt_line(judged(EVIL).data))
    text = out.getvalue()
    assert "[red]" in text
    assert "\x1b" not in text
    assert "\x9b" not in text


@pytest.mark.parametrize("terminal", [False, True])
def test_a_stream_with_escape_sequences_reaches_no_terminal(terminal: bool) -> None:
    console, out = shown(terminal)
    with DispatchView(console) as view:
        view.on_text(f"fn f() {{}} {EVIL}\n")
        view.on_event(judged(EVIL))
    assert "\x1b]0;" not in out.getvalue()
    assert "\x1b[31m" not in out.getvalue()


def test_without_a_terminal_there_are_plain_lines() -> None:
    console, out = shown()
    with DispatchView(console) as view:
        data = {"attempt": 2, "seat": "local", "hint": True, "carried": [1]}
        view.on_event(Event("prompt_sent", "", "d", data))
        view.on_event(judged("mismatched types"))
    assert out.getvalue().splitlines() == [
        "  attempt 2: the local model writes, with a hint, carrying what came of 1",
        "  1  local    FAIL    e0308_type_mismatch: mismatched types  (model 1.0 s)",
    ]
