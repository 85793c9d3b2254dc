"""A workshop: fixture crates and tasks copied to where a test may change them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tessera.config import load_settings
from tessera.records import Dispatch, Event, Settings, Task
from tessera.run import Options, run_task
from tessera.task import load_task

FIXTURES = Path(__file__).parents[2] / "fixtures"
STUB = "pub fn is_even(n: i64) -> bool {\n    todo!()\n}\n"


@dataclass
class Watching:
    """An observer that keeps what it sees."""

    events: list[Event] = field(default_factory=list)
    text: str = ""

    def on_event(self, event: Event) -> None:
        self.events.append(event)

    def on_text(self, piece: str) -> None:
        self.text += piece


@dataclass
class Workshop:
    """Copied fixtures with a memory of their own."""

    root: Path

    @property
    def anvil(self) -> Path:
        return self.root / ".tessera/anvil.db"

    def task(self, name: str) -> Task:
        return load_task(self.root / f"tasks/{name}.toml")

    def settings(self, task: Task, flags: Mapping[str, object] | None = None) -> Settings:
        merged = {"cache.path": str(self.root / "cache"), "local.patience": 2.0, **(flags or {})}
        return load_settings(task.crate, {}, merged)

    def replies(self, name: str, *rows: Mapping[str, Any]) -> Path:
        """A replay file: each row a reply of the local model unless it says otherwise."""
        path = self.root / f"{name}.jsonl"
        complete = (
            {"task": name, "seat": "local", "attempt": n, "finish_reason": "stop", **row}
            for n, row in enumerate(rows, start=1)
        )
        path.write_text("".join(json.dumps(row) + "\n" for row in complete))
        return path

    def dispatch(
        self,
        name: str,
        replay: Path,
        flags: Mapping[str, object] | None = None,
        *,
        watching: Watching | None = None,
        **options: Any,
    ) -> Dispatch:
        task = self.task(name)
        chosen = replace(Options(replay=replay), **options)
        return run_task(task, self.settings(task, flags), chosen, watching or Watching())


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    for folder in ("crates", "tasks"):
        ignored = shutil.ignore_patterns("target")
        shutil.copytree(FIXTURES / folder, tmp_path / folder, ignore=ignored)
    # Whoever has tried the README's first command has this one solved already.
    (tmp_path / "crates/arith/src/is_even.rs").write_text(STUB)
    (tmp_path / "tessera.toml").write_text('[local]\nmodel = "auto"\n')
    return Workshop(tmp_path)
