"""rustc's JSON diagnostics → records, and their text for a prompt or for a person.

Pure. Reads cargo's `compiler-message` objects and rustc's own; renders within a limit of
characters. For a prompt the candidate's source lines are left out: a model that is shown its
wrong line tends to write it again. Never judges and never reads a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from critic.patterns import by_importance
from critic.review import Diagnostic, Span

_SUGGESTION_LIMIT = 120
"""Characters of a replacement text up to which it is quoted."""


def from_message(message: Mapping[str, Any]) -> Diagnostic:
    """The record of one message: cargo's `compiler-message` or a bare rustc diagnostic.

    What is missing or of the wrong type is taken as absent, since logs may be cut or edited.
    """
    inner = message.get("message")
    if not isinstance(inner, Mapping):
        return _diagnostic(message, package="", target="")
    target = message.get("target")
    name = target.get("name") if isinstance(target, Mapping) else None
    return _diagnostic(inner, package=_text(message.get("package_id")), target=_text(name))


def from_messages(messages: Iterable[Mapping[str, Any]]) -> tuple[Diagnostic, ...]:
    """The diagnostics among cargo's messages, each once, in the order they came.

    A library checked as library and as its own test reports everything twice. rustc's closing
    remarks ("aborting due to …", "For more information …") are no diagnostics.
    """
    seen: dict[tuple[object, ...], Diagnostic] = {}
    for message in messages:
        if not _is_diagnostic(message):
            continue
        diagnostic = from_message(message)
        if diagnostic.level == "failure-note" or diagnostic.message.startswith("aborting due to"):
            continue
        seen.setdefault(_identity(diagnostic), diagnostic)
    return tuple(seen.values())


def errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Those of level error; rustc's own crashes ("error: internal compiler error") included."""
    return tuple(d for d in diagnostics if d.level.startswith("error"))


def _is_diagnostic(message: Mapping[str, Any]) -> bool:
    reason = message.get("reason")
    if reason is None:
        return isinstance(message.get("message"), str) and "level" in message
    return bool(reason == "compiler-message")


def _identity(diagnostic: Diagnostic) -> tuple[object, ...]:
    """What makes two reports one: everything but the cargo target it was found in."""
    children = tuple(_identity(child) for child in diagnostic.children)
    return (diagnostic.level, diagnostic.code, diagnostic.message, diagnostic.spans, children)


def _diagnostic(raw: Mapping[str, Any], *, package: str, target: str) -> Diagnostic:
    code = raw.get("code")
    if isinstance(code, Mapping):
        code = code.get("code")
    return Diagnostic(
        level=_text(raw.get("level")) or "error",
        message=_text(raw.get("message")),
        code=code if isinstance(code, str) else None,
        spans=tuple(_span(span) for span in _objects(raw.get("spans"))),
        children=tuple(
            _diagnostic(child, package=package, target=target)
            for child in _objects(raw.get("children"))
        ),
        package=package,
        target=target,
        rendered=_text(raw.get("rendered")),
    )


def _span(raw: Mapping[str, Any]) -> Span:
    return Span(
        file=_text(raw.get("file_name")),
        line=_number(raw.get("line_start")),
        column=_number(raw.get("column_start")),
        byte_start=_number(raw.get("byte_start")),
        byte_end=_number(raw.get("byte_end")),
        primary=raw.get("is_primary") is True,
        label=_text(raw.get("label")) or None,
        replacement=_optional_text(raw.get("suggested_replacement")),
        applicability=_optional_text(raw.get("suggestion_applicability")),
        from_macro=raw.get("expansion") is not None,
        end_line=_number(raw.get("line_end")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _optional_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _objects(value: object) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(value, list | tuple):
        return ()
    return tuple(item for item in value if isinstance(item, Mapping))


def render(
    diagnostics: Iterable[Diagnostic], *, limit_chars: int, show_source: bool = False
) -> str:
    """Text for a prompt, at most `limit_chars` characters, the most telling errors first.

    Without `show_source`: code, message, place, labels, notes and helps, and of a suggested
    change only the new text. With it: rustc's own rendering, snippet and all. What didn't fit
    is counted in a last line.
    """
    ordered = by_importance(diagnostics)
    texts = [_rendered(d) if show_source else _described(d) for d in ordered]
    return _bounded(texts, limit_chars)


def render_for_person(diagnostics: Iterable[Diagnostic], *, limit_chars: int) -> str:
    """The diagnostics as rustc printed them, in its order, at most `limit_chars` characters."""
    return _bounded([_rendered(d) for d in diagnostics], limit_chars)


def _rendered(diagnostic: Diagnostic) -> str:
    return diagnostic.rendered.strip("\n") or _described(diagnostic)


def _described(diagnostic: Diagnostic) -> str:
    code = f"[{diagnostic.code}]" if diagnostic.code else ""
    lines = [f"{diagnostic.level}{code}: {_indented(diagnostic.message)}"]
    primaries = [span for span in diagnostic.spans if span.primary]
    others = [span for span in diagnostic.spans if not span.primary and span.label]
    lines += [f"  at {_labelled(span)}" for span in (*primaries, *others)]
    lines += [line for child in diagnostic.children for line in _remark(child)]
    return "\n".join(lines)


def _remark(child: Diagnostic) -> list[str]:
    """A note or help; the place only where rustc gave one, a suggestion only when short."""
    fixes = [span for span in child.spans if span.replacement is not None]
    places = [span for span in child.spans if span.replacement is None]
    line = f"  {child.level}: {_indented(child.message)}"
    if fixes:
        return [line, *(f"    {text}" for text in map(_suggestion, fixes) if text)]
    where = next((span for span in places if span.primary), None)
    if where and not where.label and not _in_std(where):
        line += f" (at {_place(where)})"
    return [line, *(f"    at {_labelled(span)}" for span in places if span.label)]


def _suggestion(span: Span) -> str:
    new = (span.replacement or "").strip()
    if "\n" in new or len(new) > _SUGGESTION_LIMIT:
        return ""
    at = f"at {span.line}:{span.column}"
    if not new:
        return f"{at}: remove {_width(span)} bytes" if _width(span) else ""
    return f"{at}: write `{new}`" if _width(span) else f"{at}: insert `{new}`"


def _width(span: Span) -> int:
    return span.byte_end - span.byte_start


def _labelled(span: Span) -> str:
    return f"{_place(span)}: {_indented(span.label)}" if span.label else _place(span)


def _in_std(span: Span) -> bool:
    return span.file.startswith("/rustc/")


def _place(span: Span) -> str:
    """Places in the standard library carry the compiler's commit, which says nothing."""
    if _in_std(span):
        return "the standard library"
    return f"{span.file}:{span.line}:{span.column}"


def _indented(text: str | None) -> str:
    return (text or "").strip().replace("\n", "\n    ")


def _bounded(texts: list[str], limit: int) -> str:
    """The first texts that fit, the last of them cut if it has to be, and how many are left."""
    kept: list[str] = []
    for index, text in enumerate(texts):
        rest = len(texts) - index - 1
        closing = len(_left_out(rest)) + 2 if rest else 0
        used = sum(len(k) + 2 for k in kept)
        if used + len(text) + closing <= limit:
            kept.append(text)
            continue
        if not kept:
            kept.append(_cut(text, limit - closing))
            index += 1
        left = len(texts) - index
        return _cut("\n\n".join([*kept, _left_out(left)] if left else kept), limit)
    return "\n\n".join(kept)


def _left_out(count: int) -> str:
    return f"({count} more not shown)"


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: max(0, limit - 2)] + " …" if limit > 2 else text[: max(0, limit)]
