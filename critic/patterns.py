"""Names for failures: error pattern, root cause, leading diagnostic, signature.

Pure. Knows rustc's codes and sentences (`critic.codes`), its lints by name, and the names of
the failures that no diagnostic tells of (tests, manifest, dependencies). Never judges whether
a failure is the candidate's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from critic.codes import CODES, SENTENCES, RootCause
from critic.review import Diagnostic


@dataclass(frozen=True)
class Pattern:
    """The name of a failure: a stable slug, rustc's code where it has one, the root cause."""

    slug: str
    code: str | None
    root_cause: RootCause


TEST_FAILED = Pattern("test_failed", None, RootCause.TEST)
TEST_PANICKED = Pattern("test_panicked", None, RootCause.TEST)
TEST_ABORTED = Pattern("test_aborted", None, RootCause.TEST)
TEST_TIMEOUT = Pattern("test_timeout", None, RootCause.TIME)
NO_TESTS_RAN = Pattern("no_tests_ran", None, RootCause.TEST)
PROGRAM_FAILED = Pattern("program_failed", None, RootCause.TEST)
COMPILE_TIMEOUT = Pattern("compile_timeout", None, RootCause.TIME)
COMPILER_CRASH = Pattern("compiler_crash", None, RootCause.COMPILER)
COMPILE_ERROR_MACRO = Pattern("compile_error_macro", None, RootCause.MACRO)
UNDEFINED_SYMBOL = Pattern("undefined_symbol", None, RootCause.LINK)
BUILD_SCRIPT_FAILED = Pattern("build_script_failed", None, RootCause.BUILD_SCRIPT)
MANIFEST_INVALID = Pattern("manifest_invalid", None, RootCause.MANIFEST)
LOCK_FILE_STALE = Pattern("lock_file_stale", None, RootCause.MANIFEST)
CRATE_NOT_FOUND = Pattern("crate_not_in_registry", None, RootCause.DEPENDENCY)
VERSION_CONFLICT = Pattern("no_version_fits", None, RootCause.DEPENDENCY)
FEATURE_NOT_FOUND = Pattern("feature_not_found", None, RootCause.DEPENDENCY)
GIT_REFERENCE_NOT_FOUND = Pattern("git_reference_not_found", None, RootCause.DEPENDENCY)
RUST_VERSION_TOO_NEW = Pattern("rust_version_too_new", None, RootCause.DEPENDENCY)
DEPENDENCY_BROKEN = Pattern("dependency_does_not_compile", None, RootCause.DEPENDENCY)
UNNAMED_ERROR = Pattern("unnamed_error", None, RootCause.OTHER)

# Which of several errors names the failure: the earlier the compiler's stage, the more of the
# others it may have caused.
_STAGE_OF = {
    cause: stage
    for stage, causes in enumerate(
        (
            (RootCause.SYNTAX,),
            (RootCause.MACRO, RootCause.IMPORT, RootCause.ATTRIBUTE, RootCause.FEATURE),
            (RootCause.NAME, RootCause.VISIBILITY),
            (RootCause.TYPE, RootCause.GENERIC, RootCause.PATTERN, RootCause.CONST),
            (RootCause.TRAIT, RootCause.ASYNC),
            (RootCause.BORROW, RootCause.LIFETIME, RootCause.UNSAFE),
            (RootCause.LINT,),
        )
    )
    for cause in causes
}
_LAST_STAGE = 7


def pattern_of(diagnostic: Diagnostic) -> Pattern:
    """The name of one diagnostic: by its code, by its lint's name, else by its sentence."""
    code = diagnostic.code
    if code is None:
        return _by_sentence(diagnostic)
    if code in CODES:
        slug, cause = CODES[code]
        return Pattern(slug, code, cause)
    if re.fullmatch(r"E\d{4}", code):
        return Pattern(code.lower(), code, RootCause.OTHER)
    return Pattern(f"lint_{_words(code, limit=8)}", code, RootCause.LINT)


def _by_sentence(diagnostic: Diagnostic) -> Pattern:
    if _is_compile_error(diagnostic):
        return COMPILE_ERROR_MACRO
    for slug, sentence, cause in SENTENCES:
        if sentence.match(diagnostic.message):
            return Pattern(slug, None, cause)
    words = _words(re.sub(r"`[^`]*`", " ", diagnostic.message), limit=6)
    return Pattern(f"error_{words}" if words else UNNAMED_ERROR.slug, None, RootCause.OTHER)


