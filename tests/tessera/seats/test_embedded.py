"""The embedded server with its real model, and what is refused before it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tessera.records import Message, ModelSettings, Prompt
from tessera.seats import SeatBlocked
from tessera.seats.client import LiteLLMSeat
from tessera.seats.embedded import (
    default_model,
    has_chat_template,
    is_installed,
    open_embedded,
)

PROMPT = Prompt(
    (
        Message(
            "user",
            "Request: Write `pub fn add(a: i32, b: i32) -> i32`.\n```rust\n"
            "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n```\n\n"
            "Request: Write `pub fn double(a: i32) -> i32`.\n```rust\n",
        ),
    ),
    completion=True,
    stop=("```",),
)
PARENT = """
import sys, time
from pathlib import Path
from tessera.records import ModelSettings
from tessera.seats.embedded import open_embedded
print(open_embedded(ModelSettings(), Path(sys.argv[1])).info.url, flush=True)
time.sleep(60)
"""
BARE = """
import sys
from pathlib import Path
sys.modules["xllamacpp"] = None
from tessera.records import ModelSettings
from tessera.seats.embedded import EmbeddedMissing, open_embedded
try:
    open_embedded(ModelSettings(), Path(sys.argv[1]))
except EmbeddedMissing as missing:
    print(missing)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def seat(cache: Path) -> Iterator[LiteLLMSeat]:
    seat = open_embedded(ModelSettings(max_tokens=32, temperature=0.0, window=1024), cache)
    yield seat
    seat.close()


def answers(url: str) -> bool:
    try:
        return httpx.get(url.replace("/v1", "/health"), timeout=2).is_success
    except httpx.HTTPError:
        return False


def gone(url: str) -> bool:
    deadline = time.monotonic() + 10
    while answers(url):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.slow
def test_the_embedded_model_writes_and_is_stopped(
    seat: LiteLLMSeat, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert seat.info.model == "gemma-3-270m" and seat.info.completion
    assert seat.info.url is not None and answers(seat.info.url)
    assert httpx.get(f"{seat.info.url}/models").status_code == 401, "no key was asked for"
    pieces: list[str] = []
    reply = seat.write(PROMPT, task="t", attempt=1, on_text=pieces.append)
    assert "pub fn double" in reply.text and "```" not in reply.text
    assert reply.text == "".join(pieces) and len(pieces) > 5
    assert reply.tokens_in == seat.count_tokens(PROMPT)
    assert 0 < reply.tokens_out <= 32 and reply.cost_usd == 0.0
    long = Prompt((Message("user", "let x = 1;\n" * 400),), completion=True)
    assert seat.fits(PROMPT) and not seat.fits(long)
    seat.close()
    seat.close()
    assert gone(seat.info.url)
    assert capfd.readouterr() == ("", "")
    assert "loading model" in (cache / "embedded.log").read_text()


@pytest.mark.slow
def test_the_server_dies_with_a_parent_that_is_killed(cache: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(cache)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        assert answers(url)
        os.kill(parent.pid, signal.SIGKILL)
    assert gone(url)


def test_the_default_model_is_put_together_once_and_by_any_number_at_once(tmp_path: Path) -> None:
    made: list[Path] = []
    both = [threading.Thread(target=lambda: made.append(default_model(tmp_path))) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert made[0] == made[1]
    assert [path.name for path in made[0].parent.iterdir()] == [made[0].name]
    before = made[0].stat().st_mtime_ns
    assert default_model(tmp_path).stat().st_mtime_ns == before
    assert not has_chat_template(made[0])
    os.truncate(made[0], 1000)
    assert default_model(tmp_path).stat().st_size > 200_000_000


def test_a_template_in_the_file_makes_it_a_chat_model(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF\x03\0\0\0" + b"tokenizer.chat_template")
    assert has_chat_template(file)
    file.write_bytes(b"GGUF\x03\0\0\0")
    assert not has_chat_template(file)


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04", b"GG"])
def test_a_file_that_is_no_model_is_refused_before_anything_starts(
    tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "m.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SeatBlocked, match=r"m\.gguf") as caught:
        open_embedded(ModelSettings(), tmp_path, model=file)
    assert (caught.value.kind, caught.value.retryable) == ("model_unknown", False)
    assert not (tmp_path / "embedded.log").exists()


def test_a_broken_model_is_refused_with_its_log(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF\x03\0\0\0" + b"\xff" * 100)
    with pytest.raises(SeatBlocked, match=r"embedded\.log") as caught:
        open_embedded(ModelSettings(), tmp_path, model=file)
    assert not caught.value.retryable


def test_without_its_packages_it_says_what_to_install(tmp_path: Path) -> None:
    bare = subprocess.run(
        [sys.executable, "-c", BARE, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "make setup-embedded" in bare.stdout and "tessera[embedded]" in bare.stdout
    assert is_installed()
