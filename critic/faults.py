"""From cargo's own words to a fault: the chain of an error, a linker's output, a signal.

Pure. A chain is read from its root outwards, since what happened stands at the root and what
cargo was about to do stands before it. The sentences are in `critic.sentences`. Knows nothing
of source code: diagnostics about it are judged in `critic.classify`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from critic.sentences import (
    BUILD_SCRIPT,
    BUILD_TOOLS,
    CARGO,
    CRASH,
    CURL,
    ERRNO,
    GIT,
    GIT_COMMAND,
    LINKER,
    MAY_PASS,
    OUTPUT,
    SIGNALS,
    Kind,
    Sentence,
)


@dataclass(frozen=True)
class Fault:
    """A kind, the rule that found it and the text it rests on."""

    kind: Kind
    rule: str
    text: str
    may_pass: bool | None = None

    @property
    def retryable(self) -> bool:
        """Whether waiting may help."""
        return self.kind in MAY_PASS if self.may_pass is None else self.may_pass


def _said(rule: str, sentences: Sequence[Sentence], texts: Iterable[str]) -> Fault | None:
    """The first text that begins with one of the sentences."""
    for text in texts:
        for sentence in sentences:
            if sentence.pattern.match(text):
                return Fault(sentence.kind, rule, text, sentence.retryable)
    return None


def _found(rule: str, sentences: Sequence[Sentence], text: str) -> Fault | None:
    """The first sentence that stands anywhere in the text, and the line it stands in."""
    for sentence in sentences:
        if found := sentence.pattern.search(text):
            start = text.rfind("\n", 0, found.start()) + 1
            line = text[start:].split("\n", 1)[0].strip()
            return Fault(sentence.kind, rule, line, sentence.retryable)
    return None


_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_WINDOWS = {
    "Access is denied.": Kind.PERMISSION,
    "There is not enough space on the disk.": Kind.DISK_FULL,
}


def of_os_error(text: str) -> Fault | None:
    """The system's own error in a line of cargo or rustc."""
    found = _OS_ERROR.search(text)
    kind = _WINDOWS.get(text.partition(" (os error")[0].rpartition(": ")[2])
    kind = kind or (ERRNO.get(int(found[1])) if found else None)
    return Fault(kind, f"os_error_{found[1]}", text) if found and kind else None


def of_signal(number: int, text: str) -> Fault | None:
    """What it means that a signal ended a process; None for those of a crash."""
    kind = SIGNALS.get(number)
    return Fault(kind, f"signal_{number}", text) if kind else None


_ENDED_BY = re.compile(r"process didn't exit successfully: .*\(signal: (\d+)[^()]*\)$")


def signal_of(links: Sequence[str]) -> int | None:
    """The signal that ended the process which a chain speaks of."""
    ended = (_ENDED_BY.match(link.split("\n", 1)[0]) for link in links)
    return next((int(found[1]) for found in ended if found), None)


def of_chain(links: Sequence[str], tools: Sequence[str], *, fresh: bool) -> Fault | None:
    """What cargo's own error says; None when its sentences are unknown.

    `links` are the message and its causes, the root last; `tools` lines of git and ssh. With
    `fresh` something was downloaded in this run, so a damaged archive is a bad download rather
    than a bad cache.
    """
    return (
        _of_system(links)
        or _of_rustc_itself(links)
        or _of_resolver(links)
        or _of_cache(links, fresh=fresh)
        or _of_git_command(links, tools)
        or _of_portal(links)
        or _of_links(links)
    )


_NEVER_RAN = re.compile(r"could not execute process `")


def _of_system(links: Sequence[str]) -> Fault | None:
    root = links[-1].split("\n", 1)[0]
    process = next((link for link in links if _NEVER_RAN.match(link)), None)
    if process and "(os error 2)" in root:
        return Fault(Kind.TOOLCHAIN_MISSING, "program_missing", process)
    if process and "(os error 11)" in root:
        return Fault(Kind.RESOURCE_LIMIT, "os_error_11", root, may_pass=True)
    return of_os_error(root)


_ASKED_RUSTC = re.compile(
    r"failed to run `rustc` to learn|failed to determine target information|"
    r"process didn't exit successfully: `[^`]*rustc\S* (-vV|- )"
)
_NO_TARGET = re.compile(r"error loading target specification|could not find specification for")
_LITTLE_MEMORY = re.compile(
    r"failed to map segment|[Cc]annot allocate memory|[Oo]ut of memory|memory allocation of \d+|"
    r"failed to (create|spawn) .*thread|Resource temporarily unavailable"
)


