"""libtest's output, as real test binaries print it."""

from __future__ import annotations

import pytest

from critic.review import Run, Stage
from critic.testing import RanTests, read_tests, together

PASSED = """
running 2 tests
test a ... ok
test b ... ok

test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out; finished in 0.00s
"""
FAILED = """
running 2 tests
test a ... ok
test deep::b ... FAILED

failures:

---- deep::b stdout ----

thread 'deep::b' panicked at tests/t.rs:4:5:
assertion `left == right` failed
  left: 1
 right: 2


failures:
    deep::b

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
NONE = """
running 0 tests

test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 5 filtered out; finished in 0.00s
"""
IGNORED = """
running 1 test
test a ... ignored

test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
HUNG = "\nrunning 2 tests\ntest a ... ok\ntest b ... "


def ran(stdout: str, code: int | None = 0, **more: object) -> Run:
    return Run(("t",), Stage.TEST, code, stdout=stdout, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("run", "count", "failed"),
    [
        pytest.param(ran(PASSED), 2, (), id="all pass"),
        pytest.param(ran(FAILED, 101), 2, ("deep::b",), id="one fails"),
        pytest.param(ran(NONE), 0, (), id="the filter matches none"),
        pytest.param(ran(IGNORED), 0, (), id="ignored tests did not run"),
        pytest.param(ran(HUNG, None, timed_out=True, limit="wall"), 1, ("b",), id="hangs in b"),
        pytest.param(ran("", None, signal=6), 1, ("t",), id="aborts before any test"),
        pytest.param(ran("own harness\n"), 1, (), id="its own harness"),
        pytest.param(ran(HUNG), 1, ("b",), id="ends with exit code 0 before its tests do"),
    ],
)
def test_counts_and_names(run: Run, count: int, failed: tuple[str, ...]) -> None:
    tested = read_tests(run, "t")
    assert (tested.ran, tested.failed) == (count, failed)


def test_the_failures_own_words_are_kept_and_the_summary_is_not() -> None:
    output = read_tests(ran(FAILED, 101), "t").output
    assert "left: 1" in output
    assert "test result" not in output


def test_a_binary_stopped_at_a_limit_says_which() -> None:
    tested = read_tests(ran(HUNG, None, limit="memory", seconds=2.0), "t")
    assert tested.over_limit == "memory"
    assert "memory" in tested.output


def test_a_result_line_printed_by_a_test_does_not_hide_a_failure() -> None:
    forged = PASSED + FAILED
    assert read_tests(ran(forged, 101), "t").failed == ("deep::b",)


def test_several_binaries_are_one_result() -> None:
    parts = (RanTests(2), RanTests(1, ("x",), "boom"), RanTests(0))
    assert together(parts, ["nothing"]) == RanTests(3, ("x",), "boom", None, ("nothing",))
