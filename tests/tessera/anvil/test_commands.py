"""`tessera anvil …` as people and scripts call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FAILED = {
    "crate": "demo",
    "target": "src/a.rs",
    "task": "a",
    "seat": "local",
    "verdict": "FAIL",
    "error_pattern": "e0106_missing_lifetime_specifier",
    "root_cause": "lifetime",
}


class Shell:
    """Runs commands in a folder of their own, with a memory of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            **{name: value for name, value in os.environ.items() if "TESSERA" not in name},
            "TESSERA_ANVIL": str(folder / "memory" / "anvil.db"),
            "NO_COLOR": "1",
            "HOME": str(folder),
        }

    def __call__(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "tessera", "anvil", *args],
            cwd=self.folder,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def json(self, *args: str, stdin: str = "") -> Any:
        ended = self(*args, "--json", stdin=stdin)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def record(self, *claims: dict[str, Any]) -> Any:
        return self.json("record", "-", stdin="".join(json.dumps(claim) + "\n" for claim in claims))


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_what_is_recorded_is_recalled(shell: Shell) -> None:
    mismatch = {**FAILED, "error_pattern": "e0308_type_mismatch", "root_cause": "type"}
    passed = {**FAILED, "verdict": "PASS", "attempt": 1}
    assert shell.record(FAILED, FAILED, mismatch, passed, passed) == {"recorded": 5}
    found = shell.json("recall", "--crate", "demo", "--target", "src/a.rs", "--task", "a")
    assert found["history"]["total"] == 5
    assert found["history"]["patterns"][0] == {
        "pattern": "e0106_missing_lifetime_specifier",
        "code": "E0106",
        "root_cause": "lifetime",
        "count": 2,
    }
    assert found["hint"].startswith(
        "This file has 5 prior attempts: 2 passed, 3 failed. Known failure patterns: "
        "E0106 (lifetime, 2 occurrences), E0308 (type mismatch, 1 occurrence)."
    )
    assert found["skip"] is None
    assert found["signal"] == {"fired": False, "pattern": None, "failures": 0, "threshold": 4}


def test_a_skip_and_a_signal_are_recalled(shell: Shell) -> None:
    blocked = {**FAILED, "verdict": "BLOCKED", "error_pattern": None, "blocked_kind": "dns"}
    shell.record(*[FAILED] * 4, blocked, blocked)
    found = shell.json("recall", "--crate", "demo", "--target", "src/a.rs", "--task", "a")
    assert found["skip"]["kind"] == "dns"
    assert found["signal"]["fired"]
    ended = shell("recall", "--crate", "demo", "--target", "src/a.rs", "--task", "a")
    assert "calibration signal: fired" in ended.stdout


def test_a_claim_that_is_refused_names_line_and_field_and_records_nothing(shell: Shell) -> None:
    lines = f"{json.dumps(FAILED)}\n{json.dumps({**FAILED, 'colour': 'red'})}\n"
    ended = shell("record", "-", stdin=lines)
    assert ended.returncode == 2
    assert "line 2: unknown field 'colour'" in ended.stderr
    assert shell.json("history")["total"] == 0


def test_a_file_of_claims_is_named_in_errors(shell: Shell) -> None:
    (shell.folder / "claims.jsonl").write_bytes(b"\xff\xfe")
    ended = shell("record", "claims.jsonl")
    assert ended.returncode == 2
    assert "claims.jsonl: not UTF-8" in ended.stderr
    assert shell("record", "missing.jsonl").returncode == 2


def test_history_is_paged(shell: Shell) -> None:
    shell.record(*({**FAILED, "attempt": n} for n in range(1, 6)))
    page = shell.json("history", "--limit", "2", "--offset", "1", "--task", "a")
    assert page["total"] == 5
    assert [claim["attempt"] for claim in page["claims"]] == [2, 3]
    assert "2–3 of 5 claims" in shell("history", "--limit", "2", "--offset", "1").stdout


def test_a_crate_given_by_a_relative_path_is_the_one_that_dispatches_recorded(
    shell: Shell,
) -> None:
    crate = shell.folder / "crates" / "demo"
    crate.mkdir(parents=True)
    shell.record({**FAILED, "crate": str(crate.resolve())})
    assert shell.json("history", "--crate", "crates/demo")["total"] == 1
    found = shell.json("recall", "--crate", "crates/demo", "--target", "src/a.rs")
    assert found["history"]["failed"] == 1


def test_odd_text_comes_out_as_it_went_in(shell: Shell) -> None:
    shell.record({**FAILED, "candidate": "a\0 \ud800 é"})
    assert shell.json("history")["claims"][0]["candidate"] == "a\0 \ud800 é"


@pytest.mark.slow
def test_statistics_of_something_and_of_nothing(shell: Shell) -> None:
    assert "empty" in shell("stats").stdout
    shell.record(FAILED, {**FAILED, "verdict": "PASS"})
    assert shell.json("stats")["final"]["rate"] == 1.0
    shown = shell("stats").stdout
    for words in ("all, first try", "cold start", "local-solvable", "US dollars"):
        assert words in shown


@pytest.mark.slow
def test_calibrate_writes_only_when_asked(shell: Shell) -> None:
    runs = [
        {**FAILED, "target": f"{n}.rs", "dispatch": str(n), "attempt": attempt}
        for n in range(30)
        for attempt in range(1, 5)
    ]
    shell.record(*runs)
    file = shell.folder / "tessera.toml"
    file.write_text("# mine\n")
    found = shell.json("calibrate")
    assert found["recommended"]["threshold"] == 1
    assert found["written"] is None
    assert file.read_text() == "# mine\n"
    assert shell.json("calibrate", "--write")["written"] == str(file)
    assert "threshold = 1" in file.read_text()
    assert shell("calibrate").stdout.count("Recommended: 1") == 1


def test_export_to_a_file_and_to_stdout(shell: Shell) -> None:
    shell.record(FAILED, FAILED)
    assert len(shell("export").stdout.splitlines()) == 2
    assert shell.json("export", "--output", "out.jsonl")["exported"] == 2
    assert len((shell.folder / "out.jsonl").read_text().splitlines()) == 2
    assert shell("export", "--json").returncode == 2


def test_check_says_what_is_wrong(shell: Shell) -> None:
    shell.record(FAILED)
    assert shell.json("check")["ok"]
    database = Path(shell.env["TESSERA_ANVIL"])
    data = bytearray(database.read_bytes())
    data[:4096] = b"x" * 4096
    database.write_bytes(data)
    ended = shell("check")
    assert ended.returncode == 3
    assert "is damaged" in ended.stderr
    assert "set aside as" in ended.stderr


@pytest.mark.parametrize(
    "command", ["record", "recall", "history", "stats", "calibrate", "export", "check", "serve"]
)
def test_every_command_explains_itself_with_an_example(shell: Shell, command: str) -> None:
    ended = shell(command, "--help")
    assert ended.returncode == 0
    assert "Example:" in ended.stdout
    assert "--json" in ended.stdout