def _of_rustc_itself(links: Sequence[str]) -> Fault | None:
    """Before anything is built cargo asks rustc for its version and its targets."""
    if not any(_ASKED_RUSTC.match(link) for link in links):
        return None
    text = links[-1]
    if signal := signal_of(links):
        return of_signal(signal, text) or Fault(Kind.TOOLCHAIN_MISSING, "rustc_crashes", text)
    if _LITTLE_MEMORY.search(text):
        return Fault(Kind.OOM, "rustc_without_memory", text)
    if _NO_TARGET.search(text):
        return Fault(Kind.TARGET_MISSING, "target_unknown", text)
    if "error while loading shared libraries" in text or "not found (required by" in text:
        return Fault(Kind.TOOLCHAIN_MISSING, "rustc_lacks_library", text)
    return Fault(Kind.ENVIRONMENT, "rustc_refuses", text)


_RESOLVER = re.compile(r"no matching packages? |failed to select a version ")
_OFFLINE = re.compile(r"^(As a reminder, you're using|note:) offline mode", re.M)
_ON_DISK = re.compile(r"^location searched: (directory source |`[^`]*/[^`]*` index )", re.M)
_AT_PATH = re.compile(r"^location searched: /", re.M)


def _of_resolver(links: Sequence[str]) -> Fault | None:
    """The index answered and said no; unless the index was what lies on this disk of it."""
    text = next((link for link in links if _RESOLVER.match(link)), None)
    if text is None:
        return None
    if "does not have that feature" in text or "does not have these features" in text:
        return Fault(Kind.FEATURE_MISSING, "resolver_no_feature", text)
    if "links to the native library" in text or "all possible versions conflict" in text:
        return Fault(Kind.VERSION_CONFLICT, "resolver_conflict", text)
    if _OFFLINE.search(text) or _ON_DISK.search(text):
        return Fault(Kind.OFFLINE_MISSING, "resolver_offline", text)
    if text.startswith("failed to select"):
        return Fault(Kind.VERSION_CONFLICT, "resolver_no_version", text)
    if _AT_PATH.search(text):
        return Fault(Kind.MANIFEST, "resolver_other_package_at_path", text)
    return Fault(Kind.HALLUCINATED_CRATE, "resolver_no_package", text)


_CACHED_MANIFEST = re.compile(r"failed to (parse manifest at|read) `[^`]*/registry/src/")
_TOO_NEW = re.compile(
    r"this version of Cargo is older than|feature `.*` is required|the cargo feature `|"
    r"failed to parse the `edition`"
)
_UNPACKING = re.compile(r"failed to (unpack|iterate over archive|open archive|read archive)")


def _of_cache(links: Sequence[str], *, fresh: bool) -> Fault | None:
    """Packages that lie in CARGO_HOME but can't be used."""
    if manifest := next((link for link in links if _CACHED_MANIFEST.match(link)), None):
        if any(_TOO_NEW.match(link) for link in links):
            return Fault(Kind.TOOLCHAIN_OLD, "dependency_needs_newer_cargo", links[-1])
        return Fault(Kind.CORRUPT_CACHE, "manifest_of_dependency", manifest)
    if unpacked := next((link for link in links if _UNPACKING.match(link)), None):
        kind = Kind.CORRUPT_DOWNLOAD if fresh else Kind.CORRUPT_CACHE
        return Fault(kind, "archive_of_dependency", unpacked)
    return None


def _of_git_command(links: Sequence[str], tools: Sequence[str]) -> Fault | None:
    """The git command prints its reason itself; cargo may add which revision is absent."""
    if not links[-1].startswith("process didn't exit successfully: `git "):
        return None
    last_first = tools[::-1]
    status = next((fault for line in last_first if (fault := _of_git_status(line))), None)
    said = _said("git_sentence", GIT, links)
    told = next((f for s in GIT_COMMAND if (f := _said("git_command", (s,), last_first))), None)
    return said or status or told or Fault(Kind.GIT_HTTP, "git_command", links[-1])


_NO_JSON = re.compile(
    r"(expected value|expected ident|EOF while parsing|invalid type|missing field `dl`).*"
)
_ASKED_INDEX = re.compile(r"failed to get `|failed to (query|update) |unable to update registry")


def _of_portal(links: Sequence[str]) -> Fault | None:
    if _NO_JSON.fullmatch(links[-1]) and any(_ASKED_INDEX.match(link) for link in links):
        return Fault(Kind.CAPTIVE_PORTAL, "index_is_no_json", links[-1])
    return None


def _of_links(links: Sequence[str]) -> Fault | None:
    for link in reversed(links):
        fault = (
            _of_curl(link)
            or _of_http(link)
            or _of_git_status(link)
            or _said("git_sentence", GIT, (link,))
            or _said("cargo_sentence", CARGO, (link,))
        )
        if fault:
            return fault
    return None


