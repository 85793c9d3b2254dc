"""What an audit finds: the rules, the axis each belongs to, and a finding of one.

Pure data.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Axis(StrEnum):
    """What a candidate is judged by, besides being right."""

    CORRECTNESS = "correctness"
    SAFETY = "safety"
    USABILITY = "usability"
    COMPLETENESS = "completeness"


class Rule(StrEnum):
    """What an audit looks for. A policy may allow a rule by its name."""

    MISSING_ITEM = "missing_item"
    SWITCHED_OFF = "switched_off"
    PLACEHOLDER = "placeholder"
    EMPTY_BODY = "empty_body"
    CONSTANT_BODY = "constant_body"

    UNSAFE = "unsafe_code"
    PROCESS = "process_access"
    NETWORK = "network_access"
    FILES = "file_access"
    ENVIRONMENT = "environment_access"
    OUTSIDE_FILE = "outside_file"
    FOREIGN_CODE = "foreign_code"
    SILENCED_LINTS = "silenced_lints"
    TESTS_REMOVED = "tests_removed"
    TESTS_CHANGED = "tests_changed"
    TESTS_IGNORED = "tests_ignored"

    UNDOCUMENTED = "undocumented"

    @property
    def axis(self) -> Axis:
        """The axis the rule speaks of."""
        if self is Rule.UNDOCUMENTED:
            return Axis.USABILITY
        if self in INCOMPLETE:
            return Axis.COMPLETENESS
        return Axis.SAFETY


INCOMPLETE = (
    Rule.MISSING_ITEM,
    Rule.SWITCHED_OFF,
    Rule.PLACEHOLDER,
    Rule.EMPTY_BODY,
    Rule.CONSTANT_BODY,
)


@dataclass(frozen=True)
class Finding:
    """One thing an audit objects to.

    `fails` tells whether it turns a green check into FAIL; without it the finding is only
    evidence. `line` counts from 1.
    """

    rule: Rule
    text: str
    line: int
    fails: bool = True

    @property
    def axis(self) -> Axis:
        """The axis its rule belongs to."""
        return self.rule.axis


@dataclass(frozen=True)
class Audit:
    """All findings, the gravest first, and the three scores they give, each 0..1."""

    findings: tuple[Finding, ...] = ()
    safety: float = 1.0
    usability: float = 1.0
    completeness: float = 1.0

    @property
    def passes(self) -> bool:
        """Whether nothing was found that a green check must not hide."""
        return not any(finding.fails for finding in self.findings)
