"""The stream guard: when a reply that is still coming can't become a file.

Pure. A small model that has lost its way writes the same lines, or the same words, over
and over until its limit; nothing after that point is worth waiting for.
"""

from __future__ import annotations

import re

LOOK_EVERY = 64
TAIL = 800
REPEATS = 4
SHORTEST = 160
LONGEST_PERIOD = 200


def is_runaway(text: str) -> bool:
    """Whether the text ends in one piece repeated at least REPEATS times, SHORTEST characters
    in all. Numbers and one-letter names count as equal, since such loops count upwards."""
    tail = re.sub(r"\b[a-z]\b|\d+", "#", text[-TAIL:])
    for period in range(1, LONGEST_PERIOD + 1):
        length = max(REPEATS * period, SHORTEST)
        if length > len(tail):
            return False
        end = tail[-length:]
        if end[period:] == end[:-period] and not end.isspace():
            return True
    return False
