"""Rules for floats: methods that only they have, and an order that they lack.

Pure. `f64` is neither `Ord` nor `Eq`; where an order is wanted, `total_cmp` gives one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from critic.review import Diagnostic
from critic.rules.source import (
    Parts,
    Source,
    descendants,
    enclosing,
    field,
    method_call,
    replace,
    wrap,
)
from critic.rules.types import INTEGERS

_FLOAT_METHODS = frozenset(
    [
        "sqrt",
        "floor",
        "ceil",
        "round",
        "trunc",
        "fract",
        "powf",
        "powi",
        "ln",
        "log10",
        "log2",
        "exp",
        "sin",
        "cos",
        "tan",
        "cbrt",
    ]
)


def float_method(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`n.sqrt()` on an integer: `(n as f64).sqrt()`; also on a number of open type."""
    match = re.match(
        r"no method named `(\w+)` found for (?:type|reference) `(&*)(?:mut )?(\w+|\{\w+\})`|"
        r"can't call method `(\w+)` on ambiguous numeric type `(\{\w+\})`",
        diagnostic.message,
    )
    span = diagnostic.primary
    call = None if span is None else method_call(source, span.byte_start, span.byte_end)
    if match is None or call is None:
        return
    name, kind = match[1] or match[4], match[3] or match[5]
    stars = "*" * len(match[2] or "")
    literal = call.receiver.type in ("integer_literal", "float_literal")
    if name == "pow" and kind == "f64" and len(call.arguments) == 1:
        yield (replace(call.name, "powf" if _is_float(call.arguments[0]) else "powi"),)
    if name == "abs" and kind.startswith("u") and not stars:
        return
    if name in _FLOAT_METHODS and kind in INTEGERS | {"{integer}", "{float}"} and not literal:
        yield wrap(source, call.receiver, f"({stars}{{}} as f64)")
    elif match[4] and not literal:
        other = "f64" if kind == "{float}" else "i32"
        yield wrap(source, call.receiver, f"({{}} as {other})")


def _is_float(node: Node) -> bool:
    return node.type == "float_literal" or (
        node.type == "type_cast_expression" and node.text is not None and node.text.endswith(b"f64")
    )


def order_floats(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`f64` has no total order of its own: sort and compare by `total_cmp`."""
    if not re.search(
        r"`(?:&*f(?:32|64)|\{float\}): (?:std::cmp::)?Ord` is not satisfied", diagnostic.message
    ):
        return
    for place in diagnostic.spans:
        call = method_call(source, place.byte_start, place.byte_end)
        if call is None:
            continue
        yield from _ordered_call(source, call.name, call.arguments, call.receiver)
        return
    span = diagnostic.primary
    node = None if span is None else source.covering(span.byte_start, span.byte_end)
    plain = enclosing(node, "call_expression")
    function = field(plain, "function")
    if function is not None and source.text(function).split("::")[-1] in ("max", "min"):
        yield (replace(function, "f64::" + source.text(function).split("::")[-1]),)


def _ordered_call(
    source: Source, name: Node, given: tuple[Node, ...], receiver: Node
) -> Iterator[Parts]:
    word = source.text(name)
    by = {"sort": "sort_by", "sort_unstable": "sort_unstable_by", "max": "max_by", "min": "min_by"}
    if word in by and not given:
        end = (name.parent or name).end_byte
        yield (replace(name, by[word]), (end, end + 2, "(|a, b| a.total_cmp(b))"))
    if word in ("cmp",) and len(given) == 1:
        yield (replace(name, "total_cmp"),)
    keyed = {"sort_by_key": "sort_by", "max_by_key": "max_by", "min_by_key": "min_by"}
    if word in keyed and len(given) == 1 and given[0].type == "closure_expression":
        key = source.text(given[0])
        compare = f"|a, b| {{ let key = {key}; key(a).total_cmp(&key(b)) }}"
        yield (replace(name, keyed[word]), replace(given[0], compare))


def compare_floats(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`a.cmp(&b)` on floats: `a.total_cmp(&b)`; `partial_cmp` gives an Option."""
    span = diagnostic.primary
    call = None if span is None else method_call(source, span.byte_start, span.byte_end)
    if call is None:
        return
    word = source.text(call.name)
    if word == "cmp" and re.search(r"`&*(?:f64|f32|\{float\})`", diagnostic.message):
        yield (replace(call.name, "total_cmp"),)


def float_accumulator(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`let mut sum = 0` to which floats are added: `0.0`, also within `vec![0; n]`."""
    match = re.match(
        r"cannot (?:\w+)-assign `(?:&*f64)` (?:to|from) `\{integer\}`|"
        r"cannot (?:\w+)-assign `\{integer\}` by `f64`",
        diagnostic.message,
    )
    span = diagnostic.primary
    node = None if span is None else source.covering(span.byte_start, span.byte_end)
    target = field(enclosing(node, "compound_assignment_expr"), "left")
    function = enclosing(node, "function_item")
    if match is None or target is None or function is None:
        return
    name = re.match(r"\*?(\w+)", source.text(target))
    for bound in descendants(function, "let_declaration"):
        pattern, value = field(bound, "pattern"), field(bound, "value")
        if pattern is None or value is None or name is None:
            continue
        if source.text(pattern).removeprefix("mut ") != name[1]:
            continue
        while value.type == "array_expression" and value.named_children:
            value = value.named_children[0]
        if value.type == "integer_literal" and source.text(value).isdigit():
            yield ((value.end_byte, value.end_byte, ".0"),)
