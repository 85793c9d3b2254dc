"""The boundaries between the parts, read from the imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CRITIC = sorted((ROOT / "critic").rglob("*.py"))
TESSERA = sorted((ROOT / "tessera").rglob("*.py"))
PURE = {
    "tessera.records",
    "tessera.policy",
    "tessera.carry",
    "tessera.guard",
    "tessera.report",
    "tessera.statistics",
    "tessera.anvil.signal",
    "tessera.anvil.hint",
    "tessera.anvil.skip",
    "tessera.anvil.tally",
    "critic.rulings",
    "critic.classify",
    "critic.patterns",
    "critic.codes",
    "critic.diagnostics",
    "critic.testing",
    "critic.axes",
    "critic.audit",
    "critic.edits",
    "critic.review",
}
EFFECTS = {"os", "subprocess", "socket", "sqlite3", "shutil", "tempfile", "threading", "httpx"}


def module(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return name.removesuffix(".__init__")


def imports(path: Path, *, top_level: bool = False) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    for node in tree.body if top_level else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def uses(path: Path, *packages: str) -> set[str]:
    return {
        name
        for name in imports(path)
        if any(name == package or name.startswith(f"{package}.") for package in packages)
    }


@pytest.mark.parametrize("path", CRITIC, ids=module)
def test_the_critic_knows_no_agent_no_model_and_no_memory(path: Path) -> None:
    assert not uses(path, "tessera", "litellm", "openai", "httpx", "sqlite3", "sqlite_utils")


@pytest.mark.parametrize("name", sorted(PURE))
def test_pure_modules_have_no_effects(name: str) -> None:
    path = ROOT / (name.replace(".", "/") + ".py")
    assert not uses(path, *EFFECTS)
    assert "open(" not in path.read_text().replace("_open(", "")


@pytest.mark.parametrize("path", TESSERA, ids=module)
def test_only_anvil_touches_sqlite(path: Path) -> None:
    if not module(path).startswith("tessera.anvil"):
        assert not uses(path, "sqlite3", "sqlite_utils")


@pytest.mark.parametrize("path", TESSERA, ids=module)
def test_only_the_seats_talk_to_a_model(path: Path) -> None:
    if not module(path).startswith("tessera.seats"):
        assert not uses(path, "litellm", "openai")


@pytest.mark.parametrize("path", TESSERA, ids=module)
def test_only_the_critic_runs_cargo(path: Path) -> None:
    if not module(path).startswith("tessera.seats.embedded"):
        assert not uses(path, "subprocess")


@pytest.mark.parametrize("path", TESSERA, ids=module)
def test_heavy_packages_are_imported_late(path: Path) -> None:
    early = {name.split(".")[0] for name in imports(path, top_level=True)}
    assert not early & {"litellm", "scipy", "numpy", "openai", "xllamacpp"}


def test_prompt_text_lives_in_prompts_alone() -> None:
    for path in TESSERA:
        assert "```rust" not in path.read_text(), path
