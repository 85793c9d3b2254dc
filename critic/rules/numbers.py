"""Rules for numbers: casts, indexing, references where a value is wanted, floats in order.

Pure. Small models write Rust's arithmetic as if integers, floats and references mixed; the
types rustc names leave one conversion that keeps the value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from critic.review import Diagnostic
from critic.rules.source import (
    PREFIXED,
    Parts,
    Source,
    enclosing,
    field,
    replace,
    wrap,
)
from critic.rules.types import COPIES, FLOATS, INTEGERS, NUMBERS, Type, conversions, read

_OPERATION = re.compile(
    r"cannot (?:add|subtract|multiply|divide|calculate the remainder of) .*|can't compare `.*"
)
_SIDES = {
    "add": ("to", True),
    "subtract": ("from", True),
    "multiply": ("by", False),
    "divide": ("by", False),
    "calculate the remainder of": ("divided by", False),
}


def operand_types(message: str) -> tuple[Type, Type] | None:
    """(left, right) of an operation's message: `cannot subtract `A` from `B`` is (B, A)."""
    match = re.fullmatch(r"can't compare `(.+)` with `(.+)`", message)
    if match:
        return read(match[1]), read(match[2])
    for verb, (word, swapped) in _SIDES.items():
        match = re.fullmatch(rf"cannot {verb} `(.+)` {word} `(.+)`", message)
        if match:
            left, right = read(match[1]), read(match[2])
            return (right, left) if swapped else (left, right)
    match = re.fullmatch(
        r"cannot (?:add|subtract|multiply|divide)-assign `(.+)` (?:to|from|by) `(.+)`|"
        r"cannot (?:multiply|divide)-assign `(.+)` by `(.+)`",
        message,
    )
    if match and match[1]:
        return read(match[2]), read(match[1])
    return None


def operands(source: Source, diagnostic: Diagnostic) -> tuple[Node, Node] | None:
    """The two sides of the operation a diagnostic points at (its primary span is the operator)."""
    span = diagnostic.primary
    if span is None:
        return None
    binary = enclosing(
        source.root.descendant_for_byte_range(span.byte_start, span.byte_end),
        "binary_expression",
        "compound_assignment_expr",
    )
    left, right = field(binary, "left"), field(binary, "right")
    operator = field(binary, "operator")
    if left is None or right is None or operator is None:
        return None
    inside = operator.start_byte <= span.byte_start and span.byte_end <= operator.end_byte
    whole = binary is not None and span.byte_start == binary.start_byte
    return (left, right) if inside or whole else None


