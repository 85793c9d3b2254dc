"""Finding the real toolchain, with the rustup and rustc of this machine."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from critic.toolchain import ToolchainMissing, find_toolchain

needs_rustup = pytest.mark.skipif(shutil.which("rustup") is None, reason="needs rustup")


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_programs_are_the_toolchain_s_own(tmp_path: Path) -> None:
    toolchain = find_toolchain(tmp_path)
    told = subprocess.run(
        ("rustc", "--version"), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert toolchain.version == told.stdout.strip()
    assert toolchain.cargo.parent == toolchain.sysroot / "bin"
    assert toolchain.rustc.parent == toolchain.sysroot / "bin"
    assert "rustup" not in (toolchain.cargo.resolve().name, toolchain.rustc.resolve().name)
    assert toolchain.places == (toolchain.sysroot,)
    assert toolchain.environment["PATH"].split(":")[0] == str(toolchain.sysroot / "bin")


def test_children_get_no_secret_and_cargo_gets_tokens_to_fetch(tmp_path: Path) -> None:
    environ = {**os.environ, "FAKE_API_KEY": "1", "CARGO_REGISTRIES_OURS_TOKEN": "2"}
    toolchain = find_toolchain(tmp_path, environ)
    assert "1" not in toolchain.environment.values()
    assert "CARGO_REGISTRIES_OURS_TOKEN" not in toolchain.environment
    assert toolchain.fetch_environment["CARGO_REGISTRIES_OURS_TOKEN"] == "2"
    assert "FAKE_API_KEY" not in toolchain.fetch_environment
    assert "OURS_TOKEN" not in repr(toolchain)


def test_components_are_known(tmp_path: Path) -> None:
    toolchain = find_toolchain(tmp_path)
    assert toolchain.clippy == (toolchain.sysroot / "bin" / "cargo-clippy").exists()
    assert toolchain.rustfmt == (toolchain.sysroot / "bin" / "rustfmt").exists()


@needs_rustup
@pytest.mark.parametrize("how", ["file", "old file", "variable"])
def test_a_toolchain_chosen_by_file_or_variable_is_taken(tmp_path: Path, how: str) -> None:
    other = _other_toolchain()
    environ = {**os.environ}
    if how == "file":
        (tmp_path / "rust-toolchain.toml").write_text(f'[toolchain]\nchannel = "{other}"\n')
    elif how == "old file":
        (tmp_path / "rust-toolchain").write_text(other)
    else:
        environ["RUSTUP_TOOLCHAIN"] = other
    found = find_toolchain(tmp_path, environ)
    assert found.sysroot.name == other
    assert found.sysroot != find_toolchain(tmp_path.parent).sysroot


def _other_toolchain() -> str:
    listed = subprocess.run(
        ("rustup", "toolchain", "list", "-q"), capture_output=True, text=True, check=True
    )
    default = subprocess.run(
        ("rustup", "show", "active-toolchain"), capture_output=True, text=True, check=True
    )
    others = [name for name in listed.stdout.split() if name != default.stdout.split()[0]]
    if not others:
        pytest.skip("only one toolchain is installed")
    return others[0]


@needs_rustup
@pytest.mark.parametrize(
    ("content", "named"),
    [('[toolchain]\nchannel = "1.0.0"\n', "1.0.0"), ("[toolchain\n", "rust-toolchain.toml")],
)
def test_a_toolchain_that_is_not_there_is_named_and_not_downloaded(
    tmp_path: Path, content: str, named: str
) -> None:
    (tmp_path / "rust-toolchain.toml").write_text(content)
    environ = {k: v for k, v in os.environ.items() if k != "RUSTUP_AUTO_INSTALL"}
    with pytest.raises(ToolchainMissing) as caught:
        find_toolchain(tmp_path, environ)
    assert named in str(caught.value)
    assert "Install that toolchain" in str(caught.value)
    assert "backtrace" not in str(caught.value)


def test_no_rust_at_all_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(ToolchainMissing, match=r"no rustc on PATH\.\nInstall Rust"):
        find_toolchain(tmp_path, {"PATH": str(tmp_path), "HOME": str(tmp_path)})


def test_rust_in_cargo_s_own_folder_is_found_without_path(tmp_path: Path) -> None:
    real = find_toolchain(tmp_path)
    (tmp_path / ".cargo" / "bin").mkdir(parents=True)
    (tmp_path / ".cargo" / "bin" / "rustc").symlink_to(real.rustc)
    found = find_toolchain(tmp_path, {"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert found.cargo == real.cargo
    assert found.cargo_home == tmp_path / ".cargo"


def test_rustc_of_the_variable_is_honoured(tmp_path: Path) -> None:
    real = find_toolchain(tmp_path)
    named = script(tmp_path / "tools" / "my-rustc", f'exec "{real.rustc}" "$@"')
    found = find_toolchain(tmp_path, {**os.environ, "RUSTC": str(named)})
    assert found.rustc == named
    assert found.cargo == real.cargo
    assert found.environment["RUSTC"] == str(named)
    assert named in found.places


@pytest.mark.parametrize(
    ("rustc", "message"),
    [
        ("/no/such/rustc", "RUSTC names /no/such/rustc"),
        ("dies", "exit code 7"),
        ("alone", "cargo is neither in"),
    ],
)
def test_a_broken_choice_is_explained(tmp_path: Path, rustc: str, message: str) -> None:
    script(tmp_path / "dies", "exit 7")
    script(tmp_path / "alone", f"echo {tmp_path}/nothing")
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path), "RUSTC": rustc}
    with pytest.raises(ToolchainMissing, match=message):
        find_toolchain(tmp_path, environ)
