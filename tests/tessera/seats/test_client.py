"""The client against a real server on loopback that misbehaves in every way it is told to."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tessera.records import Message, ModelSettings, Prompt, Reply, SeatName
from tessera.seats import Enough, SeatBlocked
from tessera.seats.client import LiteLLMSeat, warm_up

pytestmark = pytest.mark.slow  # litellm alone takes seconds to import

USAGE = {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}
CHAT = Prompt((Message("system", "You write Rust."), Message("user", "Write is_even.")))
COMPLETION = Prompt((Message("user", "Request: is_even\n"),), completion=True, stop=("```",))


class Handler(BaseHTTPRequestHandler):
    """Answers GET from the server's documents and POST by the next of its acts."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self.server.seen.append((self.path, {}))
        document = self.server.documents.get(self.path)
        self.document(404 if document is None else 200, document)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, body))
        if self.path in self.server.documents:
            self.document(200, self.server.documents[self.path])
            return
        self.server.acts.pop(0)(self)

    @property
    def chat(self) -> bool:
        return "chat" in self.path

    def document(
        self, status: int, document: object, headers: dict[str, str] | None = None
    ) -> None:
        self.body(status, json.dumps(document).encode(), "application/json", headers)

    def body(
        self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, kind: str = "text/event-stream") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def event(self, event: object) -> None:
        text = event if isinstance(event, str) else json.dumps(event)
        self.wfile.write(f"data: {text}\n\n".encode())
        self.wfile.flush()

    def piece(self, text: str, finish: str | None = None) -> None:
        content: dict[str, Any] = {"delta": {"content": text}} if self.chat else {"text": text}
        self.event({"id": "1", "choices": [{"index": 0, "finish_reason": finish, **content}]})

    def log_message(self, format: str, *args: Any) -> None:
        pass