def cast_operand(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`usize - i32`, `f64 * i32`, `&i32 < usize`: cast one side to the other's type."""
    types, sides = operand_types(diagnostic.message), operands(source, diagnostic)
    if types is None or sides is None:
        return
    (left, right), (one, other) = types, sides
    names = {left.name, right.name}
    if not names <= NUMBERS | {"{integer}", "{float}"}:
        return
    if names & (FLOATS | {"{float}"}) and names & (INTEGERS | {"{integer}"}):
        name = next(iter(names & FLOATS), "f64")
        to_float = (one, left) if left.name in INTEGERS | {"{integer}"} else (other, right)
        yield _to(source, *to_float, name) + _deref(source, sides, types, to_float[0])
        return
    if left.name == right.name:
        yield _deref(source, sides, types, None)
        return
    if right.name in INTEGERS:
        yield _to(source, one, left, right.name) + _deref(source, sides, types, one)
    if left.name in INTEGERS:
        yield _to(source, other, right, left.name) + _deref(source, sides, types, other)


def _to(source: Source, node: Node, kind: Type, name: str) -> Parts:
    if kind.name == "{integer}" and node.type == "integer_literal" and name in FLOATS:
        return ((node.end_byte, node.end_byte, ".0"),)
    return wrap(source, node, "*" * kind.refs + "{} as " + name)


def _deref(
    source: Source, sides: tuple[Node, Node], types: tuple[Type, Type], done: Node | None
) -> Parts:
    parts: list[tuple[int, int, str]] = []
    for node, kind in zip(sides, types, strict=True):
        if node != done and kind.refs:
            parts += wrap(source, node, "*" * kind.refs + "{}")
    return tuple(parts)


def index_by_usize(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`v[i]` with an `i` of another integer type: `v[i as usize]`; ranges on both ends."""
    match = re.fullmatch(
        r"the type `(\[.*\]|str)` cannot be indexed by `(.+)`", diagnostic.message, re.DOTALL
    )
    span = diagnostic.primary
    if match is None or span is None:
        return
    kind = read(match[2])
    node = source.expression(span.byte_start, span.byte_end)
    if node is None:
        return
    bounds = re.fullmatch(r"(?:std::ops::)?Range\w*<(.+)>", match[2])
    if bounds:
        element = read(bounds[1])
        if element.name in INTEGERS:
            ends = [end for end in node.named_children if end.type != "integer_literal"]
            parts = [p for e in ends for p in wrap(source, e, _as_usize(element))]
            yield tuple(parts)
        return
    if match[1] != "str" and kind.name in INTEGERS:
        yield wrap(source, node, _as_usize(kind))
    if match[1] == "str" and kind.name in INTEGERS | {"{integer}"}:
        yield from _nth_char(source, node, kind)


def _as_usize(kind: Type) -> str:
    stars = "*" * kind.refs
    return f"{stars}{{}}" if kind.name == "usize" else f"{stars}{{}} as usize"


def _nth_char(source: Source, index: Node, kind: Type) -> Iterator[Parts]:
    access = index.parent
    if access is None or access.type != "index_expression":
        return
    base = access.children[0]
    inner = wrap(source, index, _as_usize(kind)) if kind.name in INTEGERS else ()
    yield (
        (base.end_byte, index.start_byte, ".chars().nth("),
        *inner,
        (index.end_byte, access.end_byte, ").unwrap()"),
    )


def plain_cast(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`casting `&i32` as `usize` is invalid`: dereference; `u32 as char` checked."""
    span = diagnostic.primary
    node = None if span is None else source.expression(span.byte_start, span.byte_end)
    match = re.match(r"casting `(&+)(\w+)` as `\w+` is invalid", diagnostic.message)
    if match and node is not None and match[2] in COPIES:
        value = field(node, "value") if node.type == "type_cast_expression" else node
        if value is not None:
            yield wrap(source, value, "*" * len(match[1]) + "{}")
    if node is None or node.type != "type_cast_expression":
        return
    value, target = field(node, "value"), field(node, "type")
    if value is None or target is None:
        return
    if diagnostic.message.startswith("only `u8` can be cast as `char`"):
        bare = source.text(value)
        if value.type == "parenthesized_expression":
            bare = bare[1:-1]
        number = bare if diagnostic.message.endswith("`u32`") else f"({bare}) as u32"
        yield (replace(node, f"char::from_u32({number}).unwrap()"),)
    match = re.match(
        r"(?:non-primitive cast:|casting) `&?(?:\w+::)*(?:String|str)` as `(\w+)`",
        diagnostic.message,
    )
    if match and match[1] in NUMBERS:
        text = source.text(value)
        if value.type in PREFIXED:
            text = f"({text})"
        yield (replace(node, f"{text}.parse::<{match[1]}>().unwrap()"),)


def negate_unsigned(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`-x` of a `usize` variable: negate the signed value instead."""
    span = diagnostic.primary
    match = re.search(r"unary operator `-` to type `(u\w+)`", diagnostic.message)
    node = None if span is None else source.expression(span.byte_start, span.byte_end)
    if match is None or node is None or node.type != "unary_expression":
        return
    value = node.named_children[-1]
    if value.type != "integer_literal":
        yield wrap(source, value, "({} as i64)" if match[1] == "u32" else "({} as isize)")


def signed_default(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`position(…).unwrap_or(-1)`: make the found value signed before it meets the -1."""
    span = diagnostic.primary
    if span is None or not re.search(
        r"operator `-` to type `u|`u\w+: (?:std::ops::)?Neg`", diagnostic.message
    ):
        return
    node = source.expression(span.byte_start, span.byte_end)
    if node is None or node.type not in ("unary_expression", "negative_literal"):
        return
    given = node.parent if node.parent and node.parent.type == "reference_expression" else node
    listed = given.parent
    call = None if listed is None or listed.type != "arguments" else listed.parent
    name = field(field(call, "function"), "field")
    receiver = field(field(call, "function"), "value")
    if name is None or receiver is None or source.text(name) != "unwrap_or":
        return
    wanted = _signed_result(source, node)
    star = "*" if given != node else ""
    step = (receiver.end_byte, receiver.end_byte, f".map(|x| {star}x as {wanted})")
    if given == node:
        yield (step,)
        return
    plain = (step, (given.start_byte, node.start_byte, ""))
    above = call.parent if call is not None else None
    if above is not None and above.type == "unary_expression" and above.children[0].type == "*":
        yield (*plain, (above.start_byte, above.start_byte + 1, ""))
    yield plain


def _signed_result(source: Source, node: Node) -> str:
    """The signed type the function around returns, i64 where it returns none."""
    kind = field(enclosing(node, "function_item"), "return_type")
    name = "" if kind is None else source.text(kind)
    return name if name in INTEGERS and name.startswith("i") else "i64"


def dereference_too_many(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`type `i32` cannot be dereferenced`: take one `*` away."""
    span = diagnostic.primary
    if span is None or not diagnostic.message.startswith("type `"):
        return
    if source.content[span.byte_start : span.byte_start + 1] != b"*":
        return
    before = source.content[: span.byte_start].rstrip()
    if before.endswith(b"*"):
        return  # Python's `a ** b`
    yield ((span.byte_start, span.byte_start + 1, ""),)


def not_before_comparison(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`!a == b` for what other languages read as `!(a == b)`."""
    span = diagnostic.primary
    if span is None or not diagnostic.message.startswith("cannot apply unary operator `!`"):
        return
    node = source.covering(span.byte_start, span.byte_end)
    unary = enclosing(node, "unary_expression")
    parent = None if unary is None else unary.parent
    if unary is None or parent is None or parent.type != "binary_expression":
        return
    chain = parent
    while chain.parent is not None and chain.parent.type == "binary_expression":
        chain = chain.parent
    yield tuple(part for each in _negated(chain) for part in each)


def _negated(node: Node) -> Iterator[Parts]:
    """All `!a == b` of one condition: those rustc accepts mean a bitwise not."""
    left, operator = field(node, "left"), field(node, "operator")
    if node.type != "binary_expression" or left is None or operator is None:
        return
    if left.type == "unary_expression" and left.children[0].type == "!":
        if operator.type in ("==", "!=", "<", ">", "<=", ">="):
            at = left.children[0].end_byte
            yield ((at, at, "("), (node.end_byte, node.end_byte, ")"))
        return
    for child in node.named_children:
        yield from _negated(child)


_CONDITIONS = ("if_expression", "while_expression", "unary_expression", "binary_expression")


def truth_of_number(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A number as a condition: `if n % 2` means `n % 2 != 0`."""
    span = diagnostic.primary
    match = re.fullmatch(r"expected `bool`, found `?(integer|\w+)`?", (span and span.label) or "")
    node = None if span is None else source.expression(span.byte_start, span.byte_end)
    if match is None or node is None or match[1] not in INTEGERS | {"integer"}:
        return
    parent = node.parent
    if parent is not None and parent.type in (
        "if_expression",
        "while_expression",
        "unary_expression",
        "binary_expression",
    ):
        yield (
            wrap(source, node, "{} != 0")
            if node.type != "binary_expression"
            else ((node.end_byte, node.end_byte, " != 0"),)
        )


def arithmetic_of_chars(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`c - 'a'` and `c + 1`: in the numbers of the characters."""
    types, sides = operand_types(diagnostic.message), operands(source, diagnostic)
    if types is None or sides is None or not diagnostic.message.startswith("cannot "):
        return
    (left, right), (one, other) = types, sides
    names = (left.name, right.name)
    if names == ("char", "char"):
        for number in ("i32", "u8"):
            yield (
                *wrap(source, one, "*" * left.refs + "{} as " + number),
                *wrap(source, other, "*" * right.refs + "{} as " + number),
            )
    elif names[0] == "char" and names[1] in ("u8", "{integer}"):
        start, end = one.start_byte, other.end_byte
        whole = ((start, start, "(("), (end, end, ") as char)"))
        yield (whole[0], *wrap(source, one, "*" * left.refs + "{} as u8"), whole[1])


def convert_operand(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`char == &str`, `String == char`, `&str == String`: compare equals with equals."""
    types, sides = operand_types(diagnostic.message), operands(source, diagnostic)
    if types is None or sides is None:
        return
    for (node, have), want in (((sides[1], types[1]), types[0]), ((sides[0], types[0]), types[1])):
        if have.name in NUMBERS and want.name in NUMBERS:
            continue
        character = _as_character(source, node, want)
        if character:
            yield character
            return
        if have.bare == want.bare and have.refs > want.refs:
            yield wrap(source, node, "*" * (have.refs - want.refs) + "{}")
        if {have.name, want.name} == {"str", "char"} and have.name == "char":
            yield wrap(source, node, "{}.to_string()")
        elif have.bare != want.bare:
            yield from (wrap(source, node, way) for way in conversions(want, have))


def _as_character(source: Source, node: Node, want: Type) -> Parts:
    """A literal of one character as what it is compared with: a char, a byte or a text."""
    text = source.text(node)
    inside = text[1:-1]
    if node.type == "char_literal" and want.name in ("str", "String") and want.refs < 2:
        return (replace(node, '"' + {'"': '\\"', "\\'": "'"}.get(inside, inside) + '"'),)
    if node.type != "string_literal" or want.name not in ("char", "u8"):
        return ()
    if not (len(inside) == 1 or re.fullmatch(r"\\.", inside)):
        return ()
    inside = {"'": "\\'", '\\"': '"'}.get(inside, inside)
    prefix = "b" if want.name == "u8" else ""
    return (replace(node, f"{'&' * want.refs}{prefix}'{inside}'"),)
