"""What each stage's run means for the candidate: pure, from runs to reviews.

A single run is read by `classify`; here it is held against the baseline, the file the
candidate wrote and the list of files that were really compiled. Structure comes first:
where an error lies and whether the crate had it before.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from critic.axes import Change, axes_of, regression
from critic.classify import Classification, classify
from critic.diagnostics import errors, from_messages
from critic.findings import Audit
from critic.patterns import (
    COMPILE_TIMEOUT,
    NO_TESTS_RAN,
    TEST_FAILED,
    TEST_TIMEOUT,
    Pattern,
    leading,
    pattern_of,
    signature,
    text_signature,
)
from critic.review import Diagnostic, Evidence, Review, Run, Stage, Verdict
from critic.testing import RanTests

QUICK = 0.5


@dataclass(frozen=True)
class Facts:
    """What is known of a run besides its output.

    `tree` is the slot's mirror, `root` the workspace in it, `target` the candidate's path in
    the tree. `reached` says that a compilation of this run read the target, `stale` that
    cargo took an earlier one for good enough; `missing_line` is the `mod` line that is lacking.
    """

    tree: Path
    root: Path
    target: Path
    reached: bool
    stale: bool = False
    missing_line: str | None = None

    def place(self, file: str) -> Path:
        """A diagnostic's file as a path in the tree, or as it is when it lies elsewhere."""
        path = (self.root / file).resolve()
        tree = self.tree.resolve()
        return path.relative_to(tree) if path.is_relative_to(tree) else path


@dataclass(frozen=True)
class Baseline:
    """The crate without the candidate: its own errors and whether it was checked in time.

    `in_target` are the errors in the target as it was, which are nobody's excuse.
    """

    errors: tuple[Diagnostic, ...] = ()
    in_target: tuple[Diagnostic, ...] = ()
    ok: bool = True
    seconds: float = 0.0


def blocked(
    kind: str, text: str, stage: Stage, *, retryable: bool = False, rule: str = ""
) -> Review:
    """A BLOCKED review with its one piece of evidence."""
    evidence = (Evidence(rule or kind, text),)
    return Review(Verdict.BLOCKED, kind, retryable, stage=stage, evidence=evidence)


def system_fault(error: OSError) -> Review:
    """BLOCKED for what the operating system refused the critic itself."""
    kinds = {
        errno.ENOSPC: "disk_full",
        errno.EDQUOT: "disk_full",
        errno.EACCES: "permission",
        errno.EPERM: "permission",
        errno.EROFS: "read_only_fs",
    }
    kind = kinds.get(error.errno or 0, "environment")
    return blocked(kind, str(error), Stage.PREFLIGHT, rule="system_call_failed")


def unreadable(run: Run, evidence: Evidence) -> Review:
    """BLOCKED for a crate whose manifest cargo does not take; nothing was judged yet."""
    found = read_run(run) if run.argv else None
    kind = found.kind if found and found.verdict is Verdict.BLOCKED else "baseline"
    return Review(
        Verdict.BLOCKED, kind, retryable=False, stage=Stage.PREFLIGHT, evidence=(evidence,)
    )


def baseline_of(run: Run, facts: Facts) -> Baseline:
    """What the crate's own check showed, leaving out the errors in the target itself."""
    own = own_errors(run, facts)
    elsewhere = tuple(error for error in own if not _is_in(error, facts))
    inside = tuple(error for error in own if _is_in(error, facts))
    return Baseline(elsewhere, inside, run.ok, run.seconds)


def after_baseline(run: Run) -> Review | None:
    """BLOCKED when cargo could not work at all; errors in sources are held against later."""
    if run.ok:
        return None
    if run.timed_out:
        return blocked("timeout", _stopped(run), Stage.BASELINE, retryable=True)
    found = read_run(run)
    if found.verdict is Verdict.BLOCKED:
        return _plain(found, Stage.BASELINE)
    if any(error.primary for error in errors(from_messages(run.messages))):
        return None
    return blocked("baseline", found.evidence.text, Stage.BASELINE, rule=found.evidence.rule)


def after_fetch(run: Run, *, asked: bool) -> Review | None:
    """FAIL when the index answered and lacks what the task `asked` for; what the crate itself
    asks for in vain is no candidate's doing."""
    if run.ok:
        return None
    found = read_run(run)
    if found.verdict is Verdict.FAIL and not asked:
        return blocked("baseline", found.evidence.text, Stage.FETCH, rule=found.evidence.rule)
    return _plain(found, Stage.FETCH)


def after_check(run: Run, baseline: Baseline, facts: Facts) -> Review | None:
    """None when the candidate compiles and really was compiled."""
    if run.limit is not None:
        return _over_limit(run, baseline)
    if run.ok:
        return None if facts.reached else _unreached(facts, run.stage)
    found = read_run(run)
    own = own_errors(run, facts)
    if found.verdict is Verdict.BLOCKED or not own:
        return _plain(found, run.stage)
    known = {_identity(error) for error in baseline.errors}
    new = [e for e in own if _is_in(e, facts) or _identity(e) not in known]
    owed = [e for e in own if _names_module(e, facts.target)]
    if not new and not owed:
        first = own[0].primary
        where = f"{first.file}:{first.line}: " if first else ""
        text = f"the crate does not compile without the candidate: {where}{own[0].message}"
        return blocked("baseline", text, Stage.BASELINE, rule="baseline_has_error")
    return code_failure(new or owed, run, found.kind)