_CURL_ERROR = re.compile(r"\[(\d+)\] (.*)")
_BY_PROXY = re.compile(r"CONNECT tunnel failed|[Pp]roxy")
_CUT_OFF = re.compile(r"reset by peer|[Cc]onnection .*(reset|closed|aborted)|unexpected eof")


def _of_curl(link: str) -> Fault | None:
    found = _CURL_ERROR.match(link)
    if found is None:
        return None
    kind = CURL.get(int(found[1]), Kind.CONNECTION_RESET)
    rule = f"curl_{found[1]}"
    if _BY_PROXY.search(found[2]):
        return Fault(Kind.PROXY, rule, link)
    cut = bool(_CUT_OFF.search(found[2]))
    return Fault(kind, rule, link, may_pass=cut if kind is Kind.TLS else None)


_HTTP_ANSWER = re.compile(r"failed to get (?:successful HTTP|200) response from .*, got (\d{3})")
_HTTP_KINDS = {
    401: Kind.REGISTRY_AUTH,
    403: Kind.HTTP_403,
    404: Kind.HTTP_404,
    407: Kind.PROXY,
    429: Kind.HTTP_429,
}


def _of_http(link: str) -> Fault | None:
    found = _HTTP_ANSWER.match(link)
    if found is None:
        return None
    status = int(found[1])
    other = Kind.HTTP_5XX if status >= 500 else Kind.HTTP_4XX
    return Fault(_HTTP_KINDS.get(status, other), f"http_{status}", link)


_GIT_STATUS = re.compile(
    r"unexpected http status code: (\d{3})|fatal: unable to access .*returned error: (\d{3})"
)
_GIT_KINDS = {401: Kind.GIT_AUTH, 407: Kind.PROXY}


def _of_git_status(link: str) -> Fault | None:
    found = _GIT_STATUS.match(link)
    if found is None:
        return None
    status = int(found[1] or found[2])
    kind = _GIT_KINDS.get(status, Kind.GIT_HTTP)
    return Fault(kind, f"git_http_{status}", link, may_pass=status >= 500 or status == 429)


_LINKER_KILLED = re.compile(r"^(?:[\w ./-]+: )*\S*ld\S* terminated with signal (\d+)", re.M)
_COMMAND_LINE = re.compile(r'"[^"]*" "[^"]*" "')


def of_linker(message: str, notes: str) -> Fault | None:
    """What keeps rustc from linking; None when the message is not about the linker.

    `notes` is what the linker printed. Its command line, which holds paths and arguments of
    anybody's choice, is left out.
    """
    if message.startswith(("linker `", "could not exec the linker")):
        fault = of_os_error(notes)
        missing = fault is None or fault.kind is Kind.ENVIRONMENT
        return Fault(Kind.LINKER_MISSING, "linker_missing", message) if missing else fault
    if message.startswith("could not find native static library"):
        return Fault(Kind.SYSLIB_MISSING, "static_library_missing", message)
    if not message.startswith("linking with `"):
        return None
    lines = [line.strip().removeprefix("= note: ") for line in notes.split("\n")]
    printed = "\n".join(line for line in lines if not _COMMAND_LINE.search(line))
    if killed := _LINKER_KILLED.search(printed):
        crash = Fault(Kind.ENVIRONMENT, "linker_crashes", killed[0])
        return of_signal(int(killed[1]), killed[0]) or crash
    said = _found("linker_output", LINKER, printed)
    return said or Fault(Kind.ENVIRONMENT, "linker_fails", message)


_NOTHING_LOADED = re.compile(r"only metadata stub found for `\w+` dependency")


def of_placeless_error(message: str, notes: str) -> Fault | None:
    """What an error of rustc that points at no source says of the machine; None if nothing."""
    if _NOTHING_LOADED.match(message):
        # So rustc reports a library that it can't map into too little memory.
        return Fault(Kind.OOM, "library_not_loaded", message)
    return (
        of_linker(message, notes)
        or of_os_error(message)
        or _said("compiler_output", OUTPUT, (message,))
    )


def of_crash(text: str) -> Fault | None:
    """What a compiler that died printed last: memory and disk are not the candidate's."""
    return _found("last_words", CRASH, text)


def of_build_script(links: Sequence[str], printed: str) -> Fault:
    """Why the build script of somebody else's package fails, by what it printed."""
    if signal := signal_of(links):
        text = links[-1].split("\n", 1)[0]
        return of_signal(signal, text) or Fault(Kind.ENVIRONMENT, "build_script_crashes", text)
    said = _found("build_script_output", BUILD_SCRIPT, printed)
    return said or Fault(Kind.ENVIRONMENT, "build_script_fails", printed)


def of_own_build_script(printed: str) -> Fault | None:
    """A tool or library that the candidate's own build script doesn't find.

    Only the fixed sentences of the crates that look for them count; None for anything else.
    """
    return _found("build_tool_sentence", BUILD_TOOLS, printed)
