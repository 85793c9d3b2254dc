"""Names of failures: against the installed compiler, by table, and by property."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.codes import CODES, SENTENCES, RootCause
from critic.patterns import (
    Pattern,
    by_importance,
    leading,
    pattern_of,
    signature,
    text_signature,
)
from critic.review import Diagnostic, Span


def error(
    message: str, code: str | None = None, *, line: int = 3, label: str | None = None, **more: str
) -> Diagnostic:
    span = Span("src/lib.rs", line, 5, line * 40, line * 40 + 4, primary=True, label=label)
    return Diagnostic("error", message, code, spans=(span,), **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def rustc() -> Path:
    sysroot = subprocess.run(
        ["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True
    )
    return Path(sysroot.stdout.strip()) / "bin" / "rustc"


@pytest.mark.slow
def test_every_code_that_rustc_explains_has_a_pattern(rustc: Path) -> None:
    def explained(code: str) -> bool:
        return subprocess.run([rustc, "--explain", code], capture_output=True).returncode == 0

    codes = [f"E{number:04}" for number in range(1, 1000)]
    with ThreadPoolExecutor(2) as pool:
        known = {
            code for code, found in zip(codes, pool.map(explained, codes), strict=True) if found
        }
    assert len(known) > 500
    assert known - set(CODES) == set()


def test_slugs_are_distinct_and_begin_with_their_code() -> None:
    slugs = [slug for slug, _ in CODES.values()]
    assert len(set(slugs)) == len(slugs)
    for code, (slug, _) in CODES.items():
        assert re.fullmatch(rf"{code.lower()}_[a-z0-9]+(_[a-z0-9]+)*", slug), slug


CAUSES = {
    "E0106": ("e0106_missing_lifetime_specifier", RootCause.LIFETIME),
    "E0133": ("e0133_unsafe_needed", RootCause.UNSAFE),
    "E0277": ("e0277_trait_bound_not_satisfied", RootCause.TRAIT),
    "E0308": ("e0308_type_mismatch", RootCause.TYPE),
    "E0382": ("e0382_use_after_move", RootCause.BORROW),
    "E0412": ("e0412_unknown_type", RootCause.NAME),
    "E0425": ("e0425_unresolved_name", RootCause.NAME),
    "E0432": ("e0432_unresolved_import", RootCause.IMPORT),
    "E0433": ("e0433_unresolved_path", RootCause.IMPORT),
    "E0499": ("e0499_two_mutable_borrows", RootCause.BORROW),
    "E0554": ("e0554_feature_on_stable", RootCause.FEATURE),
    "E0603": ("e0603_private_item", RootCause.VISIBILITY),
    "E0004": ("e0004_non_exhaustive_match", RootCause.PATTERN),
    "E0015": ("e0015_non_const_call_in_const", RootCause.CONST),
    "E0107": ("e0107_wrong_number_of_generic_arguments", RootCause.GENERIC),
    "E0728": ("e0728_await_outside_async", RootCause.ASYNC),
    "E0765": ("e0765_unterminated_string", RootCause.SYNTAX),
    "E0786": ("e0786_invalid_crate_metadata", RootCause.LINK),
}


@pytest.mark.parametrize("code", CAUSES)
def test_a_code_has_the_slug_and_the_cause_that_claims_hold(code: str) -> None:
    assert pattern_of(error("…", code)) == Pattern(CAUSES[code][0], code, CAUSES[code][1])


def test_a_code_from_the_future_is_still_named_after_itself() -> None:
    assert pattern_of(error("…", "E9999")) == Pattern("e9999", "E9999", RootCause.OTHER)


@pytest.mark.parametrize(
    ("message", "slug", "cause"),
    [
        ("expected one of `.`, `;` or an operator, found `x`", "unexpected_token", "syntax"),
        ("expected one of `!` or `::`, found keyword `let`", "unexpected_keyword", "syntax"),
        ("this file contains an unclosed delimiter", "unclosed_delimiter", "syntax"),
        ("mismatched closing delimiter: `)`", "mismatched_delimiter", "syntax"),
        ("unknown start of token: \\u{0}", "unknown_token", "syntax"),
        ("this `if` expression is missing a block after the condition", "missing_block", "syntax"),
        ("comparison operators cannot be chained", "chained_comparison", "syntax"),
        ("`and` is not a logical operator", "wrong_operator", "syntax"),
        ("missing `fn` for function definition", "missing_token", "syntax"),
        ("cannot find macro `networking` in this scope", "unresolved_macro", "macro"),
        ("cannot find derive macro `Serialize` in this scope", "unresolved_macro", "macro"),
        ("no rules expected keyword `in`", "macro_no_rule_matches", "macro"),
        ("recursion limit reached while expanding `r!`", "macro_recursion_limit", "macro"),
        ("proc-macro derive panicked", "proc_macro_panicked", "macro"),
        (
            "2 positional arguments in format string, but there is 1 argument",
            "format_argument_count",
            "macro",
        ),
        ("lifetime may not live long enough", "lifetime_may_not_live_long_enough", "lifetime"),
        ("future cannot be sent between threads safely", "not_send_between_threads", "trait"),
        ("linker `cc` not found", "linker_not_found", "link"),
        ("linking with `cc` failed: exit status: 1", "link_failed", "link"),
        (
            "`#[panic_handler]` function required, but not found",
            "missing_panic_handler",
            "attribute",
        ),
        ("something nobody has seen yet: `x` 7", "error_something_nobody_has_seen_yet_7", "other"),
        ("", "unnamed_error", "other"),
    ],
)
def test_an_error_without_a_code_is_named_by_its_sentence(
    message: str, slug: str, cause: str
) -> None:
    assert pattern_of(error(message)) == Pattern(slug, None, RootCause(cause))


@pytest.mark.parametrize(
    ("lint", "slug"),
    [
        ("unused_must_use", "lint_unused_must_use"),
        ("clippy::needless_return", "lint_clippy_needless_return"),
        ("rustdoc::broken_intra_doc_links", "lint_rustdoc_broken_intra_doc_links"),
    ],
)
def test_a_denied_lint_is_named_after_itself(lint: str, slug: str) -> None:
    assert pattern_of(error("unused", lint)) == Pattern(slug, lint, RootCause.LINT)


def test_the_text_of_a_compile_error_is_the_authors_and_names_nothing() -> None:
    rendered = 'error: linker `cc` not found\n --> src/lib.rs:1:1\n  |\n1 | compile_error!("…");\n'
    found = pattern_of(error("linker `cc` not found", rendered=rendered))
    assert found == Pattern("compile_error_macro", None, RootCause.MACRO)


STAGES = [
    error("expected `;`, found `}`"),
    error("unresolved import `x`", "E0432"),
    error("cannot find value `x`", "E0425"),
    error("mismatched types", "E0308"),
    error("trait bound", "E0277"),
    error("use of moved value", "E0382"),
    error("unused variable", "unused_variables"),
]


@pytest.mark.parametrize("at", range(len(STAGES) - 1))
def test_the_earliest_stage_of_the_compiler_names_the_failure(at: int) -> None:
    later = STAGES[at:]
    assert leading(list(reversed(later))) is later[0]
    assert by_importance(reversed(later)) == tuple(later)


def test_of_one_stage_the_first_printed_leads() -> None:
    first, second = error("mismatched types", "E0308"), error("wrong number", "E0061")
    assert leading([first, second]) is first
    assert leading([second, first]) is second


def test_warnings_never_lead() -> None:
    warning = replace(error("unused", "unused_variables"), level="warning")
    assert leading([warning]) is None
    assert signature([warning]) == ""


ERRORS = st.builds(
    error,
    st.sampled_from(
        ["mismatched types", "cannot find value `a`", "cannot find value `b`", "expected `;`"]
    ),
    st.sampled_from([*sorted(CODES)[:40], "unused_must_use", None]),
    line=st.integers(1, 9999),
    label=st.sampled_from([None, "expected `u8`, found `&str`", "expected `u8`, found `bool`"]),
)


@given(st.lists(ERRORS, min_size=1, max_size=5), st.integers(0, 500), st.randoms())
def test_the_same_failure_elsewhere_in_the_file_has_the_same_signature(
    errors: list[Diagnostic], down: int, random: object
) -> None:
    moved = [
        replace(d, spans=tuple(replace(s, line=s.line + down, file="src/b.rs") for s in d.spans))
        for d in errors
    ]
    assert signature([*moved, moved[0]]) == signature(errors)
    assert signature(reversed(errors)).rpartition("-")[2] == signature(errors).rpartition("-")[2]


@given(ERRORS, ERRORS)
def test_what_matters_gives_another_signature(one: Diagnostic, other: Diagnostic) -> None:
    def matter(d: Diagnostic) -> tuple[object, ...]:
        return (d.code, d.message, d.spans[0].label)

    assert (signature([one]) == signature([other])) == (matter(one) == matter(other))


def test_no_two_codes_share_a_signature() -> None:
    signatures = {signature([error("the same words", code)]) for code in CODES}
    assert len(signatures) == len(CODES)


VOLATILE = [
    "expected `fn()`, found closure `{closure@src/x.rs:%d:4: %d:10}`",
    "`{async block@src/x.rs:%d:4: %d:10}` is not a future",
    "required by `<impl at src/x.rs:%d:1: %d:20>`",
    "see src/main.rs:%d:%d for more",
    "expected `,` at line %d column %d",
    "let's call the lifetime of this reference `'%d` and that one `'%d`",
    "the full name is in '/tmp/t%d/app.long-type-%d.txt'",
    "cannot satisfy `?%dt: Clone` or `T/#%d`",
]


@pytest.mark.parametrize("template", VOLATILE)
def test_lines_paths_and_counters_in_a_message_do_not_enter_the_signature(template: str) -> None:
    one, other = error(template % (3, 5), "E0308"), error(template % (41, 1177), "E0308")
    assert signature([one]) == signature([other])


def test_numbers_that_mean_something_stay() -> None:
    two, three = "expected 2 arguments, found `[u8; 4]`", "expected 3 arguments, found `[u8; 4]`"
    assert signature([error(two, "E0061")]) != signature([error(three, "E0061")])
    assert signature([error("found `[u8; 4]`")]) != signature([error("found `[u8; 5]`")])


def test_a_text_signature_ignores_threads_and_places() -> None:
    said = "thread 't' (%d) panicked at src/lib.rs:%d:5:\nassertion failed: x == %d"
    assert text_signature("test_failed", said % (1, 2, 7)) == text_signature(
        "test_failed", said % (9, 88, 7)
    )
    assert text_signature("test_failed", said % (1, 2, 7)) != text_signature(
        "test_failed", said % (1, 2, 8)
    )


@given(st.text())
def test_any_text_has_a_pattern_and_a_signature(text: str) -> None:
    found = pattern_of(error(text))
    assert re.fullmatch(r"[a-z0-9_]+", found.slug)
    assert signature([error(text, label=text)]).startswith(found.slug)


def _sentence_slugs() -> Iterator[tuple[str, RootCause]]:
    yield from ((slug, cause) for slug, _, cause in SENTENCES)


def test_a_slug_never_stands_for_two_causes() -> None:
    causes: dict[str, set[RootCause]] = {}
    for slug, cause in [*_sentence_slugs(), *CODES.values()]:
        causes.setdefault(slug, set()).add(cause)
    assert {slug for slug, found in causes.items() if len(found) > 1} == set()
