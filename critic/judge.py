"""The judge: one candidate through the stages, to a review with evidence.

The one entry to the critic. It owns a slot for as long as it is open, runs the tools in
the sandbox and leaves every decision to the pure rulings. The person's crate is only
read.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import quote

from critic import rulings
from critic.audit import audit
from critic.crate import CrateUnreadable, Member, read_crate
from critic.depinfo import inputs_of
from critic.findings import Audit
from critic.manifest import outer_configs, with_dependencies
from critic.modules import missing_declaration, with_declaration
from critic.process import Limits, run
from critic.review import CriticSettings, Review, Run, Stage
from critic.sandbox import Sandbox, SandboxFailed, detect
from critic.slot import Change, NoFreeSlot, Slot, open_slot
from critic.testing import RanTests, read_tests, together
from critic.toolchain import Toolchain, ToolchainMissing, find_toolchain

SHORTEST_TEST_SECONDS = 0.5
# What cargo leaves as it is when it writes a path as a URL.
PLAIN_IN_PACKAGE_IDS = "/!$&'()*+,-.:;=@[]_|~"


@dataclass(frozen=True)
class Assignment:
    """What is to be judged: one file of one crate.

    `task` is the text the file was written for and `wanted` the items it names; both are
    empty when a crate is judged as it stands.
    """

    crate: Path
    target: PurePosixPath
    tests: tuple[str, ...] = ()
    clippy: bool = False
    declare: bool = False
    dependencies: Mapping[str, Any] = field(default_factory=dict)
    task: str = ""
    wanted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """A review, and the file changes it speaks of."""

    review: Review
    changes: tuple[Change, ...] = ()


class NotJudgeable(Exception):  # noqa: N818 - an expected end, named for what it says
    """The crate can't be judged at all; `review` is BLOCKED and says why."""

    def __init__(self, review: Review) -> None:
        super().__init__(review.evidence[0].text)
        self.review = review


