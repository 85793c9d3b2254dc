"""Rules for ownership and names: clones, private copies, std imports, derives.

Pure. A clone keeps what the program means; nothing here changes a signature or a type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from critic.review import Diagnostic
from critic.rules.source import Parts, Source, ancestors, descendants, enclosing, field, wrap


def clone_borrowed(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A borrow that lasts too long: borrow a clone; a move of what is borrowed: move a clone."""
    for span in diagnostic.spans:
        label = span.label or ""
        node = source.expression(span.byte_start, span.byte_end)
        if node is None or "later" in label:
            continue
        if span.primary and label.startswith("move out of"):
            yield wrap(source, node, "{}.clone()")
        elif not span.primary and re.match(r"immutable borrow|borrow of|`.*` is borrowed", label):
            bound = field(enclosing(node, "let_declaration"), "value")
            if bound is not None and bound != node:
                yield wrap(source, bound, "{}.clone()")
            target = field(node, "value") if node.type == "reference_expression" else node
            if target is not None:
                yield wrap(source, target, "{}.clone()")


def clone_moved(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A value used after it moved: move a clone; a loop over it borrows."""
    for span in diagnostic.spans:
        label = span.label or ""
        if "value moved here" in label or ("moved due to this" in label and "into_iter" in label):
            node = source.expression(span.byte_start, span.byte_end)
            if node is not None and node.type in ("identifier", "field_expression"):
                yield (*_derive_clone(diagnostic, source), *wrap(source, node, "{}.clone()"))


def _derive_clone(diagnostic: Diagnostic, source: Source) -> Parts:
    """The derive that a type of this file lacks, where rustc says that it does."""
    said = " ".join(child.message for child in diagnostic.children)
    match = re.search(r"if `(\w+)` implemented `Clone`", said)
    for item in source.root.children if match else ():
        name = field(item, "name")
        if item.type not in ("struct_item", "enum_item") or name is None or match is None:
            continue
        if source.text(name) == match[1]:
            return ((item.start_byte, item.start_byte, "#[derive(Clone)]\n"),)
    return ()


_BEHIND_REFERENCE = re.compile(
    r"cannot (?:borrow|assign to) `\*?(\w+)(?:\[_\])?`(?: as mutable)?, "
    r"(?:as it|which) is behind a `&` reference"
)


def own_copy(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A parameter behind `&` that the body changes: change a copy of it.

    Only in a function that gives something back; one that returns nothing exists for the
    change itself.
    """
    match = _BEHIND_REFERENCE.match(diagnostic.message)
    span = diagnostic.primary
    node = None if span is None else source.covering(span.byte_start, span.byte_end)
    function = enclosing(node, "function_item")
    if match is not None and function is not None:
        yield from _own_local_copy(source, function, match[1])
    body, parameters = field(function, "body"), field(function, "parameters")
    if (
        match is None
        or body is None
        or parameters is None
        or field(function, "return_type") is None
    ):
        return
    for parameter in parameters.named_children:
        pattern, kind = field(parameter, "pattern"), field(parameter, "type")
        if pattern is None or kind is None or source.text(pattern) != match[1]:
            continue
        copy = "to_vec" if source.text(kind).startswith("&[") else "clone"
        at = body.start_byte + 1
        yield ((at, at, f"\n    let mut {match[1]} = {match[1]}.{copy}();"),)


def assign_into_map(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`map[k] = v` and `map[k] += v`: insert; change what is there."""
    if not re.match(
        r"cannot (?:assign to data in|borrow data in) an index of `.*Map<", diagnostic.message
    ):
        return
    span = diagnostic.primary
    node = None if span is None else source.covering(span.byte_start, span.byte_end)
    whole = enclosing(node, "assignment_expression", "compound_assignment_expr")
    left, right = field(whole, "left"), field(whole, "right")
    if whole is None or left is None or right is None or left.type != "index_expression":
        return
    held, key = left.named_children[0], left.named_children[1]
    if whole.type == "assignment_expression":
        shown = source.text(key)
        owned = f"{shown[1:]}.clone()" if shown.startswith("&") else shown
        yield (
            (held.end_byte, right.start_byte, f".insert({owned}, "),
            (whole.end_byte, whole.end_byte, ")"),
        )
        return
    reference = "" if source.text(key).startswith("&") else "&"
    for sign in dict.fromkeys((reference, "")):
        yield (
            (left.start_byte, left.start_byte, "*"),
            (held.end_byte, key.start_byte, f".get_mut({sign}"),
            (key.end_byte, left.end_byte, ").unwrap()"),
        )


def _own_local_copy(source: Source, function: Node, name: str) -> Iterator[Parts]:
    """`let mut w = v.clone()` of a slice is a slice again: `v.to_vec()`."""
    for bound in descendants(function, "let_declaration"):
        pattern, value = field(bound, "pattern"), field(bound, "value")
        if pattern is None or value is None or not source.text(value).endswith(".clone()"):
            continue
        if source.text(pattern) == name:
            yield ((value.end_byte - len("clone()"), value.end_byte, "to_vec()"),)


def clone_key(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`sort_by_key(|x| &x.name)`: a key can't borrow from its element; it is a clone."""
    span = diagnostic.primary
    if span is None or diagnostic.message != "lifetime may not live long enough":
        return
    node = source.expression(span.byte_start, span.byte_end)
    call = enclosing(enclosing(node, "closure_expression"), "call_expression")
    name = field(field(call, "function"), "field")
    if node is None or name is None or not source.text(name).endswith("_by_key"):
        return
    if node.type == "reference_expression":
        yield (
            (node.start_byte, node.start_byte + 1, ""),
            (node.end_byte, node.end_byte, ".clone()"),
        )
    else:
        yield wrap(source, node, "{}.clone()")


_BOUND_PATHS = {
    "Hash": "std::hash::Hash", "Debug": "std::fmt::Debug", "Display": "std::fmt::Display",
    "Eq": "Eq", "PartialEq": "PartialEq", "Ord": "Ord", "PartialOrd": "PartialOrd",
    "Clone": "Clone", "Copy": "Copy", "Default": "Default",
}  # fmt: skip


def anonymous_lifetime(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`impl Parser` of a type with a lifetime: `impl Parser<'_>`, as rustc says."""
    for child in diagnostic.children:
        for span in child.spans:
            if span.replacement == "<'_>" and span.file == source.file:
                yield ((span.byte_start, span.byte_end, span.replacement),)


def missing_bounds(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`K: Eq` and `K: Hash` that a method asks for: bounds of the parameters around it."""
    if not diagnostic.message.endswith("but its trait bounds were not satisfied"):
        return
    said = re.findall(r"`(\w+): (?:\w+::)*(\w+)`", " ".join(c.message for c in diagnostic.children))
    span = diagnostic.primary
    node = None if span is None else source.covering(span.byte_start, span.byte_end)
    wanted: dict[str, list[str]] = {}
    for name, bound in said:
        if bound in _BOUND_PATHS:
            wanted.setdefault(name, []).append(_BOUND_PATHS[bound])
    parts: list[tuple[int, int, str]] = []
    for above in ancestors(node):
        parameters = field(above, "type_parameters")
        for parameter in [] if parameters is None else parameters.named_children:
            text = source.text(parameter)
            bounds = wanted.pop(text.split(":")[0].strip(), None)
            if bounds:
                joint = " + " if ":" in text else ": "
                parts.append((parameter.end_byte, parameter.end_byte, joint + " + ".join(bounds)))
    if parts and not wanted:
        yield tuple(parts)


def missing_associated_type(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`impl Add` without its `Output`, `impl Iterator` without its `Item`: from the method."""
    match = re.fullmatch(
        r"not all trait items implemented, missing: `(Output|Item)`", diagnostic.message
    )
    span = diagnostic.primary
    node = None if span is None else source.covering(span.byte_start, span.byte_end)
    body = field(enclosing(node, "impl_item"), "body")
    if match is None or body is None:
        return
    for method in body.named_children:
        kind = field(method, "return_type")
        if method.type != "function_item" or kind is None:
            continue
        text = source.text(kind)
        option = re.fullmatch(r"Option<(.+)>", text)
        if match[1] == "Item" and option is None:
            continue
        named = option[1] if option and match[1] == "Item" else text
        at = body.start_byte + 1
        yield ((at, at, f"\n    type {match[1]} = {named};"),)
        return


_ITEMS = {
    "std::collections": "HashMap HashSet BTreeMap BTreeSet VecDeque BinaryHeap",
    "std::cmp": "Ordering Reverse max min",
    "std::rc": "Rc",
    "std::cell": "RefCell Cell",
    "std::sync": "Arc Mutex",
    "std::str": "FromStr",
    "std::collections::hash_map": "Entry",
    "std::mem": "swap",
    "std::f64::consts": "PI",
    "std::fmt": "Display Debug Write",
    "std::hash": "Hash Hasher",
    "std": "fmt mem",
    "std::iter": "FromIterator Iterator Peekable",
    "std::time": "Duration",
    "std::ops": "Add Mul Sub Div",
    "std::borrow": "Cow",
    "std::io": "Read",
}
_STD = {name: f"{path}::{name}" for path, names in _ITEMS.items() for name in names.split()}

_UNKNOWN_NAME = re.compile(
    r"(?:failed to resolve: use of (?:undeclared|unresolved) [\w ]+"
    r"|cannot find (?:type|function|trait|value|struct|module|tuple)[\w, ]*) `(\w+)`"
)


def std_path(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A common std item that nothing imports: rustc's `use` line for it, else its full path."""
    match, span = _UNKNOWN_NAME.match(diagnostic.message), diagnostic.primary
    if match is None or span is None or match[1] not in _STD:
        return
    path = _STD[match[1]]
    for child in diagnostic.children:
        for line in child.spans:
            if (line.replacement or "").strip() == f"use {path};":
                yield ((line.byte_start, line.byte_end, line.replacement or ""),)
                return
    before = source.content[: span.byte_start].rstrip()
    if source.slice(span.byte_start, span.byte_end) == match[1] and not before.endswith(b"::"):
        yield ((span.byte_start, span.byte_end, path),)
