"""Types as rustc writes them in messages, and how a value of one becomes another.

Pure text. `conversions` answers with templates that have one `{}` for the expression; it
knows only conversions that keep the value, or that the type asked for leaves no choice in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

INTEGERS = frozenset(
    {"i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize"}
)
FLOATS = frozenset({"f32", "f64"})
NUMBERS = INTEGERS | FLOATS
LITERALS = {"integer": "{integer}", "floating-point number": "{float}"}
COPIES = NUMBERS | {"bool", "char", "{integer}", "{float}"}

_LIFETIME = re.compile(r"'\w+ ?")
_PATH = re.compile(r"\b(?:\w+::)+(?=\w)")
_MISMATCH = re.compile(r"expected (.+?), found (.+)$", re.DOTALL)


@dataclass(frozen=True)
class Type:
    """`refs` leading `&`, then a name with its arguments: `&&Vec<&str>` is 2, Vec, (&str,)."""

    refs: int
    name: str
    arguments: tuple[str, ...] = ()

    @property
    def bare(self) -> str:
        """The type without its leading references."""
        return f"{self.name}<{', '.join(self.arguments)}>" if self.arguments else self.name


def split_arguments(text: str) -> tuple[str, ...]:
    """Split at the commas that stand in no bracket: `K, Vec<(A, B)>`."""
    depth, start, found = 0, 0, []
    for at, char in enumerate(text):
        if char in "<([{":
            depth += 1
        elif char in ")]}" or (char == ">" and text[at - 1 : at] != "-"):
            depth -= 1
        elif char == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return tuple([*found, last] if last else found)


def clean(text: str) -> str:
    """Without lifetimes, module paths and `mut`: `&'a mut std::vec::Vec<T>` is `&Vec<T>`."""
    return _PATH.sub("", _LIFETIME.sub("", text)).replace("&mut ", "&").strip()


def read(text: str) -> Type:
    """A type from rustc's text."""
    text = clean(text)
    bare = text.lstrip("&").strip()
    refs = len(text) - len(text.lstrip("&"))
    name, bracket, rest = bare.partition("<")
    if bracket and bare.endswith(">") and name.isidentifier():
        return Type(refs, name, split_arguments(rest[:-1]))
    return Type(refs, bare)


def expected_found(label: str | None) -> tuple[Type, Type] | None:
    """The two types of a `mismatched types` label, None where it names no types."""
    match = _MISMATCH.fullmatch(label or "")
    if match is None:
        return None
    sides = []
    for side in match.groups():
        quoted = re.fullmatch(r"`(.+)`", side)
        sides.append(quoted.group(1) if quoted else LITERALS.get(side, side))
    return read(sides[0]), read(sides[1])


def is_number(kind: Type) -> bool:
    """Whether it is a number by value, a literal's open type included."""
    return kind.refs == 0 and (kind.name in NUMBERS or kind.name in ("{integer}", "{float}"))


def _numeric(expected: Type, found: Type) -> list[str]:
    stars = "*" * found.refs
    if expected.refs or expected.name not in NUMBERS:
        return []
    if found.name in NUMBERS and found.name != expected.name:
        return [f"{stars}{{}} as {expected.name}"]
    if found.name in ("{integer}", "{float}") and (found.refs or expected.name in NUMBERS):
        return [f"{stars}{{}} as {expected.name}"]
    return []


def _text(expected: Type, found: Type) -> list[str]:
    want, have = (expected.refs, expected.name), (found.refs, found.name)
    if want == (0, "String") and found.name in ("str", "char", "String"):
        return ["{}.to_string()"]
    if want == (1, "str"):
        if have == (0, "String"):
            return ["&{}"]
        if found.name == "char":
            return ["&{}.to_string()"]
        if found.name == "String":
            return ["{}.as_str()"]
        if found.name == "str" and found.refs > 1:
            return ["*" * (found.refs - 1) + "{}"]
    if want == (2, "str") and found.name == "String" and found.refs < 2:
        return ["&{}.as_str()"]
    if want == (1, "String") and found.name == "str":
        return ["&{}.to_string()"]
    if want == (0, "char") and found.name == "u8":
        return ["*" * found.refs + "{} as char"]
    if want == (0, "u8") and have == (0, "char"):
        return ["{} as u8"]
    if expected.refs == 0 and expected.name in INTEGERS and found.name == "char":
        return ["*" * found.refs + "{} as " + expected.name]
    return []


def _cased(expected: Type, found: Type) -> list[str]:
    """What `char::to_lowercase` gives: one char or more, as an iterator."""
    if found.refs or expected.refs or found.name not in ("ToLowercase", "ToUppercase"):
        return []
    made = {"String": "{}.to_string()", "char": "{}.next().unwrap()"}
    return [made[expected.name]] if expected.name in made else []