Act = Callable[[Handler], None]


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.documents: dict[str, object] = {}
        self.acts: list[Act] = []
        self.seen: list[tuple[str, dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def asked(self) -> list[dict[str, Any]]:
        """The bodies of the requests for a reply."""
        return [body for path, body in self.seen if "complet" in path or path == "/api/chat"]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The client hanging up is what some tests are about."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def seat_at(url: str, name: SeatName = SeatName.LOCAL, **settings: Any) -> LiteLLMSeat:
    return LiteLLMSeat(name, replace(ModelSettings(model="m", url=url, timeout=5.0), **settings))


def write(seat: LiteLLMSeat, prompt: Prompt = CHAT) -> tuple[Reply, list[str]]:
    pieces: list[str] = []
    return seat.write(prompt, task="t", attempt=1, on_text=pieces.append), pieces


def fault(seat: LiteLLMSeat, prompt: Prompt = CHAT) -> SeatBlocked:
    with pytest.raises(SeatBlocked) as caught:
        write(seat, prompt)
    return caught.value


# --- what servers do -------------------------------------------------------------------------


def replies(
    *pieces: str, finish: str = "stop", usage: dict[str, Any] | None = USAGE, done: bool = True
) -> Act:
    def act(handler: Handler) -> None:
        handler.stream()
        for piece in pieces:
            handler.piece(piece)
        handler.piece("", finish)
        if usage is not None:
            handler.event({"id": "1", "choices": [], "usage": usage})
        if done:
            handler.event("[DONE]")

    return act


def status(code: int, message: str = "no", **headers: str) -> Act:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.document(code, {"error": {"message": message}}, named)


def cut_in_half(handler: Handler) -> None:
    handler.stream()
    handler.piece("fn is_")


def cut_in_a_chunk(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"400\r\ndata: {")
    handler.close_connection = True


def reset(handler: Handler) -> None:
    linger = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.connection.shutdown(socket.SHUT_RD)
    handler.close_connection = True
    handler.connection.close()


def hang(handler: Handler) -> None:
    time.sleep(1.5)


def hang_in_the_middle(handler: Handler) -> None:
    cut_in_half(handler)
    time.sleep(5)


def keep_the_line_open(handler: Handler) -> None:
    cut_in_half(handler)
    for _ in range(30):
        handler.wfile.write(b": still here\n\n")
        handler.wfile.flush()
        time.sleep(0.1)


def garbage_in_the_stream(handler: Handler) -> None:
    handler.stream()
    handler.piece("fn ")
    handler.event("{not json")


def error_in_the_stream(handler: Handler) -> None:
    handler.stream()
    handler.piece("fn ")
    handler.event({"error": {"message": "the GPU is full", "code": 503}})


def endless(handler: Handler) -> None:
    handler.stream()
    handler.server.acts.append(lambda _: None)
    with contextlib.suppress(OSError):
        for _ in range(50 << 4):
            handler.piece("x" * (64 << 10))
        handler.server.seen.append(("sent all", {}))


def one_endless_line(handler: Handler) -> None:
    handler.stream()
    with contextlib.suppress(OSError):
        handler.wfile.write(b'data: {"choices": [{"delta": {"content": "')
        for _ in range(50):
            handler.wfile.write(b"x" * (1 << 20))
        handler.server.seen.append(("sent all", {}))


def page(handler: Handler) -> None:
    handler.body(200, b"<html>hello</html>", "text/html; charset=utf-8")


def garbage(handler: Handler) -> None:
    handler.body(200, b"{oops", "application/json")


# --- replies that come ----------------------------------------------------------------------


@pytest.mark.parametrize("prompt", [CHAT, COMPLETION], ids=["chat", "completion"])
def test_a_reply_streams_and_is_counted(server: Server, prompt: Prompt) -> None:
    server.acts = [replies("fn is_even", "() {}")]
    reply, pieces = write(seat_at(server.url), prompt)
    assert pieces == ["fn is_even", "() {}"]
    assert (reply.text, reply.finish_reason) == ("fn is_even() {}", "stop")
    assert (reply.tokens_in, reply.tokens_out) == (11, 2)
    assert (reply.cost_usd, reply.cost_known, reply.model) == (0.0, True, "m")
    assert reply.seconds > 0


def test_what_is_sent_is_what_was_asked_for(server: Server) -> None:
    server.acts = [replies("a"), replies("b")]
    seat = seat_at(server.url, max_tokens=77, temperature=0.5)
    write(seat)
    write(seat, COMPLETION)
    chat, completion = server.asked
    assert chat["messages"][0] == {"role": "system", "content": "You write Rust."}
    assert (chat["model"], chat["max_tokens"], chat["temperature"]) == ("m", 77, 0.5)
    assert chat["stream"] is True and "prompt" not in chat
    assert completion["prompt"] == "Request: is_even\n" and completion["stop"] == ["```"]


@pytest.mark.parametrize("prompt", [CHAT, COMPLETION], ids=["chat", "completion"])
def test_a_reply_at_its_limit_says_length(server: Server, prompt: Prompt) -> None:
    server.acts = [replies("fn", finish="length"), replies(finish="length")]
    seat = seat_at(server.url)
    assert write(seat, prompt)[0].finish_reason == "length"
    assert write(seat, prompt)[0].text == ""


def test_a_server_that_counts_nothing_is_estimated_for(server: Server) -> None:
    server.acts = [replies("fn", " x", usage=None)]
    reply, _ = write(seat_at(server.url))
    assert reply.tokens_out == 2
    assert reply.tokens_in == seat_at(server.url).count_tokens(CHAT)


@pytest.mark.parametrize("prompt", [CHAT, COMPLETION], ids=["chat", "completion"])
def test_a_server_that_can_not_stream_is_understood(server: Server, prompt: Prompt) -> None:
    part = {"text": "fn x"} if prompt.completion else {"message": {"content": "fn x"}}
    choice = {"index": 0, "finish_reason": "length", **part}
    whole = {"id": "1", "choices": [choice], "usage": USAGE}
    server.acts = [lambda handler: handler.document(200, whole)]
    reply, pieces = write(seat_at(server.url), prompt)
    assert (reply.text, reply.finish_reason, pieces) == ("fn x", "length", ["fn x"])
    assert reply.tokens_in == 11


def test_a_repeated_token_is_no_fault_of_the_server(server: Server) -> None:
    server.acts = [replies(*["let a = 1;\n"] * 300)]
    assert write(seat_at(server.url))[0].text == "let a = 1;\n" * 300


def test_the_caller_can_have_enough(server: Server) -> None:
    server.acts = [endless]
    got: list[str] = []

    def until_three(piece: str) -> None:
        got.append(piece)
        if len(got) == 3:
            raise Enough("length")

    reply = seat_at(server.url).write(CHAT, task="t", attempt=1, on_text=until_three)
    assert (reply.text, reply.finish_reason) == ("".join(got), "length")
    assert reply.tokens_out == 3
    assert ("sent all", {}) not in server.seen


def test_an_interrupt_hangs_up_and_goes_on(server: Server) -> None:
    closed = threading.Event()

    def slow(handler: Handler) -> None:
        handler.stream()
        with contextlib.suppress(OSError):
            handler.piece("fn")
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(200):
                handler.piece(" x")
                time.sleep(0.02)
            return
        closed.set()

    server.acts = [slow]
    with pytest.raises(KeyboardInterrupt):
        write(seat_at(server.url))
    assert closed.wait(3)


def test_close_from_another_thread_ends_a_reply(server: Server) -> None:
    server.acts = [hang_in_the_middle]
    seat = seat_at(server.url)
    threading.Timer(0.3, seat.close).start()
    started = time.monotonic()
    blocked = fault(seat)
    assert time.monotonic() - started < 4
    assert not blocked.retryable


# --- faults ---------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", [CHAT, COMPLETION], ids=["chat", "completion"])
@pytest.mark.parametrize(
    ("act", "kind", "retryable"),
    [
        (status(400, "temperature must be a number"), "model_bad_request", False),
        (status(400, "the model `m` does not exist"), "model_unknown", False),
        (
            status(400, "request (9002 tokens) exceeds the available context size"),
            "prompt_too_long",
            False,
        ),
        (status(401), "model_refused_key", False),
        (status(403), "model_refused_key", False),
        (status(404), "model_unknown", False),
        (status(429), "model_rate_limited", True),
        (status(429, "You exceeded your current quota"), "model_rate_limited", False),
        (status(500), "model_overloaded", True),
        (status(503), "model_overloaded", True),
        (status(529), "model_overloaded", True),
        (status(504), "model_timeout", True),
        (reset, "model_unreachable", True),
        (cut_in_half, "model_unreachable", True),
        (cut_in_a_chunk, "model_unreachable", True),
        (garbage_in_the_stream, "model_garbage", True),
        (error_in_the_stream, "model_overloaded", True),
        (garbage, "model_garbage", True),
        (page, "model_garbage", False),
        (replies(), "model_empty", True),
        (replies(" \n"), "model_empty", True),
        (replies("fn", finish="content_filter"), "model_bad_request", False),
        (endless, "model_garbage", True),
        (one_endless_line, "model_garbage", True),
    ],
)
def test_a_fault_blocks_and_says_how(
    server: Server, prompt: Prompt, act: Act, kind: str, retryable: bool
) -> None:
    server.acts = [act, replies("fn fine() {}")]
    seat = seat_at(server.url)
    blocked = fault(seat, prompt)
    assert (blocked.kind, blocked.retryable) == (kind, retryable), blocked.message
    assert blocked.message.startswith(f"m at {server.url}: ")
    assert len(server.asked) == 1, "it asked again by itself"
    assert ("sent all", {}) not in server.seen
    assert write(seat, prompt)[0].text == "fn fine() {}"


@pytest.mark.parametrize("prompt", [CHAT, COMPLETION], ids=["chat", "completion"])
@pytest.mark.parametrize("act", [hang, hang_in_the_middle, keep_the_line_open])
def test_silence_is_a_timeout(server: Server, prompt: Prompt, act: Act) -> None:
    server.acts = [act]
    started = time.monotonic()
    blocked = fault(seat_at(server.url, timeout=0.5), prompt)
    assert (blocked.kind, blocked.retryable) == ("model_timeout", True)
    assert time.monotonic() - started >= 0.5


def test_a_slow_reply_is_no_timeout(server: Server) -> None:
    def slow(handler: Handler) -> None:
        handler.stream()
        for _ in range(5):
            time.sleep(0.2)
            handler.piece("x")
        handler.piece("", "stop")

    server.acts = [slow]
    assert write(seat_at(server.url, timeout=0.5))[0].text == "xxxxx"


def test_nobody_listening_is_unreachable_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    seat = seat_at(url)
    started = time.monotonic()
    blocked = fault(seat)
    assert (blocked.kind, blocked.retryable) == ("model_unreachable", True)
    assert time.monotonic() - started < 4
    assert seat.info.model == "m" and seat.fits(CHAT)


def test_a_server_that_comes_up_later_is_looked_at_again(server: Server) -> None:
    port, url = server.server_port, server.url
    server.shutdown()
    server.server_close()
    seat = seat_at(url)
    assert fault(seat).kind == "model_unreachable"
    assert seat.info.window is None
    with Server(port) as later:
        threading.Thread(target=later.serve_forever, args=(0.02,), daemon=True).start()
        later.documents, later.acts = vllm(4096), [replies("fn x() {}")]
        assert write(seat)[0].text == "fn x() {}"
        assert seat.info.window == 4096
        later.shutdown()


@pytest.mark.parametrize(
    ("value", "seconds"), [("7", 7.0), ("0.5", 0.5), ("soon", None), ("", None), ("-3", 0.0)]
)
def test_retry_after_in_seconds_is_passed_on(
    server: Server, value: str, seconds: float | None
) -> None:
    server.acts = [status(429, "slow down", Retry_After=value)]
    assert fault(seat_at(server.url)).retry_after == seconds


def test_retry_after_as_a_date_is_passed_on(server: Server) -> None:
    at = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 30))
    server.acts = [status(503, "slow down", Retry_After=at)]
    wait = fault(seat_at(server.url)).retry_after
    assert wait is not None and 25 < wait <= 30


