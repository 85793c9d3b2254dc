"""The context window: whether a prompt fits, what room it leaves, whether it was cut.

Pure. Counts by estimate where no server counts; the estimates err on the safe side.
"""

from __future__ import annotations

import re

from tessera.records import Prompt
from tessera.seats import SeatBlocked

# Rust source is 2.0 (digits and brackets, Gemma) to 3.7 bytes a token, English prose 4 to 5.
FEWEST_BYTES = 2.5
MOST_BYTES = 7
MESSAGE_TOKENS = 8  # the role markers a chat template puts around each message
SMALLEST_REPLY = 256
RUN = re.compile(r"\s+|(\S)\1{3,}")


def estimate(prompt: Prompt) -> int:
    """The prompt's tokens, rather too many than too few."""
    size = sum(len(message.content.encode("utf-8", "replace")) for message in prompt.messages)
    return int(size / FEWEST_BYTES) + MESSAGE_TOKENS * len(prompt.messages) + 1


def fewest(prompt: Prompt) -> int:
    """The tokens that the prompt has at least, whatever the tokenizer: a run of blanks or of
    one character may be a single token."""
    texts = (RUN.sub(" ", message.content) for message in prompt.messages)
    return sum(len(text.encode("utf-8", "replace")) for text in texts) // MOST_BYTES


def room(tokens: int, max_tokens: int, window: int | None) -> int:
    """How many tokens a reply to a prompt of `tokens` may have.

    That is `max_tokens`, or less in a small window, but never less than a short file needs.
    Raises SeatBlocked when even that doesn't fit.
    """
    if window is None:
        return max_tokens
    left = min(max_tokens, window - tokens)
    if left < min(max_tokens, SMALLEST_REPLY):
        said = (
            f"the prompt has about {tokens} tokens and the model sees {window}; "
            "shorten the task, or give the model a larger window"
        )
        raise SeatBlocked("prompt_too_long", said, retryable=False)
    return left


def was_cut(prompt: Prompt, counted: int | None, reported: int | None) -> bool:
    """Whether the server saw far fewer tokens than were sent.

    `counted` is the server's tokenizer on this prompt, where it has one; `reported` is what
    it says it read. A server that reports nothing, or 0, says nothing about it.
    """
    if not reported:
        return False
    least = fewest(prompt) if counted is None else int(counted * 0.9)
    return reported < least
