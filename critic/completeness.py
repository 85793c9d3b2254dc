"""Whether a source does what was asked or only looks as if: placeholders and stub bodies.

Pure, from tokens and tree to findings. A stub is told by its shape alone, so a rule only
fails what no finished function looks like: a result that is constant although there are
parameters, none of which is used. Methods of traits, and parameters named `_` on purpose,
count only where the task asked for that very function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from critic.findings import Finding, Rule
from critic.syntax import Function, Place, Source
from critic.tokens import Kind, Token, attributes, own_macros

_PLACEHOLDERS = ("todo", "unimplemented")
_PANICS = ("panic", "unreachable")
_SAYS_UNFINISHED = re.compile(
    r'[bc]?r?#*"\W*(?:(?:is |has )?not (?:yet )?(?:been )?implemented|unimplemented|to-?do\b'
    r"|fixme\b|tbd\b|stub\b|placeholder|implement (?:me|this)|your code)",
    re.IGNORECASE,
)
# What a constant is made of, besides literals and the names of types and constants.
_CONSTANT_WORDS = frozenset(
    {"true", "false", "return", "new", "default", "from", "into", "to_string", "to_owned", "vec"}
    | {"empty", "format", "std", "core", "alloc", "string", "cmp", "collections", "loop"}
)
_CONSTANT_MARKS = frozenset({*"()[]{},;!&-.<>", "::"})
_LONGEST_CONSTANT = 60


def completeness(source: Source, before: Source | None, wanted: Sequence[str]) -> Iterator[Finding]:
    """Missing items, placeholders and stub bodies; `before` is the file as it was.

    With items `wanted`, a function that isn't one of them and is as it was can't fail.
    """
    bodies = _bodies(source, frozenset(wanted))
    spared = _unchanged(bodies, before) if wanted and before is not None else ()
    yield from _missing(source, wanted)
    yield from _nothing_there(source, before)
    for at, text in _placeholders(source):
        fails = not any(body.function.start <= at < body.function.end for body in spared)
        yield Finding(Rule.PLACEHOLDER, text, source.line(at), fails)
    for body in bodies:
        found = _stub(body)
        if found is not None:
            text = f"`{body.function.name}` {found.text}"
            line = source.line(body.function.start)
            yield Finding(found.rule, text, line, found.fails and body not in spared)


def _missing(source: Source, wanted: Sequence[str]) -> Iterator[Finding]:
    lacking = [name for name in dict.fromkeys(wanted) if name not in source.names]
    made = frozenset(_made_by_macros(source)) if lacking else frozenset()
    for name in lacking:
        text = f"`{name}` is asked for and not defined"
        yield Finding(Rule.MISSING_ITEM, text, 1, fails=name not in made)


def _nothing_there(source: Source, before: Source | None) -> Iterator[Finding]:
    """A file without code, and one that compiles to none: both pass every compiler."""
    if not source.code:
        yield Finding(Rule.MISSING_ITEM, "the file holds no code", 1, fails=True)
    known = () if before is None else tuple(_inner_conditions(before))
    for at, text in _inner_conditions(source):
        if text not in [earlier for _, earlier in known]:
            yield Finding(Rule.SWITCHED_OFF, f"`{text}` may leave out the whole file", at, True)


def _inner_conditions(source: Source) -> Iterator[tuple[int, str]]:
    """The line and text of each `#![cfg(…)]`."""
    for found in attributes(source.code):
        inner = source.code[found.open + 1 : found.close]
        if found.inner and inner and inner[0].text == "cfg":
            text = "".join(token.text for token in source.code[found.at : found.close + 1])
            yield source.line(source.code[found.at].start), text


def _made_by_macros(source: Source) -> Iterator[str]:
    """Names in the arguments of macros that stand where items do, and so may define them."""
    calls = {call.at: call for call in source.macro_calls}
    depth = 0
    for index, token in enumerate(source.code):
        if depth == 0 and index in calls:
            inner = source.code[calls[index].open : calls[index].close]
            yield from (t.text for t in inner if t.kind is Kind.IDENT)
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))


def _placeholders(source: Source) -> Iterator[tuple[int, str]]:
    """Where the code says of itself that it isn't finished, in macros too."""
    code = source.code
    renamed = {use.name: use.segments[-1] for use in source.uses}
    own = own_macros(code)
    for call in source.macro_calls:
        *path, name = call.segments
        if path not in ([], ["std"], ["core"]) or name in own:
            continue
        name = renamed.get(name, name)
        if name in _PLACEHOLDERS:
            yield code[call.at].start, f"`{name}!` stands where code should"
        elif name in _PANICS and _SAYS_UNFINISHED.match(code[call.open + 1].text):
            yield code[call.at].start, f"`{name}!` says that this is not implemented"