def test_a_refused_key_says_which_setting_to_look_at(server: Server) -> None:
    server.acts = [status(401, "bad key")]
    message = fault(seat_at(server.url, SeatName.FRONTIER, key="sk-secret")).message
    assert "bad key" in message and "TESSERA_FRONTIER_KEY" in message
    assert "sk-secret" not in message


def test_five_hundred_and_then_fine(server: Server) -> None:
    server.acts = [status(500), status(502), replies("fn x() {}")]
    seat = seat_at(server.url)
    assert [fault(seat).kind, fault(seat).kind] == ["model_overloaded"] * 2
    assert write(seat)[0].text == "fn x() {}"


def test_a_missing_key_of_a_provider_is_a_refused_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    settings = ModelSettings(model="anthropic/claude-sonnet-4-5")
    seat = LiteLLMSeat(SeatName.FRONTIER, settings)
    assert fault(seat).kind == "model_refused_key"
    assert seat.info.window == 200_000


def test_a_provider_that_is_none_is_an_unknown_model() -> None:
    seat = LiteLLMSeat(SeatName.FRONTIER, ModelSettings(model="nonsense"))
    assert fault(seat).kind == "model_unknown"


@pytest.fixture
def provider(server: Server, monkeypatch: pytest.MonkeyPatch) -> LiteLLMSeat:
    """A provider that litellm knows by its name, moved to the loopback server."""
    monkeypatch.setenv("OPENAI_API_BASE", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "from the environment")
    settings = ModelSettings(model="openai/gpt-4o", timeout=0.7)
    return LiteLLMSeat(SeatName.FRONTIER, settings)


