"""From what went wrong while a model was asked to the one exception the loop knows.

Knows HTTP status codes and the exceptions of litellm, openai and httpx, by their names and
attributes, so that none of them has to be imported. Asks nobody and waits for nothing.
"""

from __future__ import annotations

import email.utils
import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import httpx

from tessera.seats import SeatBlocked

TOO_LONG = re.compile(
    r"exceed\w*.{0,40}context|context.{0,20}(length|window|size).{0,40}exceed"
    r"|maximum context length|prompt is too long|too many tokens",
    re.IGNORECASE | re.DOTALL,
)
NO_SUCH_MODEL = re.compile(
    r"model\W.{0,80}(not found|not exist|unknown)|(unknown|no such|invalid) model",
    re.IGNORECASE | re.DOTALL,
)
NO_PROVIDER = "LLM Provider NOT provided"
TEXT_LIMIT = 300


def blocked_by_status(
    status: int, message: str, *, retry_after: float | None = None
) -> SeatBlocked:
    """What an HTTP status (RFC 9110) and the server's own words mean for a dispatch.

    A quota that is used up is sent as 429 by some, but no waiting brings it back.
    """
    said = f"HTTP {status}: {shorten(message)}" if message else f"HTTP {status}"
    if status in (401, 402, 403, 407):
        return SeatBlocked("model_refused_key", said, retryable=False)
    if status in (400, 413, 422) and (status == 413 or TOO_LONG.search(message)):
        return SeatBlocked("prompt_too_long", said, retryable=False)
    if NO_PROVIDER in message:
        said = "litellm knows no such provider; write it as provider/model, or give its url"
        return SeatBlocked("model_unknown", said, retryable=False)
    if status == 404 or (status in (400, 422) and NO_SUCH_MODEL.search(message)):
        return SeatBlocked("model_unknown", said, retryable=False)
    if status == 429:
        used_up = "insufficient_quota" in message or "exceeded your current quota" in message
        return SeatBlocked(
            "model_rate_limited", said, retryable=not used_up, retry_after=retry_after
        )
    if status in (408, 504):
        return SeatBlocked("model_timeout", said, retryable=True, retry_after=retry_after)
    if status in (409, 425) or (status >= 500 and status not in (501, 505)):
        return SeatBlocked("model_overloaded", said, retryable=True, retry_after=retry_after)
    return SeatBlocked("model_bad_request", said, retryable=False)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """The seconds a server asks to be left alone, from `Retry-After` as seconds or as a date."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            then = email.utils.parsedate_to_datetime(value)
        except ValueError:
            return None
        # A date without a zone is meant as GMT (RFC 9110, section 5.6.7).
        then = then if then.tzinfo else then.replace(tzinfo=UTC)
        seconds = (then - now).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def explain(error: BaseException) -> SeatBlocked:
    """What an exception out of litellm means.

    litellm wraps what happened in exceptions of its own and makes up a status code when
    there was none, so the whole chain of causes is read, and what lies deepest counts.
    """
    causes = list(chain(error))
    for cause in causes:
        if isinstance(cause, SeatBlocked):
            return cause
    return _from_transport(causes) or _from_status(causes) or _from_stream(causes)


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and its causes, outermost first, each once."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        cause = waiting.pop()
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__context__, cause.__cause__, getattr(cause, "original_exception", None)]


def shorten(text: str) -> str:
    """The text on one line, cut to a length that fits a terminal."""
    line = " ".join(text.split())
    return line if len(line) <= TEXT_LIMIT else line[: TEXT_LIMIT - 1] + "…"


def _from_transport(causes: list[BaseException]) -> SeatBlocked | None:
    for cause in causes:
        if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout):
            return SeatBlocked("model_unreachable", f"no connection: {cause}", retryable=True)
        if isinstance(cause, httpx.TimeoutException):
            return SeatBlocked("model_timeout", "no answer within the time limit", retryable=True)
        if isinstance(cause, httpx.TransportError):
            said = f"the connection broke: {shorten(str(cause))}"
            return SeatBlocked("model_unreachable", said, retryable=True)
        if isinstance(cause, httpx.InvalidURL):
            return SeatBlocked("model_bad_request", f"bad address: {cause}", retryable=False)
        if isinstance(cause, json.JSONDecodeError):
            said = f"not JSON: {shorten(cause.doc)[:80]!r}"
            return SeatBlocked("model_garbage", said, retryable=True)
    return None


def _from_status(causes: list[BaseException]) -> SeatBlocked | None:
    """The status the server sent, else the one that litellm gave to its own refusal."""
    wait = None
    answered: tuple[int, BaseException] | None = None
    refused: tuple[int, BaseException] | None = None
    for cause in causes:
        response = getattr(cause, "response", None)
        status = getattr(cause, "status_code", None)
        if isinstance(response, httpx.Response):
            wait = retry_after(response.headers, datetime.now(UTC)) if wait is None else wait
            # litellm puts a made-up response, with its own status, on what it raises itself.
            if not type(cause).__module__.startswith("litellm") and response.is_error:
                answered = (response.status_code, cause)
        if isinstance(status, int) and 400 <= status < 500:
            refused = (status, cause)
    found = answered or refused
    if found is None:
        return None
    return blocked_by_status(found[0], _words(found[1], causes), retry_after=wait)


def _from_stream(causes: list[BaseException]) -> SeatBlocked:
    """A stream that broke off, one that reported a fault, or what nobody foresaw."""
    if any("before a finish_reason" in str(cause) for cause in causes):
        said = "the reply broke off in the middle"
        return SeatBlocked("model_unreachable", said, retryable=True)
    return SeatBlocked("model_overloaded", shorten(_words(causes[0], causes)), retryable=True)


def _words(cause: BaseException, causes: list[BaseException]) -> str:
    """The server's own words, as plain as they can be had."""
    for each in (cause, *causes):
        body: Any = getattr(each, "body", None)
        inner = body.get("error", body) if isinstance(body, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get("message"), str):
            kind = inner.get("code") or inner.get("type")
            return f"{inner['message']} ({kind})" if isinstance(kind, str) else inner["message"]
        if isinstance(inner, str):
            return inner
    return str(getattr(cause, "message", "") or cause or type(cause).__name__)
