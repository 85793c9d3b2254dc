"""How far rustc came with a text: what one compilation said, and a score to compare two.

Pure. rustc works in stages and stops early: names are looked up only in what parses,
types checked only where names are known. So errors are counted per stage.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum

from critic.review import Diagnostic


@dataclass(frozen=True)
class Compilation:
    """What one run of rustc said. `ok` is the exit code; errors may be there without it."""

    ok: bool
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Error-level diagnostics that point at a place."""
        return tuple(d for d in self.diagnostics if d.level == "error" and d.spans)


class Progress(IntEnum):
    """How far rustc came before an error; it reports a later kind only without earlier ones."""

    SYNTAX = 0
    NAMES = 1
    TYPES = 2
    BORROWS = 3
    LINTS = 4


_NAMES = frozenset(
    {
        "E0405", "E0407", "E0408", "E0411", "E0412", "E0415", "E0416", "E0422", "E0423", "E0424",
        "E0425", "E0426", "E0428", "E0429", "E0430", "E0431", "E0432", "E0433", "E0434", "E0437",
        "E0438", "E0252", "E0254", "E0255", "E0259", "E0260", "E0261", "E0262", "E0263", "E0106",
        "E0463", "E0531", "E0532", "E0574", "E0573", "E0603", "E0658", "E0404", "E0107",
    }
)  # fmt: skip
_BORROWS = frozenset(
    {
        "E0373", "E0381", "E0382", "E0383", "E0384", "E0499", "E0501", "E0502", "E0503", "E0505",
        "E0506", "E0507", "E0508", "E0509", "E0510", "E0515", "E0521", "E0594", "E0596", "E0597",
        "E0621", "E0626", "E0700", "E0712", "E0713", "E0716",
    }
)  # fmt: skip

Score = tuple[int, ...]


def progress(diagnostic: Diagnostic) -> Progress:
    """The stage of rustc an error belongs to."""
    code = diagnostic.code
    if code is None:
        if diagnostic.message.startswith(("lifetime may not", "captured variable", "returning")):
            return Progress.BORROWS
        named = diagnostic.message.startswith(("cannot find macro", "cannot find attribute"))
        return Progress.NAMES if named else Progress.SYNTAX
    if code in _NAMES:
        return Progress.NAMES
    if code in _BORROWS:
        return Progress.BORROWS
    return Progress.TYPES if code.startswith("E") else Progress.LINTS


def score(compilation: Compilation, length: int) -> Score:
    """Errors per stage, earliest first; less is better. Compiling is all zeros.

    Plain counts mislead: with the types mended, the errors of borrowing come to light. A
    syntax error ends the reading, so the bytes behind the first one count too.
    """
    if compilation.ok:
        return (0,) * (len(Progress) + 1)
    errors = compilation.errors
    counts = Counter(progress(error) for error in errors)
    if not errors:
        return (1 << 30,) * (len(Progress) + 1)
    places = [e.primary.byte_start for e in errors if e.primary and not progress(e)]
    unread = length - min(places, default=length)
    return (counts[Progress.SYNTAX], unread, *(counts[stage] for stage in list(Progress)[1:]))