def test_a_provider_is_asked_with_its_own_key_and_priced(
    server: Server, provider: LiteLLMSeat
) -> None:
    server.acts = [replies("fn", " x", finish="length")]
    reply, pieces = write(provider)
    assert (reply.text, pieces, reply.finish_reason) == ("fn x", ["fn", " x"], "length")
    assert (reply.tokens_in, reply.tokens_out, reply.model) == (11, 2, "openai/gpt-4o")
    assert reply.cost_usd == pytest.approx(11 * 2.5e-6 + 2 * 1e-5)
    assert provider.info.window == 128_000


@pytest.mark.parametrize(
    ("act", "kind", "retryable"),
    [
        (status(400, "no"), "model_bad_request", False),
        (status(401), "model_refused_key", False),
        (status(403), "model_refused_key", False),
        (status(404), "model_unknown", False),
        (status(429, Retry_After="3"), "model_rate_limited", True),
        (status(500), "model_overloaded", True),
        (status(529), "model_overloaded", True),
        (cut_in_half, "model_unreachable", True),
        (cut_in_a_chunk, "model_unreachable", True),
        (reset, "model_unreachable", True),
        (garbage_in_the_stream, "model_garbage", True),
        (error_in_the_stream, "model_overloaded", True),
        (hang, "model_timeout", True),
        (hang_in_the_middle, "model_timeout", True),
        (replies(), "model_empty", True),
        (endless, "model_garbage", True),
        (replies("x", usage={**USAGE, "prompt_tokens": 1}), "prompt_truncated", False),
    ],
)
def test_faults_of_a_provider(
    server: Server, provider: LiteLLMSeat, act: Act, kind: str, retryable: bool
) -> None:
    server.acts = [act]
    blocked = fault(provider)
    assert (blocked.kind, blocked.retryable) == (kind, retryable), blocked.message
    assert blocked.retry_after == (3.0 if kind == "model_rate_limited" else None)
    assert len(server.asked) == 1
    assert "from the environment" not in blocked.message


