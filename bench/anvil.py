"""Measure what asking and telling Anvil costs, with ten thousand claims and with a million.

Run as `python -m bench.anvil`. Fills a database the way dispatches do, fifty claims a
target, then asks and tells it at random targets. The figures are those of one process on
the disk that `--folder` names; `--out` writes them as JSON. A bare commit of one row, made
in turn with the others, says what the disk and the machine allow at that moment.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from critic.review import Axes, Verdict
from tessera.anvil import Anvil, open_anvil
from tessera.records import Claim, SeatName

CLAIMS_PER_TARGET = 50
BATCH = 10_000
SIZES = (10_000, 1_000_000)
ROUNDS = 3_000
GOALS = {"pre_p99_ms": 3.0, "post_p99_ms": 5.0, "bytes_per_claim": 1024.0, "flat": 1.3}
PATTERNS = (
    ("e0308_type_mismatch", "type"),
    ("e0382_use_after_move", "borrow"),
    ("e0106_missing_lifetime_specifier", "lifetime"),
    ("e0277_trait_bound_not_satisfied", "trait"),
    ("e0599_no_such_method", "name"),
    ("test_failed", "test"),
)


@dataclass(frozen=True)
class Figures:
    """One size. Times are milliseconds, `fill` is claims a second."""

    claims: int
    fill: float
    pre_p50_ms: float
    pre_p99_ms: float
    post_p50_ms: float
    post_p99_ms: float
    bare_p50_ms: float
    bare_p99_ms: float
    pre_cpu_ms: float
    post_cpu_ms: float
    bytes_per_claim: float


def made_up(number: int, targets: int, chance: random.Random) -> Claim:
    """A claim with every field but the sources, of the sizes that dispatches write."""
    target = number % targets
    verdict = chance.choices(list(Verdict), (30, 65, 5))[0]
    pattern, cause = chance.choice(PATTERNS) if verdict is Verdict.FAIL else (None, None)
    digest = hashlib.sha256(f"{number}".encode()).hexdigest()
    return Claim(
        crate=f"/home/someone/projects/crate-{target % 100}",
        target=f"src/module_{target}.rs",
        task=f"write_module_{target}",
        seat=chance.choices(list(SeatName), (5, 85, 10))[0],
        verdict=verdict,
        model="ollama_chat/qwen2.5-coder:7b",
        attempt=number % 4 + 1,
        dispatch=f"20260131-120000-{number // (4 * targets) * targets + target:06x}",
        error_pattern=pattern,
        root_cause=cause,
        signature=digest[:16] if pattern else None,
        blocked_kind="dns" if verdict is Verdict.BLOCKED else None,
        tokens_in=chance.randrange(500, 3000),
        tokens_out=chance.randrange(50, 1500),
        cost_usd=0.0,
        seconds={"model": 3.125, "check": 0.421, "repair": 0.203, "test": 0.617},
        axes=Axes(0.5, 1.0, 0.9, 1.0),
        prompt_hash=digest,
        profile=digest[:16],
        at="2026-01-31T12:00:00.000+00:00",
    )


def measured(path: Path, claims: int) -> Figures:
    """Fill a fresh database and measure it."""
    chance = random.Random(claims)
    targets = max(claims // CLAIMS_PER_TARGET, 1)
    with open_anvil(path) as anvil:
        began = time.perf_counter()
        for start in range(0, claims, BATCH):
            numbers = range(start, min(start + BATCH, claims))
            anvil.record([made_up(number, targets, chance) for number in numbers])
        fill = claims / (time.perf_counter() - began)
    size = path.stat().st_size
    with open_anvil(path) as anvil, _bare(path.with_suffix(".bare")) as bare:
        rounds = _rounds(anvil, bare, claims, targets, chance)
        columns = zip(*rounds, strict=True)
        pre, post, raw, *cpu = (statistics.quantiles(times, n=100) for times in columns)
    times = (pre[49], pre[98], post[49], post[98], raw[49], raw[98], cpu[0][49], cpu[1][49])
    return Figures(claims, fill, *times, size / claims)


def _bare(path: Path) -> closing[sqlite3.Connection]:
    """A database with one table and Anvil's settings."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE rows (text)")
    return closing(connection)


def _rounds(
    anvil: Anvil, bare: sqlite3.Connection, claims: int, targets: int, chance: random.Random
) -> Iterator[tuple[float, ...]]:
    """Milliseconds to ask, to tell and for a bare commit; then processor time of the first two."""
    for number in range(claims, claims + ROUNDS):
        claim = made_up(chance.randrange(10**9), targets, chance)
        clocks = [(time.perf_counter(), time.process_time())]
        anvil.pre_attempt(claim.crate, claim.target, claim.task)
        clocks.append((time.perf_counter(), time.process_time()))
        anvil.post_attempt(claim)
        clocks.append((time.perf_counter(), time.process_time()))
        bare.execute("INSERT INTO rows VALUES (?)", (claim.prompt_hash,))
        clocks.append((time.perf_counter(), time.process_time()))
        wall, cpu = (
            [1000 * (later - earlier) for earlier, later in pairwise(column)]
            for column in zip(*clocks, strict=True)
        )
        if number >= claims + 100:  # the first ones open the file
            yield (*wall, *cpu[:2])


def verdicts(small: Figures, large: Figures) -> dict[str, tuple[float, float]]:
    """Each goal: what was measured, and the most it may be."""
    # Of processor time: waiting for the disk and for other programs has no size to grow with.
    flat = max(large.pre_cpu_ms / small.pre_cpu_ms, large.post_cpu_ms / small.post_cpu_ms)
    found = {
        "pre_p99_ms": large.pre_p99_ms,
        "post_p99_ms": large.post_p99_ms,
        "bytes_per_claim": large.bytes_per_claim,
        "flat": flat,
    }
    return {name: (value, GOALS[name]) for name, value in found.items()}


def main() -> int:
    """Measure, print and say by the exit code whether every goal was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs=2, default=SIZES, metavar="CLAIMS")
    parser.add_argument("--folder", type=Path, help="where to make the databases")
    parser.add_argument("--out", type=Path, help="a file for the figures as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        small, large = (measured(Path(folder, f"{n}.db"), n) for n in given.sizes)
    goals = verdicts(small, large)
    lines = [
        "claims     fill/s  pre p50  p99 ms  post p50  p99 ms  bare p50  p99 ms  cpu pre   post"
        "  bytes/claim"
    ]
    lines += [
        f"{f.claims:<9,}  {f.fill:6,.0f}  {f.pre_p50_ms:7.2f}  {f.pre_p99_ms:6.2f}"
        f"  {f.post_p50_ms:8.2f}  {f.post_p99_ms:6.2f}"
        f"  {f.bare_p50_ms:8.2f}  {f.bare_p99_ms:6.2f}"
        f"  {f.pre_cpu_ms:7.2f}  {f.post_cpu_ms:5.2f}  {f.bytes_per_claim:11.0f}"
        for f in (small, large)
    ]
    lines += [
        f"{name}: {value:.2f} ({'met' if value <= most else 'MISSED'}, goal ≤ {most:g})"
        for name, (value, most) in goals.items()
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    if given.out:
        figures = {"small": asdict(small), "large": asdict(large), "goals": goals}
        given.out.write_text(json.dumps(figures, indent=2), encoding="utf-8")
    return int(any(value > most for value, most in goals.values()))


if __name__ == "__main__":
    sys.exit(main())
