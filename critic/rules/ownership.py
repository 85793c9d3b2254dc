"""Rules for ownership and names: clones, private copies, std imports, derives.

Pure. A clone keeps what the program means; nothing here changes a signature or a type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from critic.review import Diagnostic
from critic.rules.source import Parts, Source, enclosing, field, wrap


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
