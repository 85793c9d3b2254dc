"""What kind of failure each pattern is, by who got past it in the end.

Pure. Every time the local model fails a task with a pattern, that is a case; the next pass
of the task closes it and says which class it belongs to.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from critic.review import Verdict
from tessera.anvil.runs import Run, Step
from tessera.records import SeatName


class Class(StrEnum):
    """LOCAL: the same run got past it without the frontier. HINT: a later run did, knowing
    what went before. CAPACITY: only the frontier did. HARD: the frontier failed, too. OPEN:
    nobody tried on. INFRASTRUCTURE: the candidate could not be judged."""

    LOCAL = "local_solvable"
    HINT = "hint_solvable"
    CAPACITY = "capacity"
    HARD = "hard"
    OPEN = "open"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True)
class PatternClass:
    """The cases of one pattern (or kind of fault). `kind` is the class most of them are of."""

    pattern: str
    kind: Class
    counts: Counter[Class]
    solved_by: Counter[SeatName]

    @property
    def cases(self) -> int:
        """How many there are."""
        return self.counts.total()


@dataclass(frozen=True)
class Classes:
    """All patterns, most cases first; and the cases of each class by the day they came up."""

    patterns: tuple[PatternClass, ...]
    by_day: dict[str, Counter[Class]]


@dataclass
class _Case:
    pattern: str
    run: Run
    day: str
    kind: Class = Class.OPEN
    solver: SeatName | None = None


@dataclass
class _Tracker:
    """The cases so far; `waiting` are those of each task that no pass has closed."""

    cases: list[_Case] = field(default_factory=list)
    waiting: defaultdict[tuple[str, ...], list[_Case]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def take(self, run: Run, step: Step) -> None:
        """Take the next step of a run."""
        task = (run.crate, run.target, run.task, run.arm or "")
        day = step.at[:10]
        if step.verdict is Verdict.BLOCKED:
            fault = step.kind or "unnamed"
            self.cases.append(_Case(fault, run, day, Class.INFRASTRUCTURE))
        elif step.verdict is Verdict.PASS:
            for case in self.waiting.pop(task, []):
                case.kind = _class_of(case, run, step.seat)
                case.solver = step.seat
        elif step.seat is SeatName.FRONTIER:
            for case in self.waiting[task]:
                case.kind = Class.HARD
        elif step.seat is SeatName.LOCAL and not self._is_open(task, run, step):
            case = _Case(step.pattern or "unnamed", run, day)
            self.cases.append(case)
            self.waiting[task].append(case)

    def _is_open(self, task: tuple[str, ...], run: Run, step: Step) -> bool:
        """Within one run the same pattern is one case, however often it is met."""
        name = step.pattern or "unnamed"
        return any(case.run is run and case.pattern == name for case in self.waiting[task])


def classes_of(runs: Sequence[Run]) -> Classes:
    """The classes that runs show; `runs` come in the order they began."""
    tracker = _Tracker()
    for run in runs:
        for step in run.steps:
            tracker.take(run, step)
    return Classes(_patterns(tracker.cases), _days(tracker.cases))


def _class_of(case: _Case, run: Run, solver: SeatName) -> Class:
    if solver is SeatName.FRONTIER:
        return Class.CAPACITY
    return Class.LOCAL if case.run is run else Class.HINT


def _patterns(cases: Iterable[_Case]) -> tuple[PatternClass, ...]:
    counts: defaultdict[tuple[str, bool], Counter[Class]] = defaultdict(Counter)
    solvers: defaultdict[tuple[str, bool], Counter[SeatName]] = defaultdict(Counter)
    for case in cases:
        key = (case.pattern, case.kind is Class.INFRASTRUCTURE)
        counts[key][case.kind] += 1
        if case.solver:
            solvers[key][case.solver] += 1
    found = [
        PatternClass(key[0], _most(counter), counter, solvers[key])
        for key, counter in counts.items()
    ]
    return tuple(sorted(found, key=lambda entry: (-entry.cases, entry.pattern)))


def _most(counts: Counter[Class]) -> Class:
    """The class of most cases; an open case says nothing while another is closed."""
    closed = {kind: n for kind, n in counts.items() if kind is not Class.OPEN}
    order = list(Class)
    return min(closed or counts, key=lambda kind: (-counts[kind], order.index(kind)))


def _days(cases: Iterable[_Case]) -> dict[str, Counter[Class]]:
    days: defaultdict[str, Counter[Class]] = defaultdict(Counter)
    for case in cases:
        days[case.day][case.kind] += 1
    return dict(sorted(days.items()))
