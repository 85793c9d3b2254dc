"""Anvil over HTTP: the embedded memory behind FastAPI.

Parses, calls the store and answers; decides nothing. Listens on this machine alone unless
there is a token, and then wants it from everybody.
"""

from __future__ import annotations

import hmac
import inspect
import ipaddress
import json
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import click
from fastapi import Depends, FastAPI, Header, HTTPException, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, TypeAdapter

from tessera import __version__
from tessera.anvil import claims as exchange
from tessera.anvil.database import Delivered
from tessera.anvil.errors import ClaimError, StorageError
from tessera.anvil.exchange import page_json
from tessera.anvil.store import Store
from tessera.errors import InputError
from tessera.records import Claim, Event, Outcome, Recollection, SeatName

MAX_BODY = 192 << 20
KEYS_KEPT = timedelta(days=30)
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


class Question(BaseModel):
    """What `pre_attempt` is asked."""

    model_config = ConfigDict(extra="forbid")

    crate: str
    target: str
    task: str | None = None
    threshold: int = 4
    hint: bool = True
    arm: str | None = None


class Recorded(BaseModel):
    """How many claims are on the disk."""

    recorded: int


def make_app(store: Store, token: str | None = None) -> FastAPI:
    """The service. With a token every request but `GET /health` must bear it."""
    app = FastAPI(title="Anvil", version=__version__, description="The memory of Tessera.")
    guarded = [Depends(_guard(token))]
    app.add_exception_handler(StorageError, _storage_error)
    app.add_exception_handler(ValueError, _refused)
    app.add_exception_handler(HTTPException, _http_error)

    @app.get("/health")
    def health() -> dict[str, Any]:
        """Whether the service answers, and its memory too."""
        return {"ok": True, "version": __version__, "claims": store.history(limit=0).total}

    @app.post("/pre_attempt", dependencies=guarded)
    def pre_attempt(asked: Question) -> Recollection:
        """What is known before an attempt."""
        return store.pre_attempt(
            asked.crate,
            asked.target,
            asked.task,
            threshold=asked.threshold,
            hint=asked.hint,
            arm=asked.arm,
        )

    @app.post("/post_attempt", dependencies=guarded, openapi_extra=_claim_body())
    def post_attempt(
        body: Annotated[str, Depends(_body)],
        idempotency_key: Annotated[str | None, Header()] = None,
    ) -> Recorded:
        """Record a claim, or claims as JSON Lines: all or none, on the disk when answered."""
        return Recorded(recorded=store.record(exchange.parse_text(body), key=idempotency_key))

    @app.get("/history", dependencies=guarded)
    def history(
        crate: str | None = None,
        target: str | None = None,
        task: str | None = None,
        limit: Annotated[int, Query(ge=0, le=10_000)] = 100,
        offset: Annotated[int, Query(ge=0)] = 0,
    ) -> Response:
        """Claims in the order they were recorded."""
        return _ascii(page_json(store.history(crate, target, task, limit=limit, offset=offset)))

    @app.post("/calls/{operation}", dependencies=guarded)
    def call(
        operation: str,
        body: Annotated[str, Depends(_body)],
        idempotency_key: Annotated[str | None, Header()] = None,
    ) -> Response:
        """The other operations of Anvil, with their arguments as one JSON object."""
        made = OPERATIONS.get(operation)
        if made is None:
            raise HTTPException(404, f"there is no operation {operation!r}")
        result = None
        with suppress(Delivered), store.delivering(idempotency_key):
            result = made(store, **_arguments(made, body))
        return _ascii({"result": result})

    return app


def serve(location: str, host: str, port: int, token: str | None, *, as_json: bool = False) -> None:
    """Serve the memory at `location` until it is told to stop. Raises InputError."""
    import uvicorn

    if not _is_loopback(host) and not token:
        raise InputError(
            f"{host} can be reached from other machines, and there is no token",
            "set TESSERA_ANVIL_TOKEN to a secret that clients send",
            key="--host",
        )
    if location.startswith(("http://", "https://")):
        raise InputError(f"{location} is a service already", "name a file", key="--anvil")
    with Store(Path(location)) as store, _listening(host, port) as listener:
        store.forget_deliveries((datetime.now(UTC) - KEYS_KEPT).isoformat())
        name = f"[{host}]" if ":" in host else host
        url = f"http://{name}:{listener.getsockname()[1]}"
        if as_json:
            click.echo(json.dumps({"url": url}))
        click.echo(f"Anvil at {url}, from {location}", err=True)
        config = uvicorn.Config(make_app(store, token), log_level="warning", access_log=False)
        uvicorn.Server(config).run(sockets=[listener])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise InputError(f"cannot listen at {host} port {port}: {error}", key="--port") from error


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


