"""Nothing of the seats reaches out by itself, and litellm is imported only to ask a model."""

from __future__ import annotations

import subprocess
import sys

import pytest

AUDIT = """
import sys
def hook(event, arguments):
    if event == "socket.connect":
        address = arguments[1]
        if not (isinstance(address, tuple) and address[0] in ("127.0.0.1", "::1")):
            print("connect", address)
    if event == "socket.getaddrinfo" and arguments[0] not in ("127.0.0.1", "localhost"):
        print("look up", arguments[0])
sys.addaudithook(hook)
"""
MODULES = (
    "client",
    "discovery",
    "embedded",
    "embedded_server",
    "endpoint",
    "faults",
    "opening",
    "replay",
    "window",
    "wire",
)
IMPORTS = (
    "".join(f"import tessera.seats.{module}\n" for module in MODULES)
    + """
import sys
print(*{"litellm", "openai", "xllamacpp"} & set(sys.modules))
"""
)
ASK = """
from tessera.records import Message, ModelSettings, Prompt, SeatName
from tessera.seats import SeatBlocked
from tessera.seats.client import LiteLLMSeat, warm_up
warm_up().join()
prompt = Prompt((Message("user", "hello"),))
for url in ("http://127.0.0.1:9/v1", None):
    settings = ModelSettings(model="nonsense", url=url)
    try:
        LiteLLMSeat(SeatName.LOCAL, settings).write(
            prompt, task="t", attempt=1, on_text=lambda text: None
        )
    except SeatBlocked:
        pass
import time
time.sleep(0.5)
"""


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return (done.stdout + done.stderr).strip()


def test_importing_the_seats_imports_no_model_client() -> None:
    assert run(AUDIT + IMPORTS) == ""


@pytest.mark.slow
def test_the_client_connects_to_nothing_but_the_model_and_says_nothing() -> None:
    assert run(AUDIT + ASK) == ""
