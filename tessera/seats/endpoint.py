"""What a model server says of itself: which kind it is, which models, how large a window.

Asks with plain GET requests (and POST to Ollama's `/api/show`), never for a reply. Sources:
Ollama `docs/api.md`, llama.cpp `tools/server/README.md`, LM Studio's REST API v0, vLLM's
and OpenAI's `/v1/models`.
"""

from __future__ import annotations

import difflib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

import httpx

from tessera.seats import SeatBlocked
from tessera.seats.faults import blocked_by_status
from tessera.seats.wire import CONNECT_SECONDS, MAX_DOCUMENT, http_client, is_near, said_in

ASK_SECONDS = 5.0
OLLAMA_WINDOW = 8192
PREFIXES = ("openai/", "ollama_chat/", "ollama/", "lm_studio/", "hosted_vllm/", "vllm/")
CODE_MODELS = ("code", "coder", "devstral", "starcoder")
NOT_WRITERS = ("embed", "bert", "rerank", "whisper")


class Kind(StrEnum):
    """The model servers that are told apart, by the name a person knows them under."""

    OLLAMA = "Ollama"
    LLAMA_CPP = "llama.cpp"
    LM_STUDIO = "LM Studio"
    VLLM = "vLLM"
    OTHER = "an OpenAI-compatible server"


@dataclass(frozen=True)
class Served:
    """A model that a server has; `window` in tokens as the server would use it now."""

    id: str
    window: int | None = None
    loaded: bool = False


@dataclass(frozen=True)
class Endpoint:
    """A model server. `url` is the base of its OpenAI-compatible part, mostly ending in /v1;
    `models` is empty when it doesn't list any."""

    kind: Kind
    url: str
    models: tuple[Served, ...] = ()

    @property
    def root(self) -> str:
        """The address without /v1, where the servers keep what is their own."""
        return self.url.removesuffix("/v1")


def base_url(url: str) -> str:
    """The base of the OpenAI-compatible part: an address without a path gets /v1."""
    url = url.rstrip("/")
    return url if urlsplit(url).path else f"{url}/v1"


def home_of(model: str) -> str | None:
    """The address of a local server that litellm knows by a prefix of the model's name.

    Ollama is asked by its address, so that it can be told its window; `OLLAMA_API_BASE` is
    the variable that litellm reads.
    """
    if not model.startswith(("ollama/", "ollama_chat/")):
        return None
    return os.environ.get("OLLAMA_API_BASE") or "http://127.0.0.1:11434"


def ask(url: str, key: str | None, *, seconds: float = ASK_SECONDS) -> Endpoint:
    """What answers at an address.

    Raises SeatBlocked when nothing listens there, nothing comes in time or a server says that
    it is not ready yet; what it won't or can't tell is left open.
    """
    url = base_url(url)
    timeout = httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS))
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with http_client(url, timeout) as client:
        client.headers.update(headers)
        endpoint = Endpoint(Kind.OTHER, url)
        listed = _entries(_get(client, f"{url}/models"), "data")
        if any(entry.get("owned_by") == "llamacpp" for entry in listed):
            return _llama_cpp(client, endpoint, listed)
        if any(entry.get("owned_by") == "vllm" for entry in listed):
            return replace(endpoint, kind=Kind.VLLM, models=_served(listed, "max_model_len"))
        if is_near(url):
            tags = _get(client, f"{endpoint.root}/api/tags")
            if tags and "object" not in tags and isinstance(tags.get("models"), list):
                return _ollama(client, endpoint, _entries(tags, "models", key="name"))
            studio = _entries(_get(client, f"{endpoint.root}/api/v0/models"), "data")
            if any("state" in entry for entry in studio):
                return _lm_studio(endpoint, studio)
        return replace(endpoint, models=_served(listed, "context_length"))


def choose(endpoint: Endpoint, wanted: str) -> Served:
    """The served model that is meant by a name, or the best one when none is named.

    The rule for the best: what can write at all; code models before others; loaded ones
    before others; then the server's own order. A llama.cpp server that has one model answers
    to any name. Raises SeatBlocked for a name that is not there, naming the closest.
    """
    models = endpoint.models
    if wanted in ("", "auto"):
        writers = [m for m in models if not any(word in m.id.lower() for word in NOT_WRITERS)]
        if not writers:
            said = f"{endpoint.kind} at {endpoint.url} lists no model; name one, or load one"
            raise SeatBlocked("model_unknown", said, retryable=False)
        return min(writers, key=lambda m: (not is_code_model(m.id), not m.loaded))
    names = _spellings(wanted)
    if not models:
        return Served(names[-1])
    for name in names:
        for model in models:
            if model.id in (name, f"{name}:latest"):
                return model
    if endpoint.kind is Kind.LLAMA_CPP and len(models) == 1:
        return models[0]
    raise SeatBlocked("model_unknown", unknown_model(wanted, endpoint), retryable=False)


