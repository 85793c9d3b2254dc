"""Dep-info as rustc writes it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from critic.depinfo import inputs_of, parse


def test_prerequisites_of_all_rules_are_listed_once() -> None:
    text = (
        "/t/a-0.d: src/lib.rs src/x.rs\n\n/t/a.rmeta: src/lib.rs\n\nsrc/lib.rs:\n# env-dep:A=b c\n"
    )
    assert parse(text) == (Path("src/lib.rs"), Path("src/x.rs"))


def test_spaces_in_names_are_escaped() -> None:
    assert parse("a.d: my\\ crate/src/lib.rs b.rs\n") == (Path("my crate/src/lib.rs"), Path("b.rs"))


def test_a_real_build_names_the_module_and_not_the_stray_file(tmp_path: Path) -> None:
    crate = tmp_path / "a crate"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text(
        '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n'
    )
    (crate / "src/lib.rs").write_text("pub mod used;\n")
    (crate / "src/used.rs").write_text("pub fn f() {}\n")
    (crate / "src/stray.rs").write_text("pub fn g() {}\n")
    argv = ["cargo", "check", "--offline", "--message-format=json"]
    done = subprocess.run(argv, cwd=crate, capture_output=True, check=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    inputs = frozenset[Path]().union(*(inputs_of(message, crate) for message in messages))
    assert crate / "src/used.rs" in inputs
    assert crate / "src/stray.rs" not in inputs
