"""The memory on another machine: the same operations, over HTTP.

Retries what may pass. While the service is away, writes wait in a spool on this machine's
disk and are delivered, in order and once, when it is back; what must be answered raises
StorageError. Knows no SQLite.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
import platformdirs

from tessera.anvil import claims as exchange
from tessera.anvil.errors import ClaimError, StorageError
from tessera.anvil.exchange import page_of, recollection_of
from tessera.anvil.interface import Health, Page, chunks
from tessera.anvil.spool import Spool, Write
from tessera.records import Claim, Event, Outcome, Recollection, SeatName

# Seconds to wait before each further try.
DELAYS = (0.1, 0.4, 1.0, 2.0)
CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 60.0
# After a failure, writes go straight to the spool for so many seconds.
AWAY_SECONDS = 5.0


class Client:
    """Anvil behind a URL. Meaning of each method: see `interface.Anvil`."""

    def __init__(self, url: str, token: str | None = None, spool: Path | None = None) -> None:
        self.url = url.rstrip("/")
        self._spool = Spool(spool or _spool_path(self.url))
        self._http = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            trust_env=not _is_local(self.url),  # a proxy knows no way to this machine
        )
        self._away_until = 0.0

    # --- claims ---

    def pre_attempt(
        self,
        crate: str,
        target: str,
        task: str | None,
        *,
        threshold: int = 4,
        hint: bool = True,
        arm: str | None = None,
    ) -> Recollection:
        asked = {"crate": crate, "target": target, "task": task, "arm": arm}
        body = json.dumps({**asked, "threshold": threshold, "hint": hint})
        return recollection_of(self._ask("POST", "/pre_attempt", body))

    def post_attempt(self, claim: Claim) -> None:
        self.record([claim])

    def record(self, claims: Sequence[Claim], *, key: str | None = None) -> int:
        exchange.check_all(claims)
        self._write("record", {"claims": [exchange.as_json(claim) for claim in claims]}, key)
        return len(claims)

    def history(
        self,
        crate: str | None = None,
        target: str | None = None,
        task: str | None = None,
        *,
        limit: int = 100,
        offset: int = 0,
    ) -> Page:
        wanted = {"crate": crate, "target": target, "task": task}
        given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        query = httpx.QueryParams({**given, "limit": limit, "offset": offset})
        return page_of(self._ask("GET", f"/history?{query}"))

    def each_claim(self, *, contents: bool = False) -> Iterator[Claim]:
        return chunks(partial(self._claims_after, contents=contents))

    def _claims_after(self, place: int, *, contents: bool) -> list[tuple[int, Claim]]:
        found = self._read("claims_after", place=place, contents=contents)
        return [(at, exchange.parse(claim)) for at, claim in found]

    # --- what belongs to dispatches ---

    def start_dispatch(
        self,
        id: str,
        *,
        crate: str,
        target: str,
        task: str,
        arm: str | None = None,
        at: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        of = {"id": id, "crate": crate, "target": target, "task": task}
        self._write("start_dispatch", {**of, "arm": arm, "at": at, "data": dict(data or {})})

    def finish_dispatch(
        self,
        id: str,
        outcome: Outcome,
        *,
        seat: SeatName | None = None,
        why: str | None = None,
        at: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        ended = {"id": id, "outcome": outcome, "seat": seat, "why": why, "at": at}
        self._write("finish_dispatch", {**ended, "data": dict(data or {})})

    def get_dispatch(self, id: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self._read("get_dispatch", id=id)
        return found

    def add_event(self, event: Event) -> None:
        self._write("add_event", asdict(event))

    def events(
        self, *, dispatch: str | None = None, after: int = 0, limit: int = 1000
    ) -> list[tuple[int, Event]]:
        found = self._read("events", dispatch=dispatch, after=after, limit=limit)
        return [(place, Event(**event)) for place, event in found]

    def put_content(self, text: str) -> str:
        self._write("put_content", {"text": text})
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def get_content(self, hash: str) -> str | None:
        found: str | None = self._read("get_content", hash=hash)
        return found

    def put_prompt(self, hash: str, text: str, private: bool) -> None:
        self._write("put_prompt", {"hash": hash, "text": text, "private": private})

    def get_prompt(self, hash: str) -> tuple[str, bool] | None:
        found = self._read("get_prompt", hash=hash)
        return (found[0], found[1]) if found else None

    def put_proposal(self, proposal: Mapping[str, Any]) -> None:
        self._write("put_proposal", {"proposal": dict(proposal)})

    def get_proposal(self, id: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self._read("get_proposal", id=id)
        return found

    def list_proposals(self, state: str | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._read("list_proposals", state=state)
        return found

    def move_proposal(self, id: str, from_state: str, to_state: str, why: str | None) -> bool:
        moved = {"id": id, "from_state": from_state, "to_state": to_state, "why": why}
        return bool(self._read("move_proposal", **moved))

    def put_incident(self, incident: Mapping[str, Any]) -> None:
        self._write("put_incident", {"incident": dict(incident)})

    def list_incidents(self, id: str | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._read("list_incidents", id=id)
        return found

    def check(self) -> Health:
        found = self._read("check")
        return Health(found["claims"], tuple(found["problems"]), found["facts"])

    # --- the way there ---

    def close(self) -> None:
        """Try once more to deliver what waits; let go of the connection."""
        if not self._http.is_closed:
            with suppress(StorageError):
                self._deliver()
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def waiting(self) -> bool:
        """Whether writes wait in the spool."""
        return not self._spool.empty

    def _write(self, operation: str, arguments: dict[str, Any], key: str | None = None) -> None:
        """Make a write there or, while the service is away, put it into the spool."""
        write = Write(key or uuid.uuid4().hex, operation, arguments)
        try:
            if time.monotonic() < self._away_until:
                raise StorageError("storage_unreachable", "away")
            self._deliver()
            self._retried(partial(self._send, write))
        except StorageError as error:
            if error.kind != "storage_unreachable":
                raise
            self._spool.add(write)

    def _read(self, operation: str, **arguments: Any) -> Any:
        write = Write(uuid.uuid4().hex, operation, arguments)
        self._retried(self._deliver)
        return self._retried(partial(self._send, write))

    def _ask(self, method: str, path: str, body: str | None = None) -> Any:
        self._retried(self._deliver)
        return self._retried(partial(self._request, method, path, body))

    def _deliver(self) -> None:
        if not self._spool.empty:
            self._spool.deliver(self._send)

    def _send(self, write: Write) -> Any:
        body = json.dumps(write.arguments)
        return self._request("POST", f"/calls/{write.operation}", body, write.key)["result"]

    def _retried(self, call: partial[Any] | Any) -> Any:
        for delay in (*DELAYS, None):
            try:
                return call()
            except StorageError as error:
                if not error.retryable or delay is None:
                    self._away_until = time.monotonic() + AWAY_SECONDS
                    raise
                time.sleep(delay)
        raise AssertionError("the last try returns or raises")

    def _request(self, method: str, path: str, body: str | None, key: str | None = None) -> Any:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            answer = self._http.request(method, path, content=body, headers=headers)
        except httpx.TransportError as error:
            words = f"Anvil's service at {self.url} doesn't answer: {error}"
            raise StorageError("storage_unreachable", words) from error
        return _result(answer, self.url)


def _result(answer: httpx.Response, url: str) -> Any:
    """What the service answered. Raises what its status says."""
    try:
        data = answer.json()
    except ValueError:
        data = {}
    if answer.is_success and data:
        return data
    words = data.get("message") or f"status {answer.status_code}"
    said = f"Anvil's service at {url}: {words}"
    if answer.status_code in (401, 403):
        raise StorageError("storage_refused", f"{said}; is TESSERA_ANVIL_TOKEN set, and right?")
    if answer.status_code == 422:
        raise ClaimError(words)
    if answer.status_code in (502, 504):
        raise StorageError("storage_unreachable", said)
    if answer.status_code == 503 and "kind" in data:
        raise StorageError(data["kind"], said)
    raise StorageError("storage_io", f"{said} (is that an Anvil service?)")


def _spool_path(url: str) -> Path:
    name = hashlib.sha256(url.encode()).hexdigest()[:16]
    return platformdirs.user_data_path("tessera") / "spool" / f"{name}.jsonl"


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"