def test_a_proxy_is_not_asked_for_this_machine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    server.acts = [replies("fn x() {}")]
    assert write(seat_at(server.url))[0].text == "fn x() {}"


# --- the context window ---------------------------------------------------------------------

LONG = Prompt((Message("user", "let x = vec![1, 2, 3];\n" * 400),))


def vllm(window: int) -> dict[str, object]:
    model = {"id": "m", "object": "model", "owned_by": "vllm", "max_model_len": window}
    return {"/v1/models": {"object": "list", "data": [model]}}


def test_a_prompt_that_can_not_fit_is_never_sent(server: Server) -> None:
    server.documents = vllm(1024)
    seat = seat_at(server.url)
    assert seat.info.window == 1024
    assert seat.fits(CHAT) and not seat.fits(LONG)
    blocked = fault(seat, LONG)
    assert (blocked.kind, blocked.retryable) == ("prompt_too_long", False)
    assert "1024" in blocked.message
    assert server.asked == []


def test_in_a_small_window_the_reply_gets_what_is_left(server: Server) -> None:
    server.documents = vllm(1024)
    server.acts = [replies("fn")]
    seat = seat_at(server.url, max_tokens=2048)
    write(seat)
    assert server.asked[0]["max_tokens"] == 1024 - seat.count_tokens(CHAT)


def test_a_configured_window_wins(server: Server) -> None:
    server.documents = vllm(1024)
    assert seat_at(server.url, window=99_000).info.window == 99_000


@pytest.mark.parametrize("reported", [5, 300])
def test_a_prompt_cut_without_a_word_is_noticed(server: Server, reported: int) -> None:
    server.acts = [replies("fn x() {}", usage={**USAGE, "prompt_tokens": reported})]
    blocked = fault(seat_at(server.url), LONG)
    assert (blocked.kind, blocked.retryable) == ("prompt_truncated", False)
    assert f"read {reported}" in blocked.message and "local.window" in blocked.message


