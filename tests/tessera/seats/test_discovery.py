"""Finding servers: small ones on loopback that answer as the real ones do."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tessera.records import ModelSettings
from tessera.seats import SeatBlocked
from tessera.seats.discovery import check_listed, discover
from tessera.seats.endpoint import Endpoint, Kind, Served, ask, base_url, choose
from tessera.seats.wire import is_loopback, is_near

Documents = Mapping[str, object]

OLLAMA: Documents = {
    "/v1/models": {
        "object": "list",
        "data": [{"id": "gemma2:9b", "object": "model", "owned_by": "library"}],
    },
    "/api/tags": {
        "models": [
            {"name": "nomic-embed-text:latest"},
            {"name": "gemma2:9b"},
            {"name": "qwen2.5-coder:7b"},
            {"name": "deepseek-coder-v2:16b"},
        ]
    },
    "/api/ps": {"models": [{"name": "deepseek-coder-v2:16b", "context_length": 16384}]},
    "/api/show": {"model_info": {"deepseek2.context_length": 163840}},
}
LLAMA_CPP: Documents = {
    "/v1/models": {
        "object": "list",
        "models": [{"name": "/models/q.gguf"}],
        "data": [
            {
                "id": "/models/q.gguf",
                "object": "model",
                "owned_by": "llamacpp",
                "meta": {"n_ctx": 8192, "n_ctx_train": 32768},
            }
        ],
    },
    "/props": {"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1},
    "/api/tags": {"models": [{"name": "/models/q.gguf"}], "object": "list", "data": []},
}
LM_STUDIO: Documents = {
    "/v1/models": {"object": "list", "data": [{"id": "a"}, {"id": "b"}]},
    "/api/v0/models": {
        "object": "list",
        "data": [
            {"id": "nomic", "type": "embeddings", "state": "loaded"},
            {"id": "phi-4", "type": "llm", "state": "not-loaded", "max_context_length": 16384},
            {"id": "gemma-2", "type": "llm", "state": "loaded", "loaded_context_length": 4096},
        ],
    },
    "/api/tags": {"error": "Unexpected endpoint or method. (GET /api/tags)"},
}
VLLM: Documents = {
    "/v1/models": {
        "object": "list",
        "data": [{"id": "Qwen/Qwen2.5-Coder", "owned_by": "vllm", "max_model_len": 24000}],
    }
}
ELSEWHERE: Documents = {"/v1/models": {"object": "list", "data": [{"id": "some-model"}]}}
NO_MODEL_SERVER: Documents = {"/v1/models": {"cars": ["Model T"]}, "/api/tags": ["a", "b"]}

Serve = Callable[..., int]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers that answer GET and POST with documents, 404 for the rest."""
    servers: list[ThreadingHTTPServer] = []

    def start(documents: Documents, delay: float = 0.0, key: str | None = None) -> int:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                time.sleep(delay)
                refused = key is not None and self.headers["Authorization"] != f"Bearer {key}"
                self.send_response(401 if refused else 200 if self.path in documents else 404)
                self.end_headers()
                found = documents.get(self.path)
                text = found if isinstance(found, str) else json.dumps(found)
                with contextlib.suppress(BrokenPipeError):  # whoever looks is in a hurry
                    self.wfile.write(text.encode())

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return server.server_port

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("documents", "kind", "model", "window"),
    [
        (OLLAMA, Kind.OLLAMA, "deepseek-coder-v2:16b", 16384),
        (LLAMA_CPP, Kind.LLAMA_CPP, "/models/q.gguf", 4096),
        (LM_STUDIO, Kind.LM_STUDIO, "gemma-2", 4096),
        (VLLM, Kind.VLLM, "Qwen/Qwen2.5-Coder", 24000),
        (ELSEWHERE, Kind.OTHER, "some-model", None),
    ],
)
def test_each_kind_of_server_is_told_apart_wherever_it_listens(
    serve: Serve, documents: Documents, kind: Kind, model: str, window: int | None
) -> None:
    found = discover(ports={Kind.LLAMA_CPP: serve(documents), Kind.OLLAMA: free_port()})
    assert found is not None
    assert (found.endpoint.kind, found.model) == (kind, model)
    seat = found.open(ModelSettings(model="auto"))
    assert seat.info.window == window
    assert seat.info.url == found.url
    assert all(part in seat.info.origin for part in (model, str(kind), found.url))


def test_a_web_server_is_no_model_server(serve: Serve) -> None:
    page = {"/v1/models": "<html>hello</html>", "/": "<html>hello</html>"}
    ports = {Kind.OLLAMA: serve(NO_MODEL_SERVER), Kind.LLAMA_CPP: serve(page)}
    assert discover(ports=ports) is None