def _references(expected: Type, found: Type) -> list[str]:
    if expected == Type(0, "{integer}") and found.name in INTEGERS and found.refs:
        return ["*" * found.refs + "{}"]
    if expected.bare != found.bare:
        return []
    if expected.refs < found.refs:
        if expected.name in COPIES or expected.refs:
            return ["*" * (found.refs - expected.refs) + "{}"]
        return ["{}.clone()"] if found.refs == 1 else ["(" + "*" * (found.refs - 1) + "{}).clone()"]
    if expected.refs > found.refs:
        return ["&" * (expected.refs - found.refs) + "{}"]
    return []


_LAZY = frozenset(
    {
        "Map", "Filter", "Rev", "Chars", "Iter", "IntoIter", "Cloned", "Copied", "Enumerate",
        "Zip", "Take", "Skip", "StepBy", "Chain", "FilterMap", "FlatMap", "Keys", "Values",
        "Split", "SplitWhitespace", "Lines", "TakeWhile", "SkipWhile", "Peekable", "Bytes",
        "Drain", "Range", "RangeInclusive", "Flatten", "Scan", "ToLowercase", "ToUppercase",
    }
)  # fmt: skip


def is_lazy(kind: Type) -> bool:
    """Whether it is an iterator of the standard library, by its name."""
    return kind.refs == 0 and kind.name in _LAZY


def _lists(expected: Type, found: Type) -> list[str]:
    if expected.refs:
        return []
    if is_lazy(found) and expected.name in ("Vec", "String", "HashSet", "HashMap", "VecDeque"):
        return [f"{{}}.collect::<{expected.bare}>()", "{}.collect()"]
    if expected.name == "Vec" and found.name.startswith("["):
        return ["{}.to_vec()"]
    if expected.name == "String" and found.name == "Vec" and found.arguments == ("char",):
        return ["{}.iter().collect::<String>()"]
    if expected.name == "Vec" and expected.arguments == ("char",) and found.name == "String":
        return ["{}.chars().collect::<Vec<char>>()"]
    if expected.name == found.name and expected.name in ("Vec", "VecDeque", "HashSet"):
        step = element_step(expected.arguments[:1], found.arguments[:1])
        into = "into_iter" if found.refs == 0 else "iter"
        return [f"{{}}.{into}(){step}.collect()"] if step and found.refs == 0 else []
    return []


def conversions(expected: Type, found: Type) -> list[str]:
    """Templates that make a value of the expected type from one of the found type."""
    if "_" in (expected.name, found.name):
        return []
    return [
        *_references(expected, found),
        *_numeric(expected, found),
        *_text(expected, found),
        *_cased(expected, found),
        *_lists(expected, found),
        *_held(expected, found),
    ]


def _held(expected: Type, found: Type) -> list[str]:
    """What an Option holds, where its absence was not thought of: a panic, as elsewhere."""
    if found.refs or found.name != "Option" or len(found.arguments) != 1:
        return []
    if expected.name in ("Option", "()", "bool", "Self") or expected.name.startswith("{"):
        return []
    held = read(found.arguments[0])
    ways = ["{}"] if held == expected else conversions(expected, held)
    return [way.replace("{}", "{}.unwrap()") for way in ways[:2]]


def element_step(expected: tuple[str, ...], found: tuple[str, ...]) -> str | None:
    """The adaptor that turns an iterator's elements into the ones wanted, None if unknown."""
    if len(expected) != 1 or len(found) != 1:
        return None
    want, have = read(expected[0]), read(found[0])
    if want.bare == have.bare and have.refs == want.refs + 1:
        return ".cloned()"
    if want.name.startswith("(") and have.name.startswith("(") and not want.refs:
        return _tuple_step(want, have)
    if have.name in ("Result", "Option") and have.arguments[:1] == expected and not have.refs:
        return ".map(|x| x.unwrap())"
    ways = conversions(want, have)
    if not ways and want == Type(0, "String") and have.name in NUMBERS:
        ways = ["{}.to_string()"]
    return None if not ways else f".map(|x| {ways[0].format('x')})"


def _tuple_step(want: Type, have: Type) -> str | None:
    wanted, had = split_arguments(want.name[1:-1]), split_arguments(have.name[1:-1])
    if len(wanted) != len(had) or have.refs or not 2 <= len(had) <= 4:
        return None
    names = "abcd"[: len(had)]
    made = []
    for name, one, other in zip(names, wanted, had, strict=True):
        if clean(one) == clean(other):
            made.append(name)
            continue
        ways = conversions(read(one), read(other))
        if not ways:
            return None
        made.append(ways[0].format(name))
    return f".map(|({', '.join(names)})| ({', '.join(made)}))"
