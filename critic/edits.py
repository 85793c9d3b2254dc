"""Byte edits of one source file: how they combine and how they are applied.

Pure. An edit replaces a range of bytes; the parts of one `EditSet` belong together and
are applied all or not at all, as rustfix does. Offsets are those of the file as it lies
on disk, so CRLF line ends and a byte order mark stay what they are. Never touches a byte
outside the ranges it is given and never splits a UTF-8 character.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise


class Applicability(StrEnum):
    """How sure the author of an edit is; the first two are rustc's words."""

    MACHINE_APPLICABLE = "MachineApplicable"
    MAYBE_INCORRECT = "MaybeIncorrect"
    RULE = "Rule"


class EditError(ValueError):
    """Edits that can't be applied: out of bounds, overlapping or inside a character."""


@dataclass(frozen=True)
class Edit:
    """Replace the bytes `start..end` by `replacement`.

    `code` is the diagnostic's (`E0308`, None for a syntax error), `rule` the name of our
    own rule where rustc made no suggestion.
    """

    start: int
    end: int
    replacement: str
    code: str | None = None
    applicability: Applicability = Applicability.RULE
    rule: str = ""

    def as_json(self) -> dict[str, str | int | None]:
        """The edit in the exchange format, with the name of our rule where one made it."""
        return {
            "code": self.code,
            "applicability": self.applicability.value,
            "rule": self.rule or None,
            "start": self.start,
            "end": self.end,
            "replacement": self.replacement,
        }

    @property
    def place(self) -> tuple[int, int, str]:
        """What the edit does, without who asked for it."""
        return (self.start, self.end, self.replacement)


@dataclass(frozen=True)
class EditSet:
    """Edits that only make sense together; none of them overlaps another."""

    edits: tuple[Edit, ...]

    @property
    def places(self) -> frozenset[tuple[int, int, str]]:
        """What the set does: equal places are the same repair."""
        return frozenset(edit.place for edit in self.edits)

    @property
    def size(self) -> int:
        """Bytes removed plus bytes inserted."""
        return sum(e.end - e.start + len(e.replacement.encode()) for e in self.edits)


def clash(a: Edit, b: Edit) -> bool:
    """Whether two edits can't both be applied.

    Equal edits are one and the same. Two insertions at one place are an order nobody
    gave, unless both are whole lines (two `use` lines), whose order means nothing.
    """
    if a.place == b.place:
        return False
    if a.start == a.end == b.start == b.end:
        return not (a.replacement.endswith("\n") and b.replacement.endswith("\n"))
    if a.start == a.end or b.start == b.end:
        point, span = (a, b) if a.start == a.end else (b, a)
        return span.start < point.start < span.end
    return a.start < b.end and b.start < a.end


def combine(sets: Iterable[EditSet]) -> tuple[tuple[EditSet, ...], tuple[EditSet, ...]]:
    """(those that can be applied together, those left over), earlier sets first."""
    taken: list[EditSet] = []
    left: list[EditSet] = []
    for candidate in sets:
        edits = [edit for other in taken for edit in other.edits]
        fits = not any(clash(mine, edit) for mine in candidate.edits for edit in edits)
        (taken if fits else left).append(candidate)
    return tuple(taken), tuple(left)


def is_boundary(source: bytes, offset: int) -> bool:
    """Whether no UTF-8 character of the source is cut at the offset."""
    return offset in (0, len(source)) or source[offset] & 0xC0 != 0x80


def fits(source: bytes, edit: Edit) -> bool:
    """Whether the edit's range lies in the source, on character boundaries."""
    return 0 <= edit.start <= edit.end <= len(source) and all(
        is_boundary(source, offset) for offset in (edit.start, edit.end)
    )


def line_end(source: bytes) -> str:
    """The file's own line end: that of its first line."""
    first = source.find(b"\n")
    return "\r\n" if first > 0 and source[first - 1 : first] == b"\r" else "\n"


