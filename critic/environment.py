"""Which variables of the person's environment a child process may see.

An allow-list of what building Rust needs; everything else stays behind, and whatever
looks like a key, a token or a password stays behind even when the list names it. Pure:
takes a mapping, answers a new one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# Cargo's own configuration (https://doc.rust-lang.org/cargo/reference/environment-variables.html),
# compilers and linkers, pkg-config, and what the common `-sys` crates read. Left out on
# purpose: where cargo puts its output and how it colours it, which the critic decides.
_BUILD = re.compile(
    r"""
    HOME | PATH | LANG | LC_CTYPE | TZ | USER | LOGNAME | SHELL | TMPDIR
    | CARGO_(HOME|INCREMENTAL|ENCODED_RUSTFLAGS|BUILD_.+|TARGET_.+_.+|PROFILE_.+|NET_.+
            |REGISTR(Y|IES)_.+|SOURCE_.+|UNSTABLE_.+|RESOLVER_.+)
    | RUSTC | RUSTC_.+ | RUSTDOC | RUSTFLAGS | RUSTDOCFLAGS | RUSTUP_(HOME|TOOLCHAIN)
    | (HOST_|TARGET_)?(CC|CXX|AR|AS|LD|NM|RANLIB|CFLAGS|CXXFLAGS|CPPFLAGS|LDFLAGS)(_.+)?
    | MAKE | CMAKE(_.+)? | PKG_CONFIG(_.+)? | (LD_|DYLD_)?LIBRARY_PATH
    | CPATH | C_INCLUDE_PATH | CPLUS_INCLUDE_PATH
    | LIBCLANG_PATH | LLVM_CONFIG_PATH | BINDGEN_EXTRA_CLANG_ARGS(_.+)?
    | OPENSSL_(DIR|LIB_DIR|INCLUDE_DIR|STATIC|NO_VENDOR) | PROTOC | PROTOC_INCLUDE
    | SDKROOT | DEVELOPER_DIR | MACOSX_DEPLOYMENT_TARGET | SOURCE_DATE_EPOCH
    | NIX_(CC|CFLAGS|LDFLAGS|BINTOOLS|ENFORCE).*
    """,
    re.VERBOSE,
)
_NOT_BUILD = re.compile(r"CARGO_(BUILD_(TARGET|BUILD)_DIR|TARGET_DIR)")
_NETWORK = re.compile(
    r"""
    (?i:(https?|all|no)_proxy)
    | SSL_CERT_(FILE|DIR) | CARGO_HTTP_.+ | CARGO_REGISTR(Y|IES)_.+ | CARGO_CREDENTIAL_.+
    | GIT_SSH | GIT_SSH_COMMAND | GIT_SSL_CAINFO | GIT_SSL_CAPATH | SSH_AUTH_SOCK
    """,
    re.VERBOSE,
)
_SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|KEY(_|$)", re.IGNORECASE)

# Messages are read by rules, so they are plain and in English; rustup never downloads.
_FIXED = {
    "CARGO_TERM_COLOR": "never",
    "CARGO_TERM_QUIET": "false",
    "CARGO_TERM_VERBOSE": "false",
    "LC_MESSAGES": "C",
    "RUSTUP_AUTO_INSTALL": "0",
}


def for_building(environ: Mapping[str, str]) -> dict[str, str]:
    """What a compiler, a build script and a test may see: nothing secret."""
    allowed = {name: value for name, value in environ.items() if _is_for_building(name)}
    return allowed | _FIXED


def for_fetching(environ: Mapping[str, str]) -> dict[str, str]:
    """What cargo may see while it downloads: proxies, certificates, registry tokens too.

    Only for a process that runs nothing of a candidate.
    """
    network = {name: value for name, value in environ.items() if _NETWORK.fullmatch(name)}
    return for_building(environ) | network


def _is_for_building(name: str) -> bool:
    listed = _BUILD.fullmatch(name) and not _NOT_BUILD.fullmatch(name)
    return bool(listed) and not _SECRET.search(name)
