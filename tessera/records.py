"""The records the agent passes around: frozen, copied instead of changed.

Pure data. Imports only the standard library and the critic's data types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from critic.review import Axes, CriticSettings, Review, Verdict


class SeatName(StrEnum):
    """Who writes a candidate."""

    COMPILER = "compiler"
    LOCAL = "local"
    FRONTIER = "frontier"


class Carry(StrEnum):
    """What earlier attempts put into the next prompt."""

    NONE = "none"
    DIAGNOSTICS = "diagnostics"
    DIFFS = "diffs"
    PLACEBO = "placebo"


class Outcome(StrEnum):
    """How a dispatch ended."""

    PASS = "pass"
    FAIL = "fail"
    BLOCKED = "blocked"
    STAGED = "staged"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Task:
    """One file to write. `crate` is absolute; `target` and `context_files` are relative to it."""

    id: str
    path: Path
    crate: Path
    target: PurePosixPath
    text: str
    tests: tuple[str, ...] = ()
    clippy: bool = False
    declare: bool = False
    context_files: tuple[PurePosixPath, ...] = ()
    dependencies: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelSettings:
    """One model seat. `url` is the base of an OpenAI-compatible server, None for litellm's own.

    `window` and `max_tokens` are tokens; `timeout` (how long a server may be silent) and
    `patience` (waiting for an endpoint to recover, in all) are seconds. A local model `auto`
    is looked for; an empty frontier model means that there is none. A `model` that ends in
    `.gguf` is a file for the embedded server.
    """

    model: str = ""
    url: str | None = None
    key: str | None = field(default=None, repr=False)
    window: int | None = None
    max_tokens: int = 2048
    temperature: float = 0.2
    timeout: float = 300.0
    patience: float = 60.0
    profile: str | None = None


@dataclass(frozen=True)
class Settings:
    """All that configuration decides, after files, environment and flags were merged."""

    local: ModelSettings = field(default_factory=lambda: ModelSettings(model="auto"))
    frontier: ModelSettings = field(default_factory=ModelSettings)
    critic: CriticSettings = field(default_factory=CriticSettings)
    budget: int = 4
    signalled_budget: int = 2
    signal_threshold: int = 4
    carry: Carry = Carry.DIAGNOSTICS
    hint: bool = True
    repair: bool = True
    anvil: str | None = None
    cache: Path | None = None
    source: Path | None = None


@dataclass(frozen=True)
class Message:
    """One turn of a conversation; `role` is `system`, `user` or `assistant`."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """What is sent to a model.

    With `completion` there is exactly one message and its content is continued as it is.
    """

    messages: tuple[Message, ...]
    completion: bool = False
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reply:
    """What a model answered. `finish_reason` is `stop` or `length`; `seconds` is wall time.

    Without `cost_known`, nobody knows the model's price and `cost_usd` is 0.
    """

    text: str
    finish_reason: str = "stop"
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    model: str = ""
    cost_known: bool = True


@dataclass(frozen=True)
class Attempt:
    """One candidate (or a reply that held none), judged once.

    `edits` are the compiler seat's changes to what was written and `unrepaired` is the
    attempt as it was before them. `action` is what the policy decided after it. `diff` is
    against the crate before the dispatch.
    """

    n: int
    seat: SeatName
    review: Review
    source: str | None = None
    diff: str = ""
    action: str = ""
    repaired: bool = False
    edits: tuple[Mapping[str, Any], ...] = ()
    unrepaired: Attempt | None = None
    model: str = ""
    profile: str = ""
    prompt_hash: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """What Anvil keeps of an attempt; the fields are those of the exchange format."""

    crate: str
    target: str
    task: str
    seat: SeatName
    verdict: Verdict
    model: str | None = None
    attempt: int | None = None
    dispatch: str | None = None
    arm: str | None = None
    error_pattern: str | None = None
    root_cause: str | None = None
    signature: str | None = None
    blocked_kind: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    seconds: Mapping[str, float] | None = None
    axes: Axes | None = None
    diff: str | None = None
    prompt_hash: str | None = None
    profile: str | None = None
    candidate: str | None = None
    at: str | None = None


@dataclass(frozen=True)
class PatternCount:
    """How often one error pattern was met."""

    pattern: str
    code: str | None
    root_cause: str | None
    count: int


@dataclass(frozen=True)
class History:
    """The counts of a target's claims, patterns most frequent first."""

    total: int = 0
    passed: int = 0
    failed: int = 0
    blocked: int = 0
    patterns: tuple[PatternCount, ...] = ()


@dataclass(frozen=True)
class Skip:
    """An infrastructure fault that was met again after a retry."""

    kind: str
    why: str


@dataclass(frozen=True)
class Signal:
    """Whether history says that the task is beyond the local model, and why."""

    fired: bool = False
    pattern: str | None = None
    failures: int = 0
    threshold: int = 4


@dataclass(frozen=True)
class Recollection:
    """What Anvil answers before an attempt."""

    history: History = field(default_factory=History)
    hint: str | None = None
    skip: Skip | None = None
    signal: Signal = field(default_factory=Signal)


@dataclass(frozen=True)
class Event:
    """Something that happened in a dispatch; `data` is small and JSON-able."""

    kind: str
    at: str
    dispatch: str
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Dispatch:
    """How one task went through the seats; `as_json` of the views gives the exchange format."""

    id: str
    task: Task
    outcome: Outcome
    seat: SeatName | None = None
    hint: str | None = None
    signal: bool = False
    budget: int = 4
    attempts: tuple[Attempt, ...] = ()
    events: Mapping[str, int] = field(default_factory=dict)
    proposal: str | None = None
    incident: str | None = None
    why: str | None = None
