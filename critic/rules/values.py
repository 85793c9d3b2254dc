"""Rules for `mismatched types`: the conversion that the two types name.

Pure. The place is rustc's primary span, the conversion comes from `types.conversions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from critic.review import Diagnostic, Span
from critic.rules.numbers import operand_types, operands
from critic.rules.source import (
    Parts,
    Source,
    enclosing,
    field,
    method_call,
    replace,
    wrap,
)
from critic.rules.types import Type, conversions, expected_found, is_number, read


def types_of(diagnostic: Diagnostic, span: Span) -> tuple[Type, Type] | None:
    """Expected and found: the note's, which leave nothing out, before the label's."""
    for child in diagnostic.children:
        match = re.search(r"expected [\w ]*?`([^`]+)`\n\s*found [\w ]*?`([^`]+)`", child.message)
        if match and "_" not in match[1] + match[2] and "closure" not in match[2]:
            return read(match[1]), read(match[2])
    return expected_found(span.label)


def convert(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """Wrap the expression in the conversion to the expected type."""
    for span in diagnostic.spans:
        types = types_of(diagnostic, span) if span.primary else expected_found(span.label)
        if types is None:
            continue
        node = source.expression(span.byte_start, span.byte_end)
        if node is None or _is_pattern(node):
            continue
        expected, found = types
        yield from _literal(source, node, expected, found)
        if node.type == "if_expression" or (node.type == "block" and found.name != "()"):
            yield from _tails(source, node, expected, found)
            continue
        yield from (wrap(source, node, way) for way in conversions(expected, found))
        yield from _elements(source, node, expected, found)


def _is_pattern(node: Node) -> bool:
    above = node.parent
    while above is not None and above.type.endswith("pattern"):
        if above.type == "match_pattern":
            break
        above = above.parent
    if above is not None and above.type in ("match_pattern", "let_condition", "parameter"):
        return field(above, "value") != node
    return above is not None and above.type == "let_declaration" and field(above, "pattern") == node


def _literal(source: Source, node: Node, expected: Type, found: Type) -> Iterator[Parts]:
    """Literals of the other kind: `2` for a float, `"x"` for a char, `'x'` for a text."""
    text = source.text(node)
    if node.type == "integer_literal" and expected.name in ("f64", "f32") and expected.refs == 0:
        yield ((node.end_byte, node.end_byte, ".0"),)
    if node.type == "string_literal" and expected == Type(0, "char"):
        inside = text[1:-1]
        if len(inside) == 1 or re.fullmatch(r"\\.", inside):
            yield (replace(node, "'" + {"'": "\\'", '\\"': '"'}.get(inside, inside) + "'"),)
    if node.type == "char_literal" and expected == Type(1, "str"):
        yield (replace(node, '"' + {'"': '\\"', "\\'": "'"}.get(text[1:-1], text[1:-1]) + '"'),)
    if node.type == "float_literal" and is_number(expected) and re.fullmatch(r"\d+\.0*", text):
        yield (replace(node, text.split(".")[0]),)


def _tails(source: Source, node: Node, expected: Type, found: Type) -> Iterator[Parts]:
    """An `if` or a block gets its value in its last expressions: convert those."""
    parts: list[tuple[int, int, str]] = []
    for tail in _tail_expressions(node):
        ways = conversions(expected, found)
        if not ways:
            return
        parts += wrap(source, tail, ways[0])
    if parts:
        yield tuple(parts)


def _tail_expressions(node: Node) -> Iterator[Node]:
    if node.type == "if_expression":
        for name in ("consequence", "alternative"):
            part = field(node, name)
            if part is not None:
                yield from _tail_expressions(part)
    elif node.type in ("block", "else_clause"):
        last = node.named_children[-1] if node.named_children else None
        if last is not None and last.type in ("if_expression", "block", "expression_statement"):
            inner = last.named_children[0] if last.type == "expression_statement" else last
            if not source_ends_with_semicolon(last):
                yield from _tail_expressions(inner)
        elif last is not None and last.type.endswith(("expression", "literal", "identifier")):
            yield last
    else:
        yield node


def source_ends_with_semicolon(node: Node) -> bool:
    """Whether a statement is closed by `;`, so that its value is dropped."""
    return bool(node.children) and node.children[-1].type == ";"


def _elements(source: Source, node: Node, expected: Type, found: Type) -> Iterator[Parts]:
    """`vec![a, b]` and `[a, b]`: convert each element instead of the whole."""
    if node.type != "array_expression" or expected.name != found.name or expected.refs:
        return
    if len(expected.arguments) != 1 or len(found.arguments) != 1:
        return
    ways = conversions(read(expected.arguments[0]), read(found.arguments[0]))
    if ways and ";" not in [child.type for child in node.children]:
        yield tuple(p for child in node.named_children for p in wrap(source, child, ways[0]))


def argument_by_reference(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`map.get(key)` and its like, whose key rustc wants in another borrowed form."""
    match = re.search(
        r"the trait bound `(.+): (?:std::borrow::)?Borrow<(.+)>` is not satisfied",
        diagnostic.message,
    )
    span = diagnostic.primary
    node = None if span is None else source.expression(span.byte_start, span.byte_end)
    if match is None or node is None:
        return
    key, given = read(match[1]), read(match[2])
    if given.refs:
        yield wrap(source, node, "*{}")
    if (key.name, given.name) == ("str", "String") and key.refs:
        yield wrap(source, node, "{}.as_str()" if key.refs == 1 else "&{}.as_str()")
    if key.name == "String" and given.name == "char":
        yield wrap(source, node, "&{}.to_string()")
    if (key.name, given.name) == ("char", "str") and node.type == "string_literal":
        yield from _literal(source, node, Type(0, "char"), given)


