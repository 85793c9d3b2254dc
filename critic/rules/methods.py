"""Rules for methods and functions that don't exist but have one obvious equal in std.

Pure. The names are those of other languages, of popular extension traits and of near
misses; each is replaced by the standard call that means the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from critic.review import Diagnostic
from critic.rules.source import (
    MethodCall,
    Parts,
    Source,
    method_call,
    replace,
    wrap,
)
from critic.rules.types import FLOATS, INTEGERS, NUMBERS, clean, is_lazy, read

_ITERATOR_METHODS = frozenset(
    {
        "map", "filter", "enumerate", "zip", "rev", "fold", "sum", "product", "all", "any",
        "collect", "cloned", "copied", "position", "take", "skip", "step_by", "filter_map",
        "flat_map", "max_by", "min_by", "max_by_key", "min_by_key", "count", "chain",
        "take_while", "skip_while", "find", "peekable", "for_each", "cycle", "nth", "last", "next",
    }
)  # fmt: skip
# (method, for a text) -> the same in std
_ON_TEXT = {
    "upper": "to_uppercase", "lower": "to_lowercase", "strip": "trim", "lstrip": "trim_start",
    "rstrip": "trim_end", "startswith": "starts_with", "endswith": "ends_with",
    "to_lower": "to_lowercase", "to_upper": "to_uppercase", "length": "len", "size": "len",
    "includes": "contains", "append": "push_str",
}  # fmt: skip
_ON_CHAR = {
    "is_digit": "is_ascii_digit", "isdigit": "is_ascii_digit", "is_alpha": "is_alphabetic",
    "isalpha": "is_alphabetic", "isupper": "is_uppercase", "islower": "is_lowercase",
    "is_upper": "is_uppercase", "is_lower": "is_lowercase", "isspace": "is_whitespace",
    "is_space": "is_whitespace", "isalnum": "is_alphanumeric", "is_letter": "is_alphabetic",
    "is_alnum": "is_alphanumeric", "is_ascii_numeric": "is_ascii_digit",
    "upper": "to_ascii_uppercase", "lower": "to_ascii_lowercase", "to_lower": "to_ascii_lowercase",
    "to_upper": "to_ascii_uppercase",
}  # fmt: skip
_ON_LIST = {
    "append": "push", "push_back": "push", "add": "push", "size": "len", "length": "len",
    "count": "len", "includes": "contains", "has": "contains",
}  # fmt: skip
_ON_SET = {"add": "insert", "contains_key": "contains", "has": "contains", "push": "insert",
           "length": "len", "size": "len"}  # fmt: skip
_ON_MAP = {"contains": "contains_key", "has_key": "contains_key", "items": "iter", "put": "insert",
           "has": "contains_key", "length": "len", "size": "len", "iteritems": "iter"}  # fmt: skip
_ON_ITERATOR = {
    "iter": "into_iter", "reverse": "rev", "reversed": "rev", "len": "count", "length": "count",
    "size": "count", "iter_mut": "into_iter",
}  # fmt: skip
_RENAMED = (
    (("str", "String"), _ON_TEXT),
    (("char",), _ON_CHAR),
    (("u8",), {k: v for k, v in _ON_CHAR.items() if v.startswith("is_ascii")}),
    (("Vec", "VecDeque"), _ON_LIST),
    (("HashSet", "BTreeSet"), _ON_SET),
    (("HashMap", "BTreeMap"), _ON_MAP),
)


def _missing(diagnostic: Diagnostic, source: Source) -> tuple[MethodCall, str, str] | None:
    """(call, method, receiver's type) of a `no method named` message."""
    match = re.match(
        r"no method named `(\w+)` found for [\w ]+? `(.+)` in the current scope", diagnostic.message
    ) or re.match(r"`(.+)` is not an iterator()", diagnostic.message)
    span = diagnostic.primary
    call = None if span is None else method_call(source, span.byte_start, span.byte_end)
    if match is None or call is None or span is None:
        return None
    if match[2] == "":
        return call, source.text(call.name), clean(match[1])
    # The label names the type with its arguments, the message its declaration.
    found = re.search(r"method not found in `(.+)`", span.label or "")
    return call, match[1], clean(found[1] if found else match[2])


def rename(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A method under another language's name."""
    known = _missing(diagnostic, source)
    if known is None:
        return
    call, word, kind = known
    name = read(kind).name
    if is_lazy(read(kind.lstrip("&"))):
        if word in _ON_ITERATOR and not call.arguments:
            yield (replace(call.name, _ON_ITERATOR[word]),)
        return
    for names, table in _RENAMED:
        if name in names and table.get(word):
            yield (replace(call.name, table[word]),)
    if name == "VecDeque" and word == "push":
        yield (replace(call.name, "push_back"),)
    if name == "VecDeque" and word == "pop":
        yield (replace(call.name, "pop_back"),)
    if name == "Vec" and word == "pop_front" and not call.arguments:
        yield (replace(call.name, "remove"), _inside(call, "0"))
    if name in INTEGERS and word == "len":
        yield wrap(source, call.receiver, "{}.to_string()")


def _inside(call: MethodCall, text: str) -> tuple[int, int, str]:
    """Fill the empty parentheses of a call."""
    return (call.call.end_byte - 1, call.call.end_byte - 1, text)


def iterate_first(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """An iterator's method on a list, a text or a map: `.iter()` or `.chars()` before it."""
    known = _missing(diagnostic, source)
    if known is None:
        return
    call, word, kind = known
    found = read(kind)
    at = call.receiver.end_byte
    if found.name in ("str", "String"):
        if word in ("iter", "into_iter", "iter_mut") and not call.arguments:
            yield (replace(call.name, "chars"),)
        elif word in ("reverse", "reversed", "rev"):
            if word == "rev":
                yield ((at, at, ".chars()"),)
            yield (
                (at, at, ".chars()"),
                replace(call.name, "rev"),
                (call.call.end_byte, call.call.end_byte, ".collect::<String>()"),
            )
        elif word == "first" and not call.arguments:
            yield ((at, at, ".chars()"), replace(call.name, "next"))
        elif word in _ITERATOR_METHODS:
            yield ((at, at, ".chars()"),)
    elif found.name in ("Vec", "HashSet", "HashMap", "BTreeMap", "VecDeque", "BTreeSet") or (
        found.name.startswith("[")
    ):
        if word in _ITERATOR_METHODS:
            yield ((at, at, ".iter()"),)
        if word in ("reversed", "rev") and found.name != "HashMap":
            yield ((at, at, ".iter()"), replace(call.name, "rev"))


def collect_first(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """A list's method on an iterator: collect it before."""
    known = _missing(diagnostic, source)
    if known is None or not is_lazy(read(known[2].lstrip("&"))):
        return
    call, word, kind = known
    at, given = call.receiver.end_byte, call.arguments
    end = call.call.end_byte
    if word in ("join", "concat", "windows", "chunks", "first", "get", "binary_search", "contains",
                "swap", "is_empty", "iter_mut"):  # fmt: skip
        if word == "join" and not given:
            yield ((at, at, ".collect::<Vec<_>>()"), _inside(call, '""'))
        else:
            yield ((at, at, ".collect::<Vec<_>>()"),)
    elif word == "to_vec" and not given:
        yield (replace(call.name, "collect::<Vec<_>>"),)
    elif word in ("to_string", "as_str", "into_string", "to_owned") and not given:
        if read(kind).name in ("ToLowercase", "ToUppercase"):
            yield ((at, at, ".to_string()"),)
        else:
            tail = ".as_str()" if word == "as_str" else ""
            yield (
                (replace(call.name, "collect::<String>"), (end, end, tail))
                if tail
                else (replace(call.name, "collect::<String>"),)
            )
    elif read(kind).name in ("ToLowercase", "ToUppercase") and word.startswith(("is_", "to_")):
        yield ((at, at, ".next().unwrap()"),)
    elif word in ("sorted", "sorted_by", "sorted_by_key", "sorted_unstable"):
        sort = word.replace("sorted", "sort")
        shown = ", ".join(source.text(argument) for argument in given)
        start = call.receiver.start_byte
        yield (
            (start, start, "{ let mut sorted: Vec<_> = "),
            (at, end, f".collect(); sorted.{sort}({shown}); sorted.into_iter() }}"),
        )
    elif word in ("unique", "dedup") and not given:
        start = call.receiver.start_byte
        yield (
            (start, start, "{ let mut seen = std::collections::HashSet::new(); "),
            (at, end, ".filter(move |x| seen.insert(x.clone())) }"),
        )


def map_entry(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`map.get_or_insert(k, v)` and its like: `*map.entry(k).or_insert(v)`."""
    known = _missing(diagnostic, source)
    if known is None:
        return
    call, word, kind = known
    if read(kind).name not in ("HashMap", "BTreeMap") or len(call.arguments) != 2:
        return
    key, value = call.arguments
    if word in ("get_or_insert", "setdefault", "get_or_insert_with", "entry_or_insert"):
        last = "or_insert_with" if word.endswith("with") else "or_insert"
        yield (replace(call.name, "entry"), (key.end_byte, value.start_byte, f").{last}("))


_OF_EACH_CHAR = frozenset(
    {
        "is_alphabetic", "is_uppercase", "is_lowercase", "is_numeric", "is_alphanumeric",
        "is_whitespace", "is_ascii_digit", "is_ascii_alphabetic", "is_ascii_uppercase",
        "is_ascii_lowercase", "is_ascii_punctuation",
    }
)  # fmt: skip


def character_of_text(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`"(".to_char()`: a char literal; `is_ascii_vowel()` and the like stay unknown."""
    known = _missing(diagnostic, source)
    if known is None:
        return
    call, word, kind = known
    text = source.text(call.receiver)
    if word in ("to_char", "as_char") and call.receiver.type == "string_literal":
        inside = text[1:-1]
        if len(inside) == 1 and inside not in "'\\":
            yield (replace(call.call, f"'{inside}'"),)
    if read(kind).name in ("str", "String") and word in ("nth", "char_at"):
        at = call.receiver.end_byte
        if word == "nth":
            yield ((at, at, ".chars()"),)
        else:
            yield (
                (at, at, ".chars()"),
                replace(call.name, "nth"),
                (call.call.end_byte, call.call.end_byte, ".unwrap()"),
            )
    predicate = _ON_CHAR.get(word, word)
    if read(kind).name in ("str", "String") and predicate in _OF_EACH_CHAR and not call.arguments:
        every = f"chars().all(|c| c.{predicate}())"
        yield ((call.name.start_byte, call.call.end_byte, every),)


def number_method(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`x.abs()` of a reference, `pow` of a float."""
    known = _missing(diagnostic, source)
    if known is None:
        return
    call, word, kind = known
    found = read(kind)
    if found.name in FLOATS and word == "pow" and len(call.arguments) == 1:
        yield (replace(call.name, "powi"),)
    if found.name in FLOATS and word == "is_integer" and not call.arguments:
        yield (
            (call.call.start_byte, call.call.start_byte, "("),
            (call.receiver.end_byte, call.call.end_byte, ".fract() == 0.0)"),
        )
    if found.name in NUMBERS and word in ("as_str", "to_str", "into_string", "chars"):
        if word == "chars":
            yield wrap(source, call.receiver, "{}.to_string()")
        else:
            yield (replace(call.name, "to_string"),)


def join_shown(diagnostic: Diagnostic, source: Source) -> Iterator[Parts]:
    """`numbers.join(",")`: the numbers as texts first."""
    match = re.match(
        r"the method `join` exists for [\w ]+ `&?(?:Vec<|\[)(\w+)(?:>|\])`", diagnostic.message
    )
    span = diagnostic.primary
    call = None if span is None else method_call(source, span.byte_start, span.byte_end)
    if match is None or call is None or match[1] not in NUMBERS | {"char"}:
        return
    at = call.receiver.end_byte
    yield ((at, at, ".iter().map(|x| x.to_string()).collect::<Vec<_>>()"),)