class Judge:
    """Judges candidates for one assignment; `open_judge` makes one, leaving it frees its slot."""

    def __init__(
        self, assignment: Assignment, settings: CriticSettings, toolchain: Toolchain, slot: Slot
    ) -> None:
        self.assignment = assignment
        self.settings = settings
        self.toolchain = toolchain
        self.slot = slot
        self.crate = slot.crate
        self.target = (self.crate.directory / assignment.target).relative_to(self.crate.base)
        self.configs = outer_configs(self.crate, toolchain.cargo_home)
        self.sandbox = Sandbox.for_slot(
            slot.path, toolchain, mode=settings.sandbox, readable=self.configs
        )
        self._baseline: rulings.Baseline | None = None
        self._preparing = threading.Lock()
        self._cancelled = threading.Event()

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self.slot.lock.close()

    def cancel(self) -> None:
        """End what runs on another thread; nothing can be judged after that."""
        self._cancelled.set()

    @property
    def warning(self) -> str | None:
        """What a person must know when candidates run unconfined."""
        return None if self.settings.sandbox == "off" else detect().warning

    @property
    def target_is_broken(self) -> bool:
        """Whether the target is there and does not compile; known once `prepare` is done."""
        return self._baseline is not None and bool(self._baseline.in_target)

    def prepare(self) -> Review | None:
        """Fetch and check the crate without a candidate; a BLOCKED review when that can't be.

        May run on another thread while a model writes. A later call returns at once, or
        tries again what could not be done.
        """
        with self._preparing:
            return None if self._baseline is not None else _guarded(self._prepare)

    def judge(self, candidate: bytes, earlier: Sequence[Review] = ()) -> Judgement:
        """Judge a candidate; `earlier` are the reviews of the dispatch so far."""
        blocked = self.prepare()
        if blocked is not None or self._baseline is None:
            return Judgement(blocked or rulings.blocked("baseline", "no baseline", Stage.BASELINE))
        clock: dict[str, float] = {}
        changes: list[Change] = []

        def work() -> Review:
            self.slot.sync()
            self.slot.place(self.target, candidate)
            changes.extend(self.slot.changes())
            return self._stages(candidate, clock)

        review = rulings.with_regression(_guarded(work), earlier)
        return Judgement(replace(review, seconds=clock), tuple(changes))

    def judge_as_it_stands(self) -> Review:
        """Judge the crate itself: any error in its own sources is a FAIL."""
        clock: dict[str, float] = {}

        def work() -> Review:
            self.slot.sync()
            blocked = self._fetch() if self.crate.has_registry_dependencies else None
            if blocked is not None:
                return blocked
            with _timed(clock, Stage.CHECK):
                checked = self.check(Stage.CHECK)
            facts = replace(self._facts(checked), reached=True)
            return rulings.after_check(checked, rulings.Baseline(), facts) or rulings.passed(
                None, facts
            )

        return replace(_guarded(work), seconds=clock)

    def _stages(self, candidate: bytes, clock: dict[str, float]) -> Review:
        baseline = self._baseline or rulings.Baseline()
        # The audit needs nothing of cargo's, so it is done while cargo works.
        with ThreadPoolExecutor(1) as beside:
            auditing = beside.submit(self._audit, candidate)
            with _timed(clock, Stage.CHECK):
                checked = self.check(Stage.CHECK)
                facts = self._facts(checked)
                if checked.ok and facts.stale:
                    self.slot.place(self.target, candidate)
                    checked = self.check(Stage.CHECK)
                    facts = self._facts(checked)
                elif checked.ok and not facts.reached:
                    checked, facts = self._look_wider(checked, facts)
            found = auditing.result()
        ruling = rulings.after_check(checked, baseline, facts)
        ruling = ruling or rulings.after_audit(found, self.target)
        warnings = 0
        if ruling is None and self.assignment.clippy:
            with _timed(clock, Stage.LINT):
                linted = self._cargo("clippy", Stage.LINT, *self._selection())
            ruling, warnings = rulings.after_lint(linted, facts)
        tested: RanTests | None = None
        if ruling is None and self.assignment.tests:
            with _timed(clock, Stage.TEST):
                ruling, tested = self._test(baseline, facts)
        ruling = ruling or rulings.passed(tested, facts)
        return rulings.with_axes(ruling, found, tested, warnings)

    def _look_wider(self, checked: Run, facts: rulings.Facts) -> tuple[Run, rulings.Facts]:
        """Among all targets for one that reads a file which a plain check does not reach.

        Of those others only what concerns the file counts: they have no baseline.
        """
        wide = self.check(Stage.CHECK, "--all-targets")
        wider = self._facts(wide)
        concerned = wider.reached or rulings.errors_in_target(wide, wider)
        return (wide, wider) if concerned else (checked, facts)

    def _prepare(self) -> Review | None:
        self._lay_overlay()
        self.slot.sync()
        if self.crate.has_registry_dependencies or self.assignment.dependencies:
            blocked = self._fetch()
            if blocked is not None:
                return blocked
        if self.slot.read(self.target) is None:
            self.slot.place(self.target, b"")
        checked = self.check(Stage.BASELINE)
        blocked = rulings.after_baseline(checked)
        if blocked is None:
            self._baseline = rulings.baseline_of(checked, self._facts(checked))
        return blocked

    def _lay_overlay(self) -> None:
        """Put what the task lets change beside its file into the slot's overlay."""
        if self.assignment.dependencies:
            manifest = self.crate.directory / "Cargo.toml"
            content = with_dependencies(self._read(manifest), self.assignment.dependencies)
            self.slot.overlay[manifest.relative_to(self.crate.base)] = content
        lacking = self._missing_declaration() if self.assignment.declare else None
        if lacking is not None:
            parent, line = lacking
            content = with_declaration(self._read(parent), line)
            self.slot.overlay[parent.relative_to(self.crate.base)] = content

    def _missing_declaration(self) -> tuple[Path, str] | None:
        return missing_declaration(self.crate, self.crate.base / self.target, self._read)

    def _read(self, path: Path) -> bytes:
        return self.slot.read(path.relative_to(self.crate.base)) or b""

    def _fetch(self) -> Review | None:
        """Download what is missing; nothing is asked of the network when all is there."""
        if self._cargo("fetch", Stage.FETCH, "--offline").ok:
            return None
        asked = bool(self.assignment.dependencies)
        return rulings.after_fetch(self._cargo("fetch", Stage.FETCH), asked=asked)

    def check(self, stage: Stage, *flags: str) -> Run:
        """Cargo's check of the target, and of the members that use its crate, whose calls it
        may break; in the sandbox and offline."""
        selection = self._selection()
        users = () if selection else self.crate.dependents
        packages = [word for m in users for word in ("--package", self._specification(m))]
        return self._cargo("check", stage, *packages, *selection, *flags)

    def _selection(self) -> tuple[str, ...]:
        """The flags that make cargo compile the target; none for a module of lib or bin."""
        path = self.crate.base / self.target
        for entry in sorted(self.crate.targets, key=lambda entry: entry.source != path):
            folder = entry.source.parent if entry.source.name == "main.rs" else entry.source
            if entry.kind in ("example", "test", "bench") and path.is_relative_to(folder):
                return entry.selector
        return ()

    def _test(
        self, baseline: rulings.Baseline, facts: rulings.Facts
    ) -> tuple[Review | None, RanTests]:
        """Build the named tests, then run each binary by itself."""
        integration = [n for n in self.assignment.tests if self.crate.test_target(n)]
        filters = [n for n in self.assignment.tests if n not in integration]
        deadline = time.monotonic() + self.settings.test_seconds
        parts: list[RanTests] = []
        missing: list[str] = []
        jobs: list[tuple[str, str, tuple[str, ...]]] = [
            *((f"--test={name}", name, ()) for name in integration),
            *(("--tests", name, (name,)) for name in filters),
        ]
        for flag, name, words in jobs:
            built = self._cargo("test", Stage.TEST, "--no-run", flag)
            ruling = rulings.after_tests_built(built, baseline, facts)
            if ruling is not None:
                return ruling, together(parts)
            tested = together(
                read_tests(self._run_test([binary, *words], deadline), name)
                for binary in _test_binaries(built)
            )
            parts.append(tested)
            if not tested.ran and not tested.failed:
                missing.append(name)
        tested = together(parts, missing)
        return rulings.after_tests(tested, self.settings.test_seconds), tested

    def _run_test(self, argv: Sequence[str], deadline: float) -> Run:
        """Run a test binary as cargo would, but with nothing that was built writable."""
        seconds = max(deadline - time.monotonic(), SHORTEST_TEST_SECONDS)
        scratch = self.slot.target_dir / "tmp"
        scratch.mkdir(exist_ok=True)
        confined = replace(
            self.sandbox,
            writable=(self.slot.tree, scratch),
            readable=(*self.sandbox.readable, self.slot.path),
        )
        libraries = (self.slot.target_dir / "debug" / "deps", self.toolchain.sysroot / "lib")
        env = {
            **self._environment(self.toolchain.environment),
            "CARGO": str(self.toolchain.cargo),
            "CARGO_MANIFEST_DIR": str(self.slot.directory),
            "CARGO_PKG_NAME": self.crate.name,
            "CARGO_PKG_VERSION": self.crate.version,
            "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
        }
        return run(
            argv,
            cwd=self.slot.directory,
            env=env,
            stage=Stage.TEST,
            limits=self._limits(seconds),
            sandbox=confined,
            cancel=self._cancelled,
        )

    def _cargo(self, command: str, stage: Stage, *flags: str) -> Run:
        """Run cargo in the slot; only `fetch`, which runs no code, may use the network."""
        fetching = command == "fetch"
        argv = [str(self.toolchain.cargo), command]
        for config in self.configs:
            argv += ["--config", str(config)]
        if not fetching:
            argv += ["--message-format=json", "--offline"]
            argv += ["--package", self._specification(self.crate.member)]
        seconds = self.settings.fetch_seconds if fetching else self.settings.check_seconds
        environment = self.toolchain.fetch_environment if fetching else self.toolchain.environment
        result = run(
            [*argv, *flags],
            cwd=self.slot.directory,
            env=self._environment(environment),
            stage=stage,
            limits=self._limits(seconds),
            sandbox=self.sandbox.online() if fetching else self.sandbox,
            cancel=self._cancelled,
        )
        self.slot.ran()
        return result

    def _specification(self, member: Member) -> str:
        """A package as cargo names it, so that no other can be taken for it."""
        place = quote(str(self.slot.inside(member.directory)), safe=PLAIN_IN_PACKAGE_IDS)
        return f"path+file://{place}#{member.name}@{member.version}"

    def _environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        return {**environment, "CARGO_TARGET_DIR": str(self.slot.target_dir)}

    def _limits(self, seconds: float) -> Limits:
        return Limits(wall_seconds=seconds, memory_bytes=self.settings.memory_bytes)

    def _facts(self, checked: Run) -> rulings.Facts:
        target = (self.slot.tree / self.target).resolve()
        own = [
            message
            for message in checked.messages
            if message.get("reason") == "compiler-artifact"
            and Path(message.get("manifest_path", "/")).is_relative_to(self.slot.root)
        ]
        reading = [message for message in own if target in inputs_of(message, self.slot.root)]
        lacking = None if reading else self._missing_declaration()
        return rulings.Facts(
            tree=self.slot.tree.resolve(),
            root=self.slot.root.resolve(),
            target=self.target,
            reached=any(not message.get("fresh") for message in reading),
            stale=bool(reading) and all(message.get("fresh") for message in reading),
            missing_line=None if lacking is None else f"`{lacking[1]}` in {lacking[0]}",
        )

    def _audit(self, candidate: bytes) -> Audit:
        before = self.slot.read(self.target)
        return audit(
            candidate.decode("utf-8", "replace"),
            before=None if before is None else before.decode("utf-8", "replace"),
            wanted=self.assignment.wanted,
            task=self.assignment.task,
            allow=self.settings.allow,
        )


