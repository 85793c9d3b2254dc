"""The command line: commands parse, call and print; nothing else.

Each command imports what it needs when it runs, so that `tessera --help` stays quick and
no command pays for a model client that it doesn't use.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import click

from tessera import __version__
from tessera.errors import InputError
from tessera.exits import Exit

ELSEWHERE = {
    "anvil": "tessera.anvil.commands:anvil",
    "review": "tessera.review:review",
    "repair": "tessera.repair_command:repair",
    "teach": "tessera.teacher:teach",
}
JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")


class Commands(click.Group):
    """Commands of other modules, imported only when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, for the help."""
        return sorted([*super().list_commands(ctx), *ELSEWHERE])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module, name = ELSEWHERE[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from SUMMARIES, which costs no import."""
        rows = [(name, SUMMARIES[name]) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


SUMMARIES = {
    "anvil": "The memory: record, recall, history, statistics.",
    "check": "Judge a crate as it stands.",
    "classify": "Say what cargo's output from elsewhere means.",
    "dispatch": "Take one task through the seats.",
    "repair": "Apply what rustc knows how to fix, without a model.",
    "review": "Look at what was written; accept, reject or undo it.",
    "seat": "Say which local model a dispatch would ask.",
    "teach": "Run a batch of tasks and report honest numbers.",
}


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tessera")
def cli() -> None:
    """A local model writes Rust, cargo judges it, memory makes the next attempt differ.

    \b
    Example:
      tessera dispatch fixtures/tasks/is_even.toml
    """


@cli.command()
@click.argument("task", type=click.Path(path_type=Path))
@click.option("--local", metavar="MODEL", help="The local model instead of the configured one.")
@click.option("--frontier", metavar="MODEL", help="The frontier model, or `none`.")
@click.option("--budget", type=int, metavar="N", help="Local attempts at most.")
@click.option(
    "--carry",
    type=click.Choice(["none", "diagnostics", "diffs", "placebo"]),
    help="What earlier attempts put into the next prompt.",
)
@click.option("--diff-feedback", is_flag=True, help="The same as --carry diffs.")
@click.option("--no-repair", is_flag=True, help="Without the compiler seat.")
@click.option("--no-hint", is_flag=True, help="Without the hint from earlier dispatches.")
@click.option("--stage", is_flag=True, help="Stage even what the local model wrote.")
@click.option("--force", is_flag=True, help="Ignore a skip signal.")
@click.option("--replay", type=click.Path(path_type=Path), help="Play recorded replies.")
@click.option("--record", type=click.Path(path_type=Path), help="Record the replies.")
@click.option("--anvil", metavar="PATH", help="The memory to use.")
@JSON_OPTION
def dispatch(task: Path, as_json: bool, **flags: Any) -> NoReturn:
    """Take one task through the seats until it passes or is given up.

    \b
    Example:
      tessera dispatch fixtures/tasks/is_even.toml --budget 2
    """
    from tessera.config import load_settings
    from tessera.run import Options, run_task
    from tessera.task import load_task
    from tessera.views import DispatchView, console_for, dispatch_json, print_json, show_end

    loaded = load_task(task)
    settings = load_settings(
        loaded.crate, os.environ, settings_flags(flags), asks_models=not flags["replay"]
    )
    options = Options(flags["stage"], flags["force"], flags["replay"], flags["record"])
    console = console_for(as_json=as_json)
    began = time.monotonic()
    with DispatchView(console) as view:
        ended = run_task(loaded, settings, options, view)
    show_end(console, ended, time.monotonic() - began)
    if as_json:
        print_json(dispatch_json(ended))
    sys.exit(OUTCOMES[ended.outcome.value])


OUTCOMES = {
    "pass": Exit.DONE,
    "fail": Exit.FAIL,
    "blocked": Exit.BLOCKED,
    "skipped": Exit.BLOCKED,
    "staged": Exit.STAGED,
}


def settings_flags(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags of `dispatch` as keys of tessera.toml; those not given are left out."""
    carry = "diffs" if flags["diff_feedback"] else flags["carry"]
    frontier = "" if flags["frontier"] == "none" else flags["frontier"]
    named = {
        "local.model": flags["local"],
        "frontier.model": frontier,
        "budget.attempts": flags["budget"],
        "prompt.carry": carry,
        "prompt.hint": False if flags["no_hint"] else None,
        "repair.enabled": False if flags["no_repair"] else None,
        "anvil.path": flags["anvil"],
    }
    return {key: value for key, value in named.items() if value is not None}


@cli.command()
@click.argument("crate", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--target", metavar="FILE", help="Judge this file of the crate.")
@JSON_OPTION
def check(crate: Path, target: str | None, as_json: bool) -> NoReturn:
    """Judge a crate as it stands, in a scratch copy.

    \b
    Example:
      tessera check . --target src/lib.rs --json
    """
    from critic.judge import NotJudgeable, check_crate
    from tessera.config import cache_dir, load_settings
    from tessera.views import console_for, print_json, review_json, show_review

    crate = crate.resolve()
    if target is not None:
        place = (crate / target).resolve()
        if not place.is_file() or not place.is_relative_to(crate):
            raise InputError(f"there is no file {target} in {crate}", "name one relative to it")
        target = place.relative_to(crate).as_posix()
    settings = load_settings(crate, os.environ, {})
    try:
        review = check_crate(crate, target, settings.critic, cache_dir(settings))
    except NotJudgeable as error:
        review = error.review
    show_review(console_for(as_json=as_json), review)
    if as_json:
        print_json(review_json(review))
    sys.exit(VERDICTS[review.verdict.value])


VERDICTS = {"PASS": Exit.DONE, "FAIL": Exit.FAIL, "BLOCKED": Exit.BLOCKED}


@cli.command()
@click.argument("stderr", type=click.File("r", encoding="utf-8", errors="replace"))
@click.option("--exit-code", type=int, metavar="N", help="Cargo's exit code.")
@click.option(
    "--messages",
    type=click.File("r", encoding="utf-8", errors="replace"),
    metavar="JSONL",
    help="What --message-format=json printed.",
)
@click.option("--phase", type=click.Choice(["fetch", "check", "test"]), help="Which step it was.")
@JSON_OPTION
def classify(
    stderr: Any, exit_code: int | None, messages: Any, phase: str | None, as_json: bool
) -> NoReturn:
    """Say what the critic makes of cargo's output saved elsewhere (`-`: standard input).

    \b
    Example:
      tessera classify --exit-code 101 ci.log
    """
    from critic.classify import classify_text
    from tessera.views import classification_json, console_for, print_json, show_classification

    found = classify_text(
        stderr.read(),
        exit_code=exit_code,
        messages=messages.read() if messages else "",
        phase=phase,
    )
    show_classification(console_for(as_json=as_json), found)
    if as_json:
        print_json(classification_json(found))
    sys.exit(VERDICTS[found.verdict.value])


@cli.command()
@click.argument("task", required=False, type=click.Path(path_type=Path))
@click.option("--quiet", is_flag=True, help="Say nothing; the exit code tells.")
@JSON_OPTION
def seat(task: Path | None, quiet: bool, as_json: bool) -> NoReturn:
    """Say which local model a dispatch would ask; exit 3 when the embedded one must be installed.

    \b
    Example:
      tessera seat fixtures/tasks/is_even.toml
    """
    from tessera.config import load_settings
    from tessera.seats.opening import plan_local
    from tessera.task import load_task
    from tessera.views import console_for, print_json

    start = load_task(task).crate if task else Path.cwd()
    settings = load_settings(start, os.environ, {})
    plan = plan_local(settings.local)
    if not quiet:
        console_for(as_json=as_json).print(plan.text)
    if as_json:
        print_json({"model": plan.model, "url": plan.url, "origin": plan.text, "ready": plan.ready})
    sys.exit(Exit.DONE if plan.ready else Exit.BLOCKED)


def main() -> NoReturn:
    """Run a command; what a person can cause ends in words and an exit code, not a trace."""
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    try:
        cli.main(standalone_mode=False)
        sys.exit(Exit.DONE)
    except click.exceptions.Abort:
        _fail("interrupted; nothing was changed", Exit.INTERRUPTED)
    except KeyboardInterrupt:
        _fail("interrupted; what happened so far is recorded", Exit.INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(Exit.USAGE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.DONE)
    except InputError as error:
        _fail(str(error), Exit.USAGE)
    except _storage_error() as error:
        _fail(str(error), Exit.BLOCKED)


def _storage_error() -> type[Exception]:
    """Anvil's error, looked up only once something was raised."""
    from tessera.anvil import StorageError

    return StorageError


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _fail(message: str, code: Exit) -> NoReturn:
    click.echo(f"tessera: {message}", err=True)
    sys.exit(code)
