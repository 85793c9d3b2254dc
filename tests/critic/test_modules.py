"""Which `mod` line reaches a file, and where a missing one is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from critic.crate import CargoTarget, Crate
from critic.modules import declares, is_entry, missing_declaration, module_name, with_declaration


@pytest.fixture
def crate(tmp_path: Path) -> Crate:
    src = tmp_path / "src"
    (src / "deep").mkdir(parents=True)
    (src / "lib.rs").write_text("pub mod deep;\nmod here;\n")
    (src / "deep.rs").write_text("mod inner;\n")
    target = CargoTarget("demo", "lib", src / "lib.rs")
    return Crate(tmp_path, tmp_path, "demo", "0.1.0", "2021", (target,), (tmp_path,))


def missing(crate: Crate, target: str) -> tuple[str, str] | None:
    found = missing_declaration(crate, crate.directory / target, Path.read_bytes)
    return None if found is None else (found[0].relative_to(crate.directory).as_posix(), found[1])


@pytest.mark.parametrize(
    ("target", "lacking"),
    [
        ("src/here.rs", None),
        ("src/lib.rs", None),
        ("src/new.rs", ("src/lib.rs", "pub mod new;")),
        ("src/deep/inner.rs", None),
        ("src/deep/new.rs", ("src/deep.rs", "pub mod new;")),
        ("src/other/mod.rs", ("src/lib.rs", "pub mod other;")),
        ("src/nowhere/x.rs", None),
    ],
)
def test_the_file_and_line_that_are_missing(
    crate: Crate, target: str, lacking: tuple[str, str] | None
) -> None:
    assert missing(crate, target) == lacking


def test_a_target_cargo_compiles_by_itself_needs_no_line(crate: Crate) -> None:
    assert is_entry(crate, crate.directory / "src/lib.rs")
    assert module_name(Path("src/x/mod.rs")) == "x"


@pytest.mark.parametrize(
    ("source", "declared"),
    [
        (b"mod a;", True),
        (b"pub(crate) mod a ;\n", True),
        (b'#[cfg(feature = "x")]\nmod a;', True),
        (b"// mod a;\n", False),
        (b'const S: &str = "mod a;";\n', False),
        (b"mod a {}\n", False),
        (b"mod b { mod a; }\n", False),
        (b"fn broken( mod a;", False),
    ],
)
def test_only_a_real_declaration_counts(source: bytes, declared: bool) -> None:
    assert declares(source, "a") is declared


@pytest.mark.parametrize(
    ("source", "written"),
    [
        (b"", b"pub mod x;\n"),
        (b"mod a;\nfn f() {}\n", b"mod a;\npub mod x;\nfn f() {}\n"),
        (b"mod a; // why\nfn f() {}\n", b"mod a; // why\npub mod x;\nfn f() {}\n"),
        (b"mod a;", b"mod a;\npub mod x;\n"),
        (
            b"//! About.\n#![deny(warnings)]\n\nfn f() {}\n",
            b"//! About.\n#![deny(warnings)]\n\npub mod x;\n\nfn f() {}\n",
        ),
        (b"fn f() {}\r\n", b"pub mod x;\r\n\r\nfn f() {}\r\n"),
        (b"/// Item docs.\nfn f() {}\n", b"pub mod x;\n\n/// Item docs.\nfn f() {}\n"),
    ],
)
def test_the_line_is_written_where_it_belongs(source: bytes, written: bytes) -> None:
    assert with_declaration(source, "pub mod x;") == written
