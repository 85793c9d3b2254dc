"""The terminal: a dispatch as it happens, its end in one panel, and the exchange format.

The only module that prints. Live where there is a terminal, plain lines elsewhere; with
`--json` everything but the one JSON object goes to stderr.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from critic.classify import Classification
from critic.diagnostics import render_for_person
from critic.review import Diagnostic, Review, Verdict
from tessera.records import Attempt, Dispatch, Event, Outcome, SeatName

STYLES = {"PASS": "bold green", "FAIL": "bold red", "BLOCKED": "bold yellow"}
OUTCOME_STYLES = {
    Outcome.PASS: "green",
    Outcome.FAIL: "red",
    Outcome.BLOCKED: "yellow",
    Outcome.STAGED: "cyan",
    Outcome.SKIPPED: "yellow",
}
TAIL_LINES = 6
REFRESHES_PER_SECOND = 8
PERSON_LIMIT = 20_000
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def console_for(*, as_json: bool) -> Console:
    """Where progress goes: stderr when stdout is for one JSON object. Honours NO_COLOR and CI."""
    return Console(file=sys.stderr if as_json else sys.stdout, highlight=False)


def safe(text: str, style: str = "") -> Text:
    """Text from a model, a compiler or a crate: shown as it is, never obeyed by the terminal."""
    return Text(CONTROL.sub("\N{REPLACEMENT CHARACTER}", text), style=style)


class DispatchView:
    """Shows one dispatch; use as a context manager."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.doing = "starting"
        self.since = time.monotonic()
        self.text = ""
        self.pieces = 0
        self.live: Live | None = None

    def __enter__(self) -> DispatchView:
        if self.console.is_terminal:
            self.live = Live(
                console=self.console,
                get_renderable=self._now,
                refresh_per_second=REFRESHES_PER_SECOND,
                transient=True,
            )
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def on_text(self, piece: str) -> None:
        """A piece of a reply has come."""
        self.text += piece
        self.pieces += 1

    def on_event(self, event: Event) -> None:
        """Something has happened."""
        data = event.data
        match event.kind:
            case "prompt_sent":
                carried = ", ".join(map(str, data["carried"]))
                extra = f", carrying what came of {carried}" if carried else ""
                hint = ", with a hint" if data["hint"] else ""
                self._do(f"attempt {data['attempt']}: the {data['seat']} model writes{hint}{extra}")
            case "checking":
                self._do("cargo judges")
            case "replied":
                self._do("reading the reply", brief=True)
            case "judged":
                self.console.print(attempt_line(data), soft_wrap=True)
                self._do("deciding", brief=True)
            case "waited":
                self._do(f"waiting {data['seconds']} s: {data['kind']}")
                self._say(f"  waiting {data['seconds']} s: {data['text']}", "yellow")
            case "signal_fired":
                text = f"  {data['pattern']} keeps defeating the local model: budget cut"
                self._say(text, "magenta")
            case "replanned" | "reexplored" | "escalated":
                words = {
                    "replanned": "the same failure again: another approach",
                    "reexplored": "and again: reading the crate anew",
                    "escalated": "asking the frontier model",
                }
                self._say(f"  {words[event.kind]}", "magenta")
            case "seat_ready" | "notice" | "repaired":
                self._say(str(data["text"]), "dim")

    def _say(self, text: str, style: str) -> None:
        self.console.print(safe(text, style), soft_wrap=True)

    def _do(self, what: str, *, brief: bool = False) -> None:
        """Say what is being done now; what is over at once is worth no line of its own."""
        self.doing, self.since, self.text, self.pieces = what, time.monotonic(), "", 0
        if self.live is None and not brief:
            self.console.print(Text(f"  {what}", style="dim"), soft_wrap=True)

    def _now(self) -> RenderableType:
        seconds = time.monotonic() - self.since
        tokens = f", {self.pieces} tokens" if self.pieces else ""
        line = Spinner("dots", Text(f"{self.doing} ({seconds:.0f} s{tokens})"))
        tail = self.text.splitlines()[-TAIL_LINES:]
        width = max(self.console.width - 4, 10)
        shown = safe("\n".join(row.expandtabs(4)[:width] for row in tail), "dim")
        return Group(line, shown) if tail else line


