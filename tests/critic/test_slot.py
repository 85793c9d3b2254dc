"""Slots over real directories: the copy equals the crate, whatever happened to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from critic.crate import Crate, read_crate
from critic.slot import Slot, open_slot
from critic.toolchain import find_toolchain

MANIFEST = '[package]\nname = "{0}"\nversion = "0.1.0"\nedition = "2021"\n'


def make_crate(directory: Path, name: str = "demo", more: str = "") -> Path:
    (directory / "src").mkdir(parents=True)
    (directory / "Cargo.toml").write_text(MANIFEST.format(name) + more)
    (directory / "src/lib.rs").write_text("pub mod a;\n")
    (directory / "src/a.rs").write_text("// ä\r\n")
    return directory


def read(directory: Path) -> Crate:
    return read_crate(directory, find_toolchain(directory))


@pytest.fixture
def crate(tmp_path: Path) -> Crate:
    return read(make_crate(tmp_path / "with space/demo"))


@pytest.fixture
def slot(crate: Crate, tmp_path: Path) -> Iterator[Slot]:
    with open_slot(crate, tmp_path / "cache") as slot:
        slot.sync()
        yield slot


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_the_copy_equals_the_crate(crate: Crate, slot: Slot) -> None:
    assert contents(slot.tree) == contents(crate.directory)


def test_builds_and_version_control_are_not_copied(crate: Crate, slot: Slot) -> None:
    for folder in ("target/debug", ".git", "node_modules/x"):
        (crate.directory / folder).mkdir(parents=True)
        (crate.directory / folder / "file").write_text("x")
    (crate.directory / "target/CACHEDIR.TAG").write_text(
        "Signature: 8a477f597d28d172789f06886806bc55"
    )
    slot.sync()
    assert not any("file" in name for name in contents(slot.tree))


def test_whatever_a_candidate_did_to_the_copy_is_gone_after_a_sync(
    crate: Crate, slot: Slot
) -> None:
    slot.place(Path("src/a.rs"), b"fn broken(")
    (slot.tree / "src/lib.rs").write_text("// edited by a build script")
    (slot.tree / "src/new.rs").write_text("// left behind")
    (slot.tree / "locked/inner").mkdir(parents=True)
    (slot.tree / "locked/inner").chmod(0)
    (slot.tree / "Cargo.toml").unlink()
    (slot.tree / "Cargo.toml").symlink_to("/etc/passwd")
    slot.sync()
    assert contents(slot.tree) == contents(crate.directory)
    assert not (slot.tree / "Cargo.toml").is_symlink()


def test_an_edit_with_its_old_time_put_back_is_undone(crate: Crate, slot: Slot) -> None:
    copied = slot.tree / "src/lib.rs"
    before = copied.stat()
    copied.write_text("pub mod b;\n")
    os.utime(copied, ns=(before.st_atime_ns, before.st_mtime_ns))
    slot.sync()
    assert contents(slot.tree) == contents(crate.directory)


def test_a_change_in_the_crate_reaches_the_copy_with_a_new_time(crate: Crate, slot: Slot) -> None:
    original = crate.directory / "src/lib.rs"
    old = (slot.tree / "src/lib.rs").stat().st_mtime_ns
    original.write_text("pub mod c;\n")
    os.utime(original, ns=(1, 1))
    slot.sync()
    assert (slot.tree / "src/lib.rs").read_text() == "pub mod c;\n"
    assert (slot.tree / "src/lib.rs").stat().st_mtime_ns > old


def test_an_unchanged_file_keeps_its_time(slot: Slot) -> None:
    old = (slot.tree / "src/lib.rs").stat().st_mtime_ns
    slot.sync()
    assert (slot.tree / "src/lib.rs").stat().st_mtime_ns == old


def test_changes_are_the_candidate_and_the_overlay(crate: Crate, slot: Slot) -> None:
    slot.overlay[Path("src/lib.rs")] = b"pub mod a;\npub mod b;\n"
    slot.sync()
    slot.place(Path("src/b.rs"), b"// b\n")
    (slot.tree / "src/stray.rs").write_text("not ours")
    found = {change.path: (change.before, change.after) for change in slot.changes()}
    assert found == {
        crate.directory / "src/lib.rs": (b"pub mod a;\n", b"pub mod a;\npub mod b;\n"),
        crate.directory / "src/b.rs": (None, b"// b\n"),
    }


def test_two_processes_get_different_slots_and_a_freed_one_is_used_again(
    crate: Crate, tmp_path: Path
) -> None:
    with open_slot(crate, tmp_path / "cache") as first:
        with open_slot(crate, tmp_path / "cache") as second:
            assert first.path != second.path
            assert first.target_dir != second.target_dir
        with open_slot(crate, tmp_path / "cache") as third:
            assert third.path == second.path


def test_crates_of_one_name_in_different_folders_share_nothing(tmp_path: Path) -> None:
    here, there = (read(make_crate(tmp_path / name / "demo")) for name in ("here", "there"))
    with open_slot(here, tmp_path / "cache") as one, open_slot(there, tmp_path / "cache") as other:
        assert one.target_dir != other.target_dir


def test_a_path_dependency_beside_the_crate_comes_along(tmp_path: Path) -> None:
    make_crate(tmp_path / "libs/dep", "dep")
    directory = make_crate(
        tmp_path / "app", "app", '[dependencies]\ndep = { path = "../libs/dep" }\n'
    )
    (tmp_path / "unrelated").mkdir()
    (tmp_path / "unrelated/big").write_text("not copied")
    with open_slot(read(directory), tmp_path / "cache") as slot:
        slot.sync()
        assert (slot.tree / "libs/dep/src/lib.rs").is_file()
        assert not (slot.tree / "unrelated").exists()


def test_a_symlinked_crate_and_links_inside_it(tmp_path: Path) -> None:
    directory = make_crate(tmp_path / "real/demo")
    (directory / "src/linked.rs").symlink_to("a.rs")
    (directory / "loop").symlink_to(".")
    (tmp_path / "link").symlink_to(directory)
    crate = read(tmp_path / "link")
    assert crate.directory == directory
    with open_slot(crate, tmp_path / "cache") as slot:
        slot.sync()
        assert (slot.tree / "src/linked.rs").read_bytes() == (directory / "src/a.rs").read_bytes()


def test_what_is_placed_is_later_than_the_last_run_even_if_the_clock_was_set_back(
    slot: Slot,
) -> None:
    slot.ran()
    tomorrow = (slot.path / "lock").stat().st_mtime_ns + 86_400 * 10**9
    os.utime(slot.path / "lock", ns=(tomorrow, tomorrow))
    slot.place(Path("src/a.rs"), b"// new")
    assert (slot.tree / "src/a.rs").stat().st_mtime_ns > tomorrow
