"""The review commands: look at proposals; accept, reject, undo.

Thin: each parses, calls `staging` and Anvil, and prints. Accepting judges again what will
be written, so that nothing lands on an old verdict.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from tessera.errors import InputError
from tessera.exits import Exit

if TYPE_CHECKING:
    from tessera.anvil import Anvil
    from tessera.staging import Proposal

JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
ANVIL_OPTION = click.option("--anvil", "location", metavar="PATH", help="The memory to use.")


@click.group(invoke_without_command=True)
@click.pass_context
def review(ctx: click.Context) -> None:
    """Look at what was written; accept, reject or undo it.

    \b
    Example:
      tessera review list
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@review.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that are decided.")
@ANVIL_OPTION
@JSON_OPTION
def list_(everything: bool = False, location: str | None = None, as_json: bool = False) -> NoReturn:
    """List the proposals that wait for a decision.

    \b
    Example:
      tessera review list --all --json
    """
    from tessera.views import console_for, print_json, show_proposals

    with _memory(location) as memory:
        rows = memory.list_proposals(None if everything else "staged")
    show_proposals(console_for(as_json=as_json), rows)
    if as_json:
        print_json({"total": len(rows), "proposals": rows})
    sys.exit(Exit.DONE)


@review.command()
@click.argument("identity", metavar="ID")
@ANVIL_OPTION
@JSON_OPTION
def show(identity: str, location: str | None, as_json: bool) -> NoReturn:
    """Show one proposal: its report and its diff.

    \b
    Example:
      tessera review show 20260101-120000-abc123
    """
    from tessera.staging import patch
    from tessera.views import console_for, print_json, show_proposal

    with _memory(location) as memory:
        row, proposal = _find(memory, identity)
    report = (proposal.folder / "report.md").read_text("utf-8")
    diff = patch(proposal.changes, proposal.root)
    show_proposal(console_for(as_json=as_json), row["state"], report, diff)
    if as_json:
        print_json({**row, "report": report, "patch": diff})
    sys.exit(Exit.DONE)


@review.command()
@click.argument("identity", metavar="ID")
@ANVIL_OPTION
@JSON_OPTION
def accept(identity: str, location: str | None, as_json: bool) -> NoReturn:
    """Judge a proposal again and write it into the crate.

    \b
    Example:
      tessera review accept 20260101-120000-abc123
    """
    from tessera import staging

    with _memory(location) as memory:
        row, proposal = _find(memory, identity)
        if row["state"] == "accepted" and not staging.is_applied(proposal):
            _write(memory, row, proposal, as_json)
            _end(row, "accepted", "finished what was interrupted", Exit.DONE, as_json)
        _expect(row, "staged")
        try:
            staging.check(proposal)
        except staging.Stale as stale:
            memory.move_proposal(identity, "staged", "stale", str(stale))
            _end(row, "stale", f"{stale}; run the task again", Exit.FAIL, as_json)
        failed = _judge_again(row, proposal)
        if failed:
            _end(row, "staged", f"not written: {failed}", Exit.FAIL, as_json)
        _move(memory, identity, "staged", "accepted", "")
        _write(memory, row, proposal, as_json)
    _end(row, "accepted", f"wrote {row['target']} in {row['crate']}", Exit.DONE, as_json)


@review.command()
@click.argument("identity", metavar="ID")
@click.option("--why", required=True, help="The reason, kept with the proposal.")
@ANVIL_OPTION
@JSON_OPTION
def reject(identity: str, why: str, location: str | None, as_json: bool) -> NoReturn:
    """Reject a proposal; its files stay where they are.

    \b
    Example:
      tessera review reject 20260101-120000-abc123 --why "allocates in the loop"
    """
    with _memory(location) as memory:
        row, _ = _find(memory, identity)
        _move(memory, identity, "staged", "rejected", why)
    _end(row, "rejected", "rejected", Exit.DONE, as_json)


@review.command()
@click.argument("identity", metavar="ID")
@ANVIL_OPTION
@JSON_OPTION
def undo(identity: str, location: str | None, as_json: bool) -> NoReturn:
    """Put back what a proposal replaced, byte for byte.

    \b
    Example:
      tessera review undo 20260101-120000-abc123
    """
    from tessera import staging

    with _memory(location) as memory:
        row, proposal = _find(memory, identity)
        _expect(row, "accepted")
        try:
            staging.undo(proposal)
        except staging.Stale as stale:
            _end(row, "accepted", f"not undone: {stale}", Exit.FAIL, as_json)
        _move(memory, identity, "accepted", "undone", "")
    _end(row, "undone", f"{row['target']} is as it was", Exit.DONE, as_json)


def _memory(location: str | None) -> Anvil:
    from tessera.anvil import open_anvil
    from tessera.config import anvil_location, load_settings

    flags = {"anvil.path": location} if location else {}
    settings = load_settings(Path.cwd(), os.environ, flags)
    return open_anvil(anvil_location(settings))


def _find(memory: Anvil, identity: str) -> tuple[dict[str, Any], Proposal]:
    from tessera import staging

    row = memory.get_proposal(identity)
    if row is None:
        waiting = ", ".join(r["id"] for r in memory.list_proposals(None)[:5]) or "none"
        raise InputError(f"there is no proposal {identity}; the newest are: {waiting}")
    folder = Path(row["report"]["folder"])
    try:
        return row, staging.load(folder.parent.parent, identity)
    except FileNotFoundError as error:
        raise InputError(f"the files of proposal {identity} are gone: {error.filename}") from error


def _expect(row: dict[str, Any], state: str) -> None:
    if row["state"] != state:
        raise InputError(f"proposal {row['id']} is {row['state']}, not {state}")


def _move(memory: Anvil, identity: str, old: str, new: str, why: str) -> None:
    if not memory.move_proposal(identity, old, new, why):
        row = memory.get_proposal(identity) or {"state": "gone"}
        raise InputError(f"proposal {identity} is {row['state']} by now, not {old}")


def _write(memory: Anvil, row: dict[str, Any], proposal: Proposal, as_json: bool) -> None:
    """Write an accepted proposal; one that can't be written waits for review again."""
    from tessera import staging

    try:
        staging.apply(proposal)
    except (staging.Stale, OSError) as error:
        memory.move_proposal(row["id"], "accepted", "staged", str(error))
        _end(row, "staged", f"not written: {error}", Exit.FAIL, as_json)


def _judge_again(row: dict[str, Any], proposal: Proposal) -> str | None:
    """Why the critic no longer passes the proposal; None when it does."""
    from critic.judge import NotJudgeable
    from critic.review import Verdict
    from tessera.config import cache_dir, load_settings
    from tessera.run import judge_for
    from tessera.task import load_task

    task = load_task(Path(row["report"]["task_file"]))
    settings = load_settings(task.crate, os.environ, {})
    target = task.crate / task.target
    content = next(c.after for c in proposal.changes if c.path == target)
    try:
        with judge_for(task, settings.critic, cache_dir(settings)) as judge:
            found = judge.judge(content).review
    except NotJudgeable as error:
        return str(error)
    if found.verdict is Verdict.PASS:
        return None
    return f"{found.verdict.value}: {found.evidence[0].text if found.evidence else found.kind}"


def _end(row: dict[str, Any], state: str, text: str, code: Exit, as_json: bool) -> NoReturn:
    from tessera.views import console_for, print_json, safe

    console_for(as_json=as_json).print(safe(f"{row['id']}: {text}"))
    if as_json:
        print_json({**row, "state": state, "text": text})
    sys.exit(code)