def attempt_line(data: Mapping[str, Any]) -> Text:
    """One line for one attempt: number, seat, verdict, why, seconds."""
    verdict = data["verdict"]
    text = Text(f"  {data['attempt']}  {data['seat']:<8} ")
    text.append(f"{verdict:<7}", style=STYLES[verdict])
    why = data["error_pattern"] or data["kind"]
    if why:
        text.append(f" {why}")
    if verdict != "PASS" and data["text"]:
        text.append_text(safe(f": {data['text'].splitlines()[0][:160]}", "dim"))
    seconds = ", ".join(f"{k} {v:.1f} s" for k, v in data["seconds"].items() if v >= 0.05)
    text.append(f"  ({seconds})" if seconds else "", style="dim")
    return text


def show_end(console: Console, dispatch: Dispatch, seconds: float) -> None:
    """The end of a dispatch in one panel."""
    style = OUTCOME_STYLES[dispatch.outcome]
    lines = [safe(dispatch.why or "")]
    last = dispatch.attempts[-1].review if dispatch.attempts else None
    if last is not None and dispatch.outcome is not Outcome.SKIPPED:
        lines += [safe(f"  {text}", "dim") for text in reasons(last)]
    tokens = sum(a.tokens_in + a.tokens_out for a in dispatch.attempts)
    cost = sum(a.cost_usd for a in dispatch.attempts)
    count = len(dispatch.attempts)
    made = f"{count} attempt{'' if count == 1 else 's'}"
    used = f"{made}, {tokens} tokens, ${cost:.4f}, {seconds:.1f} s"
    lines.append(Text(used, style="dim"))
    title = safe(f"{dispatch.task.id}: {dispatch.outcome.value.upper()}")
    console.print(Panel(Group(*lines), title=title, border_style=style, title_align="left"))


def reasons(review: Review) -> list[str]:
    """What a review rests on, a line each, bounded."""
    lines = [line for evidence in review.evidence for line in evidence.text.splitlines()[:8]]
    limit = 4 if review.verdict is Verdict.PASS else 12
    return [*lines[:limit], *review.notes]


def print_json(value: Mapping[str, Any]) -> None:
    """The one JSON object on stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def dispatch_json(dispatch: Dispatch) -> dict[str, Any]:
    """A dispatch in the exchange format."""
    return {
        "task": dispatch.task.id,
        "target": str(dispatch.task.target),
        "outcome": dispatch.outcome.value,
        "seat": dispatch.seat.value if dispatch.seat else None,
        "hint": dispatch.hint,
        "signal": dispatch.signal,
        "budget": dispatch.budget,
        "attempts": [attempt_json(attempt) for attempt in dispatch.attempts],
        "events": dict(dispatch.events),
        "proposal": dispatch.proposal,
        "incident": dispatch.incident,
        "dispatch": dispatch.id,
        "why": dispatch.why,
    }


def attempt_json(attempt: Attempt) -> dict[str, Any]:
    """An attempt in the exchange format."""
    review = attempt.review
    blocked = review.verdict is Verdict.BLOCKED
    axes = review.axes
    return {
        "n": attempt.n,
        "seat": attempt.seat.value,
        "verdict": review.verdict.value,
        "error_pattern": review.error_pattern,
        "root_cause": review.root_cause,
        "signature": review.signature,
        "blocked_kind": review.kind if blocked else None,
        "retryable": review.retryable if blocked else None,
        "repaired": attempt.repaired,
        "action": attempt.action,
        "axes": None
        if axes is None
        else {
            "correctness": axes.correctness,
            "safety": axes.safety,
            "usability": axes.usability,
            "completeness": axes.completeness,
        },
        "tokens_in": attempt.tokens_in,
        "tokens_out": attempt.tokens_out,
        "cost_usd": attempt.cost_usd,
        "seconds": {name: round(value, 3) for name, value in attempt.seconds.items()},
        "kind": review.kind,
        "model": attempt.model,
        "evidence": [{"rule": e.rule, "text": e.text, "run": e.run} for e in review.evidence],
    }


def show_review(console: Console, review: Review) -> None:
    """The critic's judgement of a crate or file."""
    head = Text(review.verdict.value, style=STYLES[review.verdict.value])
    if review.kind:
        head.append(f" ({review.kind})", style="default")
    console.print(head)
    if review.diagnostics:
        text = render_for_person(review.diagnostics, limit_chars=PERSON_LIMIT)
        console.print(safe(text))
    for line in reasons(review):
        console.print(safe(f"  {line}", "dim"))