@dataclass(frozen=True)
class _Body:
    """A function, the tokens of its body and whether the task asks for it by name."""

    function: Function
    code: tuple[Token, ...]
    asked: bool

    @property
    def identity(self) -> tuple[str, ...]:
        """What makes it the same function with the same body, wherever it stands."""
        return (self.function.owner, self.function.name, *(token.text for token in self.code))


def _bodies(source: Source, asked: frozenset[str]) -> list[_Body]:
    return [_Body(f, source.tokens_between(*f.body), f.name in asked) for f in source.functions]


def _unchanged(bodies: Sequence[_Body], before: Source) -> tuple[_Body, ...]:
    known = {body.identity for body in _bodies(before, frozenset())}
    return tuple(body for body in bodies if not body.asked and body.identity in known)


@dataclass(frozen=True)
class _Stub:
    """What is wrong with a body."""

    rule: Rule
    text: str
    fails: bool


def _stub(body: _Body) -> _Stub | None:
    """What a function's body lacks, judged by its shape alone."""
    function = body.function
    gated = any(re.match(r"#\[\s*cfg\b", attribute) for attribute in function.attributes)
    if function.for_tests or (gated and not body.asked) or function.place is Place.TRAIT:
        return None
    mutates = function.receiver.replace(" ", "").startswith("&") and "mut" in function.receiver
    if not function.parameters and not (mutates and body.asked):
        return _empty_main(body)
    named = any(not name.startswith("_") for name in function.parameters)
    own = function.place is not Place.TRAIT_IMPL
    fails = body.asked or (own and named)
    texts = [token.text for token in body.code]
    if not function.returns:
        nothing = not texts or texts in (["(", ")"], ["return"], ["return", ";"])
        return _Stub(Rule.EMPTY_BODY, "has an empty body", fails) if nothing and fails else None
    if function.returns.strip() == "!" or not _is_constant(body.code, function.parameters):
        return None
    if _is_panic(texts):
        return _Stub(Rule.CONSTANT_BODY, "does nothing but panic", body.asked and own)
    if not (own or body.asked):
        return None
    return _Stub(Rule.CONSTANT_BODY, "gives one result, whatever its arguments are", fails)


def _empty_main(body: _Body) -> _Stub | None:
    """A program that was asked for and does nothing."""
    if body.asked and body.function.name == "main" and not body.code:
        return _Stub(Rule.EMPTY_BODY, "has an empty body", fails=True)
    return None


def _is_panic(texts: Sequence[str]) -> bool:
    return texts[:1] in (["panic"], ["unreachable"]) and texts[1:2] == ["!"]


def _is_constant(code: Sequence[Token], parameters: Sequence[str]) -> bool:
    """Whether a body depends on nothing: literals, constants and empty collections only."""
    texts = [token.text for token in code]
    if not texts or len(texts) > _LONGEST_CONSTANT or any(p in texts for p in parameters):
        return False
    if _is_panic(texts):
        return texts[-1] in (")", ";") and texts.count("!") == 1
    return all(
        _may_be_constant(token, following)
        for token, following in zip(code, [*texts[1:], ""], strict=True)
    )


def _may_be_constant(token: Token, following: str) -> bool:
    match token.kind:
        case Kind.IDENT:
            # A single capital is a type parameter: `T::SIZE` differs from call to call.
            named = token.text[0].isupper() and len(token.text) > 1
            return named or token.text in _CONSTANT_WORDS
        case Kind.PUNCT:
            fieldless = token.text != "{" or following == "}"
            return token.text in _CONSTANT_MARKS and fieldless
        case Kind.STRING:
            return re.search(r"\{\w", token.text) is None
        case _:
            return token.kind in (Kind.NUMBER, Kind.CHAR)
