"""rustc's own suggestions as edits: which parts belong together, and which are usable.

Pure. Reads the JSON's children; placeholders, expansions of macros, other files and what
`never` names are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from critic.edits import Applicability, Edit, EditSet, clash, fits
from critic.review import Diagnostic, Span
from critic.rules.never import forbidden_words, guesses_name, leaves_holes, takes_away
from critic.rules.source import Source

_APPLICABLE = {
    str(kind): kind for kind in (Applicability.MACHINE_APPLICABLE, Applicability.MAYBE_INCORRECT)
}


def suggested(diagnostic: Diagnostic, source: Source) -> list[EditSet]:
    """The suggestions of a diagnostic for the source's file that may be applied."""
    return [
        edits
        for child in diagnostic.children
        if forbidden_words(child.message) is None
        for edits in alternatives(child.spans, diagnostic.code, source)
        if all(fits(source.content, edit) for edit in edits.edits)
        and not leaves_holes(edits)
        and not guesses_name(source.content, child.message, edits)
        and not takes_away(source.content, edits)
    ]


def alternatives(spans: Sequence[Span], code: str | None, source: Source) -> Iterator[EditSet]:
    """The alternatives of one help, each a set of parts.

    rustc's JSON lists the parts of all alternatives in one row, unsorted; a new one begins
    where a span repeats or overlaps one that the alternative already has. A set is dropped
    whole when one of its parts is unusable.
    """
    group: list[Span] = []
    for span in spans:
        if span.replacement is None:
            continue
        if any(_overlap(span, other) for other in group):
            yield from _usable(group, code, source)
            group = []
        group.append(span)
    yield from _usable(group, code, source)


def _overlap(a: Span, b: Span) -> bool:
    if a.file != b.file:
        return False
    one, other = _edit(a, None), _edit(b, None)
    return one.place[:2] == other.place[:2] or clash(one, other)


def _usable(group: Sequence[Span], code: str | None, source: Source) -> Iterator[EditSet]:
    usable = all(
        span.file == source.file and not source.expanded(span) and span.applicability in _APPLICABLE
        for span in group
    )
    if group and usable:
        yield EditSet(tuple(_edit(span, code) for span in group))


def _edit(span: Span, code: str | None) -> Edit:
    kind = _APPLICABLE.get(span.applicability or "", Applicability.MAYBE_INCORRECT)
    return Edit(span.byte_start, span.byte_end, span.replacement or "", code, kind)
