"""What the memory can do, whether it is a file here or a service elsewhere.

Only the shape: the embedded store and the client of the service both have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from tessera.records import Claim, Event, Outcome, Recollection, SeatName


@dataclass(frozen=True)
class Page:
    """Some of the claims, oldest first, and how many there are in all."""

    total: int = 0
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class Health:
    """What a look at the whole memory found; `problems` is empty when all is well."""

    claims: int = 0
    problems: tuple[str, ...] = ()
    facts: Mapping[str, int] = field(default_factory=dict)


def chunks(after: Callable[[int], list[tuple[int, Claim]]]) -> Iterator[Claim]:
    """Every claim, from a function that gives the next ones after a place."""
    place = 0
    while found := after(place):
        yield from (claim for _, claim in found)
        place = found[-1][0]


class Anvil(Protocol):
    """The memory. Every method may raise StorageError; what returned is on the disk."""

    def pre_attempt(
        self,
        crate: str,
        target: str,
        task: str | None,
        *,
        threshold: int = 4,
        hint: bool = True,
        arm: str | None = None,
    ) -> Recollection:
        """What is known before an attempt.

        With an `arm`, only the claims of that arm are remembered, so that the arms of an
        experiment don't teach each other; without one, all are. Without a task there is
        no calibration signal.
        """
        ...

    def post_attempt(self, claim: Claim) -> None:
        """Keep one claim. Raises ClaimError for one that can't be kept as it is."""
        ...

    def record(self, claims: Sequence[Claim], *, key: str | None = None) -> int:
        """Keep all of the claims or none; how many. The same `key` is recorded once only."""
        ...

    def history(
        self,
        crate: str | None = None,
        target: str | None = None,
        task: str | None = None,
        *,
        limit: int = 100,
        offset: int = 0,
    ) -> Page:
        """The claims that match, in the order they were recorded."""
        ...

    def each_claim(self, *, contents: bool = False) -> Iterator[Claim]:
        """Every claim in the order recorded; diffs and candidates only with `contents`."""
        ...

    def start_dispatch(
        self,
        id: str,
        *,
        crate: str,
        target: str,
        task: str,
        arm: str | None = None,
        at: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Note that a dispatch began; `data` is whatever else is worth keeping, as JSON."""
        ...

    def finish_dispatch(
        self,
        id: str,
        outcome: Outcome,
        *,
        seat: SeatName | None = None,
        why: str | None = None,
        at: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Note how a dispatch ended; `data` is merged into that of its start."""
        ...

    def get_dispatch(self, id: str) -> dict[str, Any] | None:
        """The dispatch as it was noted, `data` decoded."""
        ...

    def add_event(self, event: Event) -> None:
        """Keep an event."""
        ...

    def events(
        self, *, dispatch: str | None = None, after: int = 0, limit: int = 1000
    ) -> list[tuple[int, Event]]:
        """Events with their places, in order; go on after the last place seen."""
        ...

    def put_content(self, text: str) -> str:
        """Keep a text once; its hash (SHA-256 of its UTF-8)."""
        ...

    def get_content(self, hash: str) -> str | None:
        """The text of a hash."""
        ...

    def put_prompt(self, hash: str, text: str, private: bool) -> None:
        """Keep a prompt that was sent, under the hash that its claims name."""
        ...

    def get_prompt(self, hash: str) -> tuple[str, bool] | None:
        """The prompt's text and whether it is private."""
        ...

    def put_proposal(self, proposal: Mapping[str, Any]) -> None:
        """Keep a proposal.

        Needs `id`, `dispatch`, `crate`, `target`, `seat`, `new` (a content hash); may have
        `state` (else `staged`), `created`, `base_hash`, `old` (a content hash), `why`,
        `report` (anything JSON).
        """
        ...

    def get_proposal(self, id: str) -> dict[str, Any] | None:
        """The proposal, its report decoded."""
        ...

    def list_proposals(self, state: str | None = None) -> list[dict[str, Any]]:
        """Proposals, oldest first."""
        ...

    def move_proposal(self, id: str, from_state: str, to_state: str, why: str | None) -> bool:
        """Change its state if it is still `from_state`; whether it was."""
        ...

    def put_incident(self, incident: Mapping[str, Any]) -> None:
        """Keep the report of a give-up.

        Needs `id`, `dispatch`, `crate`, `target`, `task`; may have `at`, `error_pattern`,
        `report` (anything JSON).
        """
        ...

    def list_incidents(self, id: str | None = None) -> list[dict[str, Any]]:
        """Incidents, oldest first, their reports decoded; only one with `id`."""
        ...

    def check(self) -> Health:
        """Look at everything: pages, references, hashes, counts."""
        ...

    def close(self) -> None:
        """Let go of files and connections. May be called more than once."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
