"""The teacher: a batch of tasks, one after the other, and what came of it.

What is BLOCKED or skipped was not judged: it leaves every denominator and is shown as
coverage. What passes is staged, so that a batch measures without changing what it measures.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn

import click

from tessera.errors import InputError
from tessera.exits import Exit
from tessera.records import Dispatch, Outcome
from tessera.statistics import rate


@click.command()
@click.argument("places", nargs=-1, required=True, metavar="DIR|FILE…")
@click.option("--anvil", "location", metavar="PATH", help="The memory to use.")
@click.option("--write", is_flag=True, help="Write what passes instead of staging it.")
@click.option("--replay", type=click.Path(path_type=Path), help="Play recorded replies.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def teach(
    places: tuple[str, ...], location: str | None, write: bool, replay: Path | None, as_json: bool
) -> NoReturn:
    """Run a batch of tasks and report rates with their intervals.

    \b
    Example:
      tessera teach fixtures/tasks --json
    """
    from tessera.config import load_settings
    from tessera.run import Options, run_task
    from tessera.task import load_task
    from tessera.views import DispatchView, console_for, print_json, show_batch

    tasks = [load_task(path) for path in task_files(places)]
    flags = {"anvil.path": location} if location else {}
    options = Options(stage=not write, replay=replay)
    console = console_for(as_json=as_json)
    ended: list[Dispatch] = []
    for number, task in enumerate(tasks, start=1):
        settings = load_settings(task.crate, os.environ, flags, asks_models=replay is None)
        console.print(f"[{number}/{len(tasks)}] {task.id}", markup=False)
        with DispatchView(console) as view:
            ended.append(run_task(task, settings, options, view))
    summary = summarise(ended)
    show_batch(console, summary)
    if as_json:
        print_json(summary)
    sys.exit(Exit.BLOCKED if not summary["final"]["of"] else Exit.DONE)


def task_files(places: Sequence[str]) -> list[Path]:
    """The task files that paths, folders and globs name, each once, sorted by name.

    Raises InputError for one that names none.
    """
    found: dict[Path, None] = {}
    for place in places:
        path = Path(place)
        if path.is_dir():
            files = sorted(path.glob("*.toml"))
        elif path.exists():
            files = [path]
        else:
            files = sorted(Path().glob(place)) if not path.is_absolute() else []
        if not files:
            raise InputError(f"{place}: no task file there; name a .toml file or a folder of them")
        found.update(dict.fromkeys(files))
    return list(found)


def summarise(ended: Sequence[Dispatch]) -> dict[str, Any]:
    """The batch in the exchange format."""
    judged = [d for d in ended if d.outcome not in (Outcome.BLOCKED, Outcome.SKIPPED)]
    solved = [d for d in judged if solved_by_model(d)]
    first = [d for d in solved if sum(a.review.verdict != "BLOCKED" for a in d.attempts) == 1]
    cold = [d for d in judged if d.hint is None]
    warm = [d for d in judged if d.hint is not None]
    return {
        "first_try": asdict(rate(len(first), len(judged))),
        "final": asdict(rate(len(solved), len(judged))),
        "blocked": len(ended) - len(judged),
        "coverage": len(judged) / len(ended) if ended else None,
        "cold_start": asdict(rate(sum(map(solved_by_model, cold)), len(cold))),
        "with_history": asdict(rate(sum(map(solved_by_model, warm)), len(warm))),
        "tokens": sum(a.tokens_in + a.tokens_out for d in ended for a in d.attempts),
        "cost_usd": sum(a.cost_usd for d in ended for a in d.attempts),
        "tasks": [
            {"task": d.task.id, "outcome": d.outcome.value, "attempts": len(d.attempts)}
            for d in ended
        ],
    }


def solved_by_model(dispatch: Dispatch) -> bool:
    """Whether the candidate passed, whether it was written or waits for review."""
    return dispatch.outcome in (Outcome.PASS, Outcome.STAGED)