@pytest.mark.parametrize(
    "usage",
    [
        {**USAGE, "prompt_tokens": 4000},
        {**USAGE, "prompt_tokens": 4000, "prompt_tokens_details": {"cached_tokens": 3900}},
        {**USAGE, "prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 3900}},
        {**USAGE, "prompt_tokens": 0},
        None,
    ],
)
def test_a_whole_prompt_is_not_called_cut(server: Server, usage: dict[str, Any] | None) -> None:
    server.acts = [replies("fn x() {}", usage=usage)]
    assert write(seat_at(server.url), LONG)[0].text == "fn x() {}"


def test_llama_cpp_says_its_window_and_counts(server: Server) -> None:
    entry = {"id": "/models/q.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 32768}}
    server.documents = {
        "/v1/models": {"object": "list", "data": [entry]},
        "/props": {"default_generation_settings": {"n_ctx": 4096}},
        "/apply-template": {"prompt": "<user>…"},
        "/tokenize": {"tokens": list(range(900))},
    }
    server.acts = [replies("fn", usage={**USAGE, "prompt_tokens": 500})]
    seat = seat_at(server.url)
    assert (seat.info.model, seat.info.window) == ("/models/q.gguf", 4096)
    assert seat.count_tokens(CHAT) == 900
    assert fault(seat).kind == "prompt_truncated"
    assert server.asked[0]["cache_prompt"] is True


# --- Ollama -----------------------------------------------------------------------------------

OLLAMA: dict[str, object] = {
    "/api/tags": {"models": [{"name": "qwen2.5-coder:7b"}, {"name": "gemma2:9b"}]},
    "/api/ps": {"models": []},
    "/api/show": {"model_info": {"qwen2.context_length": 32768, "qwen2.block_count": 28}},
}


def lines(*documents: dict[str, Any]) -> Act:
    def act(handler: Handler) -> None:
        handler.stream("application/x-ndjson")
        for document in documents:
            stamp = {"model": "m", "created_at": "2025-01-01T00:00:00Z"}
            line = document if "error" in document else {**stamp, **document}
            handler.wfile.write(json.dumps(line).encode() + b"\n")
            handler.wfile.flush()

    return act


def said(text: str) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": text}, "done": False}


def done(reason: str = "stop") -> dict[str, Any]:
    end = {"done": True, "done_reason": reason, "prompt_eval_count": 26, "eval_count": 2}
    return {"message": {"role": "assistant", "content": ""}, **end}


def test_ollama_is_told_its_window(server: Server) -> None:
    server.documents = OLLAMA
    server.acts = [lines(said("fn"), said(" x"), done())]
    seat = seat_at(server.url, model="ollama_chat/qwen2.5-coder:7b", max_tokens=99)
    reply, pieces = write(seat)
    assert (reply.text, pieces, reply.tokens_in) == ("fn x", ["fn", " x"], 26)
    assert seat.info.window == 8192
    options = server.asked[0]["options"]
    assert (options["num_ctx"], options["num_predict"]) == (8192, 99)


@pytest.mark.parametrize(
    ("act", "kind", "retryable"),
    [
        (lines(said("fn")), "model_unreachable", True),
        (lines(said("fn"), {"error": "out of memory"}), "model_overloaded", True),
        (status(404, "model not found"), "model_unknown", False),
        (status(429, "busy", Retry_After="3"), "model_rate_limited", True),
        (status(500, "llama runner terminated"), "model_overloaded", True),
        (hang, "model_timeout", True),
        (reset, "model_unreachable", True),
        (page, "model_garbage", False),
    ],
)
def test_ollama_faults(server: Server, act: Act, kind: str, retryable: bool) -> None:
    server.documents = OLLAMA
    server.acts = [act]
    blocked = fault(seat_at(server.url, model="gemma2:9b", timeout=0.7))
    assert (blocked.kind, blocked.retryable) == (kind, retryable), blocked.message
    assert blocked.retry_after == (3.0 if kind == "model_rate_limited" else None)


def test_an_ollama_reply_at_its_limit_says_length(server: Server) -> None:
    server.documents = OLLAMA
    server.acts = [lines(said("fn"), done("length"))]
    assert write(seat_at(server.url, model="gemma2:9b"))[0].finish_reason == "length"


# --- names, prices and silence ---------------------------------------------------------------


def test_a_model_that_is_not_there_is_named_with_what_is(server: Server) -> None:
    server.documents = OLLAMA
    blocked = fault(seat_at(server.url, model="qwen2.5-codr"))
    assert (blocked.kind, blocked.retryable) == ("model_unknown", False)
    assert "did you mean qwen2.5-coder:7b" in blocked.message
    assert server.asked == []


def test_a_frontier_price_is_known_or_said_to_be_unknown(server: Server) -> None:
    server.acts = [replies("fn x() {}")] * 2
    reply, _ = write(seat_at(server.url, SeatName.FRONTIER, model="gpt-4o"))
    assert reply.cost_known and reply.cost_usd == pytest.approx(11 * 2.5e-6 + 2 * 1e-5)
    seat = seat_at(server.url, SeatName.FRONTIER, model="gpt-4o")
    remote = replace(ModelSettings(model="nobody/knows"), url="https://models.example/v1")
    unknown = LiteLLMSeat(SeatName.FRONTIER, remote)
    assert unknown.price(11, 2) is None
    assert seat.price(11, 2) == pytest.approx(reply.cost_usd)


def test_nothing_is_printed(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    server.acts = [replies("fn x() {}"), status(401), garbage_in_the_stream, cut_in_half]
    seat = seat_at(server.url)
    write(seat)
    for _ in range(3):
        fault(seat)
    fault(LiteLLMSeat(SeatName.FRONTIER, ModelSettings(model="nonsense")))
    time.sleep(0.2)
    assert capfd.readouterr() == ("", "")


def test_warm_up_is_waited_for() -> None:
    thread = warm_up()
    thread.join(60)
    assert not thread.is_alive()
