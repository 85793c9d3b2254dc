"""Rules for a build that failed: whose error it is, the machine's, a dependency's or the code's.

Pure. An error of a compiler that ended by itself, about the candidate's own sources, is the
candidate's, whatever its words are. Errors without a place are the linker's or the disk's. A
build script is believed when somebody else wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from critic import faults, patterns
from critic.codes import RootCause
from critic.faults import Fault
from critic.reading import CRASHED, CompilerError, Finding, Reading, is_folder, units
from critic.review import Diagnostic
from critic.sentences import Kind
from critic.transcript import Block

_NO_TARGET = re.compile(r"the `(\S+)` target may not be installed")
_HOSTS = ("x86_64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc")
"""Toolchains of these hosts bring their own standard library: without it they are damaged."""
_FOREIGN_METADATA = frozenset({"E0460", "E0461", "E0462", "E0514", "E0786"})


def missing_library(run: Reading) -> Finding | None:
    """No standard library, or artefacts that don't fit: errors that follow are nonsense."""
    for error in run.errors:
        diagnostic = error.diagnostic
        absent = _NO_TARGET.search(error.notes)
        if diagnostic.code == "E0463" and absent:
            host = absent[1] in _HOSTS
            kind = Kind.TOOLCHAIN_MISSING if host else Kind.TARGET_MISSING
            return Finding(Fault(kind, "no_standard_library", _line(diagnostic)))
        if diagnostic.code in _FOREIGN_METADATA:
            return Finding(Fault(Kind.CORRUPT_TARGET, "artefact_unusable", _line(diagnostic)))
        if not error.placed and diagnostic.code is None and error.counted:
            fault = faults.of_placeless_error(diagnostic.message, "")
            if fault and fault.rule == "library_not_loaded":
                return Finding(fault)
    return None


def own_errors(run: Reading) -> Finding | None:
    """An error of a compiler that ended by itself, in the candidate's own crate."""
    own = [error for error in run.errors if _is_own(error)]
    lead = patterns.leading([error.diagnostic for error in own])
    if lead is None:
        return None
    kind = _kind_of_code(own, lead, run)
    return Finding(Fault(kind, "compiler_error", _line(lead)), patterns.pattern_of(lead))


def _is_own(error: CompilerError) -> bool:
    if error.doubtful or error.foreign:
        return False
    if error.placed or error.diagnostic.code is not None:
        return True
    return faults.of_placeless_error(error.diagnostic.message, error.notes) is None


_CHOSEN = re.compile(r"implied by|lint level is defined here|`-[DF] |requested on the command line")
_MISSPELT_TABLE = re.compile(r"unused manifest key: (\w+[-.])*dep\w*$")
_IN_FOLDER = re.compile(r"(?!(src|tests|examples|benches)/)[^/]+/.*src/")


def _kind_of_code(own: Sequence[CompilerError], lead: Diagnostic, run: Reading) -> Kind:
    slugs = {patterns.pattern_of(error.diagnostic).slug for error in own}
    if _denied(own):
        return Kind.WARNINGS_DENIED
    if "proc_macro_panicked" in slugs:
        return Kind.PROC_MACRO
    if lead.message.startswith("symbol `") and "is already defined" in lead.message:
        return Kind.LINK_OWN_SYMBOL
    if "internal_compiler_error" in slugs:
        return Kind.COMPILER_CRASH
    misspelt = any(_MISSPELT_TABLE.match(w.head) for w in run.transcript.warnings)
    if lead.code in ("E0432", "E0433") and misspelt:
        return Kind.MANIFEST
    place = lead.primary
    asks = patterns.pattern_of(lead) is patterns.COMPILE_ERROR_MACRO and "feature" in lead.message
    if asks and place and _IN_FOLDER.match(place.file):
        return Kind.DEP_COMPILE_ERROR
    return Kind.CODE


def _denied(own: Sequence[CompilerError]) -> bool:
    """Warnings that somebody made errors, and nothing else; not what rustc denies by itself.

    rustc names the lint level once, at the first error of each lint; in text without JSON the
    others then bear no name at all.
    """
    notes = "\n".join(error.notes for error in own)
    silent = [error for error in own if not _CHOSEN.search(error.notes)]
    causes = {patterns.pattern_of(error.diagnostic).root_cause for error in silent}
    chosen = bool(_CHOSEN.search(notes)) and "on by default" not in notes
    return chosen and causes <= {RootCause.LINT, RootCause.OTHER}


def machine_errors(run: Reading) -> Finding | None:
    """Errors without a place: the linker's, the disk's, the command line's."""
    for error in run.errors:
        if error.placed or error.diagnostic.code or error.doubtful or not error.counted:
            continue
        if fault := faults.of_placeless_error(error.diagnostic.message, error.notes):
            return Finding(fault)
    return None


