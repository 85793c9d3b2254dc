"""The model seats behind litellm: one client for every endpoint and every provider.

Knows how a prompt is sent and how a reply comes back, token by token. litellm costs about
five seconds of CPU to import, so it is imported late, by `warm_up` on another thread or by
the first `write`; it is kept from fetching price lists, retrying, logging and printing.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from tessera.records import ModelSettings, Prompt, Reply, SeatName
from tessera.seats import Enough, SeatBlocked, SeatInfo
from tessera.seats.endpoint import Endpoint, Kind, Served, ask, choose, home_of, ollama_window
from tessera.seats.faults import explain
from tessera.seats.window import estimate, room, was_cut
from tessera.seats.wire import CONNECT_SECONDS, Wire, http_client, is_near

MAX_TEXT = 1 << 20
TOKENIZE_SECONDS = 5.0
QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "true",
    "LITELLM_DISABLE_BUG_REPORT_LINK": "true",
    "LITELLM_SUPPRESS_STARTUP_OUTPUT": "true",
}
NO_KEY = "none"  # the client insists on one


def warm_up() -> threading.Thread:
    """Start to import litellm on another thread; `write` waits for it where it must."""
    thread = threading.Thread(target=_rehearse, name="warm-up", daemon=True)
    thread.start()
    return thread


def _rehearse() -> None:
    """Import litellm and play one reply of its own making through it: the first reply imports
    for most of a second more."""
    openai: Any = importlib.import_module("openai")
    mocked = {"mock_response": "x", "stream": True, "stream_options": {"include_usage": True}}
    messages = [{"role": "user", "content": "x"}]
    # Where warnings are errors, one of litellm's may end the rehearsal; the play is not harmed.
    with contextlib.suppress(Warning, openai.OpenAIError):
        for _ in litellm().completion(model="openai/none", messages=messages, **mocked):
            pass
    importlib.import_module("openai.resources.chat.completions")
    importlib.import_module("openai.resources.completions")
    openai.OpenAI(api_key=NO_KEY).close()


@functools.cache
def litellm() -> Any:
    """litellm, imported and silenced. It reads its environment only while it is imported."""
    os.environ.update(QUIET)
    _hush()
    module: Any = importlib.import_module("litellm")
    module.suppress_debug_info = True
    module.disable_streaming_logging = True
    module.drop_params = True
    module.num_retries = 0
    # The limit on repeated tokens is the caller's to set: here it would look like a server fault.
    module.REPEATED_STREAMING_CHUNK_LIMIT = 1 << 30
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return module


@dataclass
class Call:
    """One request, the wire if there is one to read along, and what has come of the reply."""

    arguments: dict[str, Any]
    wire: Wire | None
    pieces: list[str] = field(default_factory=list)
    finish_reason: str = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None

    @property
    def text(self) -> str:
        """The reply so far."""
        return "".join(self.pieces)

    def take(self, chunk: Any) -> str:
        """Add one of litellm's chunks; returns the text in it."""
        usage = getattr(chunk, "usage", None)
        if usage is not None:
            self.tokens_in, self.tokens_out = usage.prompt_tokens, usage.completion_tokens
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        self.finish_reason = choice.finish_reason or self.finish_reason
        piece: str = (choice.delta.content if hasattr(choice, "delta") else choice.text) or ""
        if piece:
            self.pieces.append(piece)
        return piece


