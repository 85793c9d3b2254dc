"""Where nothing may be edited: tests, macro definitions, signatures that others rely on.

Pure. A signature may gain `mut` on a parameter, lifetimes and bounds, which no caller
sees; the types of a function that is public, or that nothing in the file calls, stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from critic.edits import Edit, EditSet
from critic.rules.source import Source, ancestors, descendants, field

Region = tuple[int, int]

_LIFETIME_CODES = frozenset({"E0106", "E0261", "E0262", "E0263", "E0621", "E0726"})
_TEST_ATTRIBUTE = re.compile(r"#\[\s*(?:\w+::)*(?:test|bench)\b|#\[\s*cfg\s*\(.*\btest\b")
_ASSERT = re.compile(r"\b(?:debug_)?assert(?:_eq|_ne)?!")


def test_regions(source: Source) -> tuple[Region, ...]:
    """Byte ranges that belong to tests.

    Items under `#[test]` or `#[cfg(test)]`, modules called `tests`, and functions without
    parameters and result that assert (`fn main` of a checked program, `fn test_…`).
    """
    return tuple(_regions(source, source.root))


def blank_tests(source: Source) -> bytes:
    """The source with empty bodies of test functions; all other bytes stay in their places.

    What is wrong elsewhere is reported the same, and sooner.
    """
    content = bytearray(source.content)
    for start, end in test_regions(source):
        body = field(source.root.descendant_for_byte_range(start, end), "body")
        if body is not None and body.type == "block" and body.end_byte == end:
            inner = slice(body.start_byte + 1, body.end_byte - 1)
            content[inner] = re.sub(rb"[^\n]", b" ", content[inner])
    return bytes(content)


def _regions(source: Source, node: Node) -> Iterator[Region]:
    attributes = ""
    for child in node.children:
        if child.type == "attribute_item":
            attributes += source.text(child)
            continue
        if child.type in ("function_item", "mod_item", "impl_item"):
            if _TEST_ATTRIBUTE.search(attributes) or _is_test(source, child):
                yield child.start_byte, child.end_byte
            elif child.type == "mod_item" and (body := field(child, "body")) is not None:
                yield from _regions(source, body)
        if "comment" not in child.type:
            attributes = ""


def _is_test(source: Source, item: Node) -> bool:
    name = field(item, "name")
    if item.type == "mod_item":
        return name is not None and source.text(name) in ("test", "tests")
    if item.type != "function_item" or field(item, "return_type") is not None:
        return False
    parameters = field(item, "parameters")
    plain = parameters is not None and not parameters.named_children
    return plain and bool(_ASSERT.search(source.text(item)))


def allowed(source: Source, edits: EditSet, protected: tuple[Region, ...]) -> bool:
    """Whether all edits of a set are at places that may be edited."""
    return all(_allowed(source, edit, protected) for edit in edits.edits)


def _allowed(source: Source, edit: Edit, protected: tuple[Region, ...]) -> bool:
    if any(start < max(edit.end, edit.start + 1) and edit.start < end for start, end in protected):
        return edit.end <= edit.start and any(edit.start == start for start, _ in protected)
    node = source.root.descendant_for_byte_range(edit.start, edit.end)
    around = [] if node is None else [node, *ancestors(node)]
    if any(above.type == "macro_definition" for above in around):
        return False
    function = next(
        (n for n in around if n.type in ("function_item", "function_signature_item")), None
    )
    if function is None:
        return True
    body = field(function, "body")
    inside_body = body is not None and body.start_byte < edit.end and edit.start > body.start_byte
    if inside_body or edit.start <= function.start_byte:
        return True
    return _signature_allows(source, edit, function, around)


def _signature_allows(source: Source, edit: Edit, function: Node, around: list[Node]) -> bool:
    public = any(child.type == "visibility_modifier" for child in function.children)
    in_trait = any(
        n.type == "trait_item" or (n.type == "impl_item" and field(n, "trait") is not None)
        for n in around
    )
    if edit.start == edit.end and edit.replacement.strip() == "mut":
        borrowed = source.content[: edit.start].rstrip().endswith(b"&")
        own = any(n.type == "self_parameter" for n in around) and not public and not in_trait
        if own or not borrowed:
            return True
    if edit.code in _LIFETIME_CODES:
        return True
    if any(n.type in ("type_parameters", "where_clause") for n in around):
        return True
    if edit.start == edit.end and edit.replacement.lstrip().startswith(("where", "<", ", T:")):
        return True
    return not public and not in_trait and _is_called(source, function)


def _is_called(source: Source, function: Node) -> bool:
    name = field(function, "name")
    if name is None:
        return False
    wanted = source.text(name)
    for call in descendants(source.root, "call_expression"):
        target = field(call, "function")
        outside = not function.start_byte <= call.start_byte < function.end_byte
        if outside and target is not None and re.split(r"::|\.", source.text(target))[-1] == wanted:
            return True
    return False
