"""Whether a fault is gone: looked at on the real machine, with servers on loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tessera.probe import Answer, probe
from tessera.records import ModelSettings, Settings

NOBODY = Settings()


@contextmanager
def answering(status: int) -> Iterator[str]:
    """A server that answers every GET with the status; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def nobody_there() -> Iterator[str]:
    """An address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


def with_registry(cargo_home: Path, url: str) -> dict[str, str]:
    """The environment of a cargo that is configured for one registry."""
    cargo_home.mkdir(exist_ok=True)
    (cargo_home / "config.toml").write_text(f'[registries.mirror]\nindex = "sparse+{url}/index/"\n')
    return {"CARGO_HOME": str(cargo_home), "PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (200, Answer.GONE),
        (404, Answer.GONE),
        (429, Answer.STILL),
        (503, Answer.STILL),
    ],
)
def test_a_registry_that_answers_is_back(tmp_path: Path, status: int, answer: Answer) -> None:
    with answering(status) as url:
        env = with_registry(tmp_path / "cargo", url)
        assert probe("connection_refused", NOBODY, tmp_path, env).answer is answer


def test_a_registry_that_nobody_serves_is_still_away(tmp_path: Path) -> None:
    with nobody_there() as url:
        found = probe("connection_reset", NOBODY, tmp_path, with_registry(tmp_path / "cargo", url))
    assert found.answer is Answer.STILL
    assert url in found.why


def test_names_are_resolved_again(tmp_path: Path) -> None:
    gone = with_registry(tmp_path / "a", "https://localhost")
    assert probe("dns", NOBODY, tmp_path, gone).answer is Answer.GONE
    still = with_registry(tmp_path / "b", "https://nowhere.registry.invalid")
    found = probe("dns", NOBODY, tmp_path, still)
    assert found.answer is Answer.STILL
    assert "nowhere.registry.invalid" in found.why


def test_the_registries_that_cargo_has_used_are_known(tmp_path: Path) -> None:
    (tmp_path / "cargo/registry/index/nowhere.registry.invalid-1949cf8c6b5b557f").mkdir(
        parents=True
    )
    env = {"CARGO_HOME": str(tmp_path / "cargo")}
    assert "nowhere.registry.invalid" in probe("dns", NOBODY, tmp_path, env).why


def test_a_registry_of_the_crate_or_the_environment_is_known(tmp_path: Path) -> None:
    (tmp_path / ".cargo").mkdir()
    (tmp_path / ".cargo/config.toml").write_text(
        '[source.company]\nregistry = "sparse+https://a.registry.invalid/"\n'
    )
    env = {"CARGO_HOME": str(tmp_path / "none")}
    assert "a.registry.invalid" in probe("dns", NOBODY, tmp_path / "crate", env).why
    env["CARGO_REGISTRIES_OWN_INDEX"] = "sparse+https://b.registry.invalid/"
    assert "registry.invalid" in probe("dns", NOBODY, tmp_path / "elsewhere", env).why


def test_without_a_registry_nothing_is_known(tmp_path: Path) -> None:
    env = {"CARGO_HOME": str(tmp_path / "none")}
    crate = Path("/nowhere/crate")
    assert probe("dns", NOBODY, crate, env).answer is Answer.UNKNOWN
    assert probe("tls", NOBODY, crate, env).answer is Answer.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "status", "answer"),
    [
        ("model_unreachable", 200, Answer.GONE),
        ("model_unreachable", 401, Answer.GONE),
        ("model_overloaded", 503, Answer.STILL),
        ("model_refused_key", 200, Answer.GONE),
        ("model_refused_key", 401, Answer.STILL),
        ("model_refused_key", 500, Answer.UNKNOWN),
    ],
)
def test_the_server_of_the_model_is_asked(
    tmp_path: Path, kind: str, status: int, answer: Answer
) -> None:
    with answering(status) as url:
        settings = Settings(local=ModelSettings(model="m", url=f"{url}/v1", key="k"))
        assert probe(kind, settings, tmp_path, {}).answer is answer


def test_a_model_that_nobody_serves_is_still_away(tmp_path: Path) -> None:
    with nobody_there() as url:
        settings = Settings(local=ModelSettings(model="m", url=url))
        assert probe("model_unreachable", settings, tmp_path, {}).answer is Answer.STILL
    assert probe("model_unreachable", NOBODY, tmp_path, {}).answer is Answer.UNKNOWN


def test_the_linker_is_looked_for_where_cargo_would(tmp_path: Path) -> None:
    linker = tmp_path / "cc"
    env = {"PATH": str(tmp_path)}
    assert probe("linker_missing", NOBODY, tmp_path, env).answer is Answer.STILL
    linker.write_text("#!/bin/sh\n")
    linker.chmod(0o755)
    assert probe("linker_missing", NOBODY, tmp_path, env).answer is Answer.GONE
    env["CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER"] = "mold-of-nowhere"
    found = probe("linker_missing", NOBODY, tmp_path, env)
    assert (found.answer, found.why) == (Answer.STILL, "mold-of-nowhere is not on PATH")


def test_this_machine_has_room_and_a_toolchain(tmp_path: Path) -> None:
    settings = Settings(cache=tmp_path / "not" / "there" / "yet")
    for kind in ("disk_full", "read_only_fs", "toolchain_missing"):
        assert probe(kind, settings, tmp_path).answer is Answer.GONE, kind


def test_a_toolchain_that_is_not_there_is_still_missing(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    assert probe("toolchain_missing", NOBODY, tmp_path, env).answer is Answer.STILL


def test_what_no_probe_can_see_is_unknown(tmp_path: Path) -> None:
    assert probe("oom", NOBODY, tmp_path).answer is Answer.UNKNOWN
