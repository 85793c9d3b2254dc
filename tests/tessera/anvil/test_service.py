"""The memory over HTTP: a real service on loopback, killed and started again."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from critic.review import Axes, Verdict
from tessera.anvil import Anvil, ClaimError, StorageError, open_anvil
from tessera.anvil.client import Client
from tessera.anvil.spool import Spool, Write
from tessera.records import Claim, Event, Outcome, Recollection, SeatName
from tests.tessera.conftest import FIXTURES, Watching, Workshop

pytest.importorskip("fastapi")

FAILED = Claim(
    "/c",
    "src/a.rs",
    "mine",
    SeatName.LOCAL,
    Verdict.FAIL,
    error_pattern="e0106_missing_lifetime_specifier",
    root_cause="lifetime",
    axes=Axes(0.5),
    seconds={"check": 0.5},
    candidate="fn a() { \ud800 \0 é }",
    at="2026-01-31T12:00:00Z",
)


class Service:
    """`tessera anvil serve` in a process of its own, at one port for its whole life."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "anvil.db"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[str] | None = None

    def start(self, **env: str) -> None:
        command = ["anvil", "serve", "--port", str(self.port), "--json"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tessera", *command, "--anvil", str(self.database)],
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        assert json.loads(self.process.stdout.readline()) == {"url": self.url}

    def stop(self, number: int = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.communicate(timeout=30)
            self.process = None


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for tests that leave nothing behind."""
    made = Service(tmp_path_factory.mktemp("shared"))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def client(service: Service, tmp_path: Path) -> Iterator[Client]:
    with Client(service.url, spool=tmp_path / "spool.jsonl") as made:
        yield made


def use(anvil: Anvil) -> list[Any]:
    """Everything a dispatch and a review do with a memory, and what it answers."""
    anvil.start_dispatch("d", crate="/c", target="a", task="t", at="1", data={"budget": 4})
    anvil.add_event(Event("prompt_sent", "now", "d", {"n": 1}))
    anvil.put_prompt("h", "the prompt", True)
    anvil.post_attempt(FAILED)
    recorded = anvil.record([FAILED] * 3)
    new = anvil.put_content("fn new() {}")
    proposal = {"id": "p", "dispatch": "d", "crate": "/c", "target": "a", "seat": "frontier"}
    anvil.put_proposal({**proposal, "new": new, "created": "1", "report": {"cost": 0.5}})
    anvil.put_incident(
        {"id": "i", "dispatch": "d", "crate": "/c", "target": "a", "task": "t", "at": "1"}
    )
    anvil.finish_dispatch("d", Outcome.PASS, seat=SeatName.LOCAL, why="done", at="2")
    return [
        recorded,
        anvil.pre_attempt("/c", "src/a.rs", "mine"),
        anvil.pre_attempt("/c", "src/a.rs", "mine", threshold=9, hint=False, arm="x"),
        anvil.history("/c", limit=2, offset=1),
        list(anvil.each_claim()),
        list(anvil.each_claim(contents=True)),
        anvil.get_dispatch("d"),
        anvil.get_dispatch("none"),
        anvil.events(dispatch="d"),
        anvil.get_prompt("h"),
        anvil.get_content(new),
        anvil.move_proposal("p", "staged", "accepted", "good"),
        anvil.move_proposal("p", "staged", "rejected", None),
        anvil.get_proposal("p"),
        anvil.list_proposals("accepted"),
        anvil.list_incidents(),
        anvil.check(),
    ]


def test_the_service_behaves_as_the_file_does(client: Client, tmp_path: Path) -> None:
    with open_anvil(tmp_path / "other.db") as embedded:
        assert use(client) == use(embedded)


def test_a_bad_claim_is_refused_before_it_is_sent(client: Client) -> None:
    with pytest.raises(ClaimError, match="'model' contains a NUL"):
        client.post_attempt(replace(FAILED, model="\0"))
    with pytest.raises(ValueError, match="can't take 'p'"):
        client.put_proposal(
            {"id": "p", "dispatch": "d", "crate": "c", "target": "t", "seat": "s", "new": "?"}
        )


def test_the_plain_operations_of_the_interface(service: Service) -> None:
    claim = {"crate": "c", "target": "t", "task": "x", "seat": "local", "verdict": "FAIL"}
    with httpx.Client(base_url=service.url, trust_env=False) as http:
        assert http.get("/health").json()["ok"]
        for key in ("k", "k", "l"):
            answer = http.post("/post_attempt", json=claim, headers={"Idempotency-Key": key})
            assert answer.json() == {"recorded": 1}
        lines = f"{json.dumps(claim)}\n{json.dumps(claim)}\n"
        kind = {"Content-Type": "application/x-ndjson"}
        assert http.post("/post_attempt", content=lines, headers=kind).json() == {"recorded": 2}
        assert http.get("/history", params={"crate": "c", "limit": 1}).json()["total"] == 4
        found = http.post("/pre_attempt", json={"crate": "c", "target": "t", "task": "x"}).json()
        assert found["history"]["failed"] == 4
        paths = http.get("/openapi.json").json()["paths"]
        body = paths["/post_attempt"]["post"]["requestBody"]["content"]["application/json"]
        assert "error_pattern" in body["schema"]["properties"]
        assert body["schema"]["properties"]["seat"]["enum"] == ["compiler", "local", "frontier"]


@pytest.mark.parametrize(
    ("method", "path", "options", "status"),
    [
        ("POST", "/post_attempt", {"json": {"crate": "c"}}, 422),
        ("POST", "/post_attempt", {"json": {"colour": "red"}}, 422),
        ("POST", "/post_attempt", {"content": "{}"}, 415),
        ("POST", "/pre_attempt", {"json": {"crate": "c", "target": "t", "colour": 1}}, 422),
        ("POST", "/calls/burn", {"json": {}}, 404),
        ("POST", "/calls/get_content", {"json": {"colour": "red"}}, 422),
        ("POST", "/calls/get_content", {"json": ["red"]}, 422),
        ("GET", "/history?limit=-1", {}, 422),
        ("GET", "/history", {"headers": {"Host": "evil.example"}}, 403),
        ("POST", "/calls/check", {"json": {}, "headers": {"Host": "evil.example"}}, 403),
    ],
)
def test_what_is_refused(
    shared: Service, method: str, path: str, options: dict[str, Any], status: int
) -> None:
    url = f"{shared.url}{path}"
    with httpx.Client(trust_env=False) as http:
        assert http.request(method, url, **options).status_code == status


def test_a_token_is_wanted_from_everybody(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.start(TESSERA_ANVIL_TOKEN="secret")
    try:
        with Client(service.url, "wrong", tmp_path / "spool") as client:
            with pytest.raises(StorageError, match="TESSERA_ANVIL_TOKEN") as error:
                client.post_attempt(FAILED)
            assert error.value.kind == "storage_refused"
            assert not client.waiting
        with Client(service.url, "secret", tmp_path / "spool") as client:
            client.post_attempt(FAILED)
            assert client.history().total == 1
    finally:
        service.stop()


def test_other_machines_need_a_token_and_a_service_needs_a_file(tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "TESSERA_ANVIL_TOKEN"}
    serve = [sys.executable, "-m", "tessera", "anvil", "serve", "--port", "0"]
    for args, words in (
        (["--host", "0.0.0.0", "--anvil", "x.db"], "there is no token"),
        (["--anvil", "http://127.0.0.1:1"], "is a service already"),
    ):
        ended = subprocess.run(
            [*serve, *args], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert ended.returncode == 2
        assert words in ended.stderr


@pytest.mark.slow
def test_nothing_is_lost_or_doubled_while_the_service_is_away(
    service: Service, client: Client, tmp_path: Path
) -> None:
    client.post_attempt(replace(FAILED, attempt=1))
    service.stop(signal.SIGKILL)
    for n in (2, 3):
        client.post_attempt(replace(FAILED, attempt=n))
    client.add_event(Event("blocked", "now", "d"))
    assert client.waiting
    with pytest.raises(StorageError, match="doesn't answer") as error:
        client.pre_attempt("/c", "src/a.rs", "mine")
    assert error.value.kind == "storage_unreachable"
    assert error.value.retryable
    service.start()
    client.pre_attempt("/c", "src/a.rs", "mine")
    client.post_attempt(replace(FAILED, attempt=4))
    assert [claim.attempt for claim in client.history().claims] == [1, 2, 3, 4]
    assert len(client.events()) == 1
    assert not client.waiting


@pytest.mark.slow
def test_what_waits_is_delivered_by_the_next_process(
    service: Service, client: Client, tmp_path: Path
) -> None:
    service.stop()
    client.post_attempt(FAILED)
    client.close()
    service.start()
    with Client(service.url, spool=tmp_path / "spool.jsonl") as other:
        assert other.history().total == 1


def message_from(connection: socket.socket) -> bytes:
    """One HTTP message; empty when the other side has gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (piece := connection.recv(1 << 16)):
            return b""
        data += piece
    head = data.partition(b"\r\n\r\n")[0]
    length = re.search(rb"(?i)content-length: *([0-9]+)", head)
    whole = len(head) + 4 + int(length[1] if length else 0)
    while len(data) < whole:
        data += connection.recv(1 << 16)
    return data


def test_an_answer_that_is_lost_does_not_record_twice(service: Service, tmp_path: Path) -> None:
    requests: list[bytes] = []

    def relay() -> None:
        """Hand requests on to the service, but hang up before the first answer goes back."""
        while True:
            try:
                inside, _ = listener.accept()
            except OSError:
                return
            with inside, socket.create_connection(("127.0.0.1", service.port)) as outside:
                while request := message_from(inside):
                    requests.append(request)
                    outside.sendall(request)
                    answer = message_from(outside)
                    if len(requests) == 1:
                        break
                    inside.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=relay)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with Client(url, spool=tmp_path / "spool.jsonl") as client:
            client.post_attempt(FAILED)
            assert not client.waiting
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(10)
    assert len(requests) == 2
    with Client(service.url, spool=tmp_path / "spool.jsonl") as client:
        assert client.history().total == 1


def test_what_the_service_refuses_later_is_put_beside(service: Service, tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool.jsonl")
    spool.add(Write("a", "get_content", {"colour": "red"}))
    spool.add(Write("b", "put_content", {"text": "kept"}))
    with Client(service.url, spool=spool.path) as client:
        assert client.check().facts["contents"] == 1
    assert spool.empty
    refused = json.loads(spool.path.with_suffix(".refused").read_text())
    assert "missing a required argument" in refused["why"]


def test_a_line_that_a_crash_cut_off_does_no_harm(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool.jsonl")
    spool.add(Write("a", "x", {}))
    with spool.path.open("a") as file:
        file.write('{"key": "b", "oper')
    spool.add(Write("c", "x", {}))
    sent: list[str] = []
    spool.deliver(lambda write: sent.append(write.key))
    assert sent == ["a", "c"]
    assert spool.empty


@pytest.mark.slow
def test_an_address_where_no_anvil_is_says_so(tmp_path: Path) -> None:
    with (
        Client("http://127.0.0.1:9", spool=tmp_path / "spool") as client,
        pytest.raises(StorageError, match=r"http://127\.0\.0\.1:9 doesn't answer"),
    ):
        client.history()


def test_a_url_opens_the_service(shared: Service) -> None:
    with open_anvil(shared.url) as anvil:
        assert isinstance(anvil, Client)
        assert anvil.pre_attempt("/c", "x", "t") == Recollection()


REPLIES = FIXTURES / "replies" / "string_utils.jsonl"


@pytest.mark.slow
def test_a_dispatch_is_remembered_by_a_service_as_by_a_file(
    service: Service, workshop: Workshop
) -> None:
    flags = {"anvil.path": service.url}
    ended = workshop.dispatch("string_utils", REPLIES, flags)
    assert ended.outcome is Outcome.PASS
    service.stop()
    with open_anvil(service.database) as kept:
        claims = kept.history().claims
        assert [c.verdict for c in claims] == [a.review.verdict for a in ended.attempts]
        assert (kept.get_dispatch(ended.id) or {})["outcome"] == "pass"
        assert {claim.prompt_hash for claim in claims} <= {
            event.data["prompt"] for _, event in kept.events() if event.kind == "prompt_sent"
        }
        assert all(kept.get_prompt(claim.prompt_hash or "") for claim in claims)
        assert kept.get_proposal(ended.proposal or "") is not None


@dataclass
class Killing(Watching):
    """Kills the service once the first attempt was judged."""

    service: Service | None = None

    def on_event(self, event: Event) -> None:
        super().on_event(event)
        if event.kind == "judged" and self.service is not None:
            self.service.stop(signal.SIGKILL)
            self.service = None


@pytest.mark.slow
def test_a_service_that_goes_away_mid_run_misses_nothing(
    service: Service, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(workshop.root / "data"))
    flags = {"anvil.path": service.url}
    ended = workshop.dispatch("string_utils", REPLIES, flags, watching=Killing(service=service))
    assert ended.outcome is Outcome.BLOCKED
    assert ended.attempts[-1].review.kind == "storage_unreachable"
    assert ended.attempts[-1].review.retryable
    service.start()
    with open_anvil(service.url) as anvil:
        assert anvil.pre_attempt("/c", "a", "t") == Recollection()
        (claim,) = anvil.history().claims
        events = [event.kind for _, event in anvil.events(dispatch=claim.dispatch)]
        assert events.count("judged") == 1
        assert (anvil.get_dispatch(claim.dispatch or "") or {})["outcome"] == "blocked"