class LiteLLMSeat:
    """A seat whose model is reached through litellm.

    With `settings.url` (or `endpoint`) it is a server by its address; without, `settings.model`
    names a provider and a model as litellm does. What an address serves is asked when it is
    first needed, so that a seat can be opened while its server is down.
    """

    def __init__(
        self,
        name: SeatName,
        settings: ModelSettings,
        *,
        endpoint: Endpoint | None = None,
        info: SeatInfo | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self._settings = settings
        self._endpoint = endpoint
        self._looked = info is not None
        self._glanced = False
        self._info = info or SeatInfo(settings.model, settings.url, settings.window)
        self._on_close = on_close
        self._wires: set[Wire] = set()
        self._closed = False

    @property
    def info(self) -> SeatInfo:
        """What is known of the model; less while its server doesn't answer."""
        self._glance()
        return self._info

    def look(self) -> None:
        """Ask the server, once, what it serves. Raises SeatBlocked."""
        with self._placing():
            self._look()

    def count_tokens(self, prompt: Prompt) -> int:
        """The prompt's tokens: counted by a llama.cpp server, else estimated, rather too high."""
        self._glance()
        counted = self._counted(prompt)
        return estimate(prompt) if counted is None else counted

    def fits(self, prompt: Prompt) -> bool:
        """Whether the prompt and a reply fit the model's window; True when nobody says."""
        try:
            room(self.count_tokens(prompt), self._settings.max_tokens, self._info.window)
        except SeatBlocked:
            return False
        return True

    def write(
        self, prompt: Prompt, *, task: str, attempt: int, on_text: Callable[[str], None]
    ) -> Reply:
        """Answer the prompt; see ModelSeat. `task` and `attempt` make no difference here."""
        started = time.monotonic()
        with self._placing():
            self._look()
            counted = self._counted(prompt)
            tokens = estimate(prompt) if counted is None else counted
            call = self._call(prompt, room(tokens, self._settings.max_tokens, self._info.window))
            self._exchange(call, on_text)
            if was_cut(prompt, counted, call.tokens_in):
                raise SeatBlocked("prompt_truncated", self._cut(tokens, call), retryable=False)
            if not call.text.strip() and call.finish_reason == "stop":
                raise SeatBlocked("model_empty", "the reply was empty", retryable=True)
        tokens_in = call.tokens_in or tokens
        tokens_out = call.tokens_out or len(call.pieces)
        cost = self.price(tokens_in, tokens_out)
        return Reply(
            text=call.text,
            finish_reason=call.finish_reason,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=cost or 0.0,
            seconds=time.monotonic() - started,
            model=self._info.model,
            cost_known=cost is not None,
        )

    def close(self) -> None:
        """Hang up on replies that are being written, and stop the server if it is the seat's."""
        self._closed = True
        for wire in list(self._wires):
            wire.hang_up()
        if self._on_close is not None:
            self._on_close()

    # --- what the model is -----------------------------------------------------------------

    def _glance(self) -> None:
        """Look once, and leave it to `write` to look again if nothing answers now."""
        if not self._glanced:
            with contextlib.suppress(SeatBlocked):
                self._look()

    def _look(self) -> None:
        self._glanced = True
        if self._looked:
            return
        settings = self._settings
        url = settings.url or home_of(settings.model)
        if url is None and self._endpoint is None:
            window = settings.window or (self._listed() or {}).get("max_input_tokens")
            self._info = replace(self._info, window=window)
        else:
            self._endpoint = self._endpoint or ask(url or "", settings.key)
            served = choose(self._endpoint, settings.model)
            self._info = info_of(self._endpoint, served, settings)
        self._looked = True

    def _listed(self) -> Mapping[str, Any] | None:
        """What litellm's price list says of the model, None if it isn't there."""
        model: str = self._info.model
        prices: Mapping[str, Mapping[str, Any]] = litellm().model_cost
        return prices.get(model) or prices.get(model.partition("/")[2])

    def price(self, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars for a reply, None when nobody knows. A server near by costs nothing."""
        near = self._endpoint is not None and is_near(self._endpoint.url)
        if near and self.name is SeatName.LOCAL:
            return 0.0
        prices = self._listed() or {}
        each_in, each_out = prices.get("input_cost_per_token"), prices.get("output_cost_per_token")
        if each_in is None or each_out is None:
            return 0.0 if near else None
        return float(tokens_in * each_in + tokens_out * each_out)

    def _place(self) -> str:
        """The model and where it is, for messages."""
        url = self._endpoint.url if self._endpoint else self._settings.url
        return f"{self._info.model} at {url}" if url else self._info.model

    @contextlib.contextmanager
    def _placing(self) -> Iterator[None]:
        """Say in every fault which model it was, and what a person can do about a key."""
        try:
            yield
        except SeatBlocked as blocked:
            said = f"{self._place()}: {blocked.message}"
            if blocked.kind == "model_refused_key":
                said += f"; check {self.name}.key_env, or TESSERA_{self.name.upper()}_KEY"
            again = blocked.retryable and not self._closed
            raise SeatBlocked(
                blocked.kind, said, retryable=again, retry_after=blocked.retry_after
            ) from blocked

    def _cut(self, tokens: int, call: Call) -> str:
        return (
            f"of about {tokens} tokens it read {call.tokens_in}: the server cut the prompt "
            f"without a word; give it a larger window, or set {self.name}.window to what it has"
        )

    # --- the request -----------------------------------------------------------------------

    def _counted(self, prompt: Prompt) -> int | None:
        """The server's own count of the prompt, from llama.cpp's /tokenize."""
        endpoint = self._endpoint
        if endpoint is None or endpoint.kind is not Kind.LLAMA_CPP:
            return None
        text = prompt.messages[0].content
        try:
            with http_client(endpoint.url, httpx.Timeout(TOKENIZE_SECONDS)) as client:
                client.headers["Authorization"] = f"Bearer {self._settings.key or NO_KEY}"
                if not prompt.completion:
                    asked = {"messages": _messages(prompt)}
                    answer = client.post(f"{endpoint.root}/apply-template", json=asked)
                    text = answer.raise_for_status().json()["prompt"]
                content = {"content": text, "add_special": True}
                answer = client.post(f"{endpoint.root}/tokenize", json=content)
                return len(answer.raise_for_status().json()["tokens"])
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return None

    def _call(self, prompt: Prompt, limit: int) -> Call:
        settings = self._settings
        arguments: dict[str, Any] = {
            "max_tokens": limit,
            "temperature": settings.temperature,
            "stop": list(prompt.stop) or None,
            "stream": True,
            "stream_options": {"include_usage": True},
            "timeout": httpx.Timeout(settings.timeout, connect=CONNECT_SECONDS),
            "num_retries": 0,
            "max_retries": 0,
            "api_key": settings.key,
            "model": self._info.model,
        }
        if prompt.completion:
            arguments["prompt"] = prompt.messages[0].content
        else:
            arguments["messages"] = _messages(prompt)
        if self._endpoint is None:
            return Call(arguments, None)
        wire = Wire(self._endpoint.url, settings.timeout)
        return Call(arguments | self._addressed(self._endpoint, prompt, wire), wire)

    def _addressed(self, endpoint: Endpoint, prompt: Prompt, wire: Wire) -> dict[str, Any]:
        """How litellm is told of a server by its address."""
        model = self._info.model
        if endpoint.kind is Kind.OLLAMA and not prompt.completion:
            # Only Ollama's own protocol takes a window.
            return {
                "model": f"ollama_chat/{model}",
                "api_base": endpoint.root,
                "num_ctx": self._info.window,
                "client": litellm().HTTPHandler(client=wire.client),
            }
        openai: Any = importlib.import_module("openai")
        key = self._settings.key or NO_KEY
        addressed = {
            "model": f"{'text-completion-openai' if prompt.completion else 'openai'}/{model}",
            "api_base": endpoint.url,
            "api_key": key,
            "client": openai.OpenAI(
                base_url=endpoint.url,
                api_key=key,
                max_retries=0,
                timeout=wire.client.timeout,
                http_client=wire.client,
            ),
        }
        if endpoint.kind is Kind.LLAMA_CPP:
            addressed["extra_body"] = {"cache_prompt": True}
        return addressed

    # --- the reply -------------------------------------------------------------------------

    def _exchange(self, call: Call, on_text: Callable[[str], None]) -> None:
        """Send the request and read the reply until it ends, is enough or is too much."""
        with self._listening(call), contextlib.closing(_chunks(call)) as chunks:
            size = 0
            try:
                for chunk in chunks:
                    piece = call.take(chunk)
                    size += len(piece)
                    if size > MAX_TEXT:
                        said = f"still writing after {MAX_TEXT} characters; stopped reading"
                        raise SeatBlocked("model_garbage", said, retryable=True)
                    if piece:
                        on_text(piece)
            except Enough as enough:
                call.finish_reason = enough.finish_reason

    @contextlib.contextmanager
    def _listening(self, call: Call) -> Iterator[None]:
        """Keep the wire where `close` finds it, and hang up at the end, whatever happens."""
        if call.wire is None:
            yield
            return
        self._wires.add(call.wire)
        try:
            yield
        finally:
            self._wires.discard(call.wire)
            call.wire.close()


def info_of(endpoint: Endpoint, served: Served, settings: ModelSettings) -> SeatInfo:
    """What is known of a model that a server has. Raises SeatBlocked if it can't be asked."""
    window = settings.window or served.window
    if endpoint.kind is Kind.OLLAMA and settings.window is None:
        window = ollama_window(endpoint, served, settings.key)
    origin = f"{served.id} from {endpoint.kind} at {endpoint.url}"
    return SeatInfo(served.id, endpoint.url, window, origin=origin)


def _chunks(call: Call) -> Generator[Any, None, None]:
    """litellm's chunks of the reply. Raises SeatBlocked, for a reply that broke off as well."""
    client = litellm()
    _hush()
    openai: Any = importlib.import_module("openai")
    providers: Any = importlib.import_module("litellm.llms.base_llm.chat.transformation")
    stream: Any = None
    try:
        send = client.text_completion if "prompt" in call.arguments else client.completion
        stream = send(**call.arguments)
        yield from stream
    except (openai.OpenAIError, providers.BaseLLMException, httpx.HTTPError) as error:
        raise (call.wire and call.wire.complaint) or explain(error) from error
    finally:
        if hasattr(stream, "close"):
            stream.close()
    _conclude(call, stream)


def _conclude(call: Call, stream: Any) -> None:
    """What the server said last. litellm's word for it is not enough: it gives a finish
    reason to every stream, also to one that broke off."""
    if call.wire is not None:
        said, finished = call.wire.finish_reason, call.wire.finished
        call.tokens_in, call.tokens_out = call.wire.prompt_tokens, call.wire.reply_tokens
    else:
        said = getattr(stream, "received_finish_reason", call.finish_reason)
        said = said or getattr(stream, "intermittent_finish_reason", None)
        finished = said is not None
    if call.wire is not None and call.wire.complaint:
        raise call.wire.complaint
    if not finished:
        words = f"the reply broke off after {len(call.text)} characters"
        raise SeatBlocked("model_unreachable", words, retryable=True)
    if said == "content_filter":
        words = "the provider's content filter stopped the reply"
        raise SeatBlocked("model_bad_request", words, retryable=False)
    call.finish_reason = "length" if said in ("length", "max_tokens") else "stop"


def _messages(prompt: Prompt) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in prompt.messages]


def _hush() -> None:
    """Keep the warnings of litellm and what it stands on, meant for its authors, from people."""
    for module in ("litellm", "openai", "pydantic"):
        warnings.filterwarnings("ignore", module=rf"{module}(\.|$)")
