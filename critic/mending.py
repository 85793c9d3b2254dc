"""Mechanical repair of one file of a crate, in the judge's slot.

Asks cargo once how the target is compiled, searches with rustc called directly, and lets
cargo have the last word. Leaves the slot with the text it speaks of and the person's crate
untouched; what the repair is worth beyond compiling is the judge's to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from critic.judge import Judge
from critic.repair import LIMITS, Repair, RepairLimits, repair
from critic.review import Stage
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
    checked = judge.check(Stage.REPAIR, VERBOSE)
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
    return replace(found, compiles=judge.check(Stage.REPAIR).ok)
