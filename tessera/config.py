"""Settings from files, environment and flags, merged; later wins.

Knows every key of tessera.toml, where such files are looked for and where data is kept when
nobody says. Reads those files and the environment it is given; asks no model, writes nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import platformdirs

from critic.findings import Rule
from tessera.errors import InputError
from tessera.records import Carry, ModelSettings, Settings
from tessera.schema import Schema, choice, kind_of, number, read_values, switch, whole, word, words
from tessera.toml import Wrong, did_you_mean, read_toml

FILE_NAME = "tessera.toml"


def load_settings(
    start: Path, env: Mapping[str, str], flags: Mapping[str, object], *, asks_models: bool = False
) -> Settings:
    """The settings for work in the directory `start`.

    They come, later wins, from the tessera.toml in `start` or nearest above it (up to the
    home directory), the one in the user's configuration directory, the variables in `env`
    (an empty one counts as not set) and `flags`, by dotted key (None counts as not given).
    With `asks_models` it is an error if a variable named by `key_env` is not set or a model
    file is not there; who asks no model can do without. Raises InputError.
    """
    source = _project_file(start)
    user = platformdirs.user_config_path("tessera") / FILE_NAME
    given: dict[str, Given] = {}
    for file in (source, user if user.exists() else None):
        given |= _from_file(file, env) if file else {}
    given |= dict(_from_env(env))
    given |= dict(_from_flags(flags))
    settings = Settings(source=source)
    chosen = {field: given[key].value for key, field in FIELDS.items() if key in given}
    return replace(
        settings,
        local=_seat(given, "local", settings.local, asked=asks_models),
        frontier=_seat(given, "frontier", settings.frontier, asked=asks_models),
        critic=replace(settings.critic, **_section(given, "critic")),
        anvil=_place(given.get("anvil.path")),
        cache=Path(place) if (place := _place(given.get("cache.path"))) else None,
        **chosen,
    )


def home_dir(settings: Settings) -> Path:
    """Where Tessera keeps what it must not lose: `.tessera` beside the project's tessera.toml,
    else the user's data directory."""
    if settings.source is not None:
        return settings.source.parent / ".tessera"
    return platformdirs.user_data_path("tessera")


def anvil_location(settings: Settings) -> str:
    """Anvil's database file, or the URL of its service."""
    return settings.anvil or str(home_dir(settings) / "anvil.db")


def cache_dir(settings: Settings) -> Path:
    """Where slots and other things that can be made again are kept."""
    return settings.cache or platformdirs.user_cache_path("tessera")


# --- what the keys may be ----------------------------------------------------------------


def _url(value: object) -> str:
    found = word(value)
    base = found.rstrip("/")
    try:
        parts = urlsplit(found)
        complete = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # such as a port that is no number
        complete = False
    if not complete:
        raise Wrong(f"{found} is no URL", "write one such as http://127.0.0.1:8080/v1")
    if base.endswith("/chat/completions"):
        base = base.removesuffix("/chat/completions")
        raise Wrong("is the URL of one operation", f"write the server's base: {base}")
    return base


def _frontier(value: object) -> str:
    """A frontier model; `none` and empty text say that there is none."""
    return "" if value in ("", "none") else word(value)


def _variable(value: object) -> str:
    found = word(value)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", found):  # it may be the key: don't repeat it
        raise Wrong(
            "is no name of an environment variable",
            "name the variable that holds the key, such as OPENAI_API_KEY",
        )
    return found


def _profile(value: object) -> str:
    found = word(value)
    if not re.fullmatch(r"[A-Za-z0-9_-]+", found):
        raise Wrong(f"{found} is no profile", "name it as in prompts/profile-NAME.md")
    return found


def _carry(value: object) -> Carry:
    return Carry(choice(*Carry)(value))


UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "MB": 10**6, "GB": 10**9}
LEAST_MEMORY = 256 << 20  # rustc itself needs about this much


def _memory(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Wrong(f"expected bytes or text, found {kind_of(value)}", 'write it as "4 GiB"')
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)", str(value))
    if not found or found[2] not in UNITS:
        raise Wrong(f"{value!r} is no amount of memory", 'write it as "4 GiB" or "512 MiB"')
    amount = int(float(found[1]) * UNITS[found[2]])
    if amount < LEAST_MEMORY:
        raise Wrong(f"{value!r} is too small", f"write {LEAST_MEMORY >> 20} MiB or more")
    return amount


def _anvil(value: object) -> str:
    found = word(value)
    return _url(found) if _is_url(found) else found


def _is_url(value: str) -> bool:
    return value.startswith(("http://", "https://"))


DAY = 86_400
SEAT: Schema = {
    "model": word,
    "url": _url,
    "key": word,
    "key_env": _variable,
    "window": whole(1),
    "max_tokens": whole(1),
    "temperature": number(0, 2),
    "timeout": number(0.1, DAY),
    "patience": number(0, DAY),
    "profile": _profile,
}


def _rules(value: object) -> tuple[str, ...]:
    """Names of the audit's rules."""
    found = words(value)
    for name in found:
        if name not in tuple(Rule):
            known = did_you_mean(name, tuple(Rule)) or f"the rules are {', '.join(Rule)}"
            raise Wrong(f"there is no rule {name}", known)
    return found


