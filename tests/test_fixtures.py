"""The fixtures keep their word, proved with cargo.

Every task has a solution that passes its tests, and tests that plausible mistakes fail; the
recorded replies fail and pass as promised. The fixtures are read with tomllib and json alone and
built in copies, so that plain cargo vouches for them; then the critic has to agree with it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from critic.review import CriticSettings, Verdict
from tessera.run import judge_for
from tessera.task import load_task

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CRATES = FIXTURES / "crates"
SOLUTIONS = FIXTURES / "solutions"
REPLIES = FIXTURES / "replies"
GRADES = ("trivial", "easy", "medium", "hard")

# What each recorded reply comes to: the codes of its errors, none when it passes the tests.
REPLY_ERRORS: dict[tuple[str, str, int], set[str]] = {
    ("is_even", "local", 1): set(),
    ("string_utils", "local", 1): {"E0106"},
    ("string_utils", "local", 2): {"E0106"},
    ("string_utils", "local", 3): {"E0106"},
    ("string_utils", "local", 4): set(),
    ("binary_tree", "local", 1): {"E0369"},
    ("binary_tree", "local", 2): {"E0369"},
    ("binary_tree", "local", 3): {"E0369"},
    ("binary_tree", "local", 4): {"E0369"},
    ("binary_tree", "frontier", 1): set(),
    ("lru_cache", "local", 1): {"E0308"},
    ("lru_cache", "local", 2): set(),
}


@dataclass(frozen=True)
class FixtureTask:
    """A task file as it is written; `root` is the folder in `crates/` that holds its crate."""

    id: str
    root: Path
    crate: Path
    target: str
    tests: tuple[str, ...]
    declare: bool
    dependencies: dict[str, Any]


@dataclass(frozen=True)
class Ran:
    """What `cargo test` said: exit code, tests passed and failed, and its stderr."""

    code: int
    passed: int
    failed: int
    stderr: str


def read_task(path: Path) -> FixtureTask:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    crate = (path.parent / data["crate"]).resolve()
    verify = data["verify"]
    return FixtureTask(
        id=path.stem,
        root=CRATES / crate.relative_to(CRATES).parts[0],
        crate=crate,
        target=data["target"],
        tests=tuple(verify["tests"]),
        declare=verify.get("declare", False),
        dependencies=data.get("dependencies", {}),
    )


TASKS = {path.stem: read_task(path) for path in sorted((FIXTURES / "tasks").glob("*.toml"))}
WRONG = [
    (task, number, change)
    for task, changes in tomllib.loads((SOLUTIONS / "wrong.toml").read_text("utf-8")).items()
    for number, change in enumerate(changes, start=1)
]


def solution(task: str) -> str:
    return (SOLUTIONS / f"{task}.rs").read_text(encoding="utf-8")


def replies() -> list[dict[str, Any]]:
    lines = [
        line
        for path in sorted(REPLIES.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [json.loads(line) for line in lines]


def reply_key(reply: dict[str, Any]) -> tuple[str, str, int]:
    return reply["task"], reply["seat"], reply["attempt"]


def copy_of(root: Path, room: Path) -> Path:
    """A fresh copy of a crate or workspace in `room`, at the same place each time.

    The copies are dated now: cargo would take an older file than its last build's for unchanged.
    """
    copy = room / root.name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(
        root, copy, ignore=shutil.ignore_patterns("target"), copy_function=shutil.copyfile
    )
    return copy


def place(task: FixtureTask, source: str, crate: Path) -> None:
    """Put a source at the task's target, with the `mod` line and dependencies it asks for."""
    target = crate / task.target
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(source, encoding="utf-8")
    root_module = crate / "src/lib.rs"
    declaration = f"pub mod {target.stem};\n"
    if task.declare and declaration not in root_module.read_text(encoding="utf-8"):
        with root_module.open("a", encoding="utf-8") as lib:
            lib.write(declaration)
    if task.dependencies:
        manifest = tomlkit.parse((crate / "Cargo.toml").read_text(encoding="utf-8"))
        manifest["dependencies"].update(task.dependencies)
        (crate / "Cargo.toml").write_text(tomlkit.dumps(manifest), encoding="utf-8")