def _is_compile_error(diagnostic: Diagnostic) -> bool:
    """Whether the source called `compile_error!`: its message is the author's, not rustc's."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", diagnostic.rendered)
    return bool(diagnostic.spans) and bool(re.search(r"^\s*\d+ .*\bcompile_error!", plain, re.M))


def _words(text: str, *, limit: int) -> str:
    return "_".join(re.findall(r"[a-z]+|\d+", text.lower())[:limit])


def by_importance(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Errors before warnings, then by the compiler's stage, then as they were printed."""
    return tuple(sorted(diagnostics, key=_importance))


def _importance(diagnostic: Diagnostic) -> tuple[bool, int]:
    stage = _STAGE_OF.get(pattern_of(diagnostic).root_cause, _LAST_STAGE)
    return (not diagnostic.level.startswith("error"), stage)


def leading(diagnostics: Sequence[Diagnostic]) -> Diagnostic | None:
    """The error that names the failure; None when there is no error among them."""
    errors = [d for d in diagnostics if d.level.startswith("error")]
    return min(errors, key=_importance, default=None)


def signature(diagnostics: Iterable[Diagnostic]) -> str:
    """The identity of a compile failure, such as `e0308_type_mismatch-5f0c1d2e3a4b`.

    Made of the set of errors: code or slug, message and the label of the primary span. Places,
    order, repetition and rustc's own counters do not enter it; names and types do. Empty
    without an error.
    """
    errors = [d for d in diagnostics if d.level.startswith("error")]
    first = leading(errors)
    if first is None:
        return ""
    entries = {(d.code or pattern_of(d).slug, _normal(d.message), _label(d)) for d in errors}
    return _signed(pattern_of(first).slug, sorted(entries))


def text_signature(slug: str, text: str) -> str:
    """The identity of a failure that has no diagnostics: its pattern and what was said of it."""
    lines = sorted({_normal(line) for line in text.splitlines() if line.strip()})
    return _signed(slug, lines)


def _signed(slug: str, entries: Sequence[object]) -> str:
    digest = hashlib.sha256(repr(entries).encode("utf-8", "backslashreplace")).hexdigest()
    return f"{slug}-{digest[:12]}"


def _label(diagnostic: Diagnostic) -> str:
    span = diagnostic.primary
    return _normal(span.label or "") if span else ""


# What rustc and cargo print that differs from run to run or moves with the lines of a file.
_VOLATILE = tuple(
    (re.compile(pattern), to)
    for pattern, to in (
        (r"\x1b\[[0-9;]*m", ""),
        (r"@[^@{}\[\]`]*?:\d+:\d+(: \d+:\d+)?(?=[\]}])", ""),  # {closure@src/x.rs:3:4: 3:10}
        (r"<impl at [^>]*>", "<impl>"),
        (r"[^\s`'\"(]+\.rs:\d+(:\d+)*", "<place>"),
        (r"\b(line|column|col) \d+", r"\1 N"),
        (r"long-type-\d+\.txt", "long-type.txt"),
        (r"(?<=\w)/#\d+", ""),  # T/#0
        (r"'\d+\b", "'_"),  # the lifetime `'1`
        (r"'\?\w+|'_#\w+", "'_"),
        (r"[?$]\w*\d+\w*|\?[A-Z]\b", "?"),  # inference variables: ?3t, $0, ?T
        (r"(?<![\w.])/(?:[^\s/`'\"()]+/)+", ""),  # folders of an absolute path
        (r"\b0x[0-9a-f]+\b", "0x"),
        (r"(?<=[-_:])h?[0-9a-f]{16}\b", ""),
        (r"(?<=thread ')([^']*)' \(\d+\)", r"\1'"),
        (r"\b\d+(\.\d+)?(s|ms|µs)\b", "<time>"),
        (r"\s+", " "),
    )
)


def _normal(text: str) -> str:
    for pattern, to in _VOLATILE:
        text = pattern.sub(to, text)
    return text.strip()