SCHEMA: Schema = {
    **{f"local.{key}": reader for key, reader in SEAT.items()},
    **{f"frontier.{key}": reader for key, reader in SEAT.items()},
    "frontier.model": _frontier,
    "budget.attempts": whole(1),
    "budget.signalled": whole(1),
    "signal.threshold": whole(1),
    "prompt.carry": _carry,
    "prompt.hint": switch,
    "repair.enabled": switch,
    "critic.check_seconds": number(0.1, DAY),
    "critic.test_seconds": number(0.1, DAY),
    "critic.fetch_seconds": number(0.1, DAY),
    "critic.memory": _memory,
    "critic.sandbox": choice("auto", "require", "off"),
    "critic.allow": _rules,
    "anvil.path": _anvil,
    "cache.path": word,
}
FIELDS = {
    "budget.attempts": "budget",
    "budget.signalled": "signalled_budget",
    "signal.threshold": "signal_threshold",
    "prompt.carry": "carry",
    "prompt.hint": "hint",
    "repair.enabled": "repair",
}
VARIABLES = {
    **{f"TESSERA_LOCAL_{key.upper()}": f"local.{key}" for key in ("model", "url", "key")},
    **{f"TESSERA_FRONTIER_{key.upper()}": f"frontier.{key}" for key in ("model", "url", "key")},
    "TESSERA_ANVIL": "anvil.path",
    "TESSERA_CACHE": "cache.path",
}
FLAGS = {
    "local.model": "--local",
    "frontier.model": "--frontier",
    "budget.attempts": "--budget",
    "prompt.carry": "--carry",
    "prompt.hint": "--no-hint",
    "repair.enabled": "--no-repair",
    "anvil.path": "--anvil",
}


# --- where they come from ----------------------------------------------------------------


@dataclass(frozen=True)
class Given:
    """A value and where it was set: a key of a file, a variable or a flag.

    `variable` is set where the value is what an environment variable held; None if nothing.
    """

    value: Any
    key: str
    file: Path | None = None
    line: int | None = None
    variable: str | None = None

    @property
    def base(self) -> Path:
        """The directory that relative paths start from."""
        return self.file.parent if self.file else Path.cwd()

    def error(self, message: str, suggestion: str) -> InputError:
        """The error that names where the value was set."""
        return InputError(message, suggestion, file=self.file, line=self.line, key=self.key)


def _project_file(start: Path) -> Path | None:
    folder = start.absolute()
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises where there is none
    for place in (folder, *folder.parents):
        if (place / FILE_NAME).exists():
            return place / FILE_NAME
        if place == home:
            break
    return None


def _from_file(file: Path, env: Mapping[str, str]) -> dict[str, Given]:
    document = read_toml(file)
    given = {
        key: Given(value, key, file, document.line(tuple(key.split("."))))
        for key, value in read_values(document, SCHEMA).items()
    }
    for seat in ("local", "frontier"):
        if named := given.pop(f"{seat}.key_env", None):
            if f"{seat}.key" in given:
                raise named.error("the key is given twice", f"delete {seat}.key")
            held = env.get(named.value) or None
            given[f"{seat}.key"] = replace(named, value=held, variable=named.value)
    return given


def _from_env(env: Mapping[str, str]) -> Iterator[tuple[str, Given]]:
    for variable, key in VARIABLES.items():
        if value := env.get(variable):
            yield key, _checked(key, Given(value, variable))


def _from_flags(flags: Mapping[str, object]) -> Iterator[tuple[str, Given]]:
    for key, value in flags.items():
        if value is not None:
            yield key, _checked(key, Given(value, FLAGS.get(key, key)))


def _checked(key: str, given: Given) -> Given:
    try:
        return replace(given, value=SCHEMA[key](given.value))
    except Wrong as wrong:
        raise given.error(wrong.message, wrong.suggestion) from wrong


# --- what is made of them ----------------------------------------------------------------


def _section(given: Mapping[str, Given], section: str) -> dict[str, Any]:
    """A section's values, by the names of the record that keeps them."""
    prefix = f"{section}."
    named = {
        key.removeprefix(prefix): each.value
        for key, each in given.items()
        if key.startswith(prefix)
    }
    return {"memory_bytes" if name == "memory" else name: value for name, value in named.items()}


def _seat(
    given: Mapping[str, Given], section: str, default: ModelSettings, *, asked: bool
) -> ModelSettings:
    seat = replace(default, **_section(given, section))
    window = given.get(f"{section}.window")
    if window and window.value <= seat.max_tokens:
        raise window.error(
            f"a window of {window.value} tokens leaves no room for a prompt beside the "
            f"{seat.max_tokens} of a reply",
            f"raise it, or lower {section}.max_tokens",
        )
    model, key = given.get(f"{section}.model"), given.get(f"{section}.key")
    if model and seat.model.endswith(".gguf"):
        seat = replace(seat, model=str(_place(model)))
        if asked and not Path(seat.model).is_file():
            raise model.error(f"there is no file {seat.model}", "check the path")
    if asked and seat.model and key and key.value is None:
        what = f"the environment variable {key.variable} is not set"
        raise key.error(what, f"export {key.variable}, or delete key_env")
    return seat


def _place(given: Given | None) -> str | None:
    """A path as seen from where it was written; a URL as it is."""
    if given is None:
        return None
    if _is_url(given.value):
        return str(given.value)
    return str(given.base / os.path.expanduser(given.value))  # noqa: PTH111 - never raises
