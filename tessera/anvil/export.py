"""Claims as data for others: all of them, or as training examples in the form TRL reads.

Examples are conversations, TRL's "conversational prompt-completion" and "conversational
preference" types. Never writes a prompt marked private; by default nothing that a frontier
model wrote, since its provider may forbid training on it.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from critic.review import Verdict
from tessera.anvil.claims import as_line
from tessera.anvil.interface import Anvil
from tessera.records import Claim, SeatName

ROLE = re.compile(r"^\[(system|user|assistant)\]\n", re.MULTILINE)
Messages = list[dict[str, str]]


@dataclass
class _Candidates:
    """What was written for one prompt, in order, each text once."""

    passed: dict[str, None] = field(default_factory=dict)
    failed: dict[str, None] = field(default_factory=dict)


def lines(anvil: Anvil, form: str, *, frontier: bool = False) -> Iterator[str]:
    """The export, a JSON object a line.

    `jsonl` is every claim, with diff and candidate. `sft` has `prompt` and `completion`: a
    prompt and a file that passed. `dpo` has `prompt`, `chosen` and `rejected`: for each file
    that failed, one that passed for the very same prompt. With `frontier` the examples
    include what frontier models wrote.
    """
    if form == "jsonl":
        yield from map(as_line, anvil.each_claim(contents=True))
        return
    for digest, written in _by_prompt(anvil.each_claim(contents=True), frontier).items():
        prompt = anvil.get_prompt(digest)
        if prompt is None or prompt[1]:
            continue
        for example in _examples(form, _messages(prompt[0]), written):
            yield json.dumps(example)


def _by_prompt(claims: Iterable[Claim], frontier: bool) -> dict[str, _Candidates]:
    found: defaultdict[str, _Candidates] = defaultdict(_Candidates)
    for claim in claims:
        foreign = claim.seat is SeatName.FRONTIER and not frontier
        if not claim.prompt_hash or not claim.candidate or foreign:
            continue
        if claim.verdict is Verdict.PASS:
            found[claim.prompt_hash].passed[claim.candidate] = None
        elif claim.verdict is Verdict.FAIL:
            found[claim.prompt_hash].failed[claim.candidate] = None
    return found


def _examples(form: str, prompt: Messages, written: _Candidates) -> Iterator[dict[str, Any]]:
    if form == "sft":
        for text in written.passed:
            yield {"prompt": prompt, "completion": _answer(text)}
        return
    chosen = next(iter(written.passed), None)
    for text in written.failed:
        if chosen is not None and text != chosen:
            yield {"prompt": prompt, "chosen": _answer(chosen), "rejected": _answer(text)}


def _answer(text: str) -> Messages:
    return [{"role": "assistant", "content": text}]


def _messages(prompt: str) -> Messages:
    """The messages of a stored prompt, which stand under lines that name their roles."""
    if not ROLE.match(prompt):
        return [{"role": "user", "content": prompt}]
    _, *parts = ROLE.split(prompt)
    contents = [*(text.removesuffix("\n") for text in parts[1:-1:2]), parts[-1]]
    return [
        {"role": role, "content": content}
        for role, content in zip(parts[::2], contents, strict=True)
    ]