def unknown_model(wanted: str, endpoint: Endpoint) -> str:
    """What to say when a server doesn't have the model: the closest names, then the others."""
    ids = [model.id for model in endpoint.models]
    close = difflib.get_close_matches(_spellings(wanted)[-1], ids, n=3, cutoff=0.4)
    there = ", ".join(close or ids[:5])
    hint = f"did you mean {there}?" if close else f"it has {there}"
    pull = f" (or: ollama pull {_spellings(wanted)[-1]})" if endpoint.kind is Kind.OLLAMA else ""
    return f"{endpoint.kind} at {endpoint.url} has no model {wanted!r}; {hint}{pull}"


def is_code_model(name: str) -> bool:
    """Whether a model's name says that it was made to write code."""
    return any(word in name.lower() for word in CODE_MODELS)


def ollama_window(endpoint: Endpoint, model: Served, key: str | None) -> int:
    """The window to ask Ollama for, since it cuts prompts to its own default without a word.

    What the model is loaded with, if that is more than OLLAMA_WINDOW: another size would
    load it anew. Else OLLAMA_WINDOW, or all that the model was trained for if that is less.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with http_client(endpoint.url, httpx.Timeout(ASK_SECONDS)) as client:
        client.headers.update(headers)
        shown = _json(client, "POST", f"{endpoint.root}/api/show", {"model": model.id}) or {}
    details = shown.get("model_info")
    trained = None
    if isinstance(details, dict):
        found = (v for k, v in details.items() if str(k).endswith(".context_length"))
        trained = _tokens(next(found, None))
    wanted = max(OLLAMA_WINDOW, model.window or 0)
    return min(wanted, trained) if trained else wanted


def _llama_cpp(
    client: httpx.Client, endpoint: Endpoint, listed: Sequence[Mapping[str, Any]]
) -> Endpoint:
    props = _get(client, f"{endpoint.root}/props") or {}
    defaults = props.get("default_generation_settings")
    window = _tokens(defaults.get("n_ctx")) if isinstance(defaults, dict) else None
    window = window or _tokens(props.get("n_ctx"))
    models = []
    for entry in listed:
        meta = entry.get("meta")
        own = _tokens(meta.get("n_ctx")) if isinstance(meta, dict) else None
        models.append(Served(entry["id"], window or own, loaded=True))
    return replace(endpoint, kind=Kind.LLAMA_CPP, models=tuple(models))


def _ollama(
    client: httpx.Client, endpoint: Endpoint, tags: Sequence[Mapping[str, Any]]
) -> Endpoint:
    running = _entries(_get(client, f"{endpoint.root}/api/ps"), "models", key="name")
    loaded = {entry["name"]: _tokens(entry.get("context_length")) for entry in running}
    models = (Served(t["name"], loaded.get(t["name"]), t["name"] in loaded) for t in tags)
    return replace(endpoint, kind=Kind.OLLAMA, models=tuple(models))


def _lm_studio(endpoint: Endpoint, listed: Sequence[Mapping[str, Any]]) -> Endpoint:
    writers = [entry for entry in listed if entry.get("type") != "embeddings"]
    models = (
        Served(e["id"], _tokens(e.get("loaded_context_length")), e.get("state") == "loaded")
        for e in writers
    )
    return replace(endpoint, kind=Kind.LM_STUDIO, models=tuple(models))


def _served(listed: Sequence[Mapping[str, Any]], window: str) -> tuple[Served, ...]:
    return tuple(Served(entry["id"], _tokens(entry.get(window))) for entry in listed)


def _spellings(wanted: str) -> tuple[str, ...]:
    """The name as given, and without the prefix that litellm would want."""
    for prefix in PREFIXES:
        if wanted.startswith(prefix):
            return (wanted, wanted.removeprefix(prefix))
    return (wanted,)


def _get(client: httpx.Client, url: str) -> Mapping[str, Any] | None:
    return _json(client, "GET", url, None)


def _json(client: httpx.Client, method: str, url: str, body: object) -> Mapping[str, Any] | None:
    """A JSON object, or None if something else comes."""
    try:
        with client.stream(method, url, json=body) as response:
            text = _read(response, client.timeout.read or ASK_SECONDS)
    except httpx.ConnectError as error:
        said = f"nothing answers at {url}; is the server running?"
        raise SeatBlocked("model_unreachable", said, retryable=True) from error
    except httpx.TimeoutException as error:
        said = f"{url} did not answer in time"
        raise SeatBlocked("model_timeout", said, retryable=True) from error
    except httpx.HTTPError:
        return None
    if response.status_code == 503:
        raise blocked_by_status(503, said_in(text))
    try:
        document = json.loads(text) if response.is_success else None
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _read(response: httpx.Response, seconds: float) -> bytes:
    """The body, as far as it is small and comes soon; what is on a port may be anything."""
    body = b""
    deadline = time.monotonic() + seconds
    for chunk in response.iter_raw():
        body += chunk
        if len(body) > MAX_DOCUMENT or time.monotonic() > deadline:
            break
    return body


def _entries(
    document: Mapping[str, Any] | None, name: str, *, key: str = "id"
) -> list[Mapping[str, Any]]:
    """The objects of a list in a document that have a name under `key`."""
    found = document.get(name) if document else None
    if not isinstance(found, list):
        return []
    return [each for each in found if isinstance(each, dict) and isinstance(each.get(key), str)]


def _tokens(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
