"""Settings from real files, an environment and flags; and the example that is shipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tessera.config import SCHEMA, anvil_location, cache_dir, home_dir, load_settings
from tessera.errors import InputError
from tessera.records import Carry, Settings
from tessera.schema import read_values
from tessera.toml import parse_toml

EXAMPLE = Path(__file__).parents[2] / "tessera.toml"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory of the test's own, so that nobody's real configuration is read."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    return home


@pytest.fixture
def crate(home: Path) -> Path:
    crate = home / "project/crates/one"
    crate.mkdir(parents=True)
    return crate


def project(crate: Path, text: str) -> Path:
    path = crate.parents[1] / "tessera.toml"
    path.write_text(text)
    return path


def load(crate: Path, env: Mapping[str, str] | None = None, **flags: object) -> Settings:
    dotted = {key.replace("__", "."): value for key, value in flags.items()}
    return load_settings(crate, env or {}, dotted)


def test_without_any_configuration_the_defaults_hold(crate: Path, home: Path) -> None:
    settings = load(crate)
    assert settings == Settings()
    assert anvil_location(settings) == str(home / "data/tessera/anvil.db")
    assert home_dir(settings) == home / "data/tessera"
    assert cache_dir(settings) == home / "cache/tessera"


def test_every_key_of_a_file_arrives(crate: Path) -> None:
    seat = (
        'model = "m"\nurl = "http://127.0.0.1:1/v1/"\nkey = "k"\nwindow = 9000\nmax_tokens = 10\n'
        'temperature = 1\ntimeout = 2\npatience = 0\nprofile = "chat"\n'
    )
    source = project(
        crate,
        f"[local]\n{seat}[frontier]\n{seat}"
        "[budget]\nattempts = 5\nsignalled = 3\n[signal]\nthreshold = 6\n"
        '[prompt]\ncarry = "diffs"\nhint = false\n[repair]\nenabled = false\n'
        "[critic]\ncheck_seconds = 1\ntest_seconds = 2\nfetch_seconds = 3.5\n"
        'memory = "1.5 GiB"\nsandbox = "off"\n'
        '[anvil]\npath = "memory/a.db"\n[cache]\npath = "~/slots"\n',
    )
    settings = load(crate)
    for model in (settings.local, settings.frontier):
        assert (model.model, model.url, model.key) == ("m", "http://127.0.0.1:1/v1", "k")
        assert (model.window, model.max_tokens, model.temperature) == (9000, 10, 1.0)
        assert (model.timeout, model.patience, model.profile) == (2.0, 0.0, "chat")
    assert (settings.budget, settings.signalled_budget, settings.signal_threshold) == (5, 3, 6)
    assert (settings.carry, settings.hint, settings.repair) == (Carry.DIFFS, False, False)
    critic = settings.critic
    assert (critic.check_seconds, critic.test_seconds, critic.fetch_seconds) == (1.0, 2.0, 3.5)
    assert (critic.memory_bytes, critic.sandbox) == (3 << 29, "off")
    assert settings.source == source
    assert anvil_location(settings) == str(source.parent / "memory/a.db")
    assert cache_dir(settings) == Path.home() / "slots"


def test_later_wins_from_project_to_user_to_environment_to_flags(crate: Path, home: Path) -> None:
    layers: dict[str, dict[str, Any]] = {"env": {}, "flags": {}}

    def told() -> tuple[str, int, str | None]:
        settings = load(crate, layers["env"], **layers["flags"])
        return settings.local.model, settings.budget, settings.local.url

    project(crate, '[local]\nmodel = "project"\nurl = "http://project.example"\n')
    assert told() == ("project", 4, "http://project.example")
    (home / "config/tessera").mkdir(parents=True)
    user = home / "config/tessera/tessera.toml"
    user.write_text('[local]\nmodel = "user"\n[budget]\nattempts = 7\n')
    assert told() == ("user", 7, "http://project.example")
    layers["env"] = {"TESSERA_LOCAL_MODEL": "env", "TESSERA_LOCAL_URL": ""}
    assert told() == ("env", 7, "http://project.example")
    layers["flags"] = {"local__model": "flag", "budget__attempts": 1, "local__url": None}
    assert told() == ("flag", 1, "http://project.example")


def test_the_nearest_file_counts_and_none_above_home(crate: Path, home: Path) -> None:
    (home.parent / "tessera.toml").write_text("[budget]\nattempts = 9\n")
    assert load(crate).source is None
    outer = project(crate, "[budget]\nattempts = 2\n[signal]\nthreshold = 8\n")
    assert load(crate).source == outer
    inner = crate / "tessera.toml"
    inner.write_text("[budget]\nattempts = 3\n")
    settings = load(crate)
    assert (settings.source, settings.budget, settings.signal_threshold) == (inner, 3, 4)
    assert home_dir(settings) == crate / ".tessera"
    assert anvil_location(settings) == str(crate / ".tessera/anvil.db")


def test_outside_home_files_are_found_up_to_the_root(home: Path) -> None:
    elsewhere = home.parent / "elsewhere/deep"
    elsewhere.mkdir(parents=True)
    (home.parent / "tessera.toml").write_text("[budget]\nattempts = 9\n")
    assert load(elsewhere).budget == 9


def test_variables_reach_both_seats_anvil_and_cache(
    crate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(crate)
    env = {
        f"TESSERA_{seat}_{key}": value
        for seat in ("LOCAL", "FRONTIER")
        for key, value in {
            "MODEL": seat,
            "URL": "https://x.example/v1",
            "KEY": f"{seat}-key",
        }.items()
    }
    settings = load(crate, {**env, "TESSERA_ANVIL": "a.db", "TESSERA_CACHE": "/c"})
    assert (settings.local.model, settings.local.key) == ("LOCAL", "LOCAL-key")
    assert (settings.frontier.model, settings.frontier.key) == ("FRONTIER", "FRONTIER-key")
    assert settings.frontier.url == settings.local.url == "https://x.example/v1"
    assert anvil_location(settings) == str(crate / "a.db")
    assert cache_dir(settings) == Path("/c")
    assert "LOCAL-key" not in repr(settings)


def test_anvil_may_be_a_service(crate: Path) -> None:
    project(crate, '[anvil]\npath = "local.db"\n')
    settings = load(crate, anvil__path="http://127.0.0.1:7302/")
    assert anvil_location(settings) == "http://127.0.0.1:7302"


@pytest.mark.parametrize("none", ["none", ""])
def test_a_frontier_can_be_switched_off(crate: Path, none: str) -> None:
    project(crate, '[frontier]\nmodel = "big"\n')
    assert load(crate).frontier.model == "big"
    assert load(crate, frontier__model=none).frontier.model == ""


def test_a_model_file_is_seen_from_the_file_that_names_it(
    crate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = project(crate, '[local]\nmodel = "models/m.gguf"\n')
    monkeypatch.chdir(crate)
    assert load(crate).local.model == str(source.parent / "models/m.gguf")
    assert load(crate, local__model="x.gguf").local.model == str(crate / "x.gguf")
    with pytest.raises(InputError, match=r"tessera.toml:2: local.model: there is no file"):
        load_settings(crate, {}, {}, asks_models=True)
    (source.parent / "models").mkdir()
    (source.parent / "models/m.gguf").touch()
    assert load_settings(crate, {}, {}, asks_models=True).local.model.endswith("models/m.gguf")


def test_a_key_comes_from_the_variable_that_is_named(crate: Path) -> None:
    project(crate, '[frontier]\nmodel = "big"\nkey_env = "BIG_KEY"\n')
    assert load(crate, {"BIG_KEY": "s3cret"}).frontier.key == "s3cret"
    assert load(crate).frontier.key is None
    both = {"BIG_KEY": "s3cret", "TESSERA_FRONTIER_KEY": "later"}
    assert load(crate, both).frontier.key == "later"


def test_a_key_that_is_not_set_stops_only_who_asks_models(crate: Path) -> None:
    project(crate, '[frontier]\nmodel = "big"\nkey_env = "BIG_KEY"\n')
    said = r"tessera.toml:3: frontier.key_env: the environment variable BIG_KEY is not set; export"
    with pytest.raises(InputError, match=said):
        load_settings(crate, {}, {}, asks_models=True)
    unused = load_settings(crate, {}, {"frontier.model": "none"}, asks_models=True)
    assert unused.frontier.model == ""


REFUSED = [
    ("[locl]\n", "1: locl: unknown key; did you mean local?"),
    ("[local]\nmodle = 'x'", "2: local.modle: unknown key; did you mean model?"),
    ("[local]\nmodel = ''", "2: local.model: is empty"),
    ("[budget]\n\nattempts = 0", "3: budget.attempts: 0 is too small; write 1 or more"),
    ("[budget]\nattempts = 2.0", "2: budget.attempts: expected a whole number"),
    ("[local]\ntemperature = 3", "2: local.temperature: 3 is out of range; write 0 to 2"),
    ("[critic]\nsandbox = 'on'", "2: critic.sandbox: on is none of auto, require or off"),
    ("[critic]\nmemory = '4 Gib'", "2: critic.memory: '4 Gib' is no amount of memory"),
    ("[critic]\nmemory = 4", "2: critic.memory: 4 is too small; write 256 MiB or more"),
    ("[critic]\nmemory = true", "2: critic.memory: expected bytes or text, found the boolean true"),
    ("[critic]\ncheck_seconds = 0", "2: critic.check_seconds: 0 is out of range"),
    ("[prompt]\ncarry = 'diff'", "2: prompt.carry: diff is none of none, diagnostics, diffs or"),
    ("[prompt]\nhint = 'no'", "2: prompt.hint: expected true or false, found text"),
    ("[local]\nurl = '127.0.0.1:8080/v1'", "2: local.url: 127.0.0.1:8080/v1 is no URL; write one"),
    ("[local]\nurl = 'http://x:y/v1'", "2: local.url: http://x:y/v1 is no URL"),
    ("[local]\nurl = 'http:///v1'", "2: local.url: http:///v1 is no URL"),
    (
        "[local]\nurl = 'http://x.example/v1/chat/completions'",
        "2: local.url: is the URL of one operation; write the server's base: http://x.example/v1",
    ),
    ("[anvil]\npath = 'http://'", "2: anvil.path: http:// is no URL"),
    ("[local]\nprofile = '../x'", "2: local.profile: ../x is no profile"),
    ("[local]\nkey = 'a'\nkey_env = 'B'", "3: local.key_env: the key is given twice"),
    ("[local]\nkey_env = 'sk-1'", "2: local.key_env: is no name of an environment variable"),
    ("[local]\nwindow = 2048", "2: local.window: a window of 2048 tokens leaves no room"),
    ("[local\n", "1: local: the table's name is not closed"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED)
def test_a_mistake_in_a_file_is_told_with_line_and_key(crate: Path, text: str, said: str) -> None:
    source = project(crate, text + "\n")
    with pytest.raises(InputError) as raised:
        load(crate)
    assert str(raised.value).startswith(f"{source}:{said}")


def test_a_secret_is_never_part_of_an_error(crate: Path) -> None:
    project(crate, "[local]\nkey_env = 'sk-1234'\n")
    with pytest.raises(InputError) as raised:
        load(crate)
    assert "sk-1234" not in str(raised.value)


def test_mistakes_in_the_users_file_name_it(crate: Path, home: Path) -> None:
    (home / "config/tessera").mkdir(parents=True)
    user = home / "config/tessera/tessera.toml"
    user.write_bytes(b"a = '\xff'")
    with pytest.raises(InputError, match="is not UTF-8 text") as raised:
        load(crate)
    assert raised.value.file == user


@pytest.mark.parametrize(
    ("env", "flags", "said"),
    [
        ({"TESSERA_LOCAL_URL": "localhost"}, {}, "TESSERA_LOCAL_URL: localhost is no URL; write"),
        ({"TESSERA_ANVIL": "http://"}, {}, "TESSERA_ANVIL: http:// is no URL"),
        ({}, {"budget.attempts": 0}, "--budget: 0 is too small; write 1 or more"),
        ({}, {"local.model": " "}, "--local: is empty"),
        ({}, {"prompt.carry": "x"}, "--carry: x is none of"),
    ],
)
def test_mistakes_in_variables_and_flags_name_those(
    crate: Path, env: dict[str, str], flags: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError) as raised:
        load_settings(crate, env, flags)
    assert str(raised.value).startswith(said)


# --- the example -------------------------------------------------------------------------

COMMENTED = re.compile(r"#([a-z_]+) = ")


def example_lines() -> Iterator[tuple[str, int]]:
    """Each commented key of the example, dotted, and its line's index."""
    section = ""
    for index, line in enumerate(EXAMPLE.read_text().splitlines()):
        if header := re.match(r"\[(\w+)\]", line):
            section = header[1]
        elif found := COMMENTED.match(line):
            yield f"{section}.{found[1]}", index


