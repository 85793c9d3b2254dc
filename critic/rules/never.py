"""The one list of suggestions that are never applied, and the edits that are no repair.

Pure. rustc marks some suggestions as machine-applicable that make a file compile by
changing what it means; they are named here by rustc's own words. Beside them stand the
edits no author may make: silencing, leaving holes, taking code away.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from critic.edits import EditSet


@dataclass(frozen=True)
class Never:
    """rustc's words for a suggestion, and what it would do to the program."""

    words: str
    why: str


NEVER: tuple[Never, ...] = (
    Never("replace the comma with a semicolon", "a list of two becomes a repeated element"),
    Never("the maximum value of", "-1 becomes the largest number"),
    Never("removing the method call", "a step of the computation is dropped"),
    Never("remove the extra argument", "an argument is dropped"),
    Never("implicit `Sized` bound", "a bound that is not the cause is loosened"),
    Never("explicitly ignore it", "a field that was forgotten is hidden"),
    Never("ignore missing fields", "fields that were forgotten are hidden"),
    Never("assigning a value", "a value is invented"),
)

_SIMILAR = re.compile(r"similar(?:ly named| name)")
"""A guess at a name: used for a slip of the pen only."""

_HOLES = re.compile(
    r"\b(?:todo|unimplemented|unreachable|panic)!|#!?\[\s*allow|/\*.*?\*/|\bunsafe\b|"
    r"\btransmute\b|\bmem::(?:zeroed|uninitialized|forget)\b|\bBox::leak\b",
    re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z_]\w*|\d\w*")
# Words and signs that may go: they change how a value is held, not which one.
_MAY_GO = frozenset(
    {"mut", "ref", "pub", "let", "dyn", "move", "crate", "const", "r", "static", "and", "or", "not"}
)
_SIGNS = re.compile(r"[-+/%!=^]")
_IMPORT_CODES = frozenset({"E0252", "E0254", "E0255", "E0430", "E0431", "E0365", "E0364"})


def forbidden_words(message: str) -> Never | None:
    """The entry of the list that a suggestion's message falls under."""
    return next((never for never in NEVER if never.words in message), None)


def guesses_name(source: bytes, message: str, edits: EditSet) -> bool:
    """Whether a name is replaced by one that merely resembles it.

    `lenght` may become `length`; `is_ascii_vowel` is not `is_ascii`, nor `index` `index_mut`.
    """
    if not _SIMILAR.search(message):
        return False
    pairs = ((_old(source, e.start, e.end), e.replacement) for e in edits.edits)
    return not all(SequenceMatcher(None, *pair).ratio() >= 0.8 for pair in pairs)


def takes_away(source: bytes, edits: EditSet) -> bool:
    """Whether the edits drop names, literals or operators of the program for nothing.

    Another name in place of one is no loss; an import that is there twice is none either.
    """
    removed = "".join(_old(source, e.start, e.end) + " " for e in edits.edits)
    added = " ".join(edit.replacement for edit in edits.edits)
    if all(edit.code in _IMPORT_CODES for edit in edits.edits):
        return False
    kept = _WORD.findall(added)
    lost = [word for word in _WORD.findall(removed) if word not in _MAY_GO]
    surplus = len(lost) - len(kept)
    if surplus > 0:
        return True
    lost_signs, new_signs = _SIGNS.findall(_plain(removed)), _SIGNS.findall(added)
    return len(lost_signs) > len(new_signs) and not kept


def leaves_holes(edits: EditSet) -> bool:
    """Whether an edit puts in a placeholder, a silencing attribute or `unsafe`."""
    return any(_HOLES.search(edit.replacement) for edit in edits.edits)


def _old(source: bytes, start: int, end: int) -> str:
    return source[start:end].decode(errors="replace")


def _plain(text: str) -> str:
    return re.sub(r"//[^\n]*|->|=>|==|!=|<=|>=|\w!", " ", text)