def value_out_of_call(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`push(&str)` on a String is `push_str`, `append(x)` and `add(x)` are `push` and `insert`."""
    span = diagnostic.primary
    types = None if span is None else expected_found(span.label)
    node = None if span is None else source.expression(span.byte_start, span.byte_end)
    if types is None or node is None or node.parent is None:
        return
    call = None
    if node.parent.type == "arguments" and node.parent.parent is not None:
        name = field(field(node.parent.parent, "function"), "field")
        call = None if name is None else method_call(source, name.start_byte, name.end_byte)
    if call is None or len(call.arguments) != 1:
        return
    word = source.text(call.name)
    expected, found = types
    if word == "push" and expected == Type(0, "char") and found.name in ("str", "String"):
        prefix = "&" if found == Type(0, "String") else ""
        parts = wrap(source, node, prefix + "{}") if prefix else ()
        yield (replace(call.name, "push_str"), *parts)
    if word == "push_str" and found.name == "char":
        parts = wrap(source, node, "*" * found.refs + "{}") if found.refs else ()
        yield (replace(call.name, "push"), *parts)
    if word == "append" and expected.name == "Vec" and found.name != "Vec":
        yield (replace(call.name, "push"),)
    if word == "append" and expected.name == "Vec" and found == Type(0, "Vec", found.arguments):
        yield (replace(call.name, "extend"),)


def same_branches(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`if` and `else` that give a lower- and an upper-cased char: both as texts."""
    span = diagnostic.primary
    if span is None or diagnostic.message != "`if` and `else` have incompatible types":
        return
    if not re.search(r"To(?:Lower|Upper)case", span.label or ""):
        return
    node = source.expression(span.byte_start, span.byte_end)
    whole = enclosing(node, "if_expression")
    if whole is not None:
        tails = _tail_expressions(whole)
        yield tuple(part for tail in tails for part in wrap(source, tail, "{}.to_string()"))


def pattern_by_value(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`for &x in values` where the values are no references: `for x`."""
    span = diagnostic.primary
    if span is None or not re.fullmatch(r"expected `[^&`]+`, found `&_`", span.label or ""):
        return
    node = source.covering(span.byte_start, span.byte_end)
    if node is not None and node.type == "reference_pattern":
        yield ((span.byte_start, span.byte_start + 1, ""),)


def own_slice(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`let r = v[1..3]` has no size: an own Vec or String of it."""
    match = re.match(r"the size for values of type `(\[.*\]|str)` cannot be", diagnostic.message)
    span = diagnostic.primary
    node = None if span is None else source.covering(span.byte_start, span.byte_end)
    value = field(enclosing(node, "let_declaration"), "value")
    if match is None or value is None or not _is_slice(source, value):
        return
    yield wrap(source, value, "{}.to_string()" if match[1] == "str" else "{}.to_vec()")


def error_as_text(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`?` in a function whose error is a String: hand the error's text on."""
    span = diagnostic.primary
    if span is None or diagnostic.message != "`?` couldn't convert the error to `String`":
        return
    if source.slice(span.byte_start, span.byte_end) == "?":
        yield ((span.byte_start, span.byte_start, ".map_err(|e| e.to_string())"),)


def shown_by_debug(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`{}` for a list or another type without Display: `{:?}`."""
    if not diagnostic.message.endswith("doesn't implement `std::fmt::Display`"):
        return
    for span in diagnostic.spans:
        text = source.slice(span.byte_start, span.byte_end)
        if re.fullmatch(r"\{\w*\}", text):
            yield ((span.byte_end - 1, span.byte_end - 1, ":?"),)
            return


_TEXTS = re.compile(r"&*(?:str|String|char)")


def concatenate(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`&str + &str`, `char + char`: both into a new String; lists into a new list."""
    types, sides = operand_types(diagnostic.message), operands(source, diagnostic)
    if types is None or sides is None or not diagnostic.message.startswith("cannot add `"):
        return
    left, right = sides
    if types[0].name in ("ToLowercase", "ToUppercase"):
        yield wrap(source, left, "{}.to_string()")
        return
    if all(kind.name == "Vec" or kind.name.startswith("[") for kind in types):
        yield (
            (left.start_byte, left.start_byte, "["),
            (left.end_byte, right.start_byte, ", "),
            (right.end_byte, right.end_byte, "].concat()"),
        )
        return
    shown = ("&" * kind.refs + kind.bare for kind in types)
    if not all(_TEXTS.fullmatch(text) for text in shown):
        return
    first, second = ("&" if _is_slice(source, node) else "" for node in sides)
    parts = (
        (left.start_byte, left.start_byte, 'format!("{}{}", ' + first),
        (left.end_byte, right.start_byte, ", " + second),
        (right.end_byte, right.end_byte, ")"),
    )
    parent = left.parent.parent if left.parent is not None else None
    if parent is not None and parent.type == "arguments":
        yield ((left.start_byte, left.start_byte, "&" + parts[0][2]), *parts[1:])
    yield parts


def _is_slice(source: Source, node: Node) -> bool:
    """Whether an operand is `x[a..b]`, whose type has no size to be passed by value."""
    return node.type == "index_expression" and ".." in source.text(node)


def text_of_bytes(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A text's method on `x.as_bytes()[a..b]`: the same range of the text itself."""
    span = diagnostic.primary
    if span is None or not re.match(
        r"no method named `(?:parse|to_string|trim|chars|split|to_lowercase|to_uppercase)` "
        r"found for [\w ]+ `&?\[u8\]`",
        diagnostic.message,
    ):
        return
    call = method_call(source, span.byte_start, span.byte_end)
    base = None if call is None else call.receiver
    if base is None or base.type != "index_expression":
        return
    inner = base.children[0]
    access = field(inner, "function")
    value = field(access, "value")
    if value is not None and source.text(inner).endswith(".as_bytes()"):
        yield ((value.end_byte, inner.end_byte, ""),)