_DAMAGED = re.compile(
    r"unknown start of token|this file contains an unclosed delimiter|couldn't read |"
    r"unterminated |source files must contain UTF-8|mismatched closing delimiter"
)
_UNSTABLE = frozenset({"E0554", "E0658"})


def foreign_errors(run: Reading) -> Finding | None:
    """A dependency that does not compile: damaged on disk, too new, or chosen badly."""
    foreign = [error.diagnostic for error in run.errors if error.foreign and not error.doubtful]
    lead = patterns.leading(foreign)
    if lead is None:
        return None
    if (lead.code is None and _DAMAGED.match(lead.message)) or lead.code == "E0583":
        return Finding(Fault(Kind.CORRUPT_CACHE, "dependency_source_damaged", _line(lead)))
    if any(diagnostic.code in _UNSTABLE for diagnostic in foreign):
        return Finding(Fault(Kind.TOOLCHAIN_OLD, "dependency_needs_newer_rustc", _line(lead)))
    return Finding(Fault(Kind.DEP_COMPILE_ERROR, "dependency_error", _line(lead)))


def _line(diagnostic: Diagnostic) -> str:
    code = f"[{diagnostic.code}]" if diagnostic.code else ""
    place = diagnostic.primary
    where = f" ({place.file}:{place.line})" if place else ""
    return f"error{code}: {diagnostic.message}{where}"


def dead_compiler(run: Reading) -> Finding | None:
    """A compiler that ended without an error of its own: killed, crashed or never started."""
    if not run.failed_units:
        return None
    unit = run.failed_units[-1]
    links = unit.links
    if len(links) > 1 and links[-1] != links[0]:
        started = faults.of_chain(links, (), fresh=False) if "never executed" in unit.text else None
        if started:
            return Finding(started)
    text = links[-1].split("\n", 1)[0]
    last_words = "\n".join((*run.transcript.loose, *(b.text for b in run.transcript.blocks)))
    number = faults.signal_of(links)
    if number is not None and (fault := faults.of_signal(number, text)):
        return Finding(fault)
    if fault := faults.of_crash(last_words):
        return Finding(fault)
    crashed = any(CRASHED.match(block.head) for block in run.transcript.errors)
    if number is not None or crashed or "exit status: 101" in text:
        return Finding(Fault(Kind.COMPILER_CRASH, "compiler_crashed", text))
    if any(error.doubtful for error in run.errors):
        return None
    return Finding(Fault(Kind.CODE, "could_not_compile", unit.head), patterns.UNNAMED_ERROR)


# --- build scripts -----------------------------------------------------------------------

_BUILD_COMMAND = re.compile(r"failed to run custom build command for `(\S+) v[^`(]*(?:\((.*)\))?`")
_MISUSED = re.compile(r".*\b(?:in|of|from) (?:the )?build script of `(\S+) v[^`(]*(?:\((.*)\))?`")
_LOGGED = re.compile(r"(\S+)@\d[^:\s]*: (.*)")
_THIRD_PARTY_FOLDER = re.compile(r"(^|[/\\])(vendor|third[-_]party|deps|external)[/\\]")


def build_script(run: Reading) -> Finding | None:
    """The candidate's own build script fails like its code; another's tells of the machine."""
    for block in run.transcript.build_errors:
        if found := _BUILD_COMMAND.match(block.head):
            if "never executed" in block.text:
                fault = faults.of_chain(block.links, (), fresh=False)
                if fault:
                    return Finding(fault)
            printed = "\n".join(line for link in block.links for line in link.split("\n")[1:])
            return _script_of(found[1], found[2], block, printed)
        if found := _MISUSED.match(block.head):
            return _script_of(found[1], found[2], block, "\n".join(block.body))
        if block.head == "build script logged errors":
            said = [m for b in run.transcript.build_errors if (m := _LOGGED.match(b.head))]
            folders = dict(units(run.transcript))
            name = said[-1][1] if said else ""
            return _script_of(name, folders.get(name), block, "\n".join(m[2] for m in said))
    return None


def _script_of(name: str, folder: str | None, block: Block, printed: str) -> Finding:
    ours = is_folder(folder) and not name.endswith("-sys")
    if ours and not _THIRD_PARTY_FOLDER.search(folder or ""):
        number = faults.signal_of(block.links)
        stopped = faults.of_signal(number, block.head) if number in (1, 2, 15) else None
        text = "\n".join((block.head, printed))
        machine = stopped or faults.of_own_build_script(printed)
        fault = machine or Fault(Kind.CODE, "own_build_script", text)
        return Finding(fault, patterns.BUILD_SCRIPT_FAILED)
    return Finding(faults.of_build_script(block.links, printed))
