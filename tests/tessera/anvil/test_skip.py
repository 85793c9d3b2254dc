"""When the same infrastructure fault was met again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.review import Verdict
from tessera.anvil.skip import skip_signal
from tessera.records import Claim, SeatName


def claim(verdict: str, kind: str | None = None, seat: str = "local", **rest: Any) -> Claim:
    return Claim(
        "/c", "src/lib.rs", "t", SeatName(seat), Verdict(verdict), blocked_kind=kind, **rest
    )


dns = claim("BLOCKED", "dns")
linker = claim("BLOCKED", "linker")
passed = claim("PASS")
failed = claim("FAIL", error_pattern="e0308_type_mismatch")


@pytest.mark.parametrize(
    ("claims", "kind"),
    [
        pytest.param([], None, id="nothing"),
        pytest.param([dns], None, id="once"),
        pytest.param([dns, dns], "dns", id="twice"),
        pytest.param([dns, passed, dns], None, id="a pass between"),
        pytest.param([dns, dns, passed], None, id="a pass since"),
        pytest.param([linker, failed, linker], "linker", id="a failed check proves no linker"),
        pytest.param([dns, linker], None, id="two faults, each once"),
        pytest.param([dns, linker, dns], "dns", id="again, with another between"),
        pytest.param([linker, linker, dns, dns], "dns", id="the one met last"),
        pytest.param([claim("BLOCKED")] * 3, None, id="a fault without a name"),
        pytest.param(
            [claim("BLOCKED", "model_rate_limited", "frontier")] * 3, None, id="frontier is away"
        ),
        pytest.param([claim("BLOCKED", "disk_full", "frontier")] * 2, "disk_full", id="disk"),
    ],
)
def test_what_is_skipped_for(claims: list[Claim], kind: str | None) -> None:
    skip = skip_signal(claims)
    assert (skip.kind if skip else None) == kind


def test_it_says_why() -> None:
    skip = skip_signal([dns, dns, claim("BLOCKED", "dns", at="2026-01-31T12:00:00Z")])
    assert skip is not None
    assert skip.why == ("blocked 3 times by dns with no pass between, last at 2026-01-31T12:00:00Z")


@given(st.lists(st.sampled_from([dns, linker, failed, passed]), max_size=20))
def test_a_skip_names_a_fault_met_twice_since_the_last_pass(claims: list[Claim]) -> None:
    since = claims
    while passed in since:
        since = since[since.index(passed) + 1 :]
    twice = [fault for fault in (dns, linker) if since.count(fault) >= 2]
    skip = skip_signal(claims)
    assert (skip is not None) == bool(twice)
    assert skip is None or skip.kind in [fault.blocked_kind for fault in twice]
