"""What really comes over the wire from an endpoint that was given by its address.

litellm fills gaps in: it makes up a finish reason for a stream that broke off, counts
tokens itself when the server did not, and drops Retry-After for some servers. So the HTTP
client it is given is one that reads along, and that stops what is too large, too slow or
not a model's answer at all. Knows HTTP; knows no prompt and judges no reply.
"""

from __future__ import annotations

import ipaddress
import json
import re
import socket
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from tessera.seats import SeatBlocked
from tessera.seats.faults import blocked_by_status, retry_after

CONNECT_SECONDS = 5.0
MAX_BYTES = 32 << 20  # one streamed token is some 250 bytes of JSON around 4 bytes of text
MAX_DOCUMENT = 4 << 20
TAIL = 64 << 10
STREAMS = ("text/event-stream", "application/x-ndjson", "application/ndjson")
# A quotation mark inside a model's text is escaped in JSON, so no text can look like these.
FINISH = re.compile(rb'"(?:finish_reason|done_reason)"\s*:\s*"(\w+)"')
FINISHED = re.compile(rb'(?:^|\n)data:\s*\[DONE\]|"done"\s*:\s*true')
COMPLAINT = re.compile(rb'(?:^|\n)(?:data:\s*|error:\s*)?(\{"error"\s*:\s*(?!null).*)')
PROMPT_TOKENS = re.compile(rb'"(?:prompt_tokens|prompt_eval_count)"\s*:\s*(\d+)')
CODE = re.compile(rb'"code"\s*:\s*([45]\d\d)\b')
CACHED_TOKENS = re.compile(rb'"cached_tokens"\s*:\s*(\d+)')
REPLY_TOKENS = re.compile(rb'"(?:completion_tokens|eval_count)"\s*:\s*(\d+)')


class Wire:
    """Reads along with one call, through the `client` it makes; `seconds` is how long the
    server may be silent."""

    def __init__(self, url: str, seconds: float) -> None:
        self._seconds = seconds
        self._size = 0
        self._tail = b""
        self._heard = time.monotonic()
        self._response: httpx.Response | None = None
        self.client = http_client(
            url,
            httpx.Timeout(seconds, connect=CONNECT_SECONDS),
            event_hooks={"response": [self._answered]},
        )

    @property
    def finish_reason(self) -> str | None:
        """Why the server says that it stopped; None if it never said so."""
        found = FINISH.findall(self._tail)
        return found[-1].decode() if found else None

    @property
    def finished(self) -> bool:
        """Whether the server came to its end, and not only the connection."""
        return self.finish_reason is not None or FINISHED.search(self._tail) is not None

    @property
    def complaint(self) -> SeatBlocked | None:
        """An error that the server reported inside a stream that began well."""
        found = COMPLAINT.search(self._tail)
        if found is None:
            return None
        code = CODE.search(found[1])
        return blocked_by_status(int(code[1]) if code else 503, said_in(found[1]))

    @property
    def prompt_tokens(self) -> int | None:
        """The tokens of the prompt as the server counted them, those it had cached included."""
        counted = _last_number(PROMPT_TOKENS, self._tail)
        cached = _last_number(CACHED_TOKENS, self._tail) or 0
        return counted if not counted or counted >= cached else counted + cached

    @property
    def reply_tokens(self) -> int | None:
        """The tokens of the reply as the server counted them."""
        return _last_number(REPLY_TOKENS, self._tail)

    def close(self) -> None:
        """Hang up, which also tells the server to stop."""
        self.client.close()
        if self._response is not None:
            self._response.close()

    def hang_up(self) -> None:
        """Break the connection from another thread; whoever reads it gets an error at once."""
        stream = self._response.extensions.get("network_stream") if self._response else None
        line = stream.get_extra_info("socket") if stream else None
        if isinstance(line, socket.socket):
            try:
                line.shutdown(socket.SHUT_RDWR)
            except OSError:  # already gone
                return

    def _answered(self, response: httpx.Response) -> None:
        """Look at an answer's head: pass a stream on, refuse everything else."""
        self._response = response
        stream: Any = response.stream
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code >= 300:
            body = _read(stream, TAIL)
            wait = retry_after(response.headers, datetime.now(UTC))
            raise blocked_by_status(response.status_code, said_in(body), retry_after=wait)
        if kind == "application/json":
            body = _read(stream, MAX_DOCUMENT)
            stream.close()
            stream = httpx.ByteStream(as_events(body))
            response.headers["content-type"] = STREAMS[0]
        elif kind and kind not in STREAMS:
            said = f"answered with {kind} where a model's reply was due; is this the API's address?"
            raise SeatBlocked("model_garbage", said, retryable=False)
        response.stream = _Watched(stream, self)

    def see(self, chunk: bytes) -> None:
        """Take note of some bytes. Raises SeatBlocked when they are too many or say nothing."""
        self._size += len(chunk)
        if self._size > MAX_BYTES:
            said = f"still sending after {MAX_BYTES >> 20} MiB; stopped reading"
            raise SeatBlocked("model_garbage", said, retryable=True)
        self._tail = (self._tail + chunk)[-TAIL:]
        now = time.monotonic()
        if b"{" in chunk:
            self._heard = now
        elif now - self._heard > self._seconds:  # comments that only keep the line open
            said = f"nothing written for {self._seconds:g} seconds"
            raise SeatBlocked("model_timeout", said, retryable=True)


