"""What a rule reads: a Rust source as bytes and as a syntax tree, and wrapping an expression.

Pure. Offsets are bytes of the file. The tree is tree-sitter's, so it exists for broken
sources too. Arguments of the common macros are read as expressions; only the tree is
changed for that, offsets and text stay those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from critic.review import Span
from critic.syntax import parse

# One replacement of a range; several in one tuple belong together.
Part = tuple[int, int, str]
Parts = tuple[Part, ...]

# `name!(…)` is parsed as a call, `vec![…]` as an array: same bytes, readable arguments.
_CALL_MACROS = re.compile(
    rb"\b(?:print|println|eprint|eprintln|format|panic|write|writeln|assert|assert_eq|assert_ne"
    rb"|debug_assert|debug_assert_eq|max|min)!(?=\s*\()"
)
_ARRAY_MACRO = re.compile(rb"\bvec!(?=\s*\[)")

# Expressions that bind so tightly that `.method()` or a prefix may be put next to them.
TIGHT = frozenset(
    {
        "identifier", "self", "field_expression", "call_expression", "index_expression",
        "parenthesized_expression", "integer_literal", "float_literal", "string_literal",
        "raw_string_literal", "char_literal", "boolean_literal", "macro_invocation",
        "scoped_identifier", "generic_function", "try_expression", "array_expression",
        "tuple_expression", "block", "unit_expression", "await_expression",
    }
)  # fmt: skip
PREFIXED = frozenset({"unary_expression", "reference_expression"})


@dataclass(frozen=True)
class Source:
    """A file as a rule sees it; `file` is the name rustc prints for it."""

    content: bytes
    file: str = ""

    @cached_property
    def root(self) -> Node:
        """The root of the syntax tree."""
        masked = _CALL_MACROS.sub(lambda m: m.group()[:-1] + b" ", self.content)
        masked = _ARRAY_MACRO.sub(b"    ", masked)
        return parse(masked).root

    @cached_property
    def macros(self) -> tuple[tuple[int, int], ...]:
        """Byte ranges of macro calls, macro definitions and attributes."""
        kinds = ("macro_invocation", "macro_definition", "attribute_item")
        found = descendants(parse(self.content).root, *kinds)
        return tuple((node.start_byte, node.end_byte) for node in found)

    def expanded(self, span: Span) -> bool:
        """Whether a span lies in what a macro made.

        rustc says so of the parts of a `for` loop and of `?` too, which it writes anew;
        what stands in no macro of the file is the file's own text.
        """
        return span.from_macro and any(start <= span.byte_start < end for start, end in self.macros)

    def slice(self, start: int, end: int) -> str:
        """The text between two offsets."""
        return self.content[start:end].decode(errors="replace")

    def text(self, node: Node) -> str:
        """The text of a node."""
        return self.slice(node.start_byte, node.end_byte)

    def covering(self, start: int, end: int) -> Node | None:
        """The smallest named node around a range."""
        return self.root.named_descendant_for_byte_range(start, end)

    def expression(self, start: int, end: int) -> Node | None:
        """The node with exactly this range, None where the tree has no such node."""
        node = self.covering(start, end)
        if node is None or (node.start_byte, node.end_byte) != (start, end):
            return None
        while node.parent is not None and (
            (node.parent.start_byte, node.parent.end_byte) == (start, end)
            and node.parent.type not in ("expression_statement", "arguments", "source_file")
        ):
            node = node.parent
        return node


def ancestors(node: Node | None) -> Iterator[Node]:
    """The nodes around a node, innermost first."""
    while node is not None and (node := node.parent) is not None:
        yield node


def enclosing(node: Node | None, *types: str) -> Node | None:
    """The node itself or the innermost one around it that has one of the types."""
    if node is not None and node.type in types:
        return node
    return next((above for above in ancestors(node) if above.type in types), None)


def descendants(node: Node, *types: str) -> Iterator[Node]:
    """All nodes of the given types inside a node, in the order of the text."""
    for child in node.children:
        if child.type in types:
            yield child
        yield from descendants(child, *types)


def field(node: Node | None, name: str) -> Node | None:
    """A child by its field name; None stays None."""
    return None if node is None else node.child_by_field_name(name)


def arguments(call: Node | None) -> list[Node]:
    """The arguments of a call expression."""
    listed = field(call, "arguments")
    return [] if listed is None else [n for n in listed.named_children if "comment" not in n.type]


@dataclass(frozen=True)
class MethodCall:
    """`receiver.name(arguments)`, found from the place of its name."""

    call: Node
    receiver: Node
    name: Node
    arguments: tuple[Node, ...]


def method_call(source: Source, start: int, end: int) -> MethodCall | None:
    """The method call whose name (or whole chain) stands at the range."""
    node = source.covering(start, end)
    name = node if node is not None and node.type == "field_identifier" else None
    if node is not None and node.type == "call_expression":
        name = field(field(node, "function"), "field")
    turbofish = name is None and enclosing(node, "generic_function")
    if turbofish:
        name = field(field(turbofish, "function"), "field")
    access = None if name is None else name.parent
    if name is None or access is None or access.type != "field_expression":
        return None
    above = access.parent
    if above is not None and above.type == "generic_function":
        above = above.parent
    receiver = field(access, "value")
    if above is None or above.type != "call_expression" or receiver is None:
        return None
    return MethodCall(above, receiver, name, tuple(arguments(above)))


def is_tight_place(source: Source, node: Node) -> bool:
    """Whether what follows or precedes the node would grab only a part of a looser expression."""
    parent = node.parent
    if parent is None:
        return False
    if parent.type in ("field_expression", "index_expression", "call_expression", "try_expression"):
        return parent.children[0] == node
    return False


def _before_less_than(source: Source, node: Node) -> bool:
    # `x as usize < y` is read as the start of generic arguments.
    return source.content[node.end_byte : node.end_byte + 8].lstrip()[:1] == b"<"


def wrap(source: Source, node: Node, template: str) -> Parts:
    """Put text around an expression, with parentheses where precedence asks for them.

    The template has one `{}`: `*{}`, `{} as usize`, `{}.to_string()`. Only insertions are
    made, so edits inside the expression can be combined with it.
    """
    prefix, suffix = template.split("{}")
    postfix = suffix.startswith((".", "["))
    tight = node.type in TIGHT
    loose_enough = node.type in PREFIXED and not postfix
    if node.type == "type_cast_expression" and suffix.startswith(" as ") and not prefix:
        loose_enough = True
    own = prefix.endswith("(") and suffix.startswith(")")
    if not (tight or loose_enough or own):
        prefix, suffix = prefix + "(", ")" + suffix
    result_is_cast = " as " in suffix and not suffix.endswith(")")
    result_is_prefixed = prefix.startswith(("*", "&", "!", "-")) and not postfix
    if (result_is_cast and _before_less_than(source, node)) or (
        (result_is_cast or result_is_prefixed) and is_tight_place(source, node)
    ):
        prefix, suffix = "(" + prefix, suffix + ")"
    parts: list[Part] = []
    if prefix:
        parts.append((node.start_byte, node.start_byte, prefix))
    if suffix:
        parts.append((node.end_byte, node.end_byte, suffix))
    return tuple(parts)


def replace(node: Node, text: str) -> Part:
    """Replace a whole node."""
    return (node.start_byte, node.end_byte, text)