def after_tests_built(run: Run, baseline: Baseline, facts: Facts) -> Review | None:
    """What a failed build of the tests means; a test file that can't be parsed is not the
    candidate's doing."""
    if run.limit is not None:
        return _over_limit(run, baseline)
    if run.ok:
        return None
    found = read_run(run)
    own = own_errors(run, facts)
    if found.verdict is Verdict.BLOCKED or not own:
        return _plain(found, run.stage)
    lead = leading(own) or own[0]
    if lead.code is None and not _is_in(lead, facts) and lead.primary is not None:
        text = f"{lead.primary.file}:{lead.primary.line}: {lead.message}"
        return blocked("baseline", text, Stage.BASELINE, rule="test_file_does_not_parse")
    return code_failure(own, run, found.kind)


def code_failure(found: Sequence[Diagnostic], run: Run, kind: str | None) -> Review:
    """FAIL for errors (or denied warnings) of the compiler."""
    lead = leading(found) or found[0]
    pattern = pattern_of(lead)
    place = f" ({lead.primary.file}:{lead.primary.line})" if lead.primary else ""
    code = f"[{lead.code}] " if lead.code else ""
    return Review(
        Verdict.FAIL,
        kind=kind or "code",
        error_pattern=pattern.slug,
        root_cause=pattern.root_cause.value,
        signature=signature(found) or text_signature(pattern.slug, lead.message),
        stage=run.stage,
        evidence=(Evidence("compiler_error", f"{code}{lead.message}{place}", _command(run)),),
        diagnostics=tuple(found),
    )


def after_audit(audit: Audit, target: Path) -> Review | None:
    """FAIL when the audit found something that a green check must not hide."""
    failing = [finding for finding in audit.findings if finding.fails]
    if not failing:
        return None
    lead = failing[0]
    rules = sorted({finding.rule for finding in failing})
    tampering = any(rule.startswith("tests_") for rule in rules)
    return Review(
        Verdict.FAIL,
        kind="tampering" if tampering else lead.axis.value,
        error_pattern=lead.rule.value,
        root_cause=lead.axis.value,
        signature="audit:" + ",".join(rules),
        stage=Stage.AUDIT,
        evidence=tuple(Evidence(f.rule, f"{target}:{f.line}: {f.text}") for f in failing),
    )


def after_lint(run: Run, facts: Facts) -> tuple[Review | None, int]:
    """FAIL for clippy's warnings in the candidate; also how many there were."""
    if run.timed_out:
        return blocked("timeout", "clippy ran out of time", Stage.LINT, retryable=True), 0
    messages = [d for d in from_messages(run.messages) if d.level in ("warning", "error")]
    mine = [d for d in messages if _is_in(d, facts)]
    if mine:
        review = code_failure(mine, run, "lint")
        evidence = (replace(review.evidence[0], rule="clippy"),)
        return replace(review, evidence=evidence), len(mine)
    return (None if run.ok else _plain(read_run(run), Stage.LINT)), 0


def after_tests(tested: RanTests, seconds: float) -> Review | None:
    """FAIL when a test failed, was stopped at a limit, or a name matched none."""
    if tested.over_limit == "wall":
        text = f"{', '.join(tested.failed)} did not end within {seconds:.0f} s"
        return _tests_failed("timeout_code", TEST_TIMEOUT, text, tested)
    if tested.failed:
        text = f"failed: {', '.join(tested.failed)}"
        return _tests_failed("test_failed", TEST_FAILED, text, tested)
    if tested.missing:
        text = f"no test ran for {', '.join(tested.missing)}"
        return _tests_failed("test_failed", NO_TESTS_RAN, text, tested)
    return None


def _tests_failed(kind: str, pattern: Pattern, text: str, tested: RanTests) -> Review:
    output = (Evidence("test_output", tested.output),) if tested.output else ()
    return Review(
        Verdict.FAIL,
        kind=kind,
        error_pattern=pattern.slug,
        root_cause=pattern.root_cause.value,
        signature=text_signature(pattern.slug, f"{text}\n{tested.output}"),
        stage=Stage.TEST,
        evidence=(Evidence(pattern.slug, text), *output),
    )


def passed(tested: RanTests | None, facts: Facts) -> Review:
    """PASS, saying what vouches for it."""
    evidence = [Evidence("compiled", f"{facts.target.as_posix()} is among the compiled inputs")]
    notes: tuple[str, ...] = ()
    if tested is None:
        notes = ("no test was named: nothing but the compiler vouches for this",)
    else:
        evidence.append(Evidence("tests_passed", f"{tested.ran} tests ran, none failed"))
    return Review(
        Verdict.PASS,
        stage=Stage.TEST if tested else Stage.CHECK,
        evidence=tuple(evidence),
        notes=notes,
    )