def apply(source: bytes, edits: Sequence[Edit]) -> bytes:
    """The source with the edits made; their order is of no account.

    New lines take the file's line end. Raises EditError, with nothing applied, where two
    edits clash or one doesn't fit the source.
    """
    unique = sorted({edit.place: edit for edit in edits}.values(), key=lambda edit: edit.place)
    for before, after in pairwise(unique):
        if clash(before, after):
            raise EditError(f"edits overlap at bytes {before.start} and {after.start}")
    ending = line_end(source)
    result = source
    for edit in reversed(unique):
        if not fits(source, edit):
            raise EditError(f"edit {edit.start}..{edit.end} does not fit the source")
        text = edit.replacement
        if ending == "\r\n":
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        result = result[: edit.start] + text.encode() + result[edit.end :]
    return result


@dataclass(frozen=True)
class _Piece:
    """A stretch of the edited text: kept bytes of the original, or new text of an edit."""

    start: int
    end: int
    text: bytes | None = None
    edit: Edit | None = None

    @property
    def length(self) -> int:
        return self.end - self.start if self.text is None else len(self.text)


def compose(source: bytes, rounds: Sequence[Sequence[Edit]]) -> tuple[Edit, ...]:
    """Rounds of edits, each for the text the one before made, as edits of the source.

    `apply(source, compose(source, rounds))` is what the rounds make one after the other.
    Where a later edit changes an earlier one's text they become one edit, under the
    earlier one's name.
    """
    pieces = [_Piece(0, len(source))]
    text = source
    for edits in rounds:
        text_after = apply(text, edits)
        unique = {edit.place: edit for edit in edits}.values()
        for edit in sorted(unique, key=lambda edit: edit.place, reverse=True):
            new = edit.replacement.encode()
            if line_end(text) == "\r\n":
                new = new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            pieces = _splice(pieces, edit, new)
        text = text_after
    return tuple(_gather(source, pieces))


def _splice(pieces: list[_Piece], edit: Edit, new: bytes) -> list[_Piece]:
    before, rest = _cut(pieces, edit.start)
    gone, after = _cut(rest, edit.end - edit.start)
    author = next((piece.edit for piece in gone if piece.edit), edit)
    # What of the original goes stays in the row with no text, so that its range is known.
    dropped = [
        _Piece(piece.start, piece.end, b"", author) for piece in gone if piece.start < piece.end
    ]
    return [*before, _Piece(0, 0, new, author), *dropped, *after]


def _cut(pieces: list[_Piece], at: int) -> tuple[list[_Piece], list[_Piece]]:
    """The pieces before and after a position in their text."""
    left: list[_Piece] = []
    for index, piece in enumerate(pieces):
        if at <= 0 and piece.length:
            return left, pieces[index:]
        if piece.length <= at:
            left.append(piece)
            at -= piece.length
            continue
        if piece.text is None:
            middle = piece.start + at
            halves = _Piece(piece.start, middle), _Piece(middle, piece.end)
        else:
            halves = (
                _Piece(piece.start, piece.end, piece.text[:at], piece.edit),
                _Piece(piece.end, piece.end, piece.text[at:], piece.edit),
            )
        return [*left, halves[0]], [halves[1], *pieces[index + 1 :]]
    return left, []


def _gather(source: bytes, pieces: list[_Piece]) -> Iterable[Edit]:
    """One edit for each row of new text between two kept stretches."""
    position, row = 0, list[_Piece]()
    for piece in [*pieces, _Piece(len(source), len(source))]:
        if piece.text is not None:
            row.append(piece)
            continue
        if row:
            text = b"".join(p.text or b"" for p in row)
            old = source[position : piece.start]
            author = next(p.edit for p in row if p.edit)
            if text != old:
                yield Edit(
                    position,
                    piece.start,
                    text.decode(),
                    author.code,
                    author.applicability,
                    author.rule,
                )
            row = []
        position = piece.end
