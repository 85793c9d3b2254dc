"""Measure what the critic costs over bare cargo, and what a second slot brings.

Run as `python -m bench.critic`. Makes crates in a temporary folder, gives the same edits
to a judge and to a plain `cargo check` with a target directory of its own, in turn, so
that noise of the machine hits both, and compares medians of one run. Cargo is called from
the toolchain's own folder and, as a person would, through rustup's proxy. The crate with
dependencies needs the registry and is left out, in words, where that can't be reached.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from statistics import median

from critic.judge import Assignment, Judge, open_judge
from critic.review import CriticSettings, Verdict
from critic.toolchain import Toolchain, find_toolchain

TARGET = PurePosixPath("src/shapes.rs")
MANIFEST = '[package]\nname = "measured"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n'
DEPENDENCIES = (
    'tokio = { version = "1", features = ["full"] }\n'
    'clap = { version = "4", features = ["derive"] }\n'
    'serde = { version = "1", features = ["derive"] }\n'
    'serde_json = "1"\nregex = "1"\nurl = "2"\n'
)
FEWEST_PACKAGES = 50
MODULES = 8
MODULE = """//! Counters, number {number}.

use std::collections::HashMap;

/// Counts words.
#[derive(Debug, Clone, Default)]
pub struct Counter {{
    seen: HashMap<String, usize>,
}}

impl Counter {{
    /// Takes a text in.
    pub fn feed(&mut self, text: &str) -> usize {{
        for word in text.split_whitespace() {{
            *self.seen.entry(word.to_lowercase()).or_insert({number}) += 1;
        }}
        self.seen.len()
    }}

    /// The words, the most frequent first.
    pub fn ranked(&self) -> Vec<(&str, usize)> {{
        let mut all: Vec<_> = self.seen.iter().map(|(word, n)| (word.as_str(), *n)).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all
    }}
}}
"""
CANDIDATE = """//! Shapes.

use std::fmt;

/// A plane figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {{
    /// By its radius.
    Circle(f64),
    /// By its sides.
    Rectangle(f64, f64),
}}

impl Shape {{
    /// Its area, in square units.
    pub fn area(self) -> f64 {{
        match self {{
            Shape::Circle(radius) => std::f64::consts::PI * radius * radius,
            Shape::Rectangle(width, height) => width * height,
        }}
    }}

    /// The shape, so many times as large.
    pub fn scaled(self, factor: f64) -> Shape {{
        match self {{
            Shape::Circle(radius) => Shape::Circle(radius * factor),
            Shape::Rectangle(width, height) => Shape::Rectangle(width * factor, height * factor),
        }}
    }}
}}

impl fmt::Display for Shape {{
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {{
        write!(out, "{{:?}} of {{:.2}}", self, self.area())
    }}
}}

