"""Is that very infrastructure fault gone? A cheap look before a dispatch is skipped for it.

Knows for each kind of fault what to look at: registries, the model's endpoint, the linker,
the disk. Takes a few seconds at most, changes nothing that stays, and says so when it can't
know. The registries are those that cargo is configured for or has used; none is known here.
"""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tessera.config import cache_dir
from tessera.records import ModelSettings, Settings

SECONDS = 3.0
LEAST_FREE_BYTES = 256 << 20
LEAST_FREE_FILES = 1000
TOO_MANY = 429


class Answer(StrEnum):
    """What a probe found; UNKNOWN where there is nothing to look at."""

    GONE = "gone"
    STILL = "still"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """The answer, and what it rests on."""

    answer: Answer
    why: str


@dataclass(frozen=True)
class Place:
    """Where to look: the settings and crate of a dispatch, and its environment."""

    settings: Settings
    crate: Path
    env: Mapping[str, str]


def probe(
    kind: str, settings: Settings, crate: Path, env: Mapping[str, str] = os.environ
) -> Finding:
    """Look whether the fault that `kind` names (of the critic or of a seat) is gone."""
    look = PROBES.get(kind)
    if look is None:
        return Finding(Answer.UNKNOWN, f"there is no probe for {kind}")
    return _in_time(look, Place(settings, crate, env))


def _in_time(look: Callable[[Place], Finding], place: Place) -> Finding:
    """Run a probe, which may hang where no time limit reaches (name look-ups do)."""
    found: list[Finding] = []
    thread = threading.Thread(target=lambda: found.append(look(place)), daemon=True)
    thread.start()
    thread.join(2 * SECONDS)
    return found[0] if found else Finding(Answer.STILL, f"no answer in {2 * SECONDS:.0f} s")


# --- the network --------------------------------------------------------------------------


def _names(place: Place) -> Finding:
    """Whether the names of the registries resolve."""
    hosts = sorted({urlsplit(url).hostname or "" for url in _registries(place)} - {""})
    if not hosts:
        return Finding(Answer.UNKNOWN, "cargo has used no registry here yet")
    for host in hosts:
        try:
            socket.getaddrinfo(host, 443, type=socket.SOCK_STREAM)
        except OSError as error:
            return Finding(Answer.STILL, f"{host} doesn't resolve: {error}")
    return Finding(Answer.GONE, f"{', '.join(hosts)} resolves")


def _registry(place: Place) -> Finding:
    """Whether the registries answer."""
    urls = list(_registries(place))
    if not urls:
        return Finding(Answer.UNKNOWN, "cargo has used no registry here yet")
    for url in urls:
        status, words = _get(f"{url.rstrip('/')}/config.json", {})
        if status is None or status >= 500 or status == TOO_MANY:
            return Finding(Answer.STILL, words)
    return Finding(Answer.GONE, f"{', '.join(urls)} answers")


def _registries(place: Place) -> Iterator[str]:
    """The addresses of the registries: from cargo's configuration and from what it has cached.

    Sources: the Cargo book's "Configuration" (registries, source replacement, and where
    config.toml is looked for); cargo names a folder of `registry/index` HOST-HASH.
    """
    cargo_home = Path(place.env.get("CARGO_HOME") or Path.home() / ".cargo")
    configured = []
    for folder in (
        cargo_home,
        *(parent / ".cargo" for parent in (place.crate, *place.crate.parents)),
    ):
        for name in ("config.toml", "config"):
            data = _toml(folder / name)
            for table, key in (("registries", "index"), ("source", "registry")):
                entries = data.get(table, {})
                configured += [
                    entry.get(key) for entry in entries.values() if isinstance(entry, dict)
                ]
    configured += [
        value
        for name, value in place.env.items()
        if name.startswith("CARGO_REGISTRIES_") and name.endswith("_INDEX")
    ]
    sparse = [str(url).removeprefix("sparse+") for url in configured if url]
    urls = [url for url in sparse if url.startswith(("http://", "https://"))]
    for folder in sorted((cargo_home / "registry" / "index").glob("*-*")):
        host = folder.name.rpartition("-")[0]
        if host not in {urlsplit(url).hostname for url in urls}:
            urls.append(f"https://{host}")
    yield from dict.fromkeys(urls)


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _get(url: str, headers: Mapping[str, str]) -> tuple[int | None, str]:
    """The status of an answer, None when there is none; and words for either."""
    import httpx

    try:
        status = httpx.get(url, headers=dict(headers), timeout=SECONDS).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return None, f"{url} doesn't answer: {error}"
    return status, f"{url} answers with status {status}"