def cargo(copy: Path, crate: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run cargo in a crate of the copy, with one target folder for each copy."""
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(copy.with_name(f"{copy.name}-target")),
        "CARGO_TERM_COLOR": "never",
        "CARGO_INCREMENTAL": "0",
        "CARGO_PROFILE_DEV_DEBUG": "0",
    }
    return subprocess.run(
        ["cargo", *arguments],
        cwd=crate,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )


def run_tests(task: FixtureTask, source: str, room: Path) -> Ran:
    """Run the task's tests on a copy of its crate that has the source in place."""
    copy = copy_of(task.root, room)
    crate = copy / task.crate.relative_to(task.root)
    place(task, source, crate)
    frozen = [] if task.dependencies else ["--frozen"]
    names = [word for name in task.tests for word in ("--test", name)]
    done = cargo(copy, crate, "test", "--no-fail-fast", *frozen, *names)
    results = re.findall(r"^test result: .* (\d+) passed; (\d+) failed;", done.stdout, re.M)
    return Ran(
        code=done.returncode,
        passed=sum(int(passed) for passed, _ in results),
        failed=sum(int(failed) for _, failed in results),
        stderr=done.stderr,
    )


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the copies and their target folders are, shared by all tests of this module."""
    return tmp_path_factory.mktemp("crates")


def test_there_are_thirty_graded_tasks() -> None:
    first_lines = [
        (FIXTURES / "tasks" / f"{task}.toml").read_text(encoding="utf-8").splitlines()[0]
        for task in TASKS
    ]
    assert len(TASKS) == 30
    assert {line.removeprefix("# grade: ") for line in first_lines} == set(GRADES)
    assert sum(task.declare for task in TASKS.values()) >= 3


def test_tasks_solutions_mistakes_and_replies_belong_together() -> None:
    assert {path.stem for path in SOLUTIONS.glob("*.rs")} == set(TASKS)
    assert {task for task, _, _ in WRONG} == set(TASKS)
    assert sorted(map(reply_key, replies())) == sorted(REPLY_ERRORS)


def test_test_files_of_tasks_are_there() -> None:
    missing = [
        f"{task.id}: {name}"
        for task in TASKS.values()
        for name in task.tests
        if not (task.crate / "tests" / f"{name}.rs").is_file()
    ]
    assert missing == []


def test_shipped_lock_files_name_no_registry() -> None:
    ignored = (FIXTURES / ".gitignore").read_text(encoding="utf-8").split()
    for root in {task.root for task in TASKS.values() if task.dependencies}:
        assert f"/crates/{root.name}/Cargo.lock" in ignored
    shipped = [
        lock
        for lock in CRATES.rglob("Cargo.lock")
        if f"/{lock.relative_to(FIXTURES).as_posix()}" not in ignored
    ]
    assert shipped
    assert [lock for lock in shipped if "source =" in lock.read_text(encoding="utf-8")] == []


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_solution_passes(task: FixtureTask, room: Path) -> None:
    run = run_tests(task, solution(task.id), room)
    assert run.code == 0, run.stderr
    assert run.passed >= 1
    assert run.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_critic_passes_the_solution_and_never_an_empty_file(name: str, room: Path) -> None:
    task = load_task(FIXTURES / f"tasks/{name}.toml")
    with judge_for(task, CriticSettings(), room / "cache") as judge:
        nothing = judge.judge(b"// nothing was written\n").review
        right = judge.judge(solution(name).encode()).review
    assert nothing.verdict is Verdict.FAIL, nothing.evidence
    assert right.verdict is Verdict.PASS, right.evidence
    assert right.axes is not None
    assert right.axes.safety == right.axes.completeness == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change"),
    [(task, change) for task, _, change in WRONG],
    ids=[f"{task}-{number}" for task, number, _ in WRONG],
)
def test_plausible_mistake_compiles_and_fails_the_tests(
    name: str, change: dict[str, str], room: Path
) -> None:
    right = solution(name)
    assert right.count(change["find"]) == 1
    run = run_tests(TASKS[name], right.replace(change["find"], change["replace"]), room)
    assert run.failed >= 1, run.stderr
    assert run.code != 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "reply", replies(), ids=["-".join(map(str, reply_key(reply))) for reply in replies()]
)
def test_recorded_reply_fails_or_passes_as_promised(reply: dict[str, Any], room: Path) -> None:
    fences = re.findall(r"^```rust\n(.*?)^```$", reply["reply"], re.M | re.S)
    assert len(fences) == 1
    run = run_tests(TASKS[reply["task"]], fences[0], room)
    errors = REPLY_ERRORS[reply_key(reply)]
    assert set(re.findall(r"^error\[(E\d{4})\]", run.stderr, re.M)) == errors
    assert (run.code == 0 and run.passed > 0) == (not errors), run.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo-clippy") is None, reason="clippy is not installed")
@pytest.mark.parametrize(
    "root", sorted({task.root for task in TASKS.values()}), ids=lambda root: str(root.name)
)
def test_solutions_of_a_crate_are_clean_together(root: Path, room: Path) -> None:
    copy = copy_of(root, room)
    tasks = [task for task in TASKS.values() if task.root == root]
    for task in tasks:
        place(task, solution(task.id), copy / task.crate.relative_to(root))
    denied = ["-Dwarnings", "-Dmissing_docs", "-Dunsafe_code", "-Dclippy::todo"]
    lint = cargo(copy, copy, "clippy", "--workspace", "--lib", "--bins", "--", *denied)
    assert lint.returncode == 0, lint.stderr
    written = [copy / task.crate.relative_to(root) / task.target for task in tasks]
    style = cargo(copy, copy, "fmt", "--all", "--check")
    assert [path.name for path in written if str(path) in style.stdout] == []


@pytest.mark.slow
def test_broken_target_does_not_compile(room: Path) -> None:
    task = TASKS["run_length"]
    target = task.crate / task.target
    committed = ["git", "diff", "--quiet", "HEAD", "--", str(target)]
    if subprocess.run(committed, cwd=FIXTURES, capture_output=True, check=False).returncode == 1:
        pytest.skip(f"{task.target} was changed since it was committed")
    run = run_tests(task, target.read_text(encoding="utf-8"), room)
    assert set(re.findall(r"^error\[(E\d{4})\]", run.stderr, re.M)) >= {"E0433"}
