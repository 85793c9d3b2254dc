"""The seats: who writes a candidate.

A model seat answers one prompt. It knows endpoints and tokens; it never judges, never
remembers and never touches the crate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tessera.records import Prompt, Reply, SeatName


class SeatBlocked(Exception):  # noqa: N818 - an expected end, named for what it says
    """The model could not be asked; no attempt was used.

    `kind` is one of `model_unreachable`, `model_rate_limited`, `model_overloaded`,
    `model_timeout`, `model_refused_key`, `model_unknown`, `model_bad_request`,
    `model_garbage`, `model_empty`, `prompt_too_long`, `prompt_truncated`, `replay_missing`.
    `retry_after` is in seconds when the endpoint said so.
    """

    def __init__(
        self, kind: str, message: str, *, retryable: bool, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after


class Enough(Exception):  # noqa: N818 - an expected end, named for what it says
    """Raised by `on_text`: no more of this reply is wanted.

    The seat stops the model and returns what it has written so far, with this `finish_reason`.
    """

    def __init__(self, finish_reason: str = "stop") -> None:
        super().__init__(finish_reason)
        self.finish_reason = finish_reason


@dataclass(frozen=True)
class SeatInfo:
    """What is known of the model behind a seat; `window` is in tokens, None if nobody says."""

    model: str
    url: str | None = None
    window: int | None = None
    completion: bool = False
    origin: str = "configured"


class ModelSeat(Protocol):
    """A model that writes candidates."""

    @property
    def name(self) -> SeatName: ...

    @property
    def info(self) -> SeatInfo: ...

    def fits(self, prompt: Prompt) -> bool:
        """Whether the prompt and a reply fit the model's window; True when nobody says."""
        ...

    def write(
        self, prompt: Prompt, *, task: str, attempt: int, on_text: Callable[[str], None]
    ) -> Reply:
        """Answer the prompt; `on_text` gets each piece as it streams, and may raise Enough.

        Raises SeatBlocked when no answer could be had. A reply cut at its token limit is
        returned with `finish_reason == "length"`.
        """
        ...

    def close(self) -> None:
        """Stop what the seat started. May be called more than once."""
        ...