# --- the model ----------------------------------------------------------------------------


def _model(place: Place) -> Finding:
    """Whether the model's server answers."""
    seat = place.settings.local
    if seat.url is None:
        return Finding(Answer.UNKNOWN, "the local model has no address in the settings")
    status, words = _ask_model(seat)
    if status is None or status >= 500:
        return Finding(Answer.STILL, words)
    return Finding(Answer.GONE, words)


def _key(place: Place) -> Finding:
    """Whether the model's server takes the key."""
    seat = place.settings.local
    if seat.url is None:
        return Finding(Answer.UNKNOWN, "the local model has no address in the settings")
    status, words = _ask_model(seat)
    if status in (401, 403):
        return Finding(Answer.STILL, words)
    return Finding(Answer.GONE if status == 200 else Answer.UNKNOWN, words)


def _ask_model(seat: ModelSettings) -> tuple[int | None, str]:
    headers = {"Authorization": f"Bearer {seat.key}"} if seat.key else {}
    return _get(f"{(seat.url or '').rstrip('/')}/models", headers)


# --- this machine -------------------------------------------------------------------------


def _disk(place: Place) -> Finding:
    """Whether there is space and room for files wherever a build writes."""
    for folder in _written_to(place):
        state = os.statvfs(folder)
        free = state.f_bavail * state.f_frsize
        if free < LEAST_FREE_BYTES:
            return Finding(Answer.STILL, f"{free >> 20} MiB are free in {folder}")
        if state.f_files and state.f_favail < LEAST_FREE_FILES:
            return Finding(Answer.STILL, f"room for {state.f_favail} more files in {folder}")
    return Finding(Answer.GONE, f"more than {LEAST_FREE_BYTES >> 20} MiB are free")


def _writable(place: Place) -> Finding:
    """Whether files can be made wherever a build writes."""
    for folder in _written_to(place):
        try:
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            return Finding(Answer.STILL, f"{folder} cannot be written: {error}")
    return Finding(Answer.GONE, "the folders that a build writes to can be written")


def _written_to(place: Place) -> list[Path]:
    """The folders for temporary files, the cache and cargo's home, or what exists above them."""
    cargo_home = Path(place.env.get("CARGO_HOME") or Path.home() / ".cargo")
    wanted = (cache_dir(place.settings), cargo_home, Path(tempfile.gettempdir()))
    return [next(f for f in (place, *place.parents) if f.is_dir()) for place in wanted]


def _linker(place: Place) -> Finding:
    """Whether the linker that cargo is told to use, else rustc's own choice `cc`, is there."""
    configured = [
        value
        for name, value in place.env.items()
        if name.startswith("CARGO_TARGET_") and name.endswith("_LINKER")
    ]
    for name in configured or ["cc"]:
        found = shutil.which(name, path=place.env.get("PATH"))
        if found is None:
            return Finding(Answer.STILL, f"{name} is not on PATH")
    return Finding(Answer.GONE, "the linker is there")


def _toolchain(place: Place) -> Finding:
    """Whether cargo and rustc are there."""
    from critic.toolchain import ToolchainMissing, find_toolchain

    try:
        found = find_toolchain(place.crate, place.env)
    except ToolchainMissing as missing:
        return Finding(Answer.STILL, str(missing))
    return Finding(Answer.GONE, found.version)


PROBES: Mapping[str, Callable[[Place], Finding]] = {
    "dns": _names,
    **dict.fromkeys(
        (
            "connection_refused",
            "connection_reset",
            "tls",
            "proxy",
            "http_429",
            "http_5xx",
            "captive_portal",
            "corrupt_download",
            "offline_missing",
        ),
        _registry,
    ),
    **dict.fromkeys(("model_unreachable", "model_timeout", "model_overloaded"), _model),
    "model_refused_key": _key,
    "disk_full": _disk,
    "read_only_fs": _writable,
    "permission": _writable,
    "linker_missing": _linker,
    "toolchain_missing": _toolchain,
}