def with_axes(review: Review, audit: Audit, tested: RanTests | None, warnings: int) -> Review:
    """The review with its scores; what could not be judged has none."""
    if review.verdict is Verdict.BLOCKED:
        return review
    broken = sum(d.level.startswith("error") for d in review.diagnostics)
    ran = tested or RanTests()
    scores = axes_of(
        audit,
        errors=broken,
        tests_passed=max(ran.ran - len(ran.failed), 0),
        tests_total=max(ran.ran, len(ran.failed)),
        warnings=warnings,
    )
    return replace(review, axes=scores)


def with_regression(review: Review, earlier: Sequence[Review]) -> Review:
    """The review, saying which of its scores got worse and which still fail as before."""
    if review.axes is None:
        return review
    moved = regression(review.axes, [r.axes for r in earlier if r.axes is not None])
    notes = tuple(
        f"{axis.value}: {change.value}"
        for axis, change in moved.items()
        if change in (Change.WORSE, Change.STILL_FAILING)
    )
    return replace(review, notes=(*review.notes, *notes))


def read_run(run: Run) -> Classification:
    """A run as `classify` reads it."""
    return classify(
        exit_code=run.exit_code,
        stderr=run.stderr,
        messages=run.messages,
        phase=run.stage,
        signal=run.signal,
        timed_out=run.timed_out,
        stdout=run.stdout,
    )


def own_errors(run: Run, facts: Facts) -> list[Diagnostic]:
    """The errors whose place is in the person's own sources."""
    return [
        error
        for error in errors(from_messages(run.messages))
        if error.primary is not None and not facts.place(error.primary.file).is_absolute()
    ]


def errors_in_target(run: Run, facts: Facts) -> bool:
    """Whether the run shows an error in the candidate's own file."""
    return any(_is_in(error, facts) for error in own_errors(run, facts))


def _identity(error: Diagnostic) -> tuple[str, str, str]:
    return (error.code or "", error.message, error.primary.file if error.primary else "")


def _is_in(error: Diagnostic, facts: Facts) -> bool:
    return error.primary is not None and facts.place(error.primary.file) == facts.target


def _names_module(error: Diagnostic, target: Path) -> bool:
    """Whether an error elsewhere speaks of the candidate's module: what it failed to define.

    Only what rustc sets in backquotes counts: a short name may be a word of the sentence.
    """
    name = target.parent.name if target.name == "mod.rs" else target.stem
    texts = [error.message, *(span.label or "" for span in error.spans)]
    return any(re.search(rf"`[^`]*\b{re.escape(name)}\b[^`]*`", text) for text in texts)


def _over_limit(run: Run, baseline: Baseline) -> Review:
    """FAIL for a build that goes over a limit which the crate's own check keeps easily."""
    text = _stopped(run)
    wall = run.limit == "wall"
    if not baseline.ok or (wall and baseline.seconds >= QUICK * run.seconds):
        kind = "timeout" if wall else "resource_limit"
        return blocked(kind, text, run.stage, retryable=True, rule="over_limit")
    slug = COMPILE_TIMEOUT.slug if wall else f"compile_over_{run.limit}_limit"
    return Review(
        Verdict.FAIL,
        kind="timeout_code" if wall else "over_limit",
        error_pattern=slug,
        root_cause=COMPILE_TIMEOUT.root_cause.value,
        signature=f"{slug}:{run.stage}",
        stage=run.stage,
        evidence=(Evidence("over_limit", text, _command(run)),),
    )


def _stopped(run: Run) -> str:
    limit = f"over its {run.limit} limit " if run.limit else ""
    return f"`{_command(run)}` was stopped {limit}after {run.seconds:.0f} s"


def _unreached(facts: Facts, stage: Stage) -> Review:
    lacking = facts.missing_line
    if facts.stale:
        text = f"cargo did not compile {facts.target.as_posix()} anew, though it was changed"
        return blocked("stale_build", text, stage, retryable=True, rule="artifact_is_fresh")
    advice = f"; {lacking} is missing" if lacking else "; no cargo target that was built reads it"
    text = f"{facts.target.as_posix()} was not compiled{advice}"
    return blocked("unreachable_target", text, stage, rule="not_in_dep_info")


def _plain(found: Classification, stage: Stage) -> Review:
    """The review that a run's classification alone amounts to."""
    failed = found.verdict is Verdict.FAIL
    return Review(
        found.verdict,
        kind=found.kind,
        retryable=None if failed else found.retryable,
        error_pattern=found.error_pattern,
        root_cause=found.root_cause,
        signature=text_signature(found.error_pattern or "", found.evidence.text)
        if failed
        else None,
        stage=stage,
        evidence=(found.evidence,),
    )


def _command(run: Run) -> str:
    """The command as a person would type it."""
    words = list(run.argv)
    cargo = next((i for i, word in enumerate(words) if Path(word).name == "cargo"), 0)
    return " ".join(["cargo", *words[cargo + 1 :]]) if words else ""
