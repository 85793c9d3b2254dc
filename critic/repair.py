"""Mechanical repair: a bounded search over rustc's suggestions and our own rules.

Knows sources, diagnostics and edits; compiling is handed in as a function. It keeps only
what makes rustc's errors fewer or later, never edits tests, macro bodies or signatures
that others rely on, and never claims more than the compiler said: a file that compiles is
repaired, whether it is right is for tests to say. Never calls a model and writes no file.
"""

from __future__ import annotations

import heapq
import itertools
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from critic.edits import Applicability, Edit, EditError, EditSet, apply, combine, compose, fits
from critic.progress import Compilation, Progress, Score, progress, score
from critic.review import Diagnostic
from critic.rules import propose
from critic.rules.never import leaves_holes
from critic.rules.regions import Region, allowed, blank_tests, test_regions
from critic.rules.source import Source
from critic.rules.suggested import suggested

OPTIONS_PER_ERROR = 6
TRIALS_PER_STATE = 12
ERRORS_LOOKED_AT = 60


@dataclass(frozen=True)
class RepairLimits:
    """Bounds of one search: runs of rustc, seconds, and bytes the file may grow by."""

    rustc_runs: int = 8
    seconds: float = 10.0
    growth: int = 1500


LIMITS = RepairLimits()


@dataclass(frozen=True)
class CodeCount:
    """For one error code: errors met, those with a usable edit, edits tried, edits that helped."""

    errors: int = 0
    with_edit: int = 0
    tried: int = 0
    worked: int = 0


@dataclass(frozen=True)
class Repair:
    """How a search ended.

    `source` is the best text found (the one given, if nothing helped) and `edits` what was
    done to the one given. `verified` is None when there was nothing to verify with; False
    means that it compiles and the tests said no.
    """

    compiles: bool
    errors_before: int
    errors_after: int
    source: bytes
    edits: tuple[Edit, ...] = ()
    rustc_runs: int = 0
    seconds: float = 0.0
    verified: bool | None = None
    by_code: Mapping[str, CodeCount] = field(default_factory=dict)


SIDESTEPS = 3
"""How often a repair may exchange errors for as many others: one mistake hides the next."""


@dataclass(frozen=True)
class _Problem:
    """Errors that are the same mistake, and the edit sets for each, the likeliest first."""

    errors: tuple[Diagnostic, ...]
    options: tuple[tuple[EditSet, ...], ...]

    @property
    def breadth(self) -> int:
        return max(len(choices) for choices in self.options)

    def lines(self) -> set[int]:
        return {error.primary.line for error in self.errors if error.primary}


@dataclass
class _State:
    """A text on the way, with what it took to get there and what is still to try."""

    source: bytes
    compilation: Compilation
    rounds: tuple[tuple[Edit, ...], ...]
    trials: Iterator[tuple[Edit, ...]]
    rank: Score
    sidesteps: int = 0
    suspects: set[int] = field(default_factory=set)

    def errors(self) -> set[tuple[str | None, str, int]]:
        """What is wrong with the text, to tell one set of errors from another."""
        return {(e.code, e.message, e.primary.line) for e in self.compilation.errors if e.primary}


def repair(
    source: bytes,
    compile: Callable[[bytes], Compilation],
    *,
    file: str,
    limits: RepairLimits = LIMITS,
    protect: Callable[[bytes], tuple[Region, ...]] | None = None,
    verify: Callable[[bytes], bool] | None = None,
) -> Repair:
    """Search for edits that make the source compile, within the limits.

    `file` is the name under which rustc reports the source. `protect` names byte ranges
    that are not to be edited, beside those of tests. `verify` (the tests) has the last
    word: while it says no, the search goes on.
    """
    return _Search(source, compile, file, limits, protect, verify).run()


