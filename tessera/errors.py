"""The mistakes a person can make, as one exception that says where and what to do.

Knows no file format and prints nothing; the command line turns it into an exit code.
"""

from __future__ import annotations

from pathlib import Path


class InputError(Exception):
    """Bad input: a task, a setting or a flag that can't be used as it stands.

    `line` counts from 1; `key` is the dotted key, the environment variable or the flag.
    What is not known is None. The text is `file:line: key: what is wrong; what to do`.
    """

    exit_code = 2

    def __init__(
        self,
        message: str,
        suggestion: str = "",
        *,
        file: Path | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        self.message = message
        self.suggestion = suggestion
        self.file = file
        self.line = line
        self.key = key
        place = None if file is None else str(file) if line is None else f"{file}:{line}"
        what = f"{message}; {suggestion}" if suggestion else message
        super().__init__(": ".join(part for part in (place, key, what) if part))