def example_with(*shown: int) -> str:
    """The example with some lines shown, each instead of another line with its key."""
    lines = EXAMPLE.read_text().splitlines()
    for index in shown:
        lines[index] = lines[index].removeprefix("#")
        start = max(number for number in range(index) if lines[number].startswith("["))
        name = lines[index].split(" = ")[0]
        for number in range(start, len(lines)):
            if number > start and lines[number].startswith("["):
                break
            if number != index and lines[number].startswith(f"{name} = "):
                lines[number] = ""
    return "\n".join(lines)


def test_the_example_changes_no_default(crate: Path) -> None:
    source = project(crate, EXAMPLE.read_text())
    assert load(crate) == Settings(source=source)


@pytest.mark.parametrize(("key", "index"), list(example_lines()))
def test_each_commented_line_of_the_example_can_be_used(crate: Path, key: str, index: int) -> None:
    project(crate, example_with(index))
    load(crate)
    assert key in read_values(parse_toml(example_with(index), EXAMPLE), SCHEMA)


def test_the_example_shows_every_key() -> None:
    shown = {key for key, _ in example_lines()}
    assert shown == set(SCHEMA)


NO_DEFAULT = {"model", "url", "key", "key_env", "window", "profile", "path"}


def test_what_the_example_calls_a_default_is_one(crate: Path) -> None:
    defaults = [i for key, i in example_lines() if key.split(".")[1] not in NO_DEFAULT]
    assert len(defaults) == len(SCHEMA) - 2 * 6 - 2
    source = project(crate, example_with(*defaults))
    assert load(crate) == Settings(source=source)