class _Search:
    def __init__(
        self,
        source: bytes,
        compile: Callable[[bytes], Compilation],
        file: str,
        limits: RepairLimits,
        protect: Callable[[bytes], tuple[Region, ...]] | None,
        verify: Callable[[bytes], bool] | None,
    ) -> None:
        self.source = source
        self.compile = compile
        self.file = file
        self.limits = limits
        self.protect = protect
        self.verify = verify
        self.began = time.monotonic()
        self.runs = 0
        self.seen: dict[bytes, Compilation] = {}
        self.counts: Counter[tuple[str, str]] = Counter()
        self.refused: _State | None = None
        self.last: Source | None = None

    def run(self) -> Repair:
        """Best first: the text with the best score is worked on; dead ends give way."""
        first = self._first()
        start = self._state(self.source, first, ())
        if first.ok:
            return self._end(start)
        best, order = start, itertools.count()
        queue = [(start.rank, next(order), start)]
        while queue and self._may_go_on():
            _, _, state = heapq.heappop(queue)
            trial = next(state.trials, None)
            if trial is None:
                continue
            child = self._try(state, trial)
            if child is not None and child.compilation.ok:
                if self.verify is None or self.verify(child.source):
                    return self._end(child, verified=None if self.verify is None else True)
                self.refused = self.refused or child
            elif child is not None and _leads_on(state, child):
                heapq.heappush(queue, (child.rank, next(order), child))
                best = min(best, child, key=lambda s: s.rank)
            heapq.heappush(queue, (state.rank, next(order), state))
        if self.refused is not None:
            return self._end(self.refused, verified=False)
        return self._end(best)

    def _may_go_on(self) -> bool:
        spent = time.monotonic() - self.began
        return self.runs < self.limits.rustc_runs and spent < self.limits.seconds

    def _first(self) -> Compilation:
        """What is wrong at the start, asked without the tests' bodies where those are long."""
        short = blank_tests(self._source(self.source))
        if short.count(b" ") - self.source.count(b" ") > len(self.source) // 4:
            compilation = self._compiled(short)
            # A lint may speak of what only the tests use.
            if any(progress(error) is not Progress.LINTS for error in compilation.errors):
                self.seen[self.source] = compilation
        return self._compiled(self.source)

    def _source(self, text: bytes) -> Source:
        """The text as rules see it; parsed once."""
        if self.last is None or self.last.content != text:
            self.last = Source(text, self.file)
        return self.last

    def _compiled(self, source: bytes) -> Compilation:
        if source not in self.seen:
            self.runs += 1
            self.seen[source] = self.compile(source)
        return self.seen[source]

    def _try(self, state: _State, edits: tuple[Edit, ...]) -> _State | None:
        """The state after the edits, None where they lead nowhere new."""
        try:
            text = apply(state.source, edits)
        except EditError:
            return None
        if text in self.seen or len(text) > len(self.source) + self.limits.growth:
            return None
        child = self._state(text, self._compiled(text), (*state.rounds, edits))
        child.sidesteps = state.sidesteps + (child.rank >= state.rank)
        for code in {edit.code or "syntax" for edit in edits}:
            self.counts[code, "tried"] += 1
            self.counts[code, "worked"] += child.rank < state.rank
        state.suspects = {line for _, _, line in child.errors()}
        return child

    def _state(
        self, text: bytes, compilation: Compilation, rounds: tuple[tuple[Edit, ...], ...]
    ) -> _State:
        state = _State(text, compilation, rounds, iter(()), score(compilation, len(text)))
        if not compilation.ok:
            state.trials = self._trials(state)
        return state

    def _trials(self, state: _State) -> Iterator[tuple[Edit, ...]]:
        """Edits to try on a state: all first options, then other options, then single ones.

        With an error that has no edit nothing can compile, so nothing is tried.
        """
        problems = self._problems(state)
        blocked = [problem for problem in problems if not problem.breadth]
        problems = [problem for problem in problems if problem.breadth]
        if not problems or not all(_follows(problem, problems) for problem in blocked):
            return
        yield from itertools.islice(_distinct(_choices(problems, state)), TRIALS_PER_STATE)

    def _problems(self, state: _State) -> list[_Problem]:
        """The errors, those of one kind together, each with its edits."""
        source = self._source(state.source)
        protected = test_regions(source)
        if self.protect is not None:
            protected += self.protect(state.source)
        grouped: dict[object, list[tuple[Diagnostic, tuple[EditSet, ...]]]] = {}
        for error in state.compilation.errors[:ERRORS_LOOKED_AT]:
            options = tuple(self._options(error, source, protected))
            code = error.code or "syntax"
            if not state.rounds:
                self.counts[code, "errors"] += 1
                self.counts[code, "with_edit"] += bool(options)
            label = error.primary.label if error.primary else None
            names = tuple(_author(option) for option in options)
            grouped.setdefault((error.code, error.message, label, names), []).append(
                (error, options)
            )
        return [
            _Problem(tuple(e for e, _ in group), tuple(o for _, o in group))
            for group in grouped.values()
        ]

    def _options(
        self, error: Diagnostic, source: Source, protected: tuple[Region, ...]
    ) -> Iterator[EditSet]:
        found = suggested(error, source)
        found += propose(error, source)
        found.sort(key=lambda edits: _SURENESS[edits.edits[0].applicability])
        usable = [edits for edits in found if _usable(source, edits, protected)]
        unique = {edits.places: edits for edits in reversed(usable)}.values()
        yield from itertools.islice(reversed(list(unique)), OPTIONS_PER_ERROR)

    def _end(self, state: _State, verified: bool | None = None) -> Repair:
        codes = {code for code, _ in self.counts}
        return Repair(
            compiles=state.compilation.ok,
            errors_before=len(self.seen[self.source].errors),
            errors_after=0 if state.compilation.ok else len(state.compilation.errors),
            source=state.source,
            edits=compose(self.source, state.rounds),
            rustc_runs=self.runs,
            seconds=time.monotonic() - self.began,
            verified=verified,
            by_code={
                code: CodeCount(
                    *(self.counts[code, k] for k in ("errors", "with_edit", "tried", "worked"))
                )
                for code in sorted(codes)
            },
        )


