"""Measure the mechanical repair on programs that models wrote, beside `cargo fix`.

Run as `python -m bench.repair`. Every failing candidate is repaired with the tests and the
prelude protected, compiled and run; `cargo fix --broken-code` gets the same program in the
same run. Tasks are split in two halves by a hash of their name: rules were written while
looking at one of them only. Prints the figures and a table by error code; `--out` writes
everything as JSON.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from critic.edits import EditSet
from critic.process import Limits, run
from critic.repair import Repair, repair
from critic.review import Stage
from critic.rules.never import takes_away
from critic.rustc import stand_alone
from critic.sandbox import Sandbox
from critic.toolchain import Toolchain, find_toolchain

DATA = Path(__file__).parent.parent / "fixtures" / "repair" / "polyhumaneval"
TEST_LIMITS = Limits(wall_seconds=10.0, memory_bytes=1 << 30)
BUILD_LIMITS = Limits(wall_seconds=60.0)
MANIFEST = '[package]\nname = "program"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n'


@dataclass(frozen=True)
class Case:
    """One program; `start..end` is the part the model wrote."""

    number: int
    task: str
    model: str
    program: bytes
    start: int
    end: int
    compiles: bool

    @property
    def looked_at(self) -> bool:
        """Whether its task is of the half that rules were written for."""
        return hashlib.sha256(self.task.encode()).digest()[0] % 2 == 0

    def protect(self, source: bytes) -> tuple[tuple[int, int], ...]:
        """Everything but the model's part, which alone changes its length."""
        return ((-1, self.start), (len(source) - (len(self.program) - self.end), len(source)))


@dataclass(frozen=True)
class Outcome:
    """What became of one case, by the repair and by the peer (None: not asked)."""

    case: Case
    repair: Repair
    passes: bool
    peer_compiles: bool | None = None
    peer_passes: bool | None = None
    untouched: bool = field(default=True, kw_only=True)


def load() -> list[Case]:
    """All programs, in the order of the file."""
    tasks = {task["task"]: task for task in _lines(DATA / "tasks.jsonl.gz")}
    cases = []
    for number, row in enumerate(_lines(DATA / "candidates.jsonl.gz")):
        task = tasks[row["task"]]
        prelude, written = task["prelude"].encode(), row["candidate"].encode()
        program = prelude + written + b"\n" + task["tests"].encode()
        end = len(prelude) + len(written)
        cases.append(
            Case(number, row["task"], row["model"], program, len(prelude), end, row["compiles"])
        )
    return cases


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


class Bench:
    """Runs cases, each worker in a folder of its own."""

    def __init__(self, toolchain: Toolchain, folder: Path, *, peer: bool) -> None:
        self.toolchain = toolchain
        self.folder = folder
        self.peer = peer

    def outcome(self, case: Case, worker: int) -> Outcome:
        """Repair one case, run its tests, ask the peer."""
        place = self.folder / str(worker)
        (place / "src").mkdir(parents=True, exist_ok=True)
        compiler = stand_alone(case.program, self.toolchain, place)
        result = repair(case.program, compiler, file=compiler.file, protect=case.protect)
        passes = result.compiles and self.passes(result.source, place)
        outside = self._outside(case, case.program) == self._outside(case, result.source)
        if not self.peer or case.compiles:
            return Outcome(case, result, passes, untouched=outside)
        return Outcome(case, result, passes, *self._peer(case, place), untouched=outside)

    def _outside(self, case: Case, source: bytes) -> bytes:
        (_, start), (end, _) = case.protect(source)
        return source[:start] + source[end:]

    def passes(self, program: bytes, place: Path) -> bool:
        """Whether the program, whose main asserts, builds and ends well."""
        source, binary = place / "tested.rs", place / "tested"
        source.write_bytes(program)
        binary.unlink(missing_ok=True)
        argv = [str(self.toolchain.rustc), "--edition=2021", "-Awarnings", str(source)]
        return self._run([*argv, "-o", str(binary)], place, BUILD_LIMITS) and self._run(
            [str(binary)], place, TEST_LIMITS
        )

    def _peer(self, case: Case, place: Path) -> tuple[bool, bool]:
        """(compiles, passes) after `cargo fix --broken-code`."""
        (place / "Cargo.toml").write_text(MANIFEST)
        main = place / "src" / "main.rs"
        main.write_bytes(case.program)
        cargo = str(self.toolchain.cargo)
        fix = [cargo, "fix", "--broken-code", "--allow-no-vcs", "--offline", "--bin=program"]
        self._run(fix, place, BUILD_LIMITS)
        fixed = main.read_bytes()
        compiler = stand_alone(fixed, self.toolchain, place)
        compiles = compiler(fixed).ok
        return compiles, compiles and self.passes(fixed, place)

    def _run(self, argv: Sequence[str], place: Path, limits: Limits) -> bool:
        sandbox = Sandbox.for_slot(place, self.toolchain)
        environment = self.toolchain.environment
        ended = run(
            argv, cwd=place, env=environment, stage=Stage.TEST, limits=limits, sandbox=sandbox
        )
        return ended.ok


