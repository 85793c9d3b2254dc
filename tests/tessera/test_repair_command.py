"""`tessera repair` on files and crates: its JSON, its exit codes, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tessera.errors import InputError
from tessera.exits import Exit
from tessera.repair_command import repair

BROKEN = "pub fn f() -> i32 {\n    let x = 1;\n    x += 1;\n    x\n}\n"
MENDED = BROKEN.replace("let x", "let mut x")
HOPELESS = "pub fn f() -> i32 { regex::new() }\n"


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(repair, [str(word) for word in words])


@pytest.fixture
def crate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A crate whose module needs the other one, and a cache of its own."""
    monkeypatch.setenv("TESSERA_CACHE", str(tmp_path / "cache"))
    directory = tmp_path / "sample"
    (directory / "src").mkdir(parents=True)
    (directory / "Cargo.toml").write_text(
        '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n'
    )
    (directory / "src" / "lib.rs").write_text("pub mod part;\npub fn one() -> i32 { 1 }\n")
    (directory / "src" / "part.rs").write_text(BROKEN.replace("= 1;", "= crate::one();", 1))
    return directory


def test_a_file_is_repaired_without_being_written(tmp_path: Path) -> None:
    file = tmp_path / "it.rs"
    file.write_text(BROKEN)
    result = call(file, "--json")
    found = json.loads(result.stdout)
    assert result.exit_code == Exit.DONE
    assert (found["compiles"], found["errors_before"], found["errors_after"]) == (True, 1, 0)
    assert found["source"] == MENDED
    assert found["rustc_runs"] == 2
    (edit,) = found["edits"]
    assert BROKEN[: edit["start"]] + edit["replacement"] + BROKEN[edit["end"] :] == MENDED
    assert (edit["code"], edit["applicability"]) == ("E0384", "MachineApplicable")
    assert file.read_text() == BROKEN


def test_the_file_is_written_when_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "it.rs"
    file.write_text(BROKEN)
    assert call(file, "--write").exit_code == Exit.DONE
    assert file.read_text() == MENDED


def test_what_does_not_compile_is_never_written(tmp_path: Path) -> None:
    file = tmp_path / "it.rs"
    file.write_text(HOPELESS)
    result = call(file, "--write", "--json")
    assert result.exit_code == Exit.FAIL
    assert json.loads(result.stdout)["edits"] == []
    assert file.read_text() == HOPELESS


def test_a_person_is_told_what_was_done(tmp_path: Path) -> None:
    file = tmp_path / "it.rs"
    file.write_text(BROKEN)
    result = call(file)
    assert "only the compiler vouches" in result.output
    assert "E0384 line 2" in result.output


def test_a_module_of_a_crate_is_repaired_in_its_place(crate: Path) -> None:
    result = call(crate, "--target", "src/part.rs", "--json", "--write")
    assert result.exit_code == Exit.DONE, result.output
    assert json.loads(result.stdout)["compiles"] is True
    assert "let mut x = crate::one()" in (crate / "src" / "part.rs").read_text()
    assert not (crate / "target").exists()


def test_a_target_outside_the_crate_is_refused(crate: Path) -> None:
    outside = crate.parent / "other.rs"
    outside.write_text(BROKEN)
    result = call(crate, "--target", "../other.rs")
    assert isinstance(result.exception, InputError)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    result = call(tmp_path / "none.rs")
    assert isinstance(result.exception, InputError)
    assert "none.rs" in str(result.exception)