def test_the_order_of_the_ports_decides(serve: Serve) -> None:
    ports = {Kind.OLLAMA: serve(OLLAMA, delay=0.02), Kind.LLAMA_CPP: serve(LLAMA_CPP)}
    found = discover(ports=ports)
    assert found is not None and found.endpoint.kind is Kind.OLLAMA


def test_a_server_without_a_model_is_passed_over(serve: Serve) -> None:
    empty: Documents = {"/api/tags": {"models": []}}
    found = discover(ports={Kind.OLLAMA: serve(empty), Kind.VLLM: serve(VLLM)})
    assert found is not None and found.endpoint.kind is Kind.VLLM


def test_looking_takes_half_a_second_at_most(serve: Serve) -> None:
    ports = {Kind.OLLAMA: serve(OLLAMA, delay=3), Kind.LLAMA_CPP: serve(LLAMA_CPP, delay=0.35)}
    started = time.monotonic()
    assert discover(ports=ports) is None
    assert time.monotonic() - started < 1.5


def test_a_named_model_is_looked_for_on_every_server(serve: Serve) -> None:
    ports = {Kind.OLLAMA: serve(OLLAMA), Kind.LM_STUDIO: serve(LM_STUDIO)}
    found = discover("phi-4", ports)
    assert found is not None and found.endpoint.kind is Kind.LM_STUDIO
    assert discover("phi-5", ports) is None


def test_a_plain_name_that_is_nowhere_is_refused_with_the_closest(serve: Serve) -> None:
    ports = {Kind.OLLAMA: serve(OLLAMA)}
    with pytest.raises(SeatBlocked, match=r"did you mean qwen2\.5-coder:7b") as caught:
        check_listed("qwen2.5-codr", ports)
    assert (caught.value.kind, caught.value.retryable) == ("model_unknown", False)
    check_listed("gemma2:9b", ports)
    check_listed("openai/gpt-4o", ports)
    check_listed("gpt-4o", {Kind.OLLAMA: free_port()})


def test_the_key_is_sent_along(serve: Serve) -> None:
    url = f"http://127.0.0.1:{serve(VLLM, key='secret')}"
    assert ask(url, "secret").models[0].window == 24000
    assert ask(url, None).models == ()


def test_a_server_that_still_loads_is_waited_for() -> None:
    class Loading(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(503, "Loading model")

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Loading) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        with pytest.raises(SeatBlocked) as caught:
            ask(f"http://127.0.0.1:{server.server_port}/v1", None)
        server.shutdown()
    assert (caught.value.kind, caught.value.retryable) == ("model_overloaded", True)


def endpoint(kind: Kind, *names: str) -> Endpoint:
    return Endpoint(kind, "http://127.0.0.1:1/v1", tuple(map(Served, names)))


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        ("qwen2.5-coder", "qwen2.5-coder:latest"),
        ("ollama_chat/gemma2:9b", "gemma2:9b"),
        ("openai/gpt-oss", "openai/gpt-oss"),
        ("auto", "qwen2.5-coder:latest"),
        ("", "qwen2.5-coder:latest"),
    ],
)
def test_a_model_is_chosen_by_its_name(wanted: str, taken: str) -> None:
    server = endpoint(
        Kind.OLLAMA, "bge-embed", "gemma2:9b", "qwen2.5-coder:latest", "openai/gpt-oss"
    )
    assert choose(server, wanted).id == taken


def test_llama_cpp_with_one_model_answers_to_any_name() -> None:
    assert choose(endpoint(Kind.LLAMA_CPP, "/models/q.gguf"), "whatever").id == "/models/q.gguf"


def test_a_server_that_lists_nothing_is_believed() -> None:
    assert choose(endpoint(Kind.OTHER), "openai/m").id == "m"
    with pytest.raises(SeatBlocked, match="lists no model"):
        choose(endpoint(Kind.OTHER), "auto")


def test_an_address_without_a_path_gets_one() -> None:
    assert base_url("http://127.0.0.1:11434/") == "http://127.0.0.1:11434/v1"
    assert base_url("https://models.example/api/v1") == "https://models.example/api/v1"


@pytest.mark.parametrize(
    ("url", "loopback", "near"),
    [
        ("http://127.0.0.1:8080/v1", True, True),
        ("http://localhost/v1", True, True),
        ("http://[::1]:8080", True, True),
        ("http://192.168.1.5:11434", False, True),
        ("http://workstation:11434", False, True),
        ("http://gpu.local/v1", False, True),
        ("https://models.example/v1", False, False),
        ("http://8.8.8.8/v1", False, False),
    ],
)
def test_what_is_near_is_known_by_its_address(url: str, loopback: bool, near: bool) -> None:
    assert (is_loopback(url), is_near(url)) == (loopback, near)
