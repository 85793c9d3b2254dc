"""The exchange form of a claim: JSON to `Claim` and back, strictly.

Knows the fields and their limits. A claim is taken as it is or refused whole; nothing is
repaired or guessed. Never touches the database.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from critic.review import Axes, Verdict
from tessera.anvil.errors import ClaimError
from tessera.records import Claim, SeatName

_Choice = TypeVar("_Choice", bound=StrEnum)

REQUIRED = ("crate", "target", "task", "seat", "verdict")
FIELDS = tuple(field.name for field in fields(Claim))
SHORT = (
    "crate",
    "target",
    "task",
    "model",
    "dispatch",
    "arm",
    "error_pattern",
    "root_cause",
    "signature",
    "blocked_kind",
    "prompt_hash",
    "profile",
    "at",
)
LONG = ("diff", "candidate")
COUNTS = ("attempt", "tokens_in", "tokens_out")
MAX_SHORT = 64 << 10
MAX_LONG = 64 << 20
MAX_COUNT = 2**53


def parse(data: object) -> Claim:
    """The claim that a decoded JSON object describes. Raises ClaimError, naming the field."""
    if not isinstance(data, Mapping):
        raise ClaimError("a claim must be a JSON object")
    unknown = [str(key) for key in data if key not in FIELDS]
    if unknown:
        known = ", ".join(FIELDS)
        raise ClaimError(f"unknown field {unknown[0]!r}; a claim may have {known}")
    missing = [key for key in REQUIRED if data.get(key) is None]
    if missing:
        raise ClaimError(f"field {missing[0]!r} is missing; a claim needs {', '.join(REQUIRED)}")
    values = {key: value for key, value in data.items() if value is not None}
    values["seat"] = _choice("seat", values["seat"], SeatName)
    values["verdict"] = _choice("verdict", values["verdict"], Verdict)
    if "axes" in values:
        values["axes"] = _axes(values["axes"])
    claim = Claim(**values)
    check(claim)
    return claim


def parse_text(text: str) -> list[Claim]:
    """The claims of one JSON object, or of JSON Lines. Raises ClaimError, naming the line."""
    try:
        return [parse(_loads(text))]
    except json.JSONDecodeError:
        pass  # not one object: then one a line
    claims = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            claims.append(parse(_loads(line)))
        except json.JSONDecodeError as error:
            raise ClaimError(
                f"line {number}: not JSON: {error.msg} at column {error.colno}"
            ) from None
        except ClaimError as error:
            raise ClaimError(f"line {number}: {error}") from None
    if not claims:
        raise ClaimError("no claim was given")
    return claims


def as_json(claim: Claim) -> dict[str, Any]:
    """The claim as an object that `parse` reads back; fields that are None are left out."""
    return {key: value for key, value in asdict(claim).items() if value is not None}


def as_line(claim: Claim) -> str:
    """The claim as one line of ASCII JSON; so lone surrogates survive, too."""
    return json.dumps(as_json(claim), separators=(",", ":"))


def check(claim: Claim) -> None:
    """Refuse what could not be stored as it is. Raises ClaimError, naming the field."""
    for name in SHORT:
        check_short(name, getattr(claim, name))
    for name in LONG:
        _check_long(name, getattr(claim, name))
    for name in COUNTS:
        _check_count(name, getattr(claim, name), least=1 if name == "attempt" else 0)
    for name in ("crate", "target", "task"):
        if not getattr(claim, name):
            raise ClaimError(f"field {name!r} is empty")
    _check_number("cost_usd", claim.cost_usd)
    if claim.seconds is not None:
        _check_seconds(claim.seconds)
    if claim.axes is not None:
        _check_axes(vars(claim.axes))
    if claim.at is not None:
        _check_time(claim.at)


def check_short(name: str, value: object) -> None:
    """Refuse a short text that SQLite or a path could not hold. Raises ClaimError."""
    if value is None:
        return
    if not isinstance(value, str):
        raise ClaimError(f"field {name!r} must be a text, not {type(value).__name__}")
    if len(value) > MAX_SHORT:
        raise ClaimError(f"field {name!r} is longer than {MAX_SHORT} characters")
    if "\0" in value:
        raise ClaimError(f"field {name!r} contains a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ClaimError(f"field {name!r} contains half of a surrogate pair") from None


def _check_long(name: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise ClaimError(f"field {name!r} must be a text, not {type(value).__name__}")
    if value is not None and len(value) > MAX_LONG:
        raise ClaimError(f"field {name!r} is longer than {MAX_LONG} characters")


def _check_count(name: str, value: object, *, least: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise ClaimError(f"field {name!r} must be a whole number, not {value!r:.40}")
    if not least <= value <= MAX_COUNT:
        raise ClaimError(f"field {name!r} must be at least {least} and at most 2**53")


def _check_number(name: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ClaimError(f"field {name!r} must be a number, not {value!r:.40}")
    if not math.isfinite(value) or not 0 <= value <= MAX_COUNT:
        raise ClaimError(f"field {name!r} must be at least 0 and finite")


def _check_seconds(seconds: object) -> None:
    if not isinstance(seconds, Mapping):
        raise ClaimError("field 'seconds' must be an object of stages and seconds")
    for stage, value in seconds.items():
        check_short("seconds", stage)
        if value is None:
            raise ClaimError(f"field 'seconds.{stage}' must be a number, not null")
        _check_number(f"seconds.{stage}", value)


def _axes(value: object) -> Axes:
    if not isinstance(value, Mapping):
        raise ClaimError("field 'axes' must be an object of axes and scores")
    names = [field.name for field in fields(Axes)]
    for key in value:
        if key not in names:
            raise ClaimError(f"unknown axis {key!r}; the axes are {', '.join(names)}")
    if "correctness" not in value:
        raise ClaimError("field 'axes' needs 'correctness'")
    _check_axes(value)
    return Axes(**value)


def _check_axes(axes: Mapping[str, object]) -> None:
    for name, score in axes.items():
        if isinstance(score, bool) or not isinstance(score, (int, float)) or not 0 <= score <= 1:
            raise ClaimError(f"field 'axes.{name}' must be a number from 0 to 1, not {score!r:.40}")


def _check_time(text: str) -> None:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        raise ClaimError(
            f"field 'at' must be a time like 2026-01-31T12:00:00Z, not {text!r:.40}"
        ) from None


def _choice(name: str, value: object, kind: type[_Choice]) -> _Choice:
    if isinstance(value, str) and value in list(kind):
        return kind(value)
    raise ClaimError(f"field {name!r} must be one of {', '.join(kind)}, not {value!r:.40}")


def _loads(text: str) -> object:
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> object:
    raise ClaimError(f"{name} is not a number that JSON knows")


def check_all(claims: Iterable[Claim]) -> None:
    """Refuse all if one cannot be stored. Raises ClaimError, naming which."""
    for number, claim in enumerate(claims, start=1):
        try:
            check(claim)
        except ClaimError as error:
            raise ClaimError(f"claim {number}: {error}") from None
