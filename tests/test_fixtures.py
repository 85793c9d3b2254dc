"""The fixture tasks: each solution passes its tests, and nothing that is no solution does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from critic.judge import Judge
from critic.review import CriticSettings, Verdict
from tessera.run import judge_for
from tessera.task import load_task

FIXTURES = Path(__file__).parents[1] / "fixtures"
TASKS = sorted((FIXTURES / "tasks").glob("*.toml"))
GRADES = ("trivial", "easy", "medium", "hard")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def judge(path: Path, cache: Path) -> Iterator[Judge]:
    with judge_for(load_task(path), CriticSettings(), cache) as judge:
        yield judge


def test_there_are_thirty_tasks_of_every_grade() -> None:
    first_lines = [path.read_text().splitlines()[0] for path in TASKS]
    assert len(TASKS) == 30
    assert set(first_lines) == {f"# grade: {grade}" for grade in GRADES}


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.stem)
def test_the_solution_passes_and_what_is_there_does_not(path: Path, judge: Judge) -> None:
    solution = (FIXTURES / f"solutions/{path.stem}.rs").read_bytes()
    there = judge.slot.read(judge.target) or b"// nothing was written\n"
    assert judge.judge(there).review.verdict is not Verdict.PASS
    passed = judge.judge(solution).review
    assert passed.verdict is Verdict.PASS, passed.evidence
    assert passed.axes is not None
    assert passed.axes.safety == passed.axes.completeness == 1.0
