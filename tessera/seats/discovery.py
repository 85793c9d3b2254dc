"""Finding the model server of this machine.

Asks the ports where Ollama, llama.cpp, LM Studio and vLLM listen by default, all at once
and briefly, and takes the first of them, in that order, that has a model to offer. What
answers there but is no model server is passed over.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from types import MappingProxyType

import httpx

from tessera.records import ModelSettings, SeatName
from tessera.seats import SeatBlocked
from tessera.seats.client import LiteLLMSeat, info_of
from tessera.seats.endpoint import Endpoint, Kind, Served, ask, choose
from tessera.seats.wire import http_client

PORTS: Mapping[Kind, int] = MappingProxyType(
    {Kind.OLLAMA: 11434, Kind.LLAMA_CPP: 8080, Kind.LM_STUDIO: 1234, Kind.VLLM: 8000}
)
SECONDS = 0.4


@dataclass(frozen=True)
class Found:
    """A model that a server of this machine offers."""

    endpoint: Endpoint
    served: Served

    @property
    def model(self) -> str:
        """The model's name as its server has it."""
        return self.served.id

    @property
    def url(self) -> str:
        """The server's base address."""
        return self.endpoint.url

    @property
    def text(self) -> str:
        """Which one it is, for a person."""
        return f"{self.model} from {self.endpoint.kind} at {self.url}"

    def open(self, settings: ModelSettings) -> LiteLLMSeat:
        """The seat that asks it. Raises SeatBlocked."""
        chosen = replace(settings, model=self.model, url=self.url)
        info = info_of(self.endpoint, self.served, chosen)
        return LiteLLMSeat(SeatName.LOCAL, chosen, endpoint=self.endpoint, info=info)


def discover(wanted: str = "auto", ports: Mapping[Kind, int] = PORTS) -> Found | None:
    """The server that has the wanted model (`auto`: any), None when none answers with one."""
    for endpoint in answering(ports):
        with contextlib.suppress(SeatBlocked):
            return Found(endpoint, choose(endpoint, wanted))
    return None


def check_listed(model: str, ports: Mapping[Kind, int] = PORTS) -> None:
    """Raise SeatBlocked, naming what is there, for a plain name that no server here has.

    A name with a provider (`provider/model`) is litellm's to know. Without any server here,
    a plain name may be too.
    """
    if "/" not in model and discover(model, ports) is None:
        for endpoint in answering(ports):
            choose(endpoint, model)


def answering(ports: Mapping[Kind, int] = PORTS) -> list[Endpoint]:
    """The servers of this machine that list a model, in the order of the ports."""
    # httpx imports half of itself with its first client: 0.2 seconds that are not the servers'.
    http_client("http://127.0.0.1", httpx.Timeout(SECONDS)).close()
    pool = ThreadPoolExecutor(len(ports), thread_name_prefix="discovery")
    asked = [pool.submit(_at, port) for port in ports.values()]
    done, _ = wait(asked, timeout=SECONDS)
    pool.shutdown(wait=False)  # what is too slow is left to run into its own time limit
    found = (each.result() for each in asked if each in done)
    return [endpoint for endpoint in found if endpoint is not None and endpoint.models]


def _at(port: int) -> Endpoint | None:
    try:
        return ask(f"http://127.0.0.1:{port}/v1", None, seconds=SECONDS)
    except SeatBlocked:
        return None
