"""Rust source as a tree: items, functions, modules.

The tree is tree-sitter's, which knows most of Rust but not all of it: of 3,911 files of
published crates it finds an error in 38. So an error here is a hint and never a verdict.
What is within a macro is no structure; read it as tokens. Offsets are bytes. Knows no file
system, no policy and no meaning of names.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import tree_sitter_rust
from tree_sitter import Language, Node, Parser, Query, QueryCursor

from critic.tokens import (
    Attribute,
    MacroCall,
    Token,
    Use,
    attributes,
    defined_names,
    macro_calls,
    plain,
    tokens,
    uses,
)

RUST = Language(tree_sitter_rust.language())
PARSE_SECONDS = 3.0


@dataclass(frozen=True)
class Syntax:
    """A source with its tree. `first_error` is an offset, None for a source that parses.

    A source that takes longer than PARSE_SECONDS, as no real one does, has an empty tree
    and its error at offset 0.
    """

    source: bytes
    root: Node
    first_error: int | None

    @property
    def parses(self) -> bool:
        """Whether tree-sitter found no error."""
        return self.first_error is None

    def text(self, node: Node) -> str:
        """The source of a node."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def parse(source: bytes) -> Syntax:
    """The tree of a source, whatever it is."""
    parser = Parser(RUST)
    deadline = time.monotonic() + PARSE_SECONDS
    try:
        tree = parser.parse(
            lambda at, _: source[at : at + 65536],
            progress_callback=lambda _at, _error: time.monotonic() > deadline,
        )
    except ValueError:  # tree-sitter's word for a parse that the callback ended
        return Syntax(source, Parser(RUST).parse(b"").root_node, 0)
    return Syntax(source, tree.root_node, _first_error(tree.root_node))


def _first_error(root: Node) -> int | None:
    if not root.has_error:
        return None
    found = (n.start_byte for n in walk(root) if n.is_error or n.is_missing)
    return next(found, 0)


def walk(root: Node) -> Iterator[Node]:
    """A node and all below it, each before its children; any depth."""
    cursor = root.walk()
    while cursor.node is not None:
        yield cursor.node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


class ItemKind(StrEnum):
    """The kinds of items of The Rust Reference, by the word that introduces them."""

    FUNCTION = "fn"
    STRUCT = "struct"
    ENUM = "enum"
    UNION = "union"
    TRAIT = "trait"
    IMPL = "impl"
    MODULE = "mod"
    USE = "use"
    CONST = "const"
    STATIC = "static"
    TYPE = "type"
    MACRO = "macro_rules"
    MACRO_CALL = "macro call"
    EXTERN = "extern"


_ITEMS = {
    "function_item": ItemKind.FUNCTION,
    "function_signature_item": ItemKind.FUNCTION,
    "struct_item": ItemKind.STRUCT,
    "enum_item": ItemKind.ENUM,
    "union_item": ItemKind.UNION,
    "trait_item": ItemKind.TRAIT,
    "impl_item": ItemKind.IMPL,
    "mod_item": ItemKind.MODULE,
    "use_declaration": ItemKind.USE,
    "const_item": ItemKind.CONST,
    "static_item": ItemKind.STATIC,
    "type_item": ItemKind.TYPE,
    "associated_type": ItemKind.TYPE,
    "macro_definition": ItemKind.MACRO,
    "macro_invocation": ItemKind.MACRO_CALL,
    "foreign_mod_item": ItemKind.EXTERN,
    "extern_crate_declaration": ItemKind.EXTERN,
}
_WHOLE = (ItemKind.STRUCT, ItemKind.ENUM, ItemKind.UNION, ItemKind.TYPE, ItemKind.USE)


@dataclass(frozen=True)
class Item:
    """A named part of a source; `start..end` leaves out its attributes and documentation.

    `visibility` is as written and empty for a private item. The signature of a type is its
    whole definition, that of anything else ends before its body or value.
    """

    kind: ItemKind
    name: str
    visibility: str
    signature: str
    start: int
    end: int
    attributes: tuple[str, ...] = ()
    documented: bool = False


def items(syntax: Syntax) -> tuple[Item, ...]:
    """The top-level items, in their order."""
    return tuple(
        _item(syntax, kind, node, notes)
        for node, notes in _annotated(syntax, syntax.root.children)
        if (kind := _item_kind(node)) is not None
    )


def has_statements(syntax: Syntax) -> bool:
    """Whether statements or expressions stand where only items may: a snippet, not a file."""
    return any(
        _item_kind(node) is None
        for node in syntax.root.named_children
        if not _is_trivia(node) and node.type not in ("shebang", "empty_statement")
    )


def _item_kind(node: Node) -> ItemKind | None:
    if node.type == "expression_statement" and node.named_child_count == 1:
        inner = node.named_children[0]
        return ItemKind.MACRO_CALL if inner.type == "macro_invocation" else None
    return _ITEMS.get(node.type)