/// The largest of the shapes, among those above {number}.
pub fn largest(shapes: &[Shape]) -> Option<Shape> {{
    let large = shapes.iter().copied().filter(|shape| shape.area() > {number}.0);
    large.max_by(|a, b| a.area().total_cmp(&b.area()))
}}
"""


@dataclass(frozen=True)
class Goal:
    """A figure and the bound that it must keep; `most` tells which side of it is good."""

    name: str
    measured: float
    bound: float
    most: bool = True

    @property
    def met(self) -> bool:
        """Whether the figure is on the right side."""
        return self.measured <= self.bound if self.most else self.measured >= self.bound


@dataclass(frozen=True)
class Times:
    """Seconds of one edit, by whom it was checked."""

    judge: list[float]
    cargo: list[float]
    proxy: list[float]


class Unreachable(Exception):  # noqa: N818 - an expected end, named for what it says
    """Cargo could not get the dependencies; the message is its own."""


def candidate(number: int) -> bytes:
    """The file as a model might write it; no two numbers give the same."""
    return CANDIDATE.format(number=number).encode()


def make_crate(folder: Path, dependencies: str = "") -> Path:
    """A small library of several modules with the target as one of them."""
    crate = folder / "measured"
    (crate / "src").mkdir(parents=True)
    (crate / "Cargo.toml").write_text(MANIFEST + dependencies)
    names = [f"counter_{number}" for number in range(MODULES)]
    for number, name in enumerate(names):
        (crate / "src" / f"{name}.rs").write_text(MODULE.format(number=number))
    lines = [f"pub mod {name};\n" for name in (*names, TARGET.stem)]
    (crate / "src" / "lib.rs").write_text("".join(lines))
    (crate / TARGET).write_bytes(candidate(0))
    return crate


def fetch(crate: Path, toolchain: Toolchain) -> None:
    """Resolve and download once, so that nothing of it is measured. Raises Unreachable."""
    argv = (str(toolchain.cargo), "fetch")
    done = subprocess.run(argv, cwd=crate, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Unreachable(done.stderr.strip())


@dataclass(frozen=True)
class Cargo:
    """A cargo to compare with, the PATH on which it finds rustc, its target directory."""

    program: Path
    path: str
    target_dir: Path


def cargos(toolchain: Toolchain, folder: Path) -> list[Cargo]:
    """The toolchain's own, and the one a person's shell finds."""
    path = os.environ.get("PATH", os.defpath)
    proxy = Path(shutil.which("cargo", path=path) or toolchain.cargo)
    return [
        Cargo(toolchain.cargo, toolchain.environment["PATH"], folder / "target-direct"),
        Cargo(proxy, path, folder / "target-proxy"),
    ]


def bare_check(cargo: Cargo, crate: Path, number: int) -> float:
    """Seconds that `cargo check` takes for an edit, from the start of cargo to its end."""
    (crate / TARGET).write_bytes(candidate(number))
    argv = (str(cargo.program), "check")
    places = {"PATH": cargo.path, "CARGO_TARGET_DIR": str(cargo.target_dir)}
    environment = {**os.environ, **places}
    began = time.perf_counter()
    subprocess.run(argv, cwd=crate, env=environment, capture_output=True, check=True)
    return time.perf_counter() - began


def judged(judge: Judge, number: int) -> float:
    """Seconds to a verdict, which must be a PASS."""
    began = time.perf_counter()
    review = judge.judge(candidate(number)).review
    seconds = time.perf_counter() - began
    if review.verdict is not Verdict.PASS:
        raise RuntimeError(f"{review.verdict} where all is well: {review.evidence}")
    return seconds


def in_turn(judge: Judge, crate: Path, bare: Sequence[Cargo], rounds: int) -> Times:
    """The same edits for the judge and for each cargo, whose order moves on every round."""
    times: list[list[float]] = [[] for _ in range(1 + len(bare))]
    for number in range(-1, rounds):  # the one before warms all of them
        for turn in range(len(times)):
            which = (number + turn) % len(times)
            edit = 1_000 + number
            seconds = judged(judge, edit) if not which else bare_check(bare[which - 1], crate, edit)
            if number >= 0:
                times[which].append(seconds)
    return Times(*times)


def compiled_packages(target_dir: Path) -> dict[str, int]:
    """When cargo last started a compiler for each unit: it stamps the unit's fingerprint."""
    return {
        stamp.parent.name: stamp.stat().st_mtime_ns
        for stamp in target_dir.rglob(".fingerprint/*/invoked.timestamp")
    }


def rebuilt(before: dict[str, int], after: dict[str, int]) -> int:
    """How many units of other packages were compiled in between."""
    changed = (unit for unit, stamp in after.items() if before.get(unit) != stamp)
    return sum(not unit.startswith("measured-") for unit in changed)