class _Watched(httpx.SyncByteStream):
    """A response's bytes, shown to the wire as they pass."""

    def __init__(self, inner: Any, wire: Wire) -> None:
        self._inner = inner
        self._wire = wire

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._inner:
            self._wire.see(chunk)
            yield chunk

    def close(self) -> None:
        self._inner.close()


def http_client(url: str, timeout: httpx.Timeout, **options: Any) -> httpx.Client:
    """A client for one address. A server on this machine is never asked through a proxy."""
    return httpx.Client(
        timeout=timeout,
        trust_env=not is_loopback(url),
        verify=url.startswith("https:"),
        headers={"Accept-Encoding": "identity"},
        **options,
    )


def is_loopback(url: str) -> bool:
    """Whether the address is this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def is_near(url: str) -> bool:
    """Whether the address is this machine or one in its own network."""
    host = urlsplit(url).hostname or ""
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return is_loopback(url) or "." not in host or host.endswith((".local", ".lan", ".internal"))


def said_in(body: bytes) -> str:
    """The server's own words in the body of an error: OpenAI's form, Ollama's, or plain text."""
    text = body.decode("utf-8", "replace")
    try:
        document = json.loads(text)
    except ValueError:
        return re.sub(r"<[^>]*>", " ", text)
    error = document.get("error", document) if isinstance(document, dict) else document
    if not isinstance(error, dict):
        return str(error)
    words = str(error.get("message") or error.get("detail") or error)
    kind = error.get("code") or error.get("type")
    return f"{words} ({kind})" if isinstance(kind, str) and kind not in words else words


def as_events(body: bytes) -> bytes:
    """The events of a stream for a reply that came in one piece, from a server that can't
    stream. Raises SeatBlocked for anything that is not a reply."""
    try:
        document = json.loads(body)
    except ValueError as error:
        said = f"not JSON: {body[:80].decode('utf-8', 'replace')!r}"
        raise SeatBlocked("model_garbage", said, retryable=True) from error
    if isinstance(document, dict) and "error" in document and "choices" not in document:
        raise blocked_by_status(503, said_in(body))
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(choices, list) or not all(isinstance(c, dict) for c in choices):
        said = "the JSON it answered with holds no reply"
        raise SeatBlocked("model_garbage", said, retryable=True)
    parts = [{**c, "delta": c["message"]} if "message" in c else c for c in choices]
    usage = {"usage": document["usage"]} if "usage" in document else {}
    events = [{**document, "choices": parts, "usage": None}]
    if usage:
        events.append({**document, "choices": [], **usage})
    return _join(json.dumps(event) for event in events)


def _read(stream: Iterable[bytes], limit: int) -> bytes:
    body = b""
    for chunk in stream:
        body += chunk
        if len(body) > limit:
            break
    return body[:limit]


def _join(events: Iterable[str]) -> bytes:
    return "".join(f"data: {event}\n\n" for event in (*events, "[DONE]")).encode()


def _last_number(pattern: re.Pattern[bytes], text: bytes) -> int | None:
    found = pattern.findall(text)
    return int(found[-1]) if found else None
