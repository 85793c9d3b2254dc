r"""What cargo, git, curl, linkers and the operating system say, and what kind of fault it is.

Tables and nothing else. A line of a table is a kind and a regular expression that is matched
at the beginning of a message (in the last table: anywhere in the output); the first line that
fits counts. `+` after a kind says that waiting may help, `-` that it won't, where the kind
alone doesn't tell. Sources: cargo's and libgit2's sources, errno(3), libcurl-errors(3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What failed or blocked: first the kinds that are the candidate's, then the others."""

    CODE = "code"
    WARNINGS_DENIED = "warnings_denied"
    PROC_MACRO = "proc_macro"
    COMPILER_CRASH = "compiler_crash"
    LINK_OWN_SYMBOL = "link_own_symbol"
    DEP_COMPILE_ERROR = "dep_compile_error"
    TEST_FAILED = "test_failed"
    TIMEOUT_CODE = "timeout_code"
    MANIFEST = "manifest"
    HALLUCINATED_CRATE = "hallucinated_crate"
    VERSION_CONFLICT = "version_conflict"
    FEATURE_MISSING = "feature_missing"
    GIT_REF = "git_ref"
    MSRV = "msrv"

    DNS = "dns"
    CONNECTION_REFUSED = "connection_refused"
    CONNECTION_RESET = "connection_reset"
    TIMEOUT = "timeout"
    TLS = "tls"
    PROXY = "proxy"
    HTTP_403 = "http_403"
    HTTP_404 = "http_404"
    HTTP_429 = "http_429"
    HTTP_4XX = "http_4xx"
    HTTP_5XX = "http_5xx"
    CAPTIVE_PORTAL = "captive_portal"
    CORRUPT_DOWNLOAD = "corrupt_download"
    REGISTRY_AUTH = "registry_auth"
    GIT_AUTH = "git_auth"
    GIT_HTTP = "git_http"
    OFFLINE_MISSING = "offline_missing"
    LOCK_STALE = "lock_stale"
    LOCK = "lock"
    CORRUPT_CACHE = "corrupt_cache"
    CORRUPT_TARGET = "corrupt_target"
    DISK_FULL = "disk_full"
    READ_ONLY_FS = "read_only_fs"
    PERMISSION = "permission"
    RESOURCE_LIMIT = "resource_limit"
    OOM = "oom"
    TOOLCHAIN_MISSING = "toolchain_missing"
    TOOLCHAIN_OLD = "toolchain_old"
    COMPONENT_MISSING = "component_missing"
    TARGET_MISSING = "target_missing"
    LINKER_MISSING = "linker_missing"
    SYSLIB_MISSING = "syslib_missing"
    BUILDTOOL_MISSING = "buildtool_missing"
    BUILD_SCRIPT_NETWORK = "build_script_network"
    ENVIRONMENT = "environment"


FAILS = frozenset(list(Kind)[: list(Kind).index(Kind.DNS)])
"""The kinds that an edit of the candidate or of its manifest can mend."""

MAY_PASS = frozenset(
    {
        Kind.DNS,
        Kind.CONNECTION_REFUSED,
        Kind.CONNECTION_RESET,
        Kind.TIMEOUT,
        Kind.HTTP_429,
        Kind.HTTP_5XX,
        Kind.CAPTIVE_PORTAL,
        Kind.CORRUPT_DOWNLOAD,
        Kind.LOCK,
        Kind.OOM,
        Kind.BUILD_SCRIPT_NETWORK,
    }
)
"""The kinds for which waiting may help."""


@dataclass(frozen=True)
class Sentence:
    """One line of a table. `retryable` is None where the kind tells."""

    pattern: re.Pattern[str]
    kind: Kind
    retryable: bool | None


def _read(table: str) -> tuple[Sentence, ...]:
    lines = [line.split(maxsplit=1) for line in table.strip().splitlines()]
    return tuple(
        Sentence(
            re.compile(pattern, re.MULTILINE),
            Kind(kind.rstrip("+-")),
            True if kind.endswith("+") else False if kind.endswith("-") else None,
        )
        for kind, pattern in lines
    )


def _numbers(table: str) -> Mapping[int, Kind]:
    rows = [line.split() for line in table.strip().splitlines()]
    return {int(number): Kind(kind) for kind, *numbers in rows for number in numbers}


# ENOENT (2) is missing on purpose: what is not there decides, not that it is not there.
# 11 and 12: no memory for a process or thread; 26: text file busy; 122: quota; 116: stale mount.
ERRNO = _numbers("""
    permission      1 13
    oom             11 12
    resource_limit  23 24 27
    lock            26 37
    disk_full       28 122
    read_only_fs    30
    environment     4 5 7 8 16 36 38 40 107 116
""")

# SIGSEGV, SIGABRT, SIGILL and SIGFPE are missing: a program crashes by its own doing.
# 1, 2, 15: somebody ended the job; 7: a mapped file that can't grow; 31: a sandbox.
SIGNALS = _numbers("""
    timeout         1 2 15 24
    oom             9
    disk_full       7
    resource_limit  25
    environment     31
""")

