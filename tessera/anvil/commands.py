"""`tessera anvil …`: commands parse, call and print; nothing else.

What a command needs is imported when it runs, so that help costs nothing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from tessera.exits import Exit

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tessera.anvil import Anvil
    from tessera.records import Settings

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def anvil() -> None:
    """The memory: what was tried, how it went, and what that says about the next attempt.

    \b
    Example:
      tessera anvil stats
    """


def shared(command: Command) -> Command:
    """The options that every command has."""
    where = click.option(
        "--anvil", "location", metavar="PATH", help="The memory to use: a file or an http:// URL."
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
    return where(as_json(command))


@anvil.command()
@click.argument("claims", type=click.File("r", encoding="utf-8"))
@shared
def record(claims: Any, location: str | None, as_json: bool) -> None:
    """Record claims from CLAIMS: a JSON file, JSON Lines, or `-` for standard input.

    All are recorded, durably, or none.

    \b
    Example:
      tessera anvil record claims.jsonl
    """
    from tessera.anvil.claims import parse_text
    from tessera.anvil.errors import ClaimError
    from tessera.errors import InputError

    name = None if claims.name == "<stdin>" else Path(claims.name)
    try:
        parsed = parse_text(claims.read())
        with _opened(location) as memory:
            recorded = memory.record(parsed)
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8: {error.reason} at byte {error.start}", file=name) from None
    except ClaimError as error:
        raise InputError(str(error), "nothing was recorded", file=name) from None
    _answer({"recorded": recorded}, f"{recorded} recorded", as_json=as_json)


@anvil.command()
@click.option("--crate", required=True, metavar="DIR", help="The crate, as claims name it.")
@click.option("--target", required=True, metavar="FILE", help="The file, relative to the crate.")
@click.option("--task", metavar="ID", help="The task; without it there is no signal.")
@shared
def recall(crate: str, target: str, task: str | None, location: str | None, as_json: bool) -> None:
    """Say what is known before an attempt.

    \b
    Example:
      tessera anvil recall --crate . --target src/lib.rs --task lru_cache
    """
    from tessera.anvil.exchange import recollection_json
    from tessera.anvil.tables import recollection_view

    settings = _settings(location, crate)
    with _opened(location, crate) as memory:
        found = memory.pre_attempt(
            _key(memory, crate), target, task, threshold=settings.signal_threshold
        )
    _answer(recollection_json(found), recollection_view(found), as_json=as_json)


@anvil.command()
@click.option("--crate", metavar="DIR", help="Only this crate.")
@click.option("--target", metavar="FILE", help="Only this file.")
@click.option("--task", metavar="ID", help="Only this task.")
@click.option("--limit", type=click.IntRange(0, 10_000), default=100, show_default=True)
@click.option("--offset", type=click.IntRange(0), default=0, show_default=True)
@shared
def history(
    crate: str | None,
    target: str | None,
    task: str | None,
    limit: int,
    offset: int,
    location: str | None,
    as_json: bool,
) -> None:
    """List claims in the order they were recorded, a page at a time.

    \b
    Example:
      tessera anvil history --task lru_cache --limit 20
    """
    from tessera.anvil.exchange import page_json
    from tessera.anvil.tables import history_table

    with _opened(location, crate) as memory:
        key = _key(memory, crate) if crate else None
        page = memory.history(key, target, task, limit=limit, offset=offset)
    _answer(page_json(page), history_table(page.total, page.claims, offset), as_json=as_json)


@anvil.command()
@shared
def stats(location: str | None, as_json: bool) -> None:
    """Show rates, patterns and who gets past them, tokens and dollars.

    \b
    Example:
      tessera anvil stats --json
    """
    from tessera.anvil import stats as statistics
    from tessera.anvil.tables import stats_view

    with _opened(location) as memory:
        found = statistics.summarise(memory.each_claim())
    _answer(statistics.as_json(found), stats_view(found), as_json=as_json)


@anvil.command()
@click.option("--write", is_flag=True, help="Write the recommended threshold to tessera.toml.")
@shared
def calibrate(write: bool, location: str | None, as_json: bool) -> None:
    """Replay history: how good would the calibration signal be at each threshold?

    \b
    Example:
      tessera anvil calibrate --write
    """
    from tessera.anvil.calibrate import recommended, replay
    from tessera.anvil.exchange import replays_json
    from tessera.anvil.tables import replay_table
    from tessera.anvil.threshold import write_threshold

    settings = _settings(location)
    with _opened(location) as memory:
        replays = replay(memory.each_claim(), signalled_budget=settings.signalled_budget)
    chosen = recommended(replays)
    file = settings.source or Path("tessera.toml")
    written = bool(write and chosen and write_threshold(file, chosen.threshold))
    answer = {**replays_json(replays, chosen), "written": str(file) if written else None}
    _answer(answer, replay_table(replays, chosen), as_json=as_json)
    if written:
        click.echo(f"written to {file}", err=True)


@anvil.command()
@click.option("--format", "form", type=click.Choice(["jsonl", "sft", "dpo"]), default="jsonl")
@click.option("--output", type=click.Path(path_type=Path), help="A file instead of stdout.")
@click.option("--frontier", is_flag=True, help="Also train on what frontier models wrote.")
@shared
def export(
    form: str, output: Path | None, frontier: bool, location: str | None, as_json: bool
) -> None:
    """Write claims as JSON Lines, or as training examples for TRL.

    Prompts marked private are never in `sft` and `dpo`; what a frontier model wrote only
    with --frontier, since its provider may forbid training on it.

    \b
    Example:
      tessera anvil export --format dpo --output pairs.jsonl
    """
    from tessera.anvil.export import lines
    from tessera.errors import InputError

    if as_json and output is None:
        raise InputError("the lines themselves are on stdout", "add --output FILE", key="--json")
    with _opened(location) as memory:
        found = lines(memory, form, frontier=frontier)
        if output is None:
            for line in found:
                click.echo(line)
            return
        count = 0
        with output.open("w", encoding="utf-8") as file:
            for line in found:
                file.write(f"{line}\n")
                count += 1
    _answer({"exported": count, "file": str(output)}, f"{count} lines in {output}", as_json=as_json)


@anvil.command()
@shared
def check(location: str | None, as_json: bool) -> NoReturn:
    """Look at the whole memory: pages, references, contents, counts. Exit 1 if any is wrong.

    \b
    Example:
      tessera anvil check
    """
    with _opened(location) as memory:
        health = memory.check()
    ok = not health.problems
    words = "\n".join(health.problems) or f"{health.claims} claims, all well"
    answer = {"ok": ok, "problems": list(health.problems), **health.facts}
    _answer(answer, words, as_json=as_json)
    sys.exit(Exit.DONE if ok else Exit.FAIL)


@anvil.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=7302, show_default=True)
@shared
def serve(host: str, port: int, location: str | None, as_json: bool) -> None:
    """Serve the memory over HTTP, for several machines. Stop with Ctrl-C.

    An address other than this machine's own needs TESSERA_ANVIL_TOKEN, a secret that
    clients send as a bearer token.

    \b
    Example:
      tessera anvil serve --port 7302
    """
    from tessera.errors import InputError

    try:
        from tessera.anvil.service import serve as run
    except ModuleNotFoundError as missing:
        words = f"{missing.name} is not installed"
        raise InputError(words, "install it with: pip install 'tessera[serve]'") from None
    run(_location(location), host, port, os.environ.get("TESSERA_ANVIL_TOKEN"), as_json=as_json)


def _settings(location: str | None, crate: str | None = None) -> Settings:
    from tessera.config import load_settings

    flags = {"anvil.path": location} if location else {}
    return load_settings(_start(crate), os.environ, flags)


def _location(location: str | None, crate: str | None = None) -> str:
    from tessera.config import anvil_location

    return anvil_location(_settings(location, crate))


def _start(crate: str | None) -> Path:
    """Where the search for tessera.toml begins: the crate, if it is one on this machine."""
    return Path(crate).resolve() if crate and Path(crate).is_dir() else Path.cwd()


def _opened(location: str | None, crate: str | None = None) -> Anvil:
    from tessera.anvil import open_anvil

    return open_anvil(_location(location, crate))


def _key(memory: Anvil, crate: str) -> str:
    """The crate as claims name it: as it was given, or else the directory's real path."""
    if not memory.history(crate, limit=0).total and Path(crate).is_dir():
        return str(Path(crate).resolve())
    return crate


def _answer(value: dict[str, Any], view: RenderableType, *, as_json: bool) -> None:
    # ASCII, since a claim may hold what no terminal's encoding has.
    if as_json:
        click.echo(json.dumps(value))
        return
    from tessera.views import console_for

    console_for(as_json=False).print(view)
