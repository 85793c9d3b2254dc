"""The memory in a file: what goes in comes out, whole and in order."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from critic.review import Axes, Verdict
from tessera.anvil import Anvil, ClaimError, open_anvil
from tessera.anvil.hint import compose
from tessera.anvil.signal import calibration_signal
from tessera.anvil.skip import skip_signal
from tessera.anvil.tally import history_of, tally_up
from tessera.records import Claim, Event, Outcome, PatternCount, Recollection, SeatName

LIFETIME = {"error_pattern": "e0106_missing_lifetime_specifier", "root_cause": "lifetime"}


def claim(verdict: str = "FAIL", seat: str = "local", task: str = "mine", **rest: Any) -> Claim:
    return replace(Claim("/c", "src/a.rs", task, SeatName(seat), Verdict(verdict)), **rest)


@pytest.fixture
def anvil(tmp_path: Path) -> Iterator[Anvil]:
    with open_anvil(tmp_path / "data" / "anvil.db") as opened:
        yield opened


FULL = claim(
    "FAIL",
    model="small",
    attempt=2,
    dispatch="d1",
    arm="carry",
    signature="s",
    tokens_in=3,
    tokens_out=4,
    cost_usd=0.5,
    seconds={"model": 1.5, "check": 0.25},
    axes=Axes(0.5, 1.0, 0.9, 0.0),
    diff="--- a\n+++ b\n",
    prompt_hash="h",
    profile="p",
    candidate="fn main() {}\n",
    at="2026-01-31T12:00:00Z",
    **LIFETIME,
)


def test_an_empty_memory_says_nothing(anvil: Anvil) -> None:
    assert anvil.pre_attempt("/c", "src/a.rs", "mine") == Recollection()
    assert anvil.history().total == 0


def test_a_claim_comes_back_as_it_was(anvil: Anvil) -> None:
    anvil.post_attempt(FULL)
    page = anvil.history()
    assert (page.total, page.claims) == (1, (FULL,))


def test_a_claim_without_a_time_gets_that_of_its_recording(anvil: Anvil) -> None:
    anvil.post_attempt(claim())
    assert (anvil.history().claims[0].at or "").endswith("Z")


@pytest.mark.parametrize(
    "text", ["a\0b", "\ud800 half", "", "é\r\n", "x" * 10_000_000], ids=lambda text: repr(text[:8])
)
def test_odd_texts_are_kept_whole(anvil: Anvil, text: str) -> None:
    anvil.post_attempt(claim(diff=text, candidate=text))
    kept = anvil.history().claims[0]
    assert kept.diff == text
    assert kept.candidate == text
    assert anvil.check().problems == ()


def test_equal_texts_are_kept_once(anvil: Anvil) -> None:
    anvil.record([replace(FULL, attempt=n, diff=FULL.candidate) for n in range(1, 50)])
    assert anvil.check().facts["contents"] == 1


def test_all_are_recorded_or_none(anvil: Anvil) -> None:
    with pytest.raises(ClaimError, match="claim 3: field 'model' contains a NUL"):
        anvil.record([claim(), claim(), claim(model="a\0")])
    assert anvil.history().total == 0
    assert anvil.record([claim(), claim()]) == 2
    assert anvil.history().total == 2


def test_one_key_is_recorded_once(anvil: Anvil) -> None:
    assert anvil.record([claim(), claim()], key="k") == 2
    assert anvil.record([claim(), claim()], key="k") == 2
    assert anvil.history().total == 2


def test_history_is_filtered_and_paged_in_order(anvil: Anvil) -> None:
    others = [claim(attempt=1, crate="/x"), claim(attempt=2, target="b"), claim(task="t")]
    mine = [claim(attempt=n) for n in range(1, 8)]
    anvil.record([*others, *mine])
    page = anvil.history("/c", "src/a.rs", "mine", limit=3, offset=2)
    assert page.total == 7
    assert [claim.attempt for claim in page.claims] == [3, 4, 5]
    assert anvil.history("/c").total == 9
    assert anvil.history(task="t").total == 1
    assert anvil.history(limit=0) == replace(anvil.history(), claims=())


def test_the_example_of_five_prior_attempts(anvil: Anvil) -> None:
    anvil.record(
        [
            claim("PASS", attempt=1),
            claim(**LIFETIME),
            claim(**LIFETIME),
            claim(error_pattern="e0308_type_mismatch", root_cause="type"),
            claim("PASS", attempt=1),
            claim("BLOCKED", blocked_kind="dns"),
        ]
    )
    found = anvil.pre_attempt("/c", "src/a.rs", "mine")
    assert found.history.patterns == (
        PatternCount("e0106_missing_lifetime_specifier", "E0106", "lifetime", 2),
        PatternCount("e0308_type_mismatch", "E0308", "type", 1),
    )
    counts = found.history
    assert (counts.total, counts.passed, counts.failed, counts.blocked) == (6, 2, 3, 1)
    assert found.hint == (
        "This file has 5 prior attempts: 2 passed, 3 failed. Known failure patterns: "
        "E0106 (lifetime, 2 occurrences), E0308 (type mismatch, 1 occurrence). "
        "This task previously passed after 1 attempt."
    )


def test_a_hint_that_is_not_wanted_is_not_made(anvil: Anvil) -> None:
    anvil.record([claim(**LIFETIME)] * 4)
    found = anvil.pre_attempt("/c", "src/a.rs", "mine", hint=False)
    assert found.hint is None
    assert found.signal.fired


def test_arms_do_not_teach_each_other(anvil: Anvil) -> None:
    anvil.record([claim(arm="a", **LIFETIME)] * 4 + [claim(arm="b", **LIFETIME)])
    assert anvil.pre_attempt("/c", "src/a.rs", "mine", arm="a").signal.failures == 4
    assert anvil.pre_attempt("/c", "src/a.rs", "mine", arm="b").history.total == 1
    assert anvil.pre_attempt("/c", "src/a.rs", "mine").history.total == 5


def test_a_task_is_remembered_behind_many_claims_of_others(anvil: Anvil) -> None:
    anvil.record([claim(**LIFETIME)] * 4 + [claim(task="busy")] * 200)
    assert anvil.pre_attempt("/c", "src/a.rs", "mine").signal.fired


any_claims = st.lists(
    st.builds(
        claim,
        verdict=st.sampled_from([verdict.value for verdict in Verdict]),
        seat=st.sampled_from([seat.value for seat in SeatName]),
        task=st.sampled_from(["mine", "other"]),
        error_pattern=st.sampled_from([None, "", "e0106_x", "e0308_type_mismatch", "tests"]),
        root_cause=st.sampled_from([None, "type", "lifetime"]),
        blocked_kind=st.sampled_from([None, "dns", "linker"]),
        attempt=st.none() | st.integers(1, 5),
        dispatch=st.sampled_from([None, "d"]),
        at=st.just("2026-01-31T12:00:00Z"),
    ),
    max_size=30,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_claims)
def test_what_is_stored_recalls_the_same_as_the_claims_themselves(
    tmp_path_factory: pytest.TempPathFactory, claims: list[Claim]
) -> None:
    with open_anvil(tmp_path_factory.mktemp("anvil") / "anvil.db") as anvil:
        anvil.record(claims)
        found = anvil.pre_attempt("/c", "src/a.rs", "mine")
        health = anvil.check()
    tallies = tally_up(claims)
    signal = calibration_signal(claims, "mine")
    assert found.history == history_of(tallies)
    assert found.signal == signal
    assert found.skip == skip_signal(claims)
    assert found.hint == compose(tallies, "mine", signal)
    assert health.problems == ()


def test_a_dispatch_is_noted_from_start_to_end(anvil: Anvil) -> None:
    anvil.start_dispatch("d", crate="/c", target="a", task="t", at="1", data={"budget": 4})
    anvil.finish_dispatch("d", Outcome.PASS, seat=SeatName.LOCAL, at="2", data={"hint": "h"})
    found = anvil.get_dispatch("d") or {}
    assert (found["outcome"], found["seat"], found["finished"]) == ("pass", "local", "2")
    assert found["data"] == {"budget": 4, "hint": "h"}
    assert anvil.get_dispatch("other") is None


def test_events_are_followed_from_the_last_one_seen(anvil: Anvil) -> None:
    sent = [Event("prompt_sent", "now", of, {"n": n}) for n, of in enumerate("aab")]
    for event in sent:
        anvil.add_event(event)
    places = anvil.events()
    assert [event for _, event in places] == sent
    assert [event for _, event in anvil.events(after=places[0][0])] == sent[1:]
    assert [event for _, event in anvil.events(dispatch="b")] == sent[2:]
    assert len(anvil.events(limit=2)) == 2


def test_a_prompt_that_was_private_once_stays_private(anvil: Anvil) -> None:
    for private in (False, True, False):
        anvil.put_prompt("h", "text", private)
    assert anvil.get_prompt("h") == ("text", True)
    assert anvil.get_prompt("other") is None


def test_a_proposal_moves_only_from_the_state_it_is_in(anvil: Anvil) -> None:
    new = anvil.put_content("fn new() {}")
    anvil.put_proposal(
        {
            "id": "p",
            "dispatch": "d",
            "crate": "/c",
            "target": "a",
            "seat": "frontier",
            "base_hash": "b",
            "new": new,
            "report": {"attempts": [1]},
        }
    )
    assert anvil.move_proposal("p", "staged", "rejected", "too long")
    assert not anvil.move_proposal("p", "staged", "accepted", None)
    found = anvil.get_proposal("p") or {}
    assert (found["state"], found["why"], found["report"]) == (
        "rejected",
        "too long",
        {"attempts": [1]},
    )
    assert anvil.get_content(found["new"]) == "fn new() {}"
    assert anvil.list_proposals("staged") == []
    assert anvil.list_proposals("rejected") == anvil.list_proposals() == [found]


def test_a_proposal_of_a_file_that_is_not_kept_is_refused(anvil: Anvil) -> None:
    lost = {"id": "p", "dispatch": "d", "crate": "/c", "target": "a", "seat": "local", "new": "?"}
    with pytest.raises(ValueError, match="can't take 'p': FOREIGN KEY"):
        anvil.put_proposal(lost)
    with pytest.raises(ValueError, match="proposals have no 'colour'"):
        anvil.put_proposal({**lost, "colour": "red"})


def test_incidents_are_kept_in_order(anvil: Anvil) -> None:
    for n in range(3):
        anvil.put_incident(
            {"id": f"i{n}", "dispatch": "d", "crate": "/c", "target": "a", "task": "t", "report": n}
        )
    assert [incident["id"] for incident in anvil.list_incidents()] == ["i0", "i1", "i2"]
    assert [incident["report"] for incident in anvil.list_incidents("i2")] == [2]


def test_check_finds_what_was_tampered_with(anvil: Anvil, tmp_path: Path) -> None:
    anvil.record([FULL, claim(**LIFETIME)])
    with closing(sqlite3.connect(tmp_path / "data" / "anvil.db")) as connection:
        connection.execute("UPDATE tallies SET count = count + 1 WHERE arm = 'carry'")
        connection.execute("UPDATE contents SET data = x'00' WHERE id = 1")
        connection.execute("UPDATE claims SET file = 99 WHERE id = 2")
        connection.commit()
    problems = " ".join(anvil.check().problems)
    assert "counts: 2 tallies differ" in problems
    assert "is not what its hash says" in problems
    assert "of claims names a row of files" in problems


def test_threads_share_one_memory(anvil: Anvil) -> None:
    def post() -> None:
        for _ in range(10):
            anvil.post_attempt(claim())

    threads = [threading.Thread(target=post) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert anvil.history().total == 40


def test_a_forked_child_records_through_its_own_connection(anvil: Anvil) -> None:
    anvil.post_attempt(claim())
    child = os.fork()
    if child == 0:
        status = 1
        try:
            anvil.post_attempt(claim("PASS"))
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    anvil.post_attempt(claim())
    assert [c.verdict for c in anvil.history().claims] == ["FAIL", "PASS", "FAIL"]