def _is_trivia(node: Node) -> bool:
    return node.type in ("line_comment", "block_comment", "attribute_item", "inner_attribute_item")


@dataclass(frozen=True)
class _Notes:
    """The attributes and documentation right before a node."""

    attributes: tuple[str, ...] = ()
    documented: bool = False


_PARTS = Query(
    RUST,
    "[(function_item) (impl_item) (trait_item) (mod_item)"
    " (attribute_item) (line_comment) (block_comment)] @part",
)


def _parts(syntax: Syntax) -> Iterator[tuple[Node, _Notes]]:
    """Functions and what holds them, at any depth, outer ones first."""
    found = QueryCursor(_PARTS).captures(syntax.root).get("part", [])
    return _annotated(syntax, sorted(found, key=lambda node: (node.start_byte, -node.end_byte)))


def _annotated(syntax: Syntax, nodes: Iterable[Node]) -> Iterator[tuple[Node, _Notes]]:
    """Each node in its order, with the annotations right before it; those aren't yielded."""
    attributes: list[str] = []
    documented, end = False, 0
    for node in nodes:
        if syntax.source[end : node.start_byte].strip():
            attributes, documented = [], False
        if _is_trivia(node):
            text = syntax.text(node)
            if node.type == "attribute_item":
                attributes.append(text)
            documented = documented or _is_documentation(text)
            end = node.end_byte
        else:
            yield node, _Notes(tuple(attributes), documented)
            attributes, documented, end = [], False, node.start_byte


def _is_documentation(text: str) -> bool:
    line = text.startswith("///") and not text.startswith("////")
    return line or re.match(r"/\*\*[^*/]|#\[\s*doc\b", text) is not None


def _item(syntax: Syntax, kind: ItemKind, node: Node, notes: _Notes) -> Item:
    return Item(
        kind=kind,
        name=_name(syntax, node),
        visibility=_visibility(syntax, node),
        signature=_signature(syntax, kind, node),
        start=node.start_byte,
        end=node.end_byte,
        attributes=notes.attributes,
        documented=notes.documented,
    )


def _name(syntax: Syntax, node: Node) -> str:
    """What an item defines; for an `impl` the type it is for, without generic arguments."""
    if node.type == "impl_item":
        named = node.child_by_field_name("type")
        if named is not None and named.type == "generic_type":
            named = named.child_by_field_name("type")
    else:
        named = node.child_by_field_name("name") or node.child_by_field_name("macro")
    return plain(syntax.text(named)) if named is not None else ""


def _visibility(syntax: Syntax, node: Node) -> str:
    found = (c for c in node.named_children[:1] if c.type == "visibility_modifier")
    return next((syntax.text(child) for child in found), "")


def _signature(syntax: Syntax, kind: ItemKind, node: Node) -> str:
    end = node.end_byte
    if kind not in _WHOLE:
        body = node.child_by_field_name("body") or node.child_by_field_name("value")
        end = body.start_byte if body is not None else end
    text = syntax.source[node.start_byte : end].decode("utf-8", "replace").rstrip()
    return text.removesuffix("=").rstrip() if kind in (ItemKind.CONST, ItemKind.STATIC) else text


class Place(StrEnum):
    """Where a function stands."""

    FREE = "free"
    INHERENT = "inherent"
    TRAIT = "trait"
    TRAIT_IMPL = "trait impl"


@dataclass(frozen=True)
class Function:
    """A function with a body.

    `owner` is the type of its `impl` or the name of its trait, empty when it is free;
    `receiver` its `self` parameter as written; `parameters` the names that the others bind
    (patterns taken apart); `returns` is empty for a unit. `body` is the range within the
    braces. `around` are the attributes of the items it stands in; `for_tests` is true for
    tests and for whatever only tests compile.
    """

    name: str
    place: Place
    owner: str
    visibility: str
    signature: str
    receiver: str
    parameters: tuple[str, ...]
    returns: str
    start: int
    end: int
    body: tuple[int, int]
    attributes: tuple[str, ...] = ()
    documented: bool = False
    around: tuple[str, ...] = ()

    @property
    def for_tests(self) -> bool:
        """Whether only a test build compiles it."""
        return any(is_cfg_test(a) or is_test(a) for a in (*self.around, *self.attributes))


@dataclass(frozen=True)
class _Owner:
    """An item that holds others, as long as the walk is within it."""

    end: int
    place: Place
    name: str
    attributes: tuple[str, ...]


def functions(syntax: Syntax) -> tuple[Function, ...]:
    """All functions with bodies, nested ones and methods included; none inside macros."""
    found: list[Function] = []
    owners: list[_Owner] = []
    for node, notes in _parts(syntax):
        while owners and owners[-1].end <= node.start_byte:
            owners.pop()
        owner = owners[-1] if owners else _Owner(0, Place.FREE, "", ())
        around = owner.attributes + notes.attributes
        if node.type == "function_item":
            function = _function(syntax, node, notes, owner)
            if function is not None:
                found.append(function)
            owners.append(_Owner(node.end_byte, Place.FREE, "", around))
        elif node.type in ("impl_item", "trait_item", "mod_item"):
            owners.append(_Owner(node.end_byte, _place(node), _name(syntax, node), around))
    return tuple(found)


