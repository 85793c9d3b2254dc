"""The judge on real crates with real cargo: what it passes, fails and refuses to judge."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest

from critic.judge import Assignment, Judge, NotJudgeable, check_crate, open_judge
from critic.review import CriticSettings, Review, Verdict

MANIFEST = '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n'
TEST = "use demo::a::double;\n#[test]\nfn doubles() {\n    assert_eq!(double(4), 8);\n}\n"
RIGHT = "/// Twice `n`.\npub fn double(n: i32) -> i32 {\n    n * 2\n}\n"
WRONG = "/// Twice `n`.\npub fn double(n: i32) -> i32 {\n    n + 2\n}\n"
QUICK = CriticSettings(check_seconds=60, test_seconds=4)


class Files:
    """A crate being written for one test."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.write("Cargo.toml", MANIFEST)
        self.write("src/lib.rs", "pub mod a;\n")
        self.write("tests/a.rs", TEST)

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def judge(
        self,
        *candidates: str,
        target: str = "src/a.rs",
        tests: Sequence[str] = ("a",),
        directory: str = "",
        settings: CriticSettings = QUICK,
        **more: object,
    ) -> list[Review]:
        crate = self.directory / directory
        assignment = Assignment(crate, PurePosixPath(target), tuple(tests), **more)  # type: ignore[arg-type]
        with open_judge(assignment, settings, self.directory.parent / "cache") as judge:
            return [judge.judge(candidate.encode()).review for candidate in candidates]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path / "demo")


def said(review: Review) -> str:
    return " ".join(evidence.text for evidence in review.evidence)


def test_right_wrong_and_broken_candidates(files: Files) -> None:
    right, wrong, broken, again = files.judge(
        RIGHT, WRONG, "pub fn double(n: i32) -> i32 { n", RIGHT
    )
    assert (right.verdict, again.verdict) == (Verdict.PASS, Verdict.PASS)
    assert (wrong.verdict, wrong.kind, wrong.error_pattern) == (
        Verdict.FAIL,
        "test_failed",
        "test_failed",
    )
    assert "doubles" in said(wrong)
    assert "left: 6" in said(wrong)
    assert (broken.verdict, broken.kind) == (Verdict.FAIL, "code")
    assert broken.diagnostics
    assert right.axes is not None
    assert wrong.axes is not None
    assert wrong.axes.correctness < right.axes.correctness == 1.0


def test_the_persons_crate_is_never_changed(files: Files) -> None:
    before = {p: p.read_bytes() for p in files.directory.rglob("*") if p.is_file()}
    files.judge(RIGHT, WRONG)
    assert {p: p.read_bytes() for p in files.directory.rglob("*") if p.is_file()} == before


def test_a_file_that_no_mod_line_reaches_is_blocked_and_the_line_named(files: Files) -> None:
    files.write("src/lib.rs", "")
    (review,) = files.judge("pub fn anything( {", tests=())
    assert (review.verdict, review.kind) == (Verdict.BLOCKED, "unreachable_target")
    assert "pub mod a;" in said(review)


def test_declare_adds_the_line_in_the_slot(files: Files) -> None:
    files.write("src/lib.rs", "//! Demo.\n")
    right, broken = files.judge(RIGHT, "pub fn double( {", declare=True)
    assert right.verdict is Verdict.PASS
    assert (broken.verdict, broken.kind) == (Verdict.FAIL, "code")


def test_a_crate_broken_elsewhere_is_blocked_and_the_place_named(files: Files) -> None:
    files.write("src/lib.rs", "pub mod a;\nmod other;\n")
    files.write("src/other.rs", 'pub fn f() -> i32 { "no" }\n')
    (review,) = files.judge(RIGHT)
    assert (review.verdict, review.kind) == (Verdict.BLOCKED, "baseline")
    assert "other.rs:1" in said(review)


