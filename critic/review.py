"""The records the critic speaks in.

Everything here is frozen data: what one run of a tool showed, what a diagnostic says and
what the critic concludes. Nothing here runs anything, reads a file or decides a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """PASS and FAIL speak about the candidate; BLOCKED says it could not be judged."""

    PASS = "PASS"
    FAIL = "FAIL"
    BLOCKED = "BLOCKED"


class Stage(StrEnum):
    """The steps of a judgement, in their order."""

    PREFLIGHT = "preflight"
    BASELINE = "baseline"
    FETCH = "fetch"
    CHECK = "check"
    REPAIR = "repair"
    LINT = "lint"
    TEST = "test"
    AUDIT = "audit"


@dataclass(frozen=True)
class CriticSettings:
    """Limits of the critic, in seconds and bytes; `sandbox` is `auto`, `require` or `off`.

    `allow` names rules of the audit that must not fail a candidate.
    """

    check_seconds: float = 120.0
    test_seconds: float = 60.0
    fetch_seconds: float = 120.0
    memory_bytes: int = 4 << 30
    sandbox: str = "auto"
    allow: tuple[str, ...] = ()


@dataclass(frozen=True)
class Run:
    """What one child process did.

    `exit_code` is None when a signal or the time limit ended it; `messages` are the
    objects of cargo's `--message-format=json` (empty when that was not asked for).
    `stdout` and `stderr` are capped; `capped` says that something was cut away.
    `limit` names the limit that ended it (`wall`, `memory`, `processes`, `disk`, `output`).
    `seconds` is wall time.
    """

    argv: tuple[str, ...]
    stage: Stage
    exit_code: int | None
    signal: int | None = None
    timed_out: bool = False
    stdout: str = ""
    stderr: str = ""
    messages: tuple[Mapping[str, Any], ...] = ()
    capped: bool = False
    limit: str | None = None
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the process ended by itself with exit code 0."""
        return self.exit_code == 0


@dataclass(frozen=True)
class Span:
    """A place a diagnostic points at, in rustc's terms.

    Lines and columns count from 1; `byte_start` and `byte_end` count bytes from the start
    of the file. `file` is as rustc printed it (relative to the workspace root).
    `from_macro` is true when the span lies in the expansion of a macro.
    """

    file: str
    line: int
    column: int
    byte_start: int
    byte_end: int
    primary: bool = False
    label: str | None = None
    replacement: str | None = None
    applicability: str | None = None
    from_macro: bool = False
    end_line: int = 0


@dataclass(frozen=True)
class Diagnostic:
    """One message of rustc, with the notes and helps that belong to it.

    `code` is `E0308` or a lint's name, None for syntax errors and the like; `package` is
    cargo's package id, `target` the name of the cargo target it was compiled for.
    """

    level: str
    message: str
    code: str | None = None
    spans: tuple[Span, ...] = ()
    children: tuple[Diagnostic, ...] = ()
    package: str = ""
    target: str = ""
    rendered: str = ""

    @property
    def primary(self) -> Span | None:
        """The first primary span, None where the diagnostic has no place."""
        return next((span for span in self.spans if span.primary), None)


@dataclass(frozen=True)
class Evidence:
    """Why: the rule that decided, the text it rests on, the run that printed it."""

    rule: str
    text: str
    run: str = ""


@dataclass(frozen=True)
class Axes:
    """Four scores from 0 (nothing of it) to 1 (nothing to object to)."""

    correctness: float
    safety: float = 1.0
    usability: float = 1.0
    completeness: float = 1.0


@dataclass(frozen=True)
class Review:
    """The critic's judgement of one candidate.

    `kind` names what failed or blocked (`code`, `tests`, `timeout`, `dns`, `baseline`, …)
    and is None for a PASS. `retryable` has a meaning only for BLOCKED: whether waiting
    may help. `signature` identifies a FAIL: equal signatures are the same failure.
    `stage` is the one that decided. `seconds` holds wall time per stage.
    """

    verdict: Verdict
    kind: str | None = None
    retryable: bool | None = None
    error_pattern: str | None = None
    root_cause: str | None = None
    signature: str | None = None
    stage: Stage | None = None
    evidence: tuple[Evidence, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    axes: Axes | None = None
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