def measure(cases: Sequence[Case], bench: Bench, jobs: int) -> list[Outcome]:
    """The outcomes of all cases; progress goes to stderr."""
    workers: SimpleQueue[int] = SimpleQueue()
    for worker in range(jobs):
        workers.put(worker)

    def work(case: Case) -> Outcome:
        worker = workers.get()
        try:
            return bench.outcome(case, worker)
        finally:
            workers.put(worker)

    found = []
    with ThreadPoolExecutor(jobs) as pool:
        for outcome in pool.map(work, cases):
            found.append(outcome)
            if len(found) % 50 == 0:
                print(f"{len(found)} of {len(cases)}", file=sys.stderr)  # noqa: T201
    return found


def summary(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Rates and costs of failing cases."""
    failing = [o for o in outcomes if not o.case.compiles]
    total = len(failing) or 1
    asked = [o for o in failing if o.peer_compiles is not None]
    figures: dict[str, object] = {
        "files": len(failing),
        "compile": sum(o.repair.compiles for o in failing),
        "compile_rate": round(sum(o.repair.compiles for o in failing) / total, 3),
        "pass": sum(o.passes for o in failing),
        "pass_rate": round(sum(o.passes for o in failing) / total, 3),
        "median_seconds": round(statistics.median(o.repair.seconds for o in failing), 3),
        "median_runs": statistics.median(o.repair.rustc_runs for o in failing),
        "most_runs": max(o.repair.rustc_runs for o in failing),
    }
    if asked:
        figures |= {
            "peer_compile": sum(bool(o.peer_compiles) for o in asked),
            "peer_pass": sum(bool(o.peer_passes) for o in asked),
            "peer_only": [o.case.number for o in asked if o.peer_passes and not o.passes],
        }
    return figures


def safety(outcomes: Sequence[Outcome]) -> dict[str, list[int]]:
    """Numbers of the cases that must not exist, or must be looked at."""
    return {
        "protected_part_changed": [o.case.number for o in outcomes if not o.untouched],
        "compiling_changed": [
            o.case.number for o in outcomes if o.case.compiles and o.repair.source != o.case.program
        ],
        "passes_with_code_taken_away": [
            o.case.number
            for o in outcomes
            if o.passes and takes_away(o.case.program, EditSet(o.repair.edits))
        ],
    }


def by_code(outcomes: Iterable[Outcome]) -> list[dict[str, object]]:
    """For each code: files with it, errors, with an edit, tried, helped, files mended, passing."""
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for outcome in outcomes:
        for code, count in outcome.repair.by_code.items():
            row = sums[code]
            row["files"] += 1
            row["errors"] += count.errors
            row["with_edit"] += count.with_edit
            row["tried"] += count.tried
            row["worked"] += count.worked
            row["compile"] += outcome.repair.compiles
            row["pass"] += outcome.passes
    rows = sorted(sums.items(), key=lambda item: item[1]["compile"] - item[1]["files"])
    return [{"code": code, **row} for code, row in rows]


def report(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Everything that is printed, as data."""
    failing = [o for o in outcomes if not o.case.compiles]
    return {
        "all": summary(failing),
        "looked_at": summary([o for o in failing if o.case.looked_at]),
        "held_out": summary([o for o in failing if not o.case.looked_at]),
        "safety": safety(outcomes),
        "codes": by_code(failing),
    }


def lines(figures: dict[str, object]) -> Iterator[str]:
    """The report as text."""
    for name in ("all", "looked_at", "held_out", "safety"):
        yield f"{name}: {json.dumps(figures[name])}"
    columns = ("files", "errors", "with_edit", "tried", "worked", "compile", "pass")
    yield "code     " + "".join(f"{column:>10}" for column in columns)
    rows = figures["codes"]
    for row in rows if isinstance(rows, list) else []:
        yield f"{row['code']:<9}" + "".join(f"{row[column]:>10}" for column in columns)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help="only so many cases, drawn by chance")
    parser.add_argument("--half", choices=["looked_at", "held_out"], help="only one half")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--no-peer", action="store_true", help="without cargo fix")
    parser.add_argument("--failing-only", action="store_true", help="without those that compile")
    parser.add_argument("--out", type=Path, help="write the report as JSON")
    options = parser.parse_args()
    cases = [
        case
        for case in load()
        if (options.half is None or case.looked_at == (options.half == "looked_at"))
        and not (options.failing_only and case.compiles)
    ]
    if options.sample:
        cases = random.Random(0).sample(cases, min(options.sample, len(cases)))
    with tempfile.TemporaryDirectory(prefix="bench-repair-") as folder:
        toolchain = find_toolchain(Path(folder))
        bench = Bench(toolchain, Path(folder), peer=not options.no_peer)
        figures = report(measure(cases, bench, options.jobs))
    for line in lines(figures):
        print(line)  # noqa: T201
    if options.out:
        options.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