def test_what_the_candidate_breaks_elsewhere_is_its_failure(files: Files) -> None:
    files.write("src/lib.rs", "pub mod a;\npub fn caller() -> i32 { a::double(2) }\n")
    files.write("src/a.rs", RIGHT)
    (review,) = files.judge("pub fn double(n: &str) -> usize { n.len() * 2 }\n")
    assert (review.verdict, review.kind) == (Verdict.FAIL, "code")
    assert review.diagnostics[0].primary is not None
    assert review.diagnostics[0].primary.file.endswith("lib.rs")


def test_an_item_the_crate_imports_and_the_candidate_lacks_is_its_failure(files: Files) -> None:
    files.write("src/lib.rs", "pub mod a;\npub use a::double;\n")
    (review,) = files.judge("pub fn other() {}\n", tests=())
    assert (review.verdict, review.kind) == (Verdict.FAIL, "code")


def test_a_candidate_older_than_the_last_build_is_compiled(files: Files) -> None:
    files.write("src/a.rs", RIGHT)
    assert files.judge(RIGHT)[0].verdict is Verdict.PASS
    files.write("src/a.rs", WRONG)
    os.utime(files.directory / "src/a.rs", (1, 1))
    assert files.judge(WRONG)[0].verdict is Verdict.FAIL


def test_crates_of_one_name_in_two_folders_are_not_taken_for_each_other(tmp_path: Path) -> None:
    one, other = Files(tmp_path / "one/demo"), Files(tmp_path / "other/demo")
    assert one.judge(RIGHT)[0].verdict is Verdict.PASS
    assert other.judge("pub fn double(n: i32) -> i32 { }\n")[0].verdict is Verdict.FAIL


def test_a_hanging_test_is_stopped_within_its_limit(files: Files) -> None:
    hang = "pub fn double(n: i32) -> i32 {\n    loop { std::hint::black_box(n); }\n}\n"
    review, after = files.judge(hang, RIGHT, settings=CriticSettings(test_seconds=2))
    assert (review.verdict, review.kind) == (Verdict.FAIL, "timeout_code")
    assert review.seconds["test"] < 20
    assert after.verdict is Verdict.PASS


@pytest.mark.parametrize("name", ["no_such_test", "doubles_nothing"])
def test_a_name_that_no_test_answers_to_is_never_a_pass(files: Files, name: str) -> None:
    (review,) = files.judge(RIGHT, tests=(name,))
    assert (review.verdict, review.error_pattern) == (Verdict.FAIL, "no_tests_ran")


def test_an_ignored_test_did_not_run(files: Files) -> None:
    files.write("tests/a.rs", TEST.replace("#[test]", "#[test]\n#[ignore]"))
    assert files.judge(RIGHT)[0].error_pattern == "no_tests_ran"


def test_a_filter_finds_tests_by_name(files: Files) -> None:
    right, wrong = files.judge(RIGHT, WRONG, tests=("doubles",))
    assert (right.verdict, wrong.verdict) == (Verdict.PASS, Verdict.FAIL)


def test_a_test_file_that_does_not_parse_is_not_the_candidates_doing(files: Files) -> None:
    files.write("tests/a.rs", "#[test]\nfn broken( {\n")
    (review,) = files.judge(RIGHT)
    assert (review.verdict, review.kind) == (Verdict.BLOCKED, "baseline")


@pytest.mark.parametrize(
    ("candidate", "kind"),
    [
        ("pub fn double(_n: i32) -> i32 {\n    todo!()\n}\n", "completeness"),
        (RIGHT + "pub fn f() -> u8 { unsafe { *(1 as *const u8) } }\n", "safety"),
        (RIGHT + "pub fn f() { std::process::exit(0) }\n", "safety"),
    ],
)
def test_a_green_check_is_not_enough(files: Files, candidate: str, kind: str) -> None:
    (review,) = files.judge(candidate, tests=())
    assert (review.verdict, review.kind) == (Verdict.FAIL, kind)


