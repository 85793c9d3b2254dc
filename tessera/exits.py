"""What the exit code of a command says."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes that scripts rely on; 130 is the shells' own for an interrupt."""

    DONE = 0
    FAIL = 1
    USAGE = 2
    BLOCKED = 3
    STAGED = 4
    INTERRUPTED = 130
