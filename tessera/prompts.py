"""Prompt texts: one Markdown file each, loaded and filled in strictly.

Knows the folder `prompts/` and its `$name` placeholders. Holds no prompt text itself.
"""

from __future__ import annotations

import functools
import string
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "prompts"


class PromptError(Exception):
    """A prompt file is missing, or its placeholders are not those it was given."""


@functools.cache
def load(name: str) -> str:
    """The text of `prompts/<name>.md`, without trailing white space."""
    path = FOLDER / f"{name}.md"
    try:
        return path.read_text(encoding="utf-8").rstrip()
    except OSError as error:
        raise PromptError(f"{path}: {error.strerror}; reinstall Tessera") from error


def render(name: str, **values: str) -> str:
    """Fill in a prompt. Raises PromptError for a missing or an unused value."""
    template = string.Template(load(name))
    wanted = set(template.get_identifiers())
    if wanted != values.keys():
        missing = ", ".join(sorted(wanted - values.keys())) or "none"
        unused = ", ".join(sorted(values.keys() - wanted)) or "none"
        raise PromptError(f"prompts/{name}.md: missing values: {missing}; unused: {unused}")
    return template.substitute(values)
