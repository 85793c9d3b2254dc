"""rustc called directly: the same errors as cargo, cargo's own arguments, nothing disturbed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from critic.process import Limits, run
from critic.review import Run, Stage
from critic.rustc import (
    VERBOSE,
    for_target,
    invocation_for,
    invocations,
    own_arguments,
    stand_alone,
)
from critic.toolchain import Toolchain, find_toolchain

LIMITS = Limits(wall_seconds=120)


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain(Path.cwd())


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    """A crate whose module uses a feature, an environment variable and another module."""
    (tmp_path / "src").mkdir()
    (tmp_path / "Cargo.toml").write_text(
        '[package]\nname = "sample"\nversion = "0.3.0"\nedition = "2021"\n'
        '[features]\ndefault = ["extra"]\nextra = []\n[workspace]\n'
    )
    (tmp_path / "src" / "lib.rs").write_text("pub mod other;\npub mod part;\n")
    (tmp_path / "src" / "other.rs").write_text("pub fn two() -> i32 { 2 }\n")
    (tmp_path / "src" / "part.rs").write_text(GOOD)
    return tmp_path


GOOD = """use crate::other::two;
#[cfg(feature = "extra")]
pub fn four() -> i32 { two() + two() }
pub fn version() -> &'static str { env!("CARGO_PKG_VERSION") }
pub fn user() -> i32 { four() }
"""


def check(crate: Path, toolchain: Toolchain, *flags: str) -> Run:
    argv = [str(toolchain.cargo), "check", "--message-format=json", "--offline", *flags]
    return run(argv, cwd=crate, env=toolchain.environment, stage=Stage.CHECK, limits=LIMITS)


def test_a_program_and_a_library_are_told_apart(toolchain: Toolchain, tmp_path: Path) -> None:
    for source in (b"fn main() {}\n", b"pub fn f() {}\n"):
        assert stand_alone(source, toolchain, tmp_path)(source).ok


def test_errors_carry_places_and_suggestions(toolchain: Toolchain, tmp_path: Path) -> None:
    source = b"pub fn f() -> i32 {\n    let x = 1;\n    x += 1;\n    x\n}\n"
    compilation = stand_alone(source, toolchain, tmp_path)(source)
    assert not compilation.ok
    (error,) = compilation.errors
    assert error.code == "E0384"
    assert "mut " in {s.replacement for child in error.children for s in child.spans}


def test_a_module_compiles_with_cargos_own_arguments(crate: Path, toolchain: Toolchain) -> None:
    target = crate / "src" / "part.rs"
    checked = check(crate, toolchain, VERBOSE)
    call = invocation_for(target, invocations(checked), crate)
    assert call is not None
    assert call.crate_name == "sample"
    scratch = crate / "target" / "repair"
    compiler = for_target(call, target, toolchain, root=crate, scratch=scratch)
    assert compiler(GOOD.encode()).ok
    broken = compiler(GOOD.replace("two() +", "three() +").encode())
    assert [error.code for error in broken.errors] == ["E0425"]
    assert broken.errors[0].primary is not None
    assert broken.errors[0].primary.file == compiler.file


def test_cargo_still_knows_what_is_fresh(crate: Path, toolchain: Toolchain) -> None:
    target = crate / "src" / "part.rs"
    call = invocation_for(target, invocations(check(crate, toolchain, VERBOSE)), crate)
    assert call is not None
    scratch = crate / "target" / "repair"
    compiler = for_target(call, target, toolchain, root=crate, scratch=scratch)
    compiler(b"pub fn broken( {}")
    assert not check(crate, toolchain).ok
    compiler(GOOD.encode())
    assert check(crate, toolchain).ok


def test_a_file_that_no_module_declares_never_compiles(crate: Path, toolchain: Toolchain) -> None:
    target = crate / "src" / "stray.rs"
    call = invocation_for(target, invocations(check(crate, toolchain, VERBOSE)), crate)
    assert call is not None
    scratch = crate / "target" / "repair"
    compiler = for_target(call, target, toolchain, root=crate, scratch=scratch)
    assert not compiler(b"pub fn f() {}\n").ok


def test_a_run_over_its_time_is_a_failure_without_errors(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    allowed = (
        b"#![allow(long_running_const_eval)]\n"
        b"pub const N: u64 = { let mut n = 0u64; "
        b"loop { n = n.wrapping_add(1); if n == 0 { break } } n };\n"
    )
    compiler = stand_alone(allowed, toolchain, tmp_path)
    compilation = replace(compiler, limits=Limits(wall_seconds=1.0))(allowed)
    assert not compilation.ok
    assert compilation.errors == ()


def test_commands_are_read_as_the_shell_would() -> None:
    command = (
        "     Running `A='b '\\''c'\\''' CARGO_PRIMARY_PACKAGE=1 /x/rustc --crate-name it "
        "--edition=2021 src/lib.rs --check-cfg 'cfg(feature, values(\"f\"))'`"
    )
    (call,) = invocations(Run(("cargo",), Stage.CHECK, 0, stderr=command))
    assert call.environment["A"] == "b 'c'"
    assert call.arguments[-1] == 'cfg(feature, values("f"))'


@pytest.mark.parametrize(
    "line",
    [
        "warning: unused `Running `",
        "     Running `CARGO_PRIMARY_PACKAGE=1 /x/rustc --crate-name build_script_build build.rs`",
        "     Running `/x/rustc --crate-name dependency lib.rs`",
        "     Running `unclosed 'quote`",
    ],
    ids=["words", "build script", "dependency", "garbage"],
)
def test_other_lines_are_no_calls(line: str) -> None:
    assert invocations(Run(("cargo",), Stage.CHECK, 0, stderr=line)) == ()


def test_where_output_goes_is_not_taken_over() -> None:
    arguments = (
        *("--crate-name", "x", "lib.rs", "--error-format=json", "--json=artifacts"),
        *(
            "--emit=dep-info,metadata",
            "--out-dir",
            "/o",
            "-C",
            "incremental=/i",
            "-C",
            "debuginfo=2",
        ),
    )
    assert own_arguments(arguments) == ("--crate-name", "x", "lib.rs", "-C", "debuginfo=2")