CURL = _numbers("""
    environment         1 3 23
    proxy               5 97
    dns                 6
    connection_refused  7
    connection_reset    16 18 52 55 56 92 95 96
    http_4xx            9 22 47
    oom                 27
    timeout             28
    tls                 35 51 53 54 58 59 60 64 66 77 80 82 83 90 91 98
    offline_missing     37
    corrupt_download    61
    registry_auth       67
""")

# Links of cargo's chain that libgit2 and gitoxide write.
GIT = _read(r"""
    dns                 failed to resolve address for
    connection_refused  .*Connection refused; class=Os|failed to connect to .*refused
    timeout             failed to connect to .*timed out|.*(operation|connection) timed out; class
    tls-                .*; class=Ssl \(16\)|.*(SSL|TLS|certificate) .*(invalid|verif)
    git_auth            (error: )?(unknown SSH host key|SSH host key|.*remote host .*changed)
    git_auth            failed to (authenticate|acquire username)|error authenticating
    git_auth            (remote )?authentication (required|failed)|.*; class=Ssh \(23\)
    git_auth            failed to fetch submodule|could not find repository|failed to resolve path
    git_ref             failed to find (branch|tag|rev)|(revision|revspec|reference) .* not found
    git_ref             cannot locate remote-tracking branch|couldn't find remote ref
    git_ref             .*; class=Reference \(4\)
    corrupt_cache       .*; class=(Odb|Object|Repository|Zlib|Indexer|Index) \(
    git_http-           no content-type header in response|invalid content-type
    connection_reset    .*; class=(Net|Http) \(|.*[Cc]onnection reset by peer
    connection_reset    network failure seems to have happened
""")

# What git and ssh print when cargo runs the git command.
GIT_COMMAND = _read(r"""
    git_ref             fatal: couldn't find remote ref|fatal: Remote branch .* not found
    git_ref             fatal: remote error: upload-pack: not our ref
    proxy               fatal: unable to access .*(CONNECT tunnel|[Pp]roxy)
    dns                 (fatal|ssh): .*[Cc]ould not resolve host|fatal: unable to look up
    tls-                fatal: unable to access .*(SSL|TLS|certificate|gnutls)
    timeout             (fatal|ssh): .*[Tt]imed out
    connection_refused  (fatal|ssh): .*([Rr]efused|Couldn't connect|(Failed|Could not) .*connect)
    git_auth            fatal: Authentication failed|fatal: could not read (Username|Password)
    git_auth            .*: Permission denied \(|Host key verification failed
    git_auth            (remote|fatal): .*([Rr]epository .*not found|not appear to be a git repo)
    git_auth            remote: (Invalid username|Support for password)
    connection_reset    error: (RPC failed|\d+ bytes)|fatal: (early EOF|protocol error|fetch-pack)
    connection_reset    fatal: .*(hung up|reset|HTTP/2)
    git_auth            fatal: Could not read from remote repository
""")

# Links of cargo's and rustup's own making.
CARGO = _read(r"""
    registry_auth       token rejected for|no token found|authenticated registries
    registry_auth       (no )?credential provider
    offline_missing     attempting to make an HTTP request, but --(offline|frozen)
    offline_missing     .*offline mode|local registry path is not a directory
    http_404            config\.json not found in registry
    corrupt_download    failed to verify the checksum of
    corrupt_cache       checksum for .* (changed between|was not previously|could not be calc)
    corrupt_cache       the listed checksum of|failed to (load|calculate) checksum
    corrupt_cache       .*database disk image is malformed|failed to (open|find) .*git/db
    lock_stale          cannot (create|update) the lock file .*(--locked|--frozen)
    lock_stale          the lock file .* needs to be updated but --(locked|frozen)
    toolchain_old       lock file version .*(was found|requires)
    manifest            failed to parse lock file
    msrv                (rustc|cargo) \S+ is not supported by the following package
    msrv                package `.*` cannot be built because it requires rustc
    feature_missing     the package '.*' does not contain|package `.*` does not have (the )?feature
    feature_missing     none of the selected packages contains (this|these) feature
    manifest            failed to (parse|read|load) (the )?manifest|failed to read `.*Cargo\.toml`
    manifest            could not find `Cargo.toml` in|cyclic package dependency|patch for `
    manifest            several `\[patch\]` entries|overlapping replacement|replacement specific
    manifest            package collision in the lockfile|invalid feature|the crate `.*` depends on
    version_conflict    multiple packages link to native library
    component_missing   no such (sub)?command|'(cargo-|clippy|rustfmt)\S*' is not installed for
    component_missing   component '.*' .*(unavailable|not (contain|available|installed))
    component_missing   toolchain '.*' does not (contain|have|support) (component|the binary)
    toolchain_missing   (override )?toolchain '.*' is not install|'\w+' is not installed for the
    toolchain_missing   rustup could not choose|no (override and no )?default toolchain
    toolchain_missing   [Mm]issing manifest in|invalid toolchain name|the '\w+' binary, normally
    toolchain_missing+  could not download|failed to (download|install) (component|file)
    toolchain_missing   `rustc -vV` didn't have|malformed output when|output of --print
    environment         could not load Cargo configuration|could not parse TOML configuration
    environment         error in \S+config|failed to (parse|read|load|merge) .*config(uration)?\b
    environment         invalid (index URL for registry|configuration)|config profile `
    environment         multiple registries are configured|several matching instances of
    environment         unsupported registry protocol|the target directory is set to an empty
    environment         jobs may not be|could not parse `.*`\. Number of parallel jobs
    environment         failed to update path override|could not parse override file
    environment         .* in \S*\.cargo/config|configuration key `|.*source location.* for `source
    environment         could not find a configured source|detected a cycle of `replace-with`
    environment         source `.*` defines source
    environment         (unexpected|the) argument|invalid value|a value is required
    environment         the following required arguments|unknown `-Z`|the `-Z` flag
    toolchain_missing   could not execute process `
""")

