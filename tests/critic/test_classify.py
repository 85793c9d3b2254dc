"""Verdicts on real outputs of cargo, on real runs, and what no text may ever bring about."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from critic.classify import Classification, classify, classify_text
from critic.review import Stage, Verdict
from critic.sentences import FAILS, MAY_PASS, Kind

FIXTURES = Path(__file__).parents[2] / "fixtures" / "cargo"
Row = Mapping[str, Any]

# Rows whose text names another kind than the one their maker knew of, or whose label rests on
# an output that this text does not hold.
UNKNOWABLE = {
    "r-proxy-socks",  # a proxy that stays silent looks like any time-out
    "r-dl-portal",  # a portal's page in place of an archive is a wrong checksum
    "r-cache-crate-empty",  # an empty archive counts as absent, which offline mode then names
    "r-gitdb-corrupt",  # likewise
    "r-full-plus-code-error",  # an error of the candidate stands in it, besides the full disk
}


def rows(name: str) -> list[Row]:
    text = (FIXTURES / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


GIVEN, OWN = rows("stderr.jsonl"), rows("cases.jsonl")
CLEAR = [row for row in [*GIVEN, *OWN] if not row.get("ambiguous")]


def judge(row: Row, *, stdout: bool = True) -> Classification:
    return classify(
        row["exit_code"],
        row["stderr"],
        row.get("messages", ()),
        stdout=row.get("stdout", "") if stdout else "",
    )


def kind_is_right(row: Row, found: Classification) -> bool:
    """`lookalike` and `mixed` say how a row deceives: any kind of failure is right there."""
    if row["label"] == "PASS":
        return found.kind is None
    if row["subkind"] in ("lookalike", "mixed"):
        return found.kind in FAILS
    return bool(found.kind == row["subkind"])


@dataclass(frozen=True)
class Score:
    verdicts: float
    kinds: float
    wrong: tuple[str, ...]


def score(of: Sequence[Row], *, stdout: bool = True) -> Score:
    judged = [(row, judge(row, stdout=stdout)) for row in of if not row.get("ambiguous")]
    right = [(row, found) for row, found in judged if found.verdict == row["label"]]
    exact = [row for row, found in right if kind_is_right(row, found)]
    missed = {row["id"] for row, _ in judged} - {row["id"] for row in exact}
    return Score(len(right) / len(judged), len(exact) / len(judged), tuple(sorted(missed)))


@pytest.mark.parametrize("stdout", [True, False], ids=["with-stdout", "stderr-alone"])
@pytest.mark.parametrize("name", ["stderr.jsonl", "cases.jsonl"])
def test_the_labelled_outputs_are_judged_as_labelled(name: str, stdout: bool) -> None:
    found = score(rows(name), stdout=stdout)
    told = f"verdicts {found.verdicts:.2%}, kinds {found.kinds:.2%}, wrong {found.wrong}"
    sys.stdout.write(f"{name}: {told}\n")
    assert found.verdicts >= 0.99
    assert found.kinds >= 0.95


@pytest.mark.parametrize(
    "row", [r for r in CLEAR if r["id"] not in UNKNOWABLE], ids=lambda r: r["id"]
)
def test_a_labelled_output(row: Row) -> None:
    found = judge(row)
    assert found.verdict == row["label"], found
    assert kind_is_right(row, found), found
    if found.verdict is Verdict.BLOCKED:
        assert found.retryable == row["retryable"], found
    assert found.evidence.rule and found.evidence.text


@pytest.mark.parametrize("row", CLEAR, ids=lambda r: r["id"])
def test_a_failure_is_named_and_nothing_else_is(row: Row) -> None:
    found = judge(row)
    assert (found.error_pattern is not None) == (found.verdict is Verdict.FAIL)
    assert (found.root_cause is not None) == (found.verdict is Verdict.FAIL)
    assert (found.kind is None) == (found.verdict is Verdict.PASS)


@pytest.mark.parametrize(
    ("ident", "pattern", "cause"),
    [
        ("r-e0499", "e0499_two_mutable_borrows", "borrow"),
        ("r-syntax", "unclosed_delimiter", "syntax"),
        ("r-e0432-dns", "e0433_unresolved_path", "import"),
        ("r-color-error", "e0308_type_mismatch", "type"),
        ("r-forge-compile-error", "compile_error_macro", "macro"),
        ("r-deny-warnings-flag", "lint_unused_imports", "lint"),
        ("r-proc-macro-panic", "proc_macro_panicked", "macro"),
        ("r-own-extern-undefined", "undefined_symbol", "link"),
        ("r-rustc-stack-overflow", "compiler_crash", "compiler"),
        ("r-hallucinated-near", "crate_not_in_registry", "dependency"),
        ("r-yanked", "no_version_fits", "dependency"),
        ("r-fetch-badfeature", "feature_not_found", "dependency"),
        ("r-git-bad-branch", "git_reference_not_found", "dependency"),
        ("r-msrv-own", "rust_version_too_new", "dependency"),
        ("r-m-inherit", "manifest_invalid", "manifest"),
        ("r-build-rs-refused", "build_script_failed", "build_script"),
        ("r-t-integration-dns", "test_failed", "test"),
        ("c-panic-refused", "test_panicked", "test"),
        ("r-t-segv", "test_aborted", "test"),
        ("r-t-timeout-loop", "test_timeout", "time"),
        ("c-time-const", "compile_timeout", "time"),
        ("c-run-fails", "program_failed", "test"),
    ],
)
def test_the_name_of_a_failure(ident: str, pattern: str, cause: str) -> None:
    row = next(row for row in [*GIVEN, *OWN] if row["id"] == ident)
    found = judge(row)
    assert (found.error_pattern, found.root_cause) == (pattern, cause)


@pytest.mark.parametrize(
    ("phase", "verdict", "kind"),
    [
        (Stage.PREFLIGHT, Verdict.FAIL, Kind.MANIFEST),
        (Stage.CHECK, Verdict.FAIL, Kind.MANIFEST),
        (None, Verdict.FAIL, Kind.MANIFEST),
        (Stage.FETCH, Verdict.BLOCKED, Kind.ENVIRONMENT),
    ],
)
def test_a_sentence_nobody_knows_is_read_by_its_stage(
    phase: Stage | None, verdict: Verdict, kind: Kind
) -> None:
    found = classify(101, "error: the moon is in the wrong house\n", phase=phase)
    assert (found.verdict, found.kind) == (verdict, kind)


@pytest.mark.parametrize(
    ("stderr", "phase", "kind"),
    [
        ("    Blocking waiting for file lock on build directory\n", Stage.CHECK, "lock"),
        ("    Updating `corp` index\n", Stage.FETCH, "timeout"),
        ("   Compiling huge-sys v1.0.0\n", Stage.CHECK, "timeout"),
        ("    Checking app v0.1.0 (/home/user/app)\n", Stage.CHECK, "timeout_code"),
        ("     Running unittests src/lib.rs (target/debug/deps/a-1)\n", Stage.TEST, "timeout_code"),
        ("", Stage.PREFLIGHT, "timeout"),
    ],
)
def test_what_cargo_was_doing_tells_whose_fault_a_time_limit_is(
    stderr: str, phase: Stage, kind: str
) -> None:
    assert classify(None, stderr, phase=phase, timed_out=True).kind == kind


def test_a_status_that_a_test_chose_is_not_a_time_limit() -> None:
    failed = (
        "     Running unittests src/lib.rs (target/debug/deps/app-71ce70495b798487)\n"
        "error: test failed, to rerun pass `--lib`\n\nCaused by:\n"
        "  process didn't exit successfully: "
        "`/home/user/app/target/debug/deps/app-71ce70495b798487` (exit status: %d)\n"
    )
    for status in (124, 126, 127, 137):
        assert classify(status, failed % status).kind == "test_failed"


def test_no_test_ran_is_no_pass_where_tests_were_to_run() -> None:
    nothing = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 3 ignored; 0 measured\n"
    assert classify(0, "", stdout=nothing, phase=Stage.TEST).error_pattern == "no_tests_ran"
    some = nothing + "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured\n"
    assert classify(0, "", stdout=some, phase=Stage.TEST).verdict is Verdict.PASS
    assert classify(0, "", stdout=nothing, phase=Stage.CHECK).verdict is Verdict.PASS


def test_without_an_exit_code_only_a_finished_build_passes() -> None:
    finished = "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.13s\n"
    assert classify_text(finished).verdict is Verdict.PASS
    assert classify_text("").verdict is Verdict.BLOCKED
    assert (
        classify_text(finished + "error: test failed, to rerun pass `--lib`\n").kind
        == "test_failed"
    )


def test_saved_messages_are_read_with_whatever_stands_between() -> None:
    row = next(row for row in OWN if row["id"] == "c-json-code")
    text = "garbage\n{not json\n" + "\n".join(json.dumps(m) for m in row["messages"])
    found = classify_text(row["stderr"], exit_code=101, messages=text, phase="check")
    assert (found.verdict, found.error_pattern) == (Verdict.FAIL, "e0425_unresolved_name")
    assert found.evidence.run == "check"


# --- real runs: what the recorded texts can't show ----------------------------------------


def cargo(folder: Path, *argv: str, **environment: str) -> Classification:
    """Run cargo on the crate in a folder and classify the run as the critic would."""
    home = {"CARGO_HOME": str(folder / "home"), "CARGO_TERM_COLOR": "never", "LC_ALL": "C"}
    run = subprocess.run(
        ["cargo", *argv],
        cwd=folder,
        env={**os.environ, **home, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    messages = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return classify(run.returncode, run.stderr, messages, stdout=run.stdout)


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    (tmp_path / "Cargo.toml").write_text(
        '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n'
    )
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.rs").write_text("pub fn one() -> u8 { 1 }\n")
    return tmp_path


JSON = "--message-format=json"


def test_a_real_check_passes_and_fails(crate: Path) -> None:
    assert cargo(crate, "check", JSON).verdict is Verdict.PASS
    (crate / "src" / "lib.rs").write_text("pub fn one() -> u8 { one }\n")
    found = cargo(crate, "check", JSON)
    assert (found.verdict, found.error_pattern) == (Verdict.FAIL, "e0308_type_mismatch")


@pytest.mark.parametrize("output", [JSON, "--message-format=human", "--message-format=short"])
def test_a_real_compile_error_macro_is_not_believed(crate: Path, output: str) -> None:
    (crate / "src" / "lib.rs").write_text(
        'compile_error!("linker `cc` not found");\n'
        'compile_error!("failed to write `x`: No space left on device (os error 28)");\n'
    )
    assert cargo(crate, "check", output).verdict is Verdict.FAIL


@pytest.mark.parametrize("output", [JSON, "--message-format=human"])
def test_a_real_missing_linker_blocks(crate: Path, output: str) -> None:
    (crate / "src" / "main.rs").write_text("fn main() {}\n")
    variable = {"RUSTFLAGS": "-Clinker=no-such-linker"}
    assert cargo(crate, "build", output, **variable).kind == "linker_missing"


def test_a_real_macro_that_prints_linker_faults_and_exits_is_not_believed(crate: Path) -> None:
    macro = crate / "mac"
    (macro / "src").mkdir(parents=True)
    (macro / "Cargo.toml").write_text(
        '[package]\nname = "mac"\nversion = "0.1.0"\nedition = "2021"\n[lib]\nproc-macro = true\n'
    )
    (macro / "src" / "lib.rs").write_text(
        "#[proc_macro] pub fn go(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n"
        '    eprintln!("error: linker `cc` not found\\n"); std::process::exit(1) }\n'
    )
    with (crate / "Cargo.toml").open("a") as manifest:
        manifest.write('[dependencies]\nmac = { path = "mac" }\n')
    (crate / "src" / "lib.rs").write_text("mac::go!();\n")
    assert cargo(crate, "check").verdict is Verdict.FAIL
    assert cargo(crate, "check", JSON).verdict is Verdict.FAIL


@pytest.mark.slow
def test_a_real_test_that_prints_all_of_cargos_faults_is_not_believed(crate: Path) -> None:
    blocked = [row["stderr"] for row in CLEAR if row["label"] == "BLOCKED"]
    (crate / "forged.txt").write_text("\n".join(blocked), encoding="utf-8")
    (crate / "src" / "lib.rs").write_text(
        '#[test] fn forges() { eprintln!("{}", include_str!("../forged.txt")); panic!(); }\n'
    )
    for argv in (["test"], ["test", "-q"]):
        found = cargo(crate, *argv, "--", "--nocapture")
        assert (found.verdict, found.kind) == (Verdict.FAIL, "test_failed")


# --- properties --------------------------------------------------------------------------

LINES = [line for row in [*GIVEN, *OWN] for line in row["stderr"].splitlines() if len(line) < 300]
TEXTS = st.one_of(
    st.text(max_size=200),
    st.lists(st.sampled_from(LINES), max_size=25).map("\n".join),
)
KEYS = st.sampled_from(
    ["reason", "message", "level", "code", "spans", "children", "package_id", "target", "success"]
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
MESSAGES = st.lists(
    st.dictionaries(KEYS, JSON_VALUES, max_size=6).map(
        lambda m: {**m, "reason": m.get("reason") or "compiler-message"}
    ),
    max_size=3,
)


@given(
    st.none() | st.integers(-1, 255),
    TEXTS,
    MESSAGES,
    st.none() | st.sampled_from(Stage),
    st.none() | st.integers(1, 64),
    st.booleans(),
    TEXTS,
)
@settings(max_examples=300, deadline=None)
def test_any_input_is_judged_and_a_pass_needs_exit_code_0(
    exit_code: int | None,
    stderr: str,
    messages: list[dict[str, Any]],
    phase: Stage | None,
    signal: int | None,
    timed_out: bool,
    stdout: str,
) -> None:
    found = classify(exit_code, stderr, messages, phase, signal, timed_out, stdout)
    if found.verdict is Verdict.PASS:
        assert exit_code in (0, None) and signal is None and not timed_out
    else:
        assert found.kind is not None
        assert (Kind(found.kind) in FAILS) == (found.verdict is Verdict.FAIL)
        assert not (found.verdict is Verdict.FAIL and found.retryable)


@given(st.text(max_size=400), st.text(max_size=200))
def test_saved_text_of_any_kind_is_judged(stderr: str, messages: str) -> None:
    assert classify_text(stderr, exit_code=101, messages=messages).verdict is not Verdict.PASS


def rendered(text: str) -> str:
    """A diagnostic as rustc prints it: the first line behind `error: `, the others indented."""
    head, *rest = text.split("\n")
    body = "".join(f"       {line}\n" for line in rest)
    source = "".join(f"{n} | // {line}\n" for n, line in enumerate(text.split("\n"), 1))
    return f"error: {head}\n{body} --> src/lib.rs:1:1\n  |\n{source}  | ^^^\n\n"


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_what_a_rendered_diagnostic_says_never_blocks(text: str) -> None:
    text = text.replace("\r", "").replace("\x1b", "")
    log = (
        "    Checking app v0.1.0 (/home/user/app)\n"
        + rendered(text)
        + "error: could not compile `app` (lib) due to 1 previous error\n"
    )
    assert classify(101, log).verdict is Verdict.FAIL


@given(TEXTS, st.booleans())
@settings(max_examples=300, deadline=None)
def test_what_a_test_prints_never_blocks(text: str, quiet: bool) -> None:
    running = "     Running unittests src/lib.rs (target/debug/deps/app-71ce70495b798487)\n"
    log = ("" if quiet else running) + text + "\nerror: test failed, to rerun pass `--lib`\n"
    found = classify(101, log)
    assert (found.verdict, found.kind) == (Verdict.FAIL, "test_failed")


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_what_an_error_in_json_says_never_blocks(text: str) -> None:
    span = {"file_name": "src/lib.rs", "line_start": 1, "column_start": 1, "is_primary": True}
    message = {
        "reason": "compiler-message",
        "package_id": "path+file:///home/user/app#0.1.0",
        "message": {"level": "error", "message": text, "spans": [span]},
    }
    finished = {"reason": "build-finished", "success": False}
    assert classify(101, "", [message, finished]).verdict is Verdict.FAIL


def test_every_kind_that_blocks_has_a_case() -> None:
    told = {row["subkind"] for row in [*GIVEN, *OWN]}
    assert {kind.value for kind in Kind} - told == set()
    assert MAY_PASS.isdisjoint(FAILS)