def _leads_on(state: _State, child: _State) -> bool:
    """Whether a text is worth going on with: less wrong, or as much but not the same."""
    if child.rank < state.rank:
        return True
    equal = (child.rank[0], *child.rank[2:]) == (state.rank[0], *state.rank[2:])
    return equal and child.sidesteps <= SIDESTEPS and not state.errors() <= child.errors()


def _usable(source: Source, edits: EditSet, protected: tuple[Region, ...]) -> bool:
    fit = all(fits(source.content, edit) for edit in edits.edits)
    return fit and not leaves_holes(edits) and allowed(source, edits, protected)


def _follows(problem: _Problem, others: Sequence[_Problem]) -> bool:
    """Whether errors come of others that have edits.

    A method is missing while a bound is; an expression has a wrong type while a part of it
    has an error.
    """
    message = problem.errors[0].message
    if message.endswith("but its trait bounds were not satisfied"):
        return True
    if re.search(r"found for slice `\[.*\]`|found for type `str`", message):
        return any("the size for values" in o.errors[0].message for o in others)
    places = [e.primary for other in others for e in other.errors if e.primary]
    return all(
        any(
            whole.byte_start <= part.byte_start and part.byte_end <= whole.byte_end
            for part in places
        )
        for error in problem.errors
        if (whole := error.primary) is not None
    )


_SURENESS = {
    Applicability.MACHINE_APPLICABLE: 0,
    Applicability.RULE: 1,
    Applicability.MAYBE_INCORRECT: 2,
}


def _author(option: EditSet) -> str:
    edit = option.edits[0]
    return edit.rule or edit.applicability.value


def _choices(problems: Sequence[_Problem], state: _State) -> Iterator[tuple[Edit, ...]]:
    """First options together; then one problem's other options; then one problem alone."""
    yield _together(problems, {})
    # What the first trial left wrong points at the choices that were wrong.
    ordered = sorted(range(len(problems)), key=lambda i: not (problems[i].lines() & state.suspects))
    for rank in range(1, OPTIONS_PER_ERROR):
        for index in ordered:
            if rank < problems[index].breadth:
                yield _together(problems, {index: rank})
    for problem in problems:
        for rank in range(problem.breadth):
            yield _together([problem], {0: rank})


def _together(problems: Sequence[_Problem], ranks: Mapping[int, int]) -> tuple[Edit, ...]:
    chosen = [
        choices[min(ranks.get(index, 0), len(choices) - 1)]
        for index, problem in enumerate(problems)
        for choices in problem.options
        if choices
    ]
    taken, _ = combine(dict.fromkeys(chosen))
    return tuple(edit for edits in taken for edit in edits.edits)


def _distinct(trials: Iterator[tuple[Edit, ...]]) -> Iterator[tuple[Edit, ...]]:
    seen: set[frozenset[tuple[int, int, str]]] = set()
    for trial in trials:
        key = frozenset(edit.place for edit in trial)
        if key and key not in seen:
            seen.add(key)
            yield trial