def _place(node: Node) -> Place:
    if node.type == "impl_item":
        bound = node.child_by_field_name("trait")
        return Place.INHERENT if bound is None else Place.TRAIT_IMPL
    return Place.TRAIT if node.type == "trait_item" else Place.FREE


def _function(syntax: Syntax, node: Node, notes: _Notes, owner: _Owner) -> Function | None:
    body = node.child_by_field_name("body")
    listed = node.child_by_field_name("parameters")
    if body is None or listed is None:
        return None
    returns = node.child_by_field_name("return_type")
    receiver = next((c for c in listed.named_children if c.type == "self_parameter"), None)
    return Function(
        name=_name(syntax, node),
        place=owner.place,
        owner=owner.name if owner.place is not Place.FREE else "",
        visibility=_visibility(syntax, node),
        signature=_signature(syntax, ItemKind.FUNCTION, node),
        receiver="" if receiver is None else syntax.text(receiver),
        parameters=_parameters(syntax, listed),
        returns="" if returns is None or returns.type == "unit_type" else syntax.text(returns),
        start=node.start_byte,
        end=node.end_byte,
        body=(body.start_byte + 1, max(body.start_byte + 1, body.end_byte - 1)),
        attributes=notes.attributes,
        documented=notes.documented,
        around=owner.attributes,
    )


def _parameters(syntax: Syntax, listed: Node) -> tuple[str, ...]:
    patterns = (c.child_by_field_name("pattern") for c in listed.named_children)
    return tuple(
        syntax.text(node)
        for pattern in patterns
        if pattern is not None
        for node in walk(pattern)
        if node.type in ("identifier", "shorthand_field_identifier", "_", "self")
    )


def is_test(attribute: str) -> bool:
    """Whether an attribute makes a function a test: `#[test]`, `#[tokio::test]`, …"""
    return re.match(r"#\[\s*(?:\w+\s*::\s*)*test\s*[\](]", attribute) is not None


def is_cfg_test(attribute: str) -> bool:
    """Whether an attribute keeps its item to test builds."""
    return re.search(r"\bcfg\s*\((?!\s*not\b).*\btest\b", attribute, re.DOTALL) is not None


@dataclass(frozen=True)
class Module:
    """A `mod` declaration. `parents` are the inline modules around it, `file` its `#[path]`."""

    name: str
    parents: tuple[str, ...]
    inline: bool
    file: str | None
    cfg: tuple[str, ...]
    start: int


def modules(syntax: Syntax) -> tuple[Module, ...]:
    """All `mod` declarations, inline or not, outer ones first."""
    found: list[Module] = []
    around: list[tuple[int, str]] = []
    for node, notes in _parts(syntax):
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        if node.type != "mod_item":
            continue
        given = (re.match(r'#\[\s*path\s*=\s*"([^"]*)"', a) for a in notes.attributes)
        found.append(
            Module(
                name=_name(syntax, node),
                parents=tuple(name for _, name in around),
                inline=node.child_by_field_name("body") is not None,
                file=next((match[1] for match in given if match), None),
                cfg=tuple(a for a in notes.attributes if re.match(r"#\[\s*cfg\b", a)),
                start=node.start_byte,
            )
        )
        around.append((node.end_byte, found[-1].name))
    return tuple(found)


@dataclass(frozen=True)
class Source:
    """A source read both ways, each once and only when it is asked for."""

    text: bytes

    @cached_property
    def code(self) -> list[Token]:
        """Its tokens, without comments."""
        return tokens(self.text)

    @cached_property
    def syntax(self) -> Syntax:
        """Its tree."""
        return parse(self.text)

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Its functions with bodies."""
        return functions(self.syntax)

    @cached_property
    def names(self) -> frozenset[str]:
        """The names it defines."""
        return defined_names(self.code)

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """What it imports."""
        return tuple(uses(self.code))

    @cached_property
    def macro_calls(self) -> tuple[MacroCall, ...]:
        """The macros it calls."""
        return tuple(macro_calls(self.code))

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """Its attributes."""
        return tuple(attributes(self.code))

    def line(self, offset: int) -> int:
        """The line of an offset, counted from 1."""
        return bisect_right(self._line_starts, offset)

    def tokens_between(self, start: int, end: int) -> tuple[Token, ...]:
        """The tokens that begin in a range of bytes."""
        first, last = (bisect_left(self._token_starts, at) for at in (start, end))
        return tuple(self.code[first:last])

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer(b"\n", self.text))]

    @cached_property
    def _token_starts(self) -> list[int]:
        return [token.start for token in self.code]
