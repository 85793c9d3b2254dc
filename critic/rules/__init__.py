"""Rules of our own: edits for errors that rustc explains without proposing one.

Each rule is a pure function from a diagnostic and a source to candidate edits; this module
names them and the codes they listen to. A rule proposes, the search tries, rustc decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from critic.edits import Applicability, Edit, EditSet
from critic.review import Diagnostic
from critic.rules import calls, floats, iterators, leftovers, methods, numbers, ownership, values
from critic.rules.source import Parts, Source

RuleFunction = Callable[[Diagnostic, Source], Iterator[Parts]]


@dataclass(frozen=True)
class Rule:
    """A named rule; `codes` are those it is asked about, None for errors without a code."""

    name: str
    codes: frozenset[str | None]
    propose: RuleFunction


def _rule(propose: RuleFunction, *codes: str | None) -> Rule:
    return Rule(propose.__name__, frozenset(codes), propose)


RULES: tuple[Rule, ...] = (
    _rule(leftovers.fences, None),
    _rule(leftovers.conditional, None),
    _rule(leftovers.ternary, None),
    _rule(leftovers.membership, None),
    _rule(leftovers.else_if, None),
    _rule(leftovers.swap, None),
    _rule(leftovers.whole_division, None),
    _rule(leftovers.words, "E0425"),
    _rule(leftovers.closing_brace, None),
    _rule(leftovers.unclosed, None),
    _rule(leftovers.power, None, "E0614"),
    _rule(leftovers.doubled, "E0428"),
    _rule(values.value_out_of_call, "E0308"),
    _rule(values.convert, "E0308"),
    _rule(values.same_branches, "E0308"),
    _rule(values.pattern_by_value, "E0308"),
    _rule(values.own_slice, "E0277"),
    _rule(values.error_as_text, "E0277"),
    _rule(values.shown_by_debug, "E0277"),
    _rule(values.concatenate, "E0369"),
    _rule(values.text_of_bytes, "E0599"),
    _rule(values.argument_by_reference, "E0277"),
    _rule(numbers.truth_of_number, "E0308"),
    _rule(iterators.range_end, "E0308"),
    _rule(numbers.cast_operand, "E0277", "E0369"),
    _rule(numbers.index_by_usize, "E0277"),
    _rule(numbers.plain_cast, "E0604", "E0605", "E0606", "E0607"),
    _rule(floats.float_method, "E0599", "E0689"),
    _rule(floats.order_floats, "E0277"),
    _rule(floats.compare_floats, "E0599"),
    _rule(floats.float_accumulator, "E0277"),
    _rule(numbers.signed_default, "E0600", "E0277"),
    _rule(numbers.negate_unsigned, "E0600"),
    _rule(numbers.not_before_comparison, "E0600"),
    _rule(numbers.dereference_too_many, "E0614"),
    _rule(numbers.arithmetic_of_chars, "E0369"),
    _rule(numbers.convert_operand, "E0277", "E0308", "E0369"),
    _rule(iterators.element_type, "E0277"),
    _rule(iterators.missing_type, "E0282", "E0283", "E0284"),
    _rule(iterators.index_of_iterator, "E0608"),
    _rule(iterators.not_an_iterator, "E0277"),
    _rule(methods.rename, "E0599"),
    _rule(methods.iterate_first, "E0599"),
    _rule(methods.collect_first, "E0599"),
    _rule(calls.arity, "E0061"),
    _rule(calls.free_function, "E0425", "E0423"),
    _rule(methods.map_entry, "E0599"),
    _rule(methods.character_of_text, "E0599"),
    _rule(methods.number_method, "E0599"),
    _rule(methods.join_shown, "E0599"),
    _rule(ownership.clone_borrowed, "E0502", "E0505", "E0506"),
    _rule(ownership.clone_moved, "E0382"),
    _rule(ownership.own_copy, "E0596", "E0594"),
    _rule(ownership.clone_key, None),
    _rule(ownership.anonymous_lifetime, "E0726"),
    _rule(ownership.missing_bounds, "E0599"),
    _rule(ownership.missing_associated_type, "E0046"),
    _rule(ownership.assign_into_map, "E0594", "E0596"),
    _rule(ownership.std_path, "E0433", "E0412", "E0425", "E0405", "E0422", "E0531"),
)


def propose(diagnostic: Diagnostic, source: Source) -> Iterator[EditSet]:
    """All edits our rules have for a diagnostic, the surest first."""
    for rule in RULES:
        if diagnostic.code in rule.codes:
            for parts in rule.propose(diagnostic, source):
                edits = tuple(
                    Edit(start, end, text, diagnostic.code, Applicability.RULE, rule.name)
                    for start, end, text in parts
                    if start != end or text
                )
                if edits:
                    yield EditSet(edits)