@pytest.mark.parametrize(
    "candidate",
    [
        'compile_error!("network unreachable: could not resolve host index.registry.example");\n',
        "pub fn double(n: i32) -> i32 { dns::resolve(n) } // could not resolve host\n",
        "pub fn double(n: i32) -> i32 { let connection_refused: u8 = n; 0 }\n",
    ],
)
def test_words_of_a_network_fault_in_a_candidate_are_its_own(files: Files, candidate: str) -> None:
    (review,) = files.judge(candidate)
    assert (review.verdict, review.kind) == (Verdict.FAIL, "code")


def test_a_panic_that_speaks_of_the_network_is_a_failed_test(files: Files) -> None:
    (review,) = files.judge('pub fn double(_: i32) -> i32 { panic!("connection refused") }\n')
    assert (review.verdict, review.kind) == (Verdict.FAIL, "test_failed")


def test_equal_failures_have_one_signature_and_different_ones_do_not(files: Files) -> None:
    bad = "pub fn double(n: i32) -> String {{\n{0}    n\n}}\n"
    first, moved, other = files.judge(
        bad.format(""), bad.format("    // lower\n"), "pub fn double(n: i32) -> i32 { m }\n"
    )
    assert first.signature == moved.signature
    assert first.signature != other.signature


@pytest.mark.parametrize("name", ["with space", "ünïcode", "deep/er"])
def test_odd_paths_and_odd_sources(tmp_path: Path, name: str) -> None:
    files = Files(tmp_path / name / "demo")
    files.write("src/lib.rs", "// ünïcode\r\npub mod a;\r\n")
    assert files.judge(RIGHT.replace("\n", "\r\n"))[0].verdict is Verdict.PASS


def workspace(files: Files) -> None:
    """Move the crate into a workspace with a member that calls it."""
    for name in ("Cargo.toml", "src", "tests"):
        (files.directory / "member").mkdir(exist_ok=True)
        shutil.move(files.directory / name, files.directory / "member" / name)
    files.write("Cargo.toml", '[workspace]\nmembers = ["member", "user"]\nresolver = "2"\n')
    files.write(
        "user/Cargo.toml",
        MANIFEST.replace("demo", "user") + '[dependencies]\ndemo = { path = "../member" }\n',
    )
    files.write("user/src/lib.rs", "pub fn four() -> i32 { demo::a::double(2) }\n")


def test_a_workspace_member_is_judged_in_its_workspace(files: Files) -> None:
    workspace(files)
    right, wrong = files.judge(RIGHT, WRONG, directory="member")
    assert (right.verdict, wrong.verdict) == (Verdict.PASS, Verdict.FAIL)


def test_breaking_another_member_is_the_candidates_failure(files: Files) -> None:
    workspace(files)
    files.write("member/src/a.rs", RIGHT)
    files.write("member/tests/a.rs", "#[test]\nfn nothing() {}\n")
    (review,) = files.judge("pub fn double(n: &str) -> usize { n.len() }\n", directory="member")
    assert (review.verdict, review.kind) == (Verdict.FAIL, "code")
    assert "user" in said(review)


def test_a_virtual_manifest_is_no_crate(files: Files) -> None:
    workspace(files)
    with pytest.raises(NotJudgeable, match="its members: demo, user"):
        files.judge(RIGHT)


def test_a_path_dependency_outside_the_workspace(files: Files, tmp_path: Path) -> None:
    dependency = Files(tmp_path / "shared/dep")
    dependency.write("Cargo.toml", MANIFEST.replace("demo", "dep"))
    dependency.write("src/lib.rs", "pub fn two() -> i32 { 2 }\n")
    shutil.rmtree(dependency.directory / "tests")
    files.write("Cargo.toml", MANIFEST + '[dependencies]\ndep = { path = "../shared/dep" }\n')
    (review,) = files.judge("pub fn double(n: i32) -> i32 { n * dep::two() }\n")
    assert review.verdict is Verdict.PASS


