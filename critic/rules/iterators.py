"""Rules for iterators: what they yield, what they are collected and summed into.

Pure. `collect`, `sum` and `product` fail on the element's type; rustc names both types,
and one adaptor before the call is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from critic.review import Diagnostic
from critic.rules.source import (
    MethodCall,
    Parts,
    Source,
    ancestors,
    descendants,
    enclosing,
    field,
    method_call,
    wrap,
)
from critic.rules.types import FLOATS, INTEGERS, NUMBERS, element_step, is_lazy, read


def _before(call: MethodCall, text: str) -> Parts:
    """Insert an adaptor between the receiver and the method."""
    return ((call.receiver.end_byte, call.receiver.end_byte, text),)


def _calls(diagnostic: Diagnostic, source: Source, *names: str) -> Iterator[MethodCall]:
    for span in diagnostic.spans:
        call = method_call(source, span.byte_start, span.byte_end)
        if call is not None and source.text(call.name) in names:
            yield call


def element_type(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`collect`, `sum` or `product` of elements of another type: convert each first."""
    match = re.match(
        r"a value of type `(.+?)` cannot be (built from|made by summing|made by multiplying) .*?"
        r"elements of type `(.+?)`(?: from an iterator)?$",
        diagnostic.message,
        re.DOTALL,
    )
    if match is None:
        return
    call = next(_calls(diagnostic, source, "collect", "sum", "product"), None)
    if call is None:
        return
    whole = read(match[1])
    if match[2] != "built from":
        yield from _summed(call, match[1], match[3])
        return
    if whole.name in ("Option", "Result") and whole.arguments:
        return
    wanted = whole.arguments[:1]
    if whole.name in ("HashMap", "BTreeMap"):
        wanted = (f"({', '.join(whole.arguments)})",)
    if whole.name == "String":
        step = {"u8": ".map(|x| x as char)"}.get(match[3])
        if read(match[3]).name in NUMBERS - {"u8"}:
            step = ".map(|x| x.to_string())"
    else:
        step = element_step(wanted, (match[3],))
    if step:
        yield _before(call, step)


def _summed(call: MethodCall, wanted: str, given: str) -> Iterator[Parts]:
    want, have = read(wanted), read(given)
    if want.name in NUMBERS and have.name in NUMBERS:
        if want.name in INTEGERS and have.name in FLOATS:
            start = call.call.start_byte
            yield ((start, start, "("), *_turbofish(call, have.name, f" as {want.name})"))
        yield _before(call, f".map(|x| {'*' * have.refs}x as {want.name})")
    if want.name == have.name and have.refs > 1:
        yield _before(call, ".copied()")


def _turbofish(call: MethodCall, name: str, after: str = "") -> Parts:
    """Give the method its type, in place of one it may have."""
    access = call.name.parent
    above = None if access is None else access.parent
    start = call.name.end_byte
    end = above.end_byte if above is not None and above.type == "generic_function" else start
    parts: Parts = ((start, end, f"::<{name}>"),)
    return (*parts, (call.call.end_byte, call.call.end_byte, after)) if after else parts


def missing_type(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`collect()`, `sum()`, `product()`, `parse()` whose type nothing fixes."""
    if not diagnostic.message.startswith("type annotations needed"):
        return
    span = diagnostic.primary
    node = None if span is None else source.covering(span.byte_start, span.byte_end)
    calls = list(_calls(diagnostic, source, "collect", "sum", "product", "parse"))
    scope = enclosing(node, "let_declaration", "expression_statement")
    if scope is not None and not calls:
        calls = [
            call
            for name in _names(scope)
            if (call := method_call(source, name.start_byte, name.end_byte)) is not None
            and source.text(name) in ("collect", "sum", "product", "parse")
            and (
                call.name.parent is None
                or call.name.parent.parent is None
                or call.name.parent.parent.type != "generic_function"
            )
        ]
    for call in calls[:1]:
        word = source.text(call.name)
        if word == "collect":
            added = call.call.parent is not None and call.call.parent.type == "binary_expression"
            for kind in ("String", "Vec<_>") if added else ("Vec<_>", "String"):
                yield _turbofish(call, kind)
        else:
            said = re.findall(r"(?:Sum|Product)<&*(\w+)>", " ".join(_remarks(diagnostic)))
            likely = [*(n for n in said if n in NUMBERS), *_likely_numbers(source, call.call)]
            yield from (_turbofish(call, name) for name in dict.fromkeys(likely[:4]))


def _remarks(diagnostic: Diagnostic) -> Iterator[str]:
    return (child.message for child in diagnostic.children)


def _names(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type == "field_identifier":
            yield child
        yield from _names(child)


def _likely_numbers(source: Source, node: Node) -> list[str]:
    """The numeric types to try: a cast's around it, the function's own, then the usual ones."""
    found: list[str] = []
    text = source.text(node)
    found += [name for name in re.findall(r"as (\w+)", text)[-1:] if name in NUMBERS]
    if ".to_digit(" in text:
        found.insert(0, "u32")
    for above in ancestors(node):
        if above.type == "function_item":
            signature = source.text(above).split("{")[0]
            found += [name for name in reversed(re.findall(r"\w+", signature)) if name in NUMBERS]
            break
    return list(dict.fromkeys([*found, "i32", "usize", "f64"]))[:3]


def not_an_iterator(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A text, list or number where an iterator is wanted: `.chars()`, `.iter()`, `0..n`."""
    match = re.match(r"`(.+)` is not an iterator", diagnostic.message)
    span = diagnostic.primary
    if match is None or span is None:
        return
    kind = read(match[1])
    node = source.expression(span.byte_start, span.byte_end)
    call = method_call(source, span.byte_start, span.byte_end)
    if node is None and call is not None:
        node = call.receiver
    if node is None:
        return
    if call is not None and node.type == "field_identifier":
        node = call.receiver
    if kind.name in ("str", "String"):
        yield wrap(source, node, "{}.chars()")
    elif kind.name in INTEGERS:
        above = node.parent
        if above is not None and above.type == "for_expression":
            yield ((node.start_byte, node.start_byte, "0.." + "*" * kind.refs),)
    elif kind.name == "Vec" or kind.name.startswith("["):
        yield wrap(source, node, "{}.iter()")


def index_of_iterator(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`parts[0]` where `let parts = s.split(…)`: collect it where it is bound."""
    match = re.match(r"cannot index into a value of type `(?:\w+::)*(\w+)<", diagnostic.message)
    span = diagnostic.primary
    node = None if span is None else source.covering(span.byte_start, span.byte_end)
    access = enclosing(node, "index_expression")
    if match is None or access is None or not is_lazy(read(match[1])):
        return
    base = access.children[0]
    if base.type != "identifier":
        yield wrap(source, base, "{}.collect::<Vec<_>>()")
        return
    function = enclosing(access, "function_item")
    for bound in () if function is None else descendants(function, "let_declaration"):
        pattern, value = field(bound, "pattern"), field(bound, "value")
        named = pattern is not None and source.text(pattern).removeprefix("mut ")
        if value is not None and named == source.text(base) and bound.end_byte < base.start_byte:
            yield wrap(source, value, "{}.collect::<Vec<_>>()")
            return


def range_end(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A float as the end of a range of integers: `2..=root as _`."""
    span = diagnostic.primary
    node = None if span is None else source.expression(span.byte_start, span.byte_end)
    if node is None or span is None or span.label != "expected integer, found `f64`":
        return
    if node.parent is not None and node.parent.type == "range_expression":
        yield wrap(source, node, "{} as _")