def throughput(assignment: Assignment, first: Judge, cache: Path, rounds: int) -> float:
    """How much faster two candidates are judged by two slots at once than by one in turn."""
    ratios = []
    with open_judge(assignment, CriticSettings(), cache) as second, ThreadPoolExecutor(2) as pool:
        for number in range(-1, rounds):
            edit = 5_000 + 4 * number
            one = judged(first, edit) + judged(first, edit + 1)
            began = time.perf_counter()
            list(pool.map(judged, (first, second), (edit + 2, edit + 3)))
            if number >= 0:
                ratios.append(one / (time.perf_counter() - began))
    return median(ratios)


def measure(folder: Path, dependencies: str, bound: float, rounds: int) -> Iterator[Goal]:
    """All figures for one kind of crate. Raises Unreachable."""
    folder.mkdir()
    crate = make_crate(folder, dependencies)
    toolchain = find_toolchain(crate)
    if dependencies:
        fetch(crate, toolchain)
    kind = "with dependencies" if dependencies else "without dependencies"
    copy = folder / "bare" / "measured"
    shutil.copytree(crate, copy)
    direct, proxy = cargos(toolchain, folder)
    bare_check(direct, copy, 1)
    shutil.copytree(direct.target_dir, proxy.target_dir)
    assignment = Assignment(crate, TARGET)
    with open_judge(assignment, CriticSettings(), folder / "cache") as judge:
        judge.prepare()
        before = compiled_packages(judge.slot.target_dir)
        times = in_turn(judge, copy, (direct, proxy), rounds)
        write_times(kind, times)
        yield Goal(f"verdict / cargo check, {kind}", ratio(times.judge, times.cargo), bound)
        yield Goal(f"the same through the proxy, {kind}", ratio(times.judge, times.proxy), bound)
        if dependencies:
            after = compiled_packages(judge.slot.target_dir)
            packages = {unit.rpartition("-")[0] for unit in after} - {"measured"}
            yield Goal("packages it depends on", len(packages), FEWEST_PACKAGES, most=False)
            yield Goal("units of dependencies rebuilt", rebuilt(before, after), 0)
        else:
            gain = throughput(assignment, judge, folder / "cache", rounds)
            yield Goal("two slots on two cores / one", gain, 1.7, most=False)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Of the medians."""
    return median(ours) / median(theirs)


def write_times(kind: str, times: Times) -> None:
    """The medians in milliseconds."""
    parts = [
        f"{name} {1000 * median(seconds):.0f}"
        for name, seconds in (
            ("verdict", times.judge),
            ("cargo check", times.cargo),
            ("through the proxy", times.proxy),
        )
    ]
    sys.stdout.write(f"medians of {len(times.judge)} in ms, {kind}: {', '.join(parts)}\n")
    sys.stdout.flush()


def table(goals: Sequence[Goal]) -> str:
    """Goal, measured, met."""
    rows = [f"{'figure':<48}{'goal':>9}{'measured':>10}  met"]
    for goal in goals:
        bound = f"{'≤' if goal.most else '≥'} {goal.bound:g}"
        met = "yes" if goal.met else "NO"
        rows.append(f"{goal.name:<48}{bound:>9}{goal.measured:>10.3g}  {met}")
    return "\n".join(rows) + "\n"


def main() -> int:
    """Measure, print and say by the exit code whether every goal was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="edits of each kind")
    parser.add_argument("--without-dependencies", action="store_true", help="the small crate alone")
    given = parser.parse_args()
    goals: list[Goal] = []
    with tempfile.TemporaryDirectory(prefix="bench-critic-") as folder:
        goals += measure(Path(folder, "plain"), "", 1.10, given.rounds)
        if not given.without_dependencies:
            try:
                goals += measure(Path(folder, "dependent"), DEPENDENCIES, 1.05, given.rounds)
            except Unreachable as error:
                sys.stdout.write(f"left out, the registry can't be reached: {error}\n")
    sys.stdout.write(table(goals))
    return int(not all(goal.met for goal in goals))


if __name__ == "__main__":
    sys.exit(main())
