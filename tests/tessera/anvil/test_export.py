"""Claims as training data: loaded by what would read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from critic.review import Verdict
from tessera.anvil import Anvil, open_anvil
from tessera.anvil.claims import parse
from tessera.anvil.export import lines
from tessera.records import Claim, SeatName


def claim(verdict: str, prompt: str | None, candidate: str | None, seat: str = "local") -> Claim:
    return Claim(
        "/c",
        "a.rs",
        "t",
        SeatName(seat),
        Verdict(verdict),
        prompt_hash=prompt,
        candidate=candidate,
        at="2026-01-31T12:00:00Z",
    )


CLAIMS = [
    claim("FAIL", "plain", "fn a() {"),
    claim("FAIL", "plain", "fn a() {"),
    claim("FAIL", "plain", "fn b() {"),
    claim("PASS", "plain", "fn a() {}"),
    claim("PASS", "chat", "fn c() {}"),
    claim("PASS", "chat", "fn bought() {}", "frontier"),
    claim("FAIL", "chat", "fn c() {"),
    claim("PASS", "private", "fn secret() {}"),
    claim("FAIL", "private", "fn secret() {"),
    claim("PASS", "unknown", "fn d() {}"),
    claim("PASS", None, "fn e() {}"),
    claim("BLOCKED", "plain", "fn f() {}"),
    claim("FAIL", "plain", None),
]
CHAT = [
    {"role": "system", "content": "Write Rust.\n"},
    {"role": "user", "content": "Write c.\n"},
]


@pytest.fixture
def anvil(tmp_path: Path) -> Iterator[Anvil]:
    with open_anvil(tmp_path / "anvil.db") as opened:
        opened.put_prompt("plain", "Write a.", False)
        opened.put_prompt("chat", "[system]\nWrite Rust.\n\n[user]\nWrite c.\n", False)
        opened.put_prompt("private", "The password is …", True)
        opened.record(CLAIMS)
        yield opened


def exported(anvil: Anvil, form: str, **options: bool) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(anvil, form, **options)]


def answer(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def test_jsonl_is_every_claim(anvil: Anvil) -> None:
    assert [parse(data) for data in exported(anvil, "jsonl")] == CLAIMS


def test_sft_is_each_prompt_with_what_passed(anvil: Anvil) -> None:
    assert exported(anvil, "sft") == [
        {"prompt": [{"role": "user", "content": "Write a."}], "completion": answer("fn a() {}")},
        {"prompt": CHAT, "completion": answer("fn c() {}")},
    ]


def test_dpo_pairs_what_passed_and_failed_for_one_prompt(anvil: Anvil) -> None:
    prompt = [{"role": "user", "content": "Write a."}]
    chosen = answer("fn a() {}")
    assert exported(anvil, "dpo") == [
        {"prompt": prompt, "chosen": chosen, "rejected": answer("fn a() {")},
        {"prompt": prompt, "chosen": chosen, "rejected": answer("fn b() {")},
        {"prompt": CHAT, "chosen": answer("fn c() {}"), "rejected": answer("fn c() {")},
    ]


def test_what_a_frontier_wrote_is_exported_only_on_request(anvil: Anvil) -> None:
    assert "bought" not in json.dumps(exported(anvil, "sft"))
    assert "bought" in json.dumps(exported(anvil, "sft", frontier=True))


@pytest.mark.parametrize("form", ["sft", "dpo"])
def test_private_prompts_are_never_exported(anvil: Anvil, form: str) -> None:
    text = json.dumps(exported(anvil, form, frontier=True))
    assert "password" not in text
    assert "secret" not in text


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("form", "columns"),
    [("sft", ["prompt", "completion"]), ("dpo", ["prompt", "chosen", "rejected"])],
)
def test_the_datasets_library_reads_it(
    anvil: Anvil, tmp_path: Path, form: str, columns: list[str]
) -> None:
    datasets = pytest.importorskip("datasets")
    file = tmp_path / "train.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines(anvil, form)), encoding="utf-8")
    loaded = datasets.load_dataset(
        "json", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert loaded.column_names == columns
    rows = [dict(row) for row in loaded]
    assert rows == exported(anvil, form)
