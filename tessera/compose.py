"""From a task and what is known to the prompt that is sent.

Pure. The order never changes: profile, task, code context, hint, carried record, request.
The profile and the task are in every prompt; when the window is too small, the oldest
carried records give way first, then the code context, then the hint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tessera.carry import Record
from tessera.policy import Action
from tessera.prompts import load, render
from tessera.records import Message, Prompt

FENCE = "```"
REQUESTS = {
    Action.TRY: "request-first",
    Action.CORRECT: "request-correct",
    Action.REPLAN: "request-replan",
    Action.REEXPLORE: "request-reexplore",
    Action.ESCALATE: "request-first",
}


@dataclass(frozen=True)
class Material:
    """What a prompt is made of; `context` and `hint` are empty when there is nothing to say."""

    task: str
    target: str
    crate: str
    edition: str
    profile: str
    context: str = ""
    hint: str = ""
    records: tuple[Record, ...] = ()
    completion: bool = False


@dataclass(frozen=True)
class Composed:
    """A prompt, and what of the material is really in it."""

    prompt: Prompt
    hint: bool
    carried: tuple[int, ...]
    fits: bool = True

    @property
    def hash(self) -> str:
        """Identifies the prompt's text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def text(self) -> str:
        """The prompt as one text: each message under a line that names its role."""
        return "\n".join(f"[{m.role}]\n{m.content}" for m in self.prompt.messages)


def profile_name(*, completion: bool, configured: str | None = None) -> str:
    """The prompt file of the standing instructions for a model family."""
    return f"profile-{configured or ('completion' if completion else 'chat')}"


def compose(material: Material, action: Action, fits: Callable[[Prompt], bool]) -> Composed:
    """The fullest prompt that fits; with `fits` false in the answer, even the barest did not."""
    candidates = [material]
    for kept in range(len(material.records) - 1, -1, -1):
        dropped = len(material.records) - kept
        candidates.append(replace(material, records=material.records[dropped:]))
    candidates.append(replace(candidates[-1], context=""))
    candidates.append(replace(candidates[-1], hint=""))
    for candidate in candidates:
        prompt = _write(candidate, action)
        # Counting a prompt may be a request to the server, so each is counted once.
        fitting = fits(prompt)
        if fitting:
            break
    return Composed(
        prompt,
        hint=bool(candidate.hint),
        carried=tuple(n for record in candidate.records for n in record.numbers),
        fits=fitting,
    )


def _write(material: Material, action: Action) -> Prompt:
    if material.completion:
        return _completion(material)
    opening = [
        render(
            "task-chat",
            task=material.task.strip(),
            target=material.target,
            crate=material.crate,
            edition=material.edition,
        ),
        render("context", context=material.context) if material.context else "",
        render("hint-chat", hint=material.hint) if material.hint else "",
    ]
    carried = _carried(material.records, action)
    request = render(REQUESTS[action], target=material.target)
    profile = Message("system", load(material.profile))
    if action is Action.CORRECT and carried:
        return Prompt(
            (
                profile,
                Message("user", _join([*opening, render("request-first", target=material.target)])),
                Message("assistant", load("reverted-reply")),
                Message("user", _join([carried, request])),
            )
        )
    if action is Action.CORRECT:
        request = render("request-first", target=material.target)
    return Prompt((profile, Message("user", _join([*opening, carried, request]))))


def _carried(records: Sequence[Record], action: Action) -> str:
    if not records:
        return ""
    name = "carry-replan" if action in (Action.REPLAN, Action.REEXPLORE) else "carry-chat"
    return render(name, records="\n\n".join(record.text for record in records))


def _completion(material: Material) -> Prompt:
    """One text to be continued: examples, then the request up to the opening fence."""
    records = "\n".join(f"- {record.brief}" for record in material.records)
    parts = [
        load(material.profile),
        _join(
            [
                render("task-completion", task=" ".join(material.task.split())),
                material.context,
                render("hint-completion", hint=material.hint) if material.hint else "",
                render("carry-completion", records=records) if records else "",
            ],
            gap="\n",
        ),
    ]
    text = _join(parts) + "\n" + load("request-completion") + "\n"
    return Prompt((Message("user", text),), completion=True, stop=(FENCE,))


def _join(parts: Sequence[str], gap: str = "\n\n") -> str:
    return gap.join(part for part in parts if part)
