"""Anvil's answers in the exchange format, for `--json` and for the service.

Pure: records to JSON values and, for the client, back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from tessera.anvil import claims
from tessera.anvil.calibrate import Replay
from tessera.anvil.interface import Page
from tessera.anvil.stats import rate_json
from tessera.records import History, PatternCount, Recollection, Signal, Skip


def recollection_json(found: Recollection) -> dict[str, Any]:
    """A recollection."""
    return asdict(found)


def recollection_of(data: Mapping[str, Any]) -> Recollection:
    """The recollection that `recollection_json` gave."""
    counts = dict(data["history"])
    patterns = tuple(PatternCount(**entry) for entry in counts.pop("patterns"))
    return Recollection(
        history=History(**counts, patterns=patterns),
        hint=data["hint"],
        skip=Skip(**data["skip"]) if data["skip"] else None,
        signal=Signal(**data["signal"]),
    )


def page_json(page: Page) -> dict[str, Any]:
    """A page of history."""
    return {"total": page.total, "claims": [claims.as_json(claim) for claim in page.claims]}


def page_of(data: Mapping[str, Any]) -> Page:
    """The page that `page_json` gave."""
    return Page(data["total"], tuple(claims.parse(claim) for claim in data["claims"]))


def replays_json(replays: Iterable[Replay], chosen: Replay | None) -> dict[str, Any]:
    """What `calibrate` found."""
    return {
        "thresholds": [_replay_json(found) for found in replays],
        "recommended": _replay_json(chosen) if chosen else None,
    }


def _replay_json(found: Replay) -> dict[str, Any]:
    return {
        "threshold": found.threshold,
        "fired": found.fired,
        "right": rate_json(found.right),
        "saved_attempts": found.saved,
        "lost_passes": found.lost,
        "frontier_calls": found.frontier_calls,
        "extra_frontier_calls": found.extra_calls,
    }