# --- the operations ---------------------------------------------------------------------


def _record(store: Store, claims: list[Mapping[str, Any]]) -> int:
    return store.record([exchange.parse(claim) for claim in claims])


def _finish(store: Store, id: str, outcome: str, seat: str | None = None, **rest: Any) -> None:
    named = SeatName(seat) if seat else None
    store.finish_dispatch(id, Outcome(outcome), seat=named, **rest)


def _add_event(store: Store, kind: str, at: str, dispatch: str, data: dict[str, Any]) -> None:
    store.add_event(Event(kind, at, dispatch, data))


def _events(
    store: Store, dispatch: str | None = None, after: int = 0, limit: int = 1000
) -> list[Any]:
    found = store.events(dispatch=dispatch, after=after, limit=limit)
    return [(place, asdict(event)) for place, event in found]


def _claims_after(store: Store, place: int, contents: bool = False) -> list[Any]:
    found = store.claims_after(place, contents=contents)
    return [(at, exchange.as_json(claim)) for at, claim in found]


def _check(store: Store) -> dict[str, Any]:
    return asdict(store.check())


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "record": _record,
    "start_dispatch": Store.start_dispatch,
    "finish_dispatch": _finish,
    "get_dispatch": Store.get_dispatch,
    "add_event": _add_event,
    "events": _events,
    "put_content": Store.put_content,
    "get_content": Store.get_content,
    "put_prompt": Store.put_prompt,
    "get_prompt": Store.get_prompt,
    "put_proposal": Store.put_proposal,
    "get_proposal": Store.get_proposal,
    "list_proposals": Store.list_proposals,
    "move_proposal": Store.move_proposal,
    "put_incident": Store.put_incident,
    "list_incidents": Store.list_incidents,
    "claims_after": _claims_after,
    "check": _check,
}


def _arguments(operation: Callable[..., Any], body: str) -> dict[str, Any]:
    arguments = json.loads(body or "{}")
    if not isinstance(arguments, dict):
        raise ClaimError("the arguments must be one JSON object")
    try:
        inspect.signature(operation).bind(None, **arguments)
    except TypeError as error:
        raise ClaimError(f"arguments: {error}") from None
    return arguments


# --- the edge ---------------------------------------------------------------------------


def _guard(token: str | None) -> Callable[[Request], None]:
    def guard(request: Request) -> None:
        if token is not None:
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode(), token.encode()):
                raise HTTPException(401, "a bearer token is wanted")
        elif request.url.hostname not in LOCAL_NAMES:
            # A web page that made its own name point here could read the memory otherwise.
            raise HTTPException(403, "ask for it by the name of this machine")

    return guard


async def _body(request: Request) -> str:
    """The body of a JSON request, which no web page can send without being asked first."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind not in ("application/json", "application/x-ndjson"):
        raise HTTPException(415, "the body must be application/json")
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > MAX_BODY:
            raise HTTPException(413, f"the body is larger than {MAX_BODY >> 20} MiB")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise HTTPException(422, f"the body is not UTF-8: {error}") from None


def _ascii(value: object) -> Response:
    # A claim may hold half a surrogate pair, which UTF-8 has no bytes for.
    return Response(json.dumps(value), media_type="application/json")


def _storage_error(request: Request, error: Exception) -> Response:
    kind = getattr(error, "kind", "storage_io")
    return JSONResponse({"kind": kind, "message": str(error)}, 503)


def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"message": str(error)}, 422)


def _http_error(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    return JSONResponse({"message": getattr(error, "detail", str(error))}, status)


def _claim_body() -> dict[str, Any]:
    """OpenAPI's words for the body of `post_attempt`."""
    schema = TypeAdapter(Claim).json_schema()
    named = schema.pop("$defs", {})
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _inlined(schema, named)}},
        }
    }


def _inlined(schema: Any, named: Mapping[str, Any]) -> Any:
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inlined(named[schema["$ref"].rpartition("/")[2]], named)
        return {key: _inlined(value, named) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_inlined(value, named) for value in schema]
    return schema