@pytest.mark.parametrize("edition", ["2015", "2018", "2021", "2024"])
def test_every_edition(files: Files, edition: str) -> None:
    files.write("Cargo.toml", MANIFEST.replace("2021", edition))
    files.write("tests/a.rs", "extern crate demo;\n" + TEST)
    assert files.judge(RIGHT)[0].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("target", "tests"), [("src/main.rs", ()), ("examples/e.rs", ()), ("src/bin/tool.rs", ())]
)
def test_binaries_and_examples_as_targets(
    files: Files, target: str, tests: tuple[str, ...]
) -> None:
    files.write("src/a.rs", RIGHT)
    files.write(target, "fn main() {}\n")
    good, bad = files.judge(
        'fn main() { println!("{}", demo::a::double(2)); }\n',
        "fn main() { undefined(); }\n",
        target=target,
        tests=tests,
    )
    assert (good.verdict, bad.verdict) == (Verdict.PASS, Verdict.FAIL)


def test_configuration_above_the_crate_is_honoured(files: Files) -> None:
    config = files.directory.parent / ".cargo/config.toml"
    config.parent.mkdir()
    config.write_text('[build]\nrustflags = ["--cfg", "outer"]\n')
    (review,) = files.judge(RIGHT + '#[cfg(not(outer))]\ncompile_error!("not read");\n')
    assert review.verdict is Verdict.PASS


def test_a_crate_inside_the_folder_of_another_workspace_says_so(tmp_path: Path) -> None:
    (tmp_path / "Cargo.toml").write_text("[workspace]\nmembers = []\n")
    files = Files(tmp_path / "demo")
    with pytest.raises(NotJudgeable, match="workspace"):
        files.judge(RIGHT)


@pytest.mark.parametrize("manifest", ["not toml at all [", "[package]\nname = 3\n"])
def test_a_manifest_that_cargo_refuses_is_blocked(files: Files, manifest: str) -> None:
    files.write("Cargo.toml", manifest)
    with pytest.raises(NotJudgeable) as caught:
        files.judge(RIGHT)
    assert caught.value.review.verdict is Verdict.BLOCKED


def test_clippys_word_counts_when_it_is_asked(files: Files) -> None:
    silly = "pub fn double(n: i32) -> i32 {\n    return n * 2;\n}\n"
    assert files.judge(silly)[0].verdict is Verdict.PASS
    (review,) = files.judge(silly, clippy=True)
    assert (review.verdict, review.kind) == (Verdict.FAIL, "lint")


def test_a_crate_as_it_stands(files: Files, tmp_path: Path) -> None:
    files.write("src/a.rs", RIGHT)
    assert check_crate(files.directory, None, QUICK, tmp_path / "c").verdict is Verdict.PASS
    files.write("src/a.rs", "fn broken(")
    assert check_crate(files.directory, None, QUICK, tmp_path / "c").kind == "code"
    assert check_crate(files.directory, "src/a.rs", QUICK, tmp_path / "c").kind == "code"


def test_two_judges_of_one_crate_work_side_by_side(files: Files) -> None:
    assignment = Assignment(files.directory, PurePosixPath("src/a.rs"), ("a",))
    cache = files.directory.parent / "cache"

    def opened() -> Judge:
        return open_judge(assignment, QUICK, cache)

    with opened() as one, opened() as other:
        assert one.slot.path != other.slot.path
        assert one.judge(RIGHT.encode()).review.verdict is Verdict.PASS
        assert other.judge(WRONG.encode()).review.verdict is Verdict.FAIL


def test_the_rust_toolchain_file_is_honoured(files: Files) -> None:
    files.write("rust-toolchain.toml", '[toolchain]\nchannel = "1.0.0"\n')
    if subprocess.run(["which", "rustup"], capture_output=True).returncode:
        pytest.skip("needs rustup")
    with pytest.raises(NotJudgeable) as caught:
        files.judge(RIGHT)
    assert caught.value.review.kind == "toolchain_missing"


