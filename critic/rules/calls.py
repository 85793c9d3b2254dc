"""Rules for calls: another language's number of arguments, functions that are methods here.

Pure. `max(list)`, `split()`, `range(a, b)`, `sqrt(x)`: each has one standard way to say it.
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
    arguments,
    enclosing,
    field,
    method_call,
    replace,
    wrap,
)

_ARITY = re.compile(
    r"this (?:method|function) takes (\d+) arguments? but (\d+) arguments? (?:was|were) supplied"
)
_FILLED = {"is_digit": "10", "to_digit": "10", "join": '""'}


def arity(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A std method with the number of arguments another language gives it."""
    match, span = _ARITY.match(diagnostic.message), diagnostic.primary
    if match is None or span is None:
        return
    call = method_call(source, span.byte_start, span.byte_end)
    if call is None:
        yield from _function_arity(source, source.covering(span.byte_start, span.byte_end))
        return
    counts = (int(match[1]), int(match[2]))
    if counts == (1, 0):
        yield from _one_missing(source, call)
    elif counts == (0, 1):
        yield from _one_too_many(source, call)
    elif counts == (1, 2) and source.text(call.name) == "get":
        key, default = call.arguments
        yield (
            (call.call.start_byte, call.call.start_byte, "(*"),
            (key.end_byte, default.start_byte, ").unwrap_or(&"),
            (call.call.end_byte, call.call.end_byte, ")"),
        )


def _one_missing(source: Source, call: MethodCall) -> Iterator[Parts]:
    word = source.text(call.name)
    if word in ("max", "min"):
        yield ((call.receiver.end_byte, call.receiver.end_byte, ".iter()"),)
    elif word in _FILLED:
        inside = call.call.end_byte - 1
        yield ((inside, inside, _FILLED[word]),)
    elif word == "split":
        yield (replace(call.name, "split_whitespace"),)


def _one_too_many(source: Source, call: MethodCall) -> Iterator[Parts]:
    word = source.text(call.name)
    closure = call.arguments[0].type == "closure_expression"
    if word == "pop":
        yield (replace(call.name, "remove"),)
    elif word == "sort" and closure:
        yield (replace(call.name, "sort_by"),)
    elif word == "count" and closure:
        yield (replace(call.name, "filter"), (call.call.end_byte, call.call.end_byte, ".count()"))
    elif word in ("max", "min") and closure and _takes_one(call.arguments[0]):
        yield (replace(call.name, word + "_by_key"),)


def _takes_one(closure: Node) -> bool:
    parameters = field(closure, "parameters")
    return parameters is not None and len(parameters.named_children) == 1


def _function_arity(source: Source, node: Node | None) -> Iterator[Parts]:
    """`max(list)` and `min(list)`: the largest and smallest element."""
    call = enclosing(node, "call_expression")
    function, given = field(call, "function"), arguments(call)
    if call is None or function is None or len(given) != 1:
        return
    word = source.text(function).split("::")[-1]
    if word in ("max", "min") and function.type in ("identifier", "scoped_identifier"):
        yield (
            (call.start_byte, given[0].start_byte, "(*"),
            (given[0].end_byte, call.end_byte, f".iter().{word}().unwrap())"),
        )


def free_function(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`sqrt(x)`, `len(v)`, `range(a, b)`, `str(x)`: functions that are methods or ranges here."""
    match = re.match(
        r"cannot find (?:function|value) `(\w+)`|expected function, found \w+ type `(\w+)`",
        diagnostic.message,
    )
    span = diagnostic.primary
    if match is None or span is None:
        return
    word = match[1] or match[2]
    node = source.covering(span.byte_start, span.byte_end)
    call = None if node is None else node.parent
    if node is None or call is None or call.type != "call_expression":
        return
    if field(call, "function") != node:
        return
    given = arguments(call)
    if word == "range":
        yield from _range(source, call, given)
    elif given:
        yield from _as_method(source, call, given, word)


_FUNCTIONS = {
    "sqrt": "({} as f64).sqrt()", "floor": "({} as f64).floor()", "ceil": "({} as f64).ceil()",
    "round": "({} as f64).round()", "len": "{}.len()", "abs": "{}.abs()", "fabs": "{}.abs()",
    "str": "{}.to_string()", "sum": "{}.iter().sum()", "chr": "({} as u8 as char)",
    "ord": "({} as u32)", "float": "({} as f64)", "enumerate": "{}.iter().enumerate()",
    "reversed": "{}.iter().rev()", "log": "({} as f64).ln()", "exp": "({} as f64).exp()",
    "all": "{}.all(|x| x)", "any": "{}.any(|x| x)",
}  # fmt: skip


def _as_method(source: Source, call: Node, given: list[Node], word: str) -> Iterator[Parts]:
    first = given[0]
    parts: list[tuple[int, int, str]] = []
    if len(given) == 1 and word in _FUNCTIONS:
        parts = list(wrap(source, first, _FUNCTIONS[word]))
    elif len(given) == 2 and word in ("pow", "powi", "powf", "max", "min", "fmod"):
        second = given[1]
        if word == "pow" or (word == "powi" and second.type == "integer_literal"):
            yield (
                (call.start_byte, first.start_byte, "("),
                (first.end_byte, second.start_byte, ").pow("),
            )
        yield (
            (call.start_byte, first.start_byte, "("),
            (first.end_byte, second.start_byte, f").{'powi' if word == 'pow' else word}("),
        )
        return
    elif len(given) == 2 and word == "zip":
        yield (
            (call.start_byte, first.start_byte, ""),
            (first.end_byte, given[1].start_byte, ".iter().zip("),
            (given[1].end_byte, given[1].end_byte, ".iter()"),
        )
        return
    if parts:
        # The function's name and its parentheses go, its argument stays where it is.
        yield (
            (call.start_byte, first.start_byte, "("),
            *parts,
            (first.end_byte, call.end_byte, ")"),
        )


def _range(source: Source, call: Node, given: list[Node]) -> Iterator[Parts]:
    if not 1 <= len(given) <= 3:
        return
    shown = [source.text(argument) for argument in given]
    if len(shown) == 1:
        text = f"(0..{shown[0]})"
    elif len(shown) == 2:
        text = f"({shown[0]}..{shown[1]})"
    elif shown[2].replace(" ", "") == "-1":
        text = f"(({shown[1]}) + 1..({shown[0]}) + 1).rev()"
    elif shown[2].startswith("-"):
        return
    else:
        text = f"({shown[0]}..{shown[1]}).step_by({shown[2]})"
    yield (replace(call, text),)
