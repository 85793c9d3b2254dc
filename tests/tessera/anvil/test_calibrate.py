"""Replaying history for each threshold of the calibration signal."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from critic.review import Verdict
from tessera.anvil.calibrate import recommended, replay
from tessera.anvil.threshold import write_threshold
from tessera.errors import InputError
from tessera.records import Claim, SeatName


def claim(verdict: str, dispatch: str | None, seat: str = "local", **rest: Any) -> Claim:
    pattern = "e0106_missing_lifetime_specifier" if verdict == "FAIL" else None
    return Claim(
        "/c",
        rest.pop("target", "a.rs"),
        "t",
        SeatName(seat),
        Verdict(verdict),
        dispatch=dispatch,
        error_pattern=pattern,
        **rest,
    )


def run(name: str, verdicts: str, target: str = "a.rs") -> list[Claim]:
    """`F`, `P` are the local model's, `f`, `p` the frontier's, `c` is mended, `B` blocked."""
    words = {"F": "FAIL", "P": "PASS", "B": "BLOCKED", "C": "PASS"}
    seats = {"f": "frontier", "p": "frontier", "c": "compiler"}
    return [claim(words[v.upper()], name, seats.get(v, "local"), target=target) for v in verdicts]


@pytest.mark.parametrize(
    ("runs", "threshold", "expected"),
    [
        # fired, right, of those that went on, saved, lost, frontier calls beyond those made
        pytest.param(["FFFF"], 4, (1, 0, 0, 0, 0, 1), id="nothing followed"),
        pytest.param(["FFFF"], 3, (1, 1, 1, 1, 0, 1), id="one more failure"),
        pytest.param(["FFFFp"], 2, (1, 1, 1, 2, 0, 0), id="the frontier was asked anyway"),
        pytest.param(["FFFP"], 3, (1, 0, 1, 1, 1, 1), id="a pass would be lost"),
        pytest.param(["FFFFc"], 3, (1, 0, 1, 1, 1, 1), id="a mended one, too"),
        pytest.param(["FP"], 1, (0, 0, 0, 0, 0, 0), id="two attempts are always made"),
        pytest.param(["FFFF", "FFFF"], 4, (2, 1, 1, 2, 0, 2), id="history cuts the next one"),
        pytest.param(["FFFF", "PFFF"], 4, (1, 0, 0, 0, 0, 1), id="a pass resets"),
        pytest.param(["FBFBF"], 2, (1, 1, 1, 1, 0, 1), id="blocked counts nothing"),
        pytest.param(["FFFF"], 5, (0, 0, 0, 0, 0, 0), id="never"),
    ],
)
def test_one_threshold(runs: list[str], threshold: int, expected: tuple[int, ...]) -> None:
    claims = [c for n, verdicts in enumerate(runs) for c in run(str(n), verdicts)]
    [found] = replay(claims, thresholds=[threshold])
    right = found.right
    assert (
        found.fired,
        right.passed,
        right.of,
        found.saved,
        found.lost,
        found.extra_calls,
    ) == expected


def test_a_threshold_is_recommended_only_when_the_interval_says_so() -> None:
    hopeless = [c for n in range(30) for c in run(str(n), "FFFF", target=f"{n}.rs")]
    chosen = recommended(replay(hopeless))
    assert chosen is not None
    assert chosen.threshold == 1
    assert chosen.right.interval is not None
    assert chosen.right.interval[0] >= 0.8
    assert recommended(replay(hopeless[:40])) is None
    mixed = [c for n in range(30) for c in run(str(n), "FFFP", target=f"{n}.rs")]
    assert recommended(replay(mixed)) is None


def test_without_history_nothing_fires() -> None:
    assert all(found.fired == 0 for found in replay([]))


any_runs = st.lists(st.text(st.sampled_from("FPfpcB"), max_size=6), max_size=8)


@given(any_runs)
def test_a_higher_threshold_fires_and_saves_no_more(verdicts: list[str]) -> None:
    replays = replay([c for n, text in enumerate(verdicts) for c in run(str(n), text)])
    for low, high in pairwise(replays):
        assert low.fired >= high.fired
        assert low.saved >= high.saved
    for found in replays:
        assert found.right.passed + found.lost == found.right.of <= found.fired


COMMENTED = """# Mine.
[local]
model = "small"  # fast

[signal]
# Failures with one error pattern.
threshold = 4  # the default
"""


def test_a_threshold_is_written_and_comments_stay(tmp_path: Path) -> None:
    file = tmp_path / "tessera.toml"
    file.write_text(COMMENTED)
    file.chmod(0o600)
    assert write_threshold(file, 3)
    assert file.read_text() == COMMENTED.replace("threshold = 4", "threshold = 3")
    assert file.stat().st_mode & 0o777 == 0o600
    assert not write_threshold(file, 3)


def test_a_missing_table_or_file_is_made(tmp_path: Path) -> None:
    file = tmp_path / "tessera.toml"
    write_threshold(file, 5)
    assert tomlkit.parse(file.read_text()) == {"signal": {"threshold": 5}}
    file.write_text("# only words\n")
    write_threshold(file, 5)
    assert file.read_text().startswith("# only words\n")
    assert tomlkit.parse(file.read_text()) == {"signal": {"threshold": 5}}


def test_a_broken_file_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "tessera.toml"
    file.write_text("[signal\n")
    with pytest.raises(InputError, match="mend the file"):
        write_threshold(file, 5)
    assert file.read_text() == "[signal\n"