# What a linker prints, without its command line.
LINKER = _read(r"""
    disk_full           ^.*No space left on device
    oom                 ^.*(memory exhausted|[Cc]annot allocate memory|out of memory)
    oom                 ^.*unable to execute command: Killed
    syslib_missing      ^.*(unable to find library -l|cannot find -l|library not found for -l)
    syslib_missing      ^.*(library '.*' not found|cannot find \S*crt\w*\.o|LNK1181)
    linker_missing      ^.*(cannot find '\S*ld\S*'|invalid linker name|ld: command not found)
    linker_missing      ^xcrun: error
    permission          ^.*cannot open output file .*Permission denied
    corrupt_target      ^.*(file truncated|file( format)? not recognized|malformed|wrong format)
    link_own_symbol     ^.*(undefined symbols?\b|undefined reference to|not found for arch)
    link_own_symbol     ^.*(duplicate symbol|multiple definition of|unresolved external symbol)
""")

# rustc's errors without a place in a source.
OUTPUT = _read(r"""
    environment         failed to (write|create|open|copy|remove|rename)|couldn't create
    environment         could not (write|create|copy|open)|error (writing|creating|copying)
    environment         unknown (codegen|unstable) option|[Uu]nrecognized option
    environment         incorrect value .* for codegen option|the option `Z` is only accepted
    corrupt_target      extern location for .* does not exist
""")

# The last words of a compiler that died.
CRASH = _read(r"""
    oom                 ^memory allocation of \d+ bytes failed|^(rustc-)?LLVM ERROR: out of memory
    oom                 ^failed to (create|spawn) .*thread.*(code: 1[12]\b|\(os error 1[12]\))
    oom                 ^terminate called after throwing an instance of 'std::bad_alloc'
    disk_full           ^.*code: 28, kind: StorageFull|^(rustc-)?LLVM ERROR: .*No space left
""")

# The output of another package's build script, in which its words may be believed.
BUILD_SCRIPT = _read(r"""
    disk_full           (os error|code:) 28\b|No space left on device
    read_only_fs        (os error|code:) 30\b
    permission          (os error|code:) 13\b
    oom                 [Cc]annot allocate memory|memory allocation of
    syslib_missing      pkg-config search path|\.pc'|No package '.*' found|Could NOT find \w+
    syslib_missing      library `?[\w.+-]+`? (required by|was not found|not found)
    syslib_missing      find directory of OpenSSL|fatal error: '?[\w./+-]+\.h(pp)?'?[: ]
    syslib_missing      [Cc]ould ?n[o']t find (the )?(native |system )?(static )?lib|cannot find -l
    build_script_network  failed to lookup address|[Cc]ould ?n[o']t resolve (host|proxy)|dns error
    build_script_network  name resolution|Name or service not known|[Nn]etwork is unreachable
    build_script_network  [Cc]onnection (refused|reset|timed out)|[Tt]imed out|CONNECT tunnel
    build_script_network  error sending request|Failed to connect to|SSL certificate|curl: \(\d+\)
    build_script_network  unable to access 'http|(status|error|HTTP).{0,20}\b(403|404|407|429|5\d\d)
    buildtool_missing   is `[\w.+-]+` not installed\?|failed to find tool|command not found
    buildtool_missing   : not found$|pkg-config command could not be found|Unable to find libclang
    buildtool_missing   [Cc]ould ?n[o']t find `?(protoc|cmake|nasm|perl|python|make|clang|llvm)
    buildtool_missing   (program|executable) not found|Can't locate \S+\.pm|[Pp]lease install
    buildtool_missing   (execute|run|spawn|start|launch).*(No such file|os error 2\b|code: 2\b)
    buildtool_missing   kind: NotFound
""")

# What the crates that build scripts are made of say themselves; that is believed of any script.
BUILD_TOOLS = _read(r"""
    buildtool_missing   ^\s*error occurred in cc-rs: failed to find tool
    buildtool_missing   ^\s*is `[\w.+-]+` not installed\?$|^\s*Unable to find libclang
    buildtool_missing   ^\s*The pkg-config command could not be found
    syslib_missing      ^\s*Package '?\S+ was not found in the pkg-config search path
    syslib_missing      ^\s*The system library `\S+` required by crate `\S+` was not found
""")