def review_json(review: Review) -> dict[str, Any]:
    """A review as JSON."""
    attempt = attempt_json(Attempt(0, SeatName.COMPILER, review))
    wanted = ("verdict", "kind", "retryable", "error_pattern", "root_cause", "signature", "axes")
    return {
        **{name: attempt[name] for name in wanted},
        "stage": review.stage.value if review.stage else None,
        "evidence": attempt["evidence"],
        "diagnostics": [diagnostic_json(d) for d in review.diagnostics],
        "notes": list(review.notes),
        "seconds": {name: round(value, 3) for name, value in review.seconds.items()},
    }


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic as JSON: what an editor needs to show it."""
    place = diagnostic.primary
    return {
        "level": diagnostic.level,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "rendered": diagnostic.rendered,
    }


def show_classification(console: Console, found: Classification) -> None:
    """What cargo's output means."""
    head = Text(found.verdict.value, style=STYLES[found.verdict.value])
    head.append(f" ({found.kind}), by rule {found.evidence.rule}", style="default")
    console.print(head)
    console.print(safe(f"  {found.evidence.text}", "dim"))


def classification_json(found: Classification) -> dict[str, Any]:
    """A classification in the exchange format."""
    return {
        "verdict": found.verdict.value,
        "kind": found.kind,
        "retryable": found.retryable,
        "error_pattern": found.error_pattern,
        "root_cause": found.root_cause,
        "evidence": {"rule": found.evidence.rule, "text": found.evidence.text},
    }


def show_proposals(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """The queue of proposals as a table."""
    if not rows:
        console.print("no proposals wait")
        return
    table = Table("id", "state", "seat", "target", "crate", box=None)
    for row in rows:
        names = ("id", "state", "seat", "target", "crate")
        table.add_row(*(safe(str(row[name])) for name in names))
    console.print(table)


def show_proposal(console: Console, state: str, report: str, diff: str) -> None:
    """One proposal: its report, then its diff in colours. Nothing in it is interpreted."""
    console.print(safe(report))
    console.print(Text(f"state: {state}\n", style="bold"))
    console.print(
        Syntax(CONTROL.sub("\N{REPLACEMENT CHARACTER}", diff), "diff", background_color="default")
    )


def show_batch(console: Console, summary: Mapping[str, Any]) -> None:
    """The numbers of a batch as a table; what can't be known is said to be undefined."""
    table = Table("", "rate", "passed", "95 % interval", box=None)
    for name in ("first_try", "final", "cold_start", "with_history"):
        row = summary[name]
        known = row["rate"] is not None
        table.add_row(
            name.replace("_", " "),
            f"{row['rate']:.0%}" if known else "undefined",
            f"{row['passed']} of {row['of']}",
            f"{row['interval'][0]:.0%} to {row['interval'][1]:.0%}" if known else "",
        )
    console.print(table)
    blocked, coverage = summary["blocked"], summary["coverage"]
    shown = "undefined" if coverage is None else f"{coverage:.0%}"
    console.print(f"{blocked} blocked or skipped (coverage {shown}), {summary['tokens']} tokens")
