"""Proposals on real files: staged whole, applied atomically, refused when stale, undone."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.slot import Change
from tessera import staging


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    crate = tmp_path / "crate"
    (crate / "src").mkdir(parents=True)
    (crate / "src/lib.rs").write_bytes(b"pub mod a;\r\n")
    return crate


def stage(crate: Path, *changes: Change) -> staging.Proposal:
    return staging.stage(crate.parent / "home", "p1", crate, crate, changes, "# report\n")


def test_apply_writes_and_undo_restores_byte_for_byte(crate: Path) -> None:
    lib, new = crate / "src/lib.rs", crate / "src/deep/b.rs"
    lib.chmod(0o640)
    before = lib.read_bytes()
    stage(crate, Change(lib, before, b"pub mod a;\r\npub mod b;\r\n"), Change(new, None, b"// b\n"))
    proposal = staging.load(crate.parent / "home", "p1")
    staging.apply(proposal)
    assert lib.read_bytes().endswith(b"pub mod b;\r\n")
    assert new.read_bytes() == b"// b\n"
    assert lib.stat().st_mode & 0o777 == 0o640
    staging.undo(proposal)
    assert lib.read_bytes() == before
    assert not new.exists()


def test_a_changed_file_makes_the_proposal_stale_and_nothing_is_written(crate: Path) -> None:
    lib, new = crate / "src/lib.rs", crate / "src/b.rs"
    proposal = stage(crate, Change(new, None, b"// b\n"), Change(lib, lib.read_bytes(), b"x"))
    lib.write_bytes(b"the person's own edit")
    with pytest.raises(staging.Stale) as caught:
        staging.apply(proposal)
    assert caught.value.path == lib
    assert not new.exists()
    assert lib.read_bytes() == b"the person's own edit"


def test_applying_again_after_a_kill_between_two_files_completes_it(crate: Path) -> None:
    lib, new = crate / "src/lib.rs", crate / "src/b.rs"
    proposal = stage(crate, Change(new, None, b"// b\n"), Change(lib, lib.read_bytes(), b"x"))
    new.write_bytes(b"// b\n")
    staging.apply(proposal)
    assert lib.read_bytes() == b"x"


def test_a_link_that_leaves_the_crate_is_refused(crate: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (crate / "src/link").symlink_to(outside)
    proposal = stage(crate, Change(crate / "src/link/b.rs", None, b"// b\n"))
    with pytest.raises(staging.Stale):
        staging.apply(proposal)
    assert list(outside.iterdir()) == []


def test_the_patch_is_one_that_git_applies(crate: Path) -> None:
    lib, new = crate / "src/lib.rs", crate / "src/b.rs"
    old = b"one\ntwo\nlast line without an end"
    lib.write_bytes(old)
    changes = (Change(lib, old, b"one\n2\nlast line"), Change(new, None, "// bé\n".encode()))
    proposal = stage(crate, *changes)
    subprocess.run(["git", "init", "-q", "."], cwd=crate, check=True)
    subprocess.run(["git", "apply", proposal.folder / "change.patch"], cwd=crate, check=True)
    assert lib.read_bytes() == b"one\n2\nlast line"
    assert new.read_bytes() == "// bé\n".encode()


@pytest.mark.parametrize(
    ("existing", "written"),
    [
        (None, b"a\nb\n"),
        (b"x\ny\n", b"a\nb\n"),
        (b"x\r\ny\r\n", b"a\r\nb\r\n"),
        (b"\xef\xbb\xbfx\r\n", b"\xef\xbb\xbfa\r\nb\r\n"),
        (b"", b"a\nb\n"),
    ],
)
def test_a_candidate_takes_the_byte_form_of_the_file_it_replaces(
    existing: bytes | None, written: bytes
) -> None:
    assert staging.as_written("a\nb\n", existing) == written


@given(st.binary(max_size=200))
def test_atomic_writing_keeps_every_byte(content: bytes) -> None:
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"tessera-staging-{os.getpid()}"
    try:
        staging.write_atomically(path, content)
        assert path.read_bytes() == content
    finally:
        path.unlink(missing_ok=True)
