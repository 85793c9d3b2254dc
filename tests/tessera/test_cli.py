"""The commands as a shell sees them: output, exit codes, and what they leave behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tessera.anvil import open_anvil
from tests.tessera.conftest import FIXTURES, Workshop

REPLIES = FIXTURES / "replies"
COMMANDS = ("anvil", "check", "classify", "dispatch", "repair", "review", "seat", "teach")


def environment(root: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TESSERA_")}
    return {**kept, "TESSERA_CACHE": str(root / "cache"), "NO_COLOR": "1", "COLUMNS": "200"}


def call(workshop: Workshop, *words: str | Path, code: int = 0) -> str:
    """Run the command in the workshop; the code is part of what is tested."""
    done = subprocess.run(
        [sys.executable, "-m", "tessera", *map(str, words)],
        cwd=workshop.root,
        env=environment(workshop.root),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code in (0, 1, 3, 4) and done.stdout else done.stderr


def as_json(workshop: Workshop, *words: str | Path, code: int = 0) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(call(workshop, *words, "--json", code=code))
    return answer


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_listed_and_its_help_has_an_example(
    workshop: Workshop, command: str
) -> None:
    assert command in call(workshop, "--help")
    assert "Example" in call(workshop, command, "--help")


@pytest.mark.parametrize(
    "words", [["--help"], ["--version"], ["review", "list"], ["anvil", "history"]]
)
def test_commands_that_ask_no_model_import_no_model_client(
    workshop: Workshop, words: list[str]
) -> None:
    code = (
        "import atexit, sys\n"
        "loaded = lambda: {'litellm', 'openai', 'scipy'} & sys.modules.keys()\n"
        "atexit.register(lambda: print('LOADED', sorted(loaded())))\n"
        f"sys.argv = ['tessera', *{words!r}]\n"
        "from tessera.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=workshop.root,
        env=environment(workshop.root),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "LOADED []" in done.stdout


def test_a_dispatch_answers_in_the_exchange_format(workshop: Workshop) -> None:
    replay = REPLIES / "is_even.jsonl"
    answer = as_json(workshop, "dispatch", "tasks/is_even.toml", "--replay", replay)
    assert (answer["task"], answer["outcome"], answer["seat"]) == ("is_even", "pass", "local")
    assert answer["target"] == "src/is_even.rs"
    (attempt,) = answer["attempts"]
    assert attempt["verdict"] == "PASS"
    assert attempt["axes"].keys() == {"correctness", "safety", "usability", "completeness"}
    assert attempt["seconds"].keys() >= {"model", "check", "test"}
    assert answer["events"]["prompt_sent"] == 1


def test_stage_review_accept_and_undo(workshop: Workshop) -> None:
    target = workshop.task("is_even").crate / "src/is_even.rs"
    before = target.read_bytes()
    words = ("dispatch", "tasks/is_even.toml", "--replay", REPLIES / "is_even.jsonl", "--stage")
    identity = as_json(workshop, *words, code=4)["proposal"]
    assert target.read_bytes() == before
    assert as_json(workshop, "review", "list")["total"] == 1
    assert "pub fn is_even" in as_json(workshop, "review", "show", identity)["patch"]
    assert as_json(workshop, "review", "accept", identity)["state"] == "accepted"
    assert target.read_bytes() != before
    assert "is accepted" in call(workshop, "review", "accept", identity, code=2)
    assert as_json(workshop, "review", "undo", identity)["state"] == "undone"
    assert target.read_bytes() == before


def test_a_stale_proposal_is_not_written(workshop: Workshop) -> None:
    target = workshop.task("is_even").crate / "src/is_even.rs"
    words = ("dispatch", "tasks/is_even.toml", "--replay", REPLIES / "is_even.jsonl", "--stage")
    identity = as_json(workshop, *words, code=4)["proposal"]
    target.write_text("// mine\n")
    assert as_json(workshop, "review", "accept", identity, code=1)["state"] == "stale"
    assert target.read_text() == "// mine\n"


def test_an_acceptance_that_was_killed_before_it_wrote_is_finished(workshop: Workshop) -> None:
    target = workshop.task("is_even").crate / "src/is_even.rs"
    words = ("dispatch", "tasks/is_even.toml", "--replay", REPLIES / "is_even.jsonl", "--stage")
    identity = as_json(workshop, *words, code=4)["proposal"]
    with open_anvil(workshop.anvil) as memory:
        assert memory.move_proposal(identity, "staged", "accepted", None)
    assert as_json(workshop, "review", "accept", identity)["state"] == "accepted"
    assert "n % 2 == 0" in target.read_text()


def test_a_rejected_proposal_keeps_its_reason(workshop: Workshop) -> None:
    words = ("dispatch", "tasks/is_even.toml", "--replay", REPLIES / "is_even.jsonl", "--stage")
    identity = as_json(workshop, *words, code=4)["proposal"]
    call(workshop, "review", "reject", identity, "--why", "too clever")
    (row,) = as_json(workshop, "review", "list", "--all")["proposals"]
    assert (row["state"], row["why"]) == ("rejected", "too clever")


def test_a_batch_reports_its_numbers(workshop: Workshop) -> None:
    replay = workshop.root / "all.jsonl"
    texts = [(REPLIES / f"{name}.jsonl").read_text() for name in ("is_even", "lru_cache")]
    replay.write_text("".join(texts))
    words = ("tasks/is_even.toml", "tasks/lru_cache.toml", "tasks/gcd.toml")
    answer = as_json(workshop, "teach", *words, "--replay", replay)
    assert answer["first_try"]["passed"] == 1
    assert (answer["final"]["passed"], answer["final"]["of"]) == (2, 2)
    assert answer["blocked"] == 1
    assert answer["coverage"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('tests = ["is_even"]', "tests = 3"), ["is_even.toml", "verify.tests"]),
        (("[verify]", "[verfy]"), ["is_even.toml", "verfy", "verify"]),
        (('target = "src/is_even.rs"', 'target = "../x.rs"'), ["is_even.toml", "target"]),
        (("../crates/arith", "../crates/nowhere"), ["crate"]),
    ],
)
def test_mistakes_in_a_task_file_are_exit_2_and_named(
    workshop: Workshop, change: tuple[str, str], words: list[str]
) -> None:
    path = workshop.root / "tasks/is_even.toml"
    path.write_text(path.read_text().replace(*change))
    said = call(workshop, "dispatch", path, code=2)
    for word in words:
        assert word in said


@pytest.mark.parametrize(
    "words",
    [
        ["dispatch"],
        ["dispatch", "no-such-task.toml"],
        ["dispatch", "tasks"],
        ["dispatch", "tasks/is_even.toml", "--budget", "0"],
        ["dispatch", "tasks/is_even.toml", "--carry", "everything"],
        ["dispatch", "tasks/is_even.toml", "--replay", "none.jsonl"],
        ["review", "accept", "no-such-proposal"],
        ["teach", "nowhere"],
        ["unknown-command"],
        ["check", "crates/arith", "--target", "../../tessera.toml"],
        ["check", "crates/arith", "--target", "src/none.rs"],
    ],
)
def test_usage_mistakes_are_exit_2_without_a_trace(workshop: Workshop, words: list[str]) -> None:
    assert call(workshop, *words, code=2).strip()


def test_an_endpoint_that_is_dead_is_blocked_and_named(workshop: Workshop) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = f'[local]\nmodel = "m"\nurl = "http://127.0.0.1:{port}/v1"\npatience = 0\n'
    (workshop.root / "tessera.toml").write_text(config)
    answer = as_json(workshop, "dispatch", "tasks/is_even.toml", code=3)
    assert answer["outcome"] == "blocked"
    assert answer["attempts"][-1]["blocked_kind"] == "model_unreachable"
    assert str(port) in answer["why"]


def test_without_cargo_the_dispatch_is_blocked_with_advice(workshop: Workshop) -> None:
    words = ["dispatch", "tasks/is_even.toml", "--replay", str(REPLIES / "is_even.jsonl"), "--json"]
    env = {**environment(workshop.root), "PATH": "/nowhere", "CARGO_HOME": "/nowhere"}
    done = subprocess.run(
        [sys.executable, "-m", "tessera", *words],
        cwd=workshop.root,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert json.loads(done.stdout)["attempts"][-1]["blocked_kind"] == "toolchain_missing"
    assert "rust-lang.org" in done.stderr


def test_ctrl_c_while_the_model_hangs_changes_nothing_and_leaves_no_process(
    workshop: Workshop,
) -> None:
    target = workshop.task("is_even").crate / "src/is_even.rs"
    before = target.read_bytes()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        (workshop.root / "tessera.toml").write_text(f'[local]\nmodel = "m"\nurl = "{url}"\n')
        running = subprocess.Popen(
            [sys.executable, "-m", "tessera", "dispatch", "tasks/is_even.toml"],
            cwd=workshop.root,
            env=environment(workshop.root),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        silent.settimeout(60)
        connection, _ = silent.accept()
        time.sleep(0.5)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=30)
        connection.close()
    assert running.returncode == 130
    assert b"Traceback" not in said
    assert target.read_bytes() == before
    assert not processes_of_session(running.pid)
    with open_anvil(workshop.anvil) as memory:
        assert "interrupted" in [event.kind for _, event in memory.events()]


def processes_of_session(session: int) -> list[str]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(stat.parent.name)
    return found


def test_check_and_classify(workshop: Workshop, tmp_path: Path) -> None:
    crate = workshop.task("is_even").crate
    assert as_json(workshop, "check", crate)["verdict"] == "PASS"
    (crate / "src/is_even.rs").write_text("fn broken(")
    assert as_json(workshop, "check", crate, "--target", "src/is_even.rs", code=1)["kind"]
    log = tmp_path / "cargo.log"
    log.write_text(
        "error[E0308]: mismatched types\n --> src/a.rs:1:1\n\nerror: could not compile `x`\n"
    )
    assert as_json(workshop, "classify", log, "--exit-code", "101", code=1)["verdict"] == "FAIL"
    log.write_text(
        "    Updating crates.io index\nerror: failed to get `x` as a dependency\n\nCaused by:\n"
        "  [6] Could not resolve hostname (Could not resolve host: index.registry.example)\n"
    )
    answer = as_json(workshop, "classify", log, "--exit-code", "101", code=3)
    assert (answer["verdict"], answer["kind"], answer["retryable"]) == ("BLOCKED", "dns", True)


def test_checking_what_is_no_crate_is_blocked_in_cargos_words(workshop: Workshop) -> None:
    assert as_json(workshop, "check", "tasks", code=3)["verdict"] == "BLOCKED"