@pytest.mark.parametrize("candidate", ["", "// only a comment\n", "#![cfg(any())]\n" + RIGHT])
def test_what_compiles_to_nothing_is_no_answer(files: Files, candidate: str) -> None:
    (review,) = files.judge(candidate, tests=())
    assert (review.verdict, review.kind) == (Verdict.FAIL, "completeness")


def test_ending_the_test_binary_early_is_no_pass(files: Files) -> None:
    leaves = "pub fn double(_n: i32) -> i32 {\n    std::process::exit(0)\n}\nfn main() {}\n"
    (review,) = files.judge(leaves, settings=CriticSettings(allow=("process_access",)))
    assert (review.verdict, review.kind) == (Verdict.FAIL, "test_failed")


def test_breaking_a_member_through_another_is_the_candidates_failure(files: Files) -> None:
    workspace(files)
    members = '[workspace]\nmembers = ["member", "user", "far"]\nresolver = "2"\n'
    files.write("Cargo.toml", members)
    files.write("user/src/lib.rs", "pub use demo::a::double;\n")
    files.write(
        "far/Cargo.toml",
        MANIFEST.replace("demo", "far") + '[dependencies]\nuser = { path = "../user" }\n',
    )
    files.write("far/src/lib.rs", "pub fn four() -> i32 { user::double(2) }\n")
    files.write("member/src/a.rs", RIGHT)
    files.write("member/tests/a.rs", "#[test]\nfn nothing() {}\n")
    (review,) = files.judge("pub fn double(n: &str) -> usize { n.len() }\n", directory="member")
    assert (review.verdict, review.kind) == (Verdict.FAIL, "code")
    assert "far" in said(review)


def test_a_module_that_only_tests_compile_is_reached(files: Files) -> None:
    files.write("src/lib.rs", "#[cfg(test)]\nmod a;\n")
    files.write("tests/a.rs", "#[test]\nfn nothing() {}\n")
    good, bad = files.judge("#[test]\nfn t() {}\n", "fn broken(", tests=())
    assert (good.verdict, bad.verdict, bad.kind) == (Verdict.PASS, Verdict.FAIL, "code")


def test_a_short_module_name_is_not_taken_for_a_word_of_an_error(files: Files) -> None:
    files.write("src/lib.rs", "pub mod a;\nmod other;\n")
    files.write("src/other.rs", "pub fn f() -> i32 { undefined_thing }\n")
    (review,) = files.judge(RIGHT)
    assert (review.verdict, review.kind) == (Verdict.BLOCKED, "baseline")


def test_an_undeclared_file_of_a_member_is_not_taken_for_one_of_the_root(files: Files) -> None:
    files.write("Cargo.toml", MANIFEST + '[workspace]\nmembers = ["core1"]\n')
    files.write("src/a.rs", RIGHT)
    files.write("core1/Cargo.toml", MANIFEST.replace("demo", "core1"))
    files.write("core1/src/lib.rs", "")
    files.write("src/lib.rs", "pub mod a;\n")
    (review,) = files.judge("pub fn broken( {", directory="core1", tests=())
    assert (review.verdict, review.kind) == (Verdict.BLOCKED, "unreachable_target")


def test_a_cache_with_an_odd_name(files: Files, tmp_path: Path) -> None:
    assignment = Assignment(files.directory, PurePosixPath("src/a.rs"), ("a",))
    with open_judge(assignment, QUICK, tmp_path / "user@corp [1] ü") as judge:
        assert judge.judge(RIGHT.encode()).review.verdict is Verdict.PASS


def test_a_dependency_of_the_crate_that_does_not_exist_is_not_the_candidates(files: Files) -> None:
    files.write("Cargo.toml", MANIFEST + '[dependencies]\nno-such-crate = { path = "../gone" }\n')
    with pytest.raises(NotJudgeable) as caught:
        files.judge(RIGHT)
    assert caught.value.review.verdict is Verdict.BLOCKED
