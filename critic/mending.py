"""Mechanical repair of one file of a crate, in the judge's slot.

Asks cargo once how the target is compiled, searches with rustc called directly, and lets
cargo have the last word. Leaves the slot with the text it speaks of and the person's crate
untouched; what the repair is worth beyond compiling is the judge's to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from critic.judge import Judge
from critic.process import run
from critic.repair import LIMITS, Repair, RepairLimits, repair
from critic.review import Run, Stage
from critic.rustc import LIMITS as RUN_LIMITS
from critic.rustc import VERBOSE, for_target, invocation_for, invocations


def repair_target(
    judge: Judge,
    source: bytes,
    *,
    limits: RepairLimits = LIMITS,
    verify: Callable[[bytes], bool] | None = None,
) -> Repair:
    """Repair a text for the judge's target; `prepare` must have been called before.

    A text that cargo accepts is handed back as it is, and so is one whose compilation
    cargo never came to.
    """
    slot = judge.slot
    target = slot.tree / judge.target
    slot.sync()
    slot.place(judge.target, source)
    checked = _check(judge, VERBOSE)
    call = invocation_for(target, invocations(checked), slot.root)
    if checked.ok or call is None:
        return Repair(checked.ok, 0, 0, source, seconds=checked.seconds)
    compiler = for_target(
        call,
        target,
        judge.toolchain,
        root=slot.root,
        scratch=slot.path / "target" / "repair",
        sandbox=judge.sandbox,
        limits=replace(RUN_LIMITS, wall_seconds=judge.settings.check_seconds),
    )
    found = repair(source, compiler, file=compiler.file, limits=limits, verify=verify)
    if not found.compiles:
        return found
    slot.place(judge.target, found.source)
    return replace(found, compiles=_check(judge).ok)


def _check(judge: Judge, *flags: str) -> Run:
    """Cargo's check of the target, in the sandbox and offline."""
    slot = judge.slot
    configs = [word for path in judge.configs for word in ("--config", str(path))]
    path = slot.crate.base / judge.target
    entry = next((entry for entry in slot.crate.targets if entry.source == path), None)
    argv = [str(judge.toolchain.cargo), "check", *configs, "--message-format=json", "--offline"]
    return run(
        [*argv, *flags, *(entry.selector if entry else ())],
        cwd=slot.directory,
        env={**judge.toolchain.environment, "CARGO_TARGET_DIR": str(slot.target_dir)},
        stage=Stage.REPAIR,
        limits=replace(RUN_LIMITS, wall_seconds=judge.settings.check_seconds),
        sandbox=judge.sandbox,
    )