def open_judge(assignment: Assignment, settings: CriticSettings, cache: Path) -> Judge:
    """A judge for the assignment. Raises NotJudgeable when the crate can't be judged here."""
    try:
        toolchain = find_toolchain(assignment.crate)
        crate = read_crate(assignment.crate, toolchain)
        return Judge(assignment, settings, toolchain, open_slot(crate, cache))
    except ToolchainMissing as error:
        review = rulings.blocked("toolchain_missing", str(error), Stage.PREFLIGHT)
    except CrateUnreadable as error:
        review = rulings.unreadable(error.run, error.evidence)
    except NoFreeSlot as error:
        review = rulings.blocked("lock", str(error), Stage.PREFLIGHT, retryable=True)
    except OSError as error:
        review = rulings.system_fault(error)
    raise NotJudgeable(review)


def check_crate(crate: Path, target: str | None, settings: CriticSettings, cache: Path) -> Review:
    """The critic's review of a crate as it stands, or of one of its files. Raises NotJudgeable."""
    assignment = Assignment(crate, PurePosixPath(target or "Cargo.toml"))
    with open_judge(assignment, settings, cache) as judge:
        if target is None:
            return judge.judge_as_it_stands()
        return judge.judge((crate / target).read_bytes()).review


Outcome = TypeVar("Outcome", Review, Review | None)


def _guarded(work: Callable[[], Outcome]) -> Outcome | Review:
    """Do it; what the machine refuses the critic itself becomes a review."""
    try:
        return work()
    except SandboxFailed as error:
        text = f"the sandbox could not be set up: {error}"
        return rulings.blocked("sandbox", text, Stage.PREFLIGHT)
    except OSError as error:
        return rulings.system_fault(error)


def _test_binaries(built: Run) -> list[str]:
    """The test executables that cargo says it has built."""
    return [
        message["executable"]
        for message in built.messages
        if message.get("executable") and message.get("profile", {}).get("test")
    ]


@contextlib.contextmanager
def _timed(clock: dict[str, float], stage: Stage) -> Iterator[None]:
    """Add the block's wall time to the stage's."""
    began = time.monotonic()
    try:
        yield
    finally:
        clock[stage.value] = clock.get(stage.value, 0.0) + time.monotonic() - began
