"""Which cargo and rustc a crate is built with.

Asks the `rustc` on PATH once, so that `rust-toolchain.toml`, directory overrides,
RUSTUP_TOOLCHAIN and RUSTC are honoured, and answers with the programs in the toolchain's
own folder: each call through rustup's proxies costs about 10 ms. Never downloads or
installs anything.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from critic import environment

PROBE_SECONDS = 30


class ToolchainMissing(Exception):  # noqa: N818 - an expected end, named for what it says
    """No toolchain can build the crate; the message says what is missing and what to do."""


@dataclass(frozen=True)
class Toolchain:
    """Cargo and rustc by their real paths; `version` is as rustc prints it.

    `environment` is what children get (the toolchain's folder comes first in its PATH),
    `fetch_environment` what cargo gets while it downloads; that one may hold registry
    tokens and belongs to no process that runs code of a candidate.
    """

    cargo: Path
    rustc: Path
    sysroot: Path
    version: str
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    fetch_environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def cargo_home(self) -> Path:
        """Where cargo keeps the registry and its own configuration."""
        return Path(self.environment["CARGO_HOME"])

    @property
    def places(self) -> tuple[Path, ...]:
        """What must be readable to use it: its folder, and its programs if they lie elsewhere."""
        elsewhere = (p for p in (self.cargo, self.rustc) if not p.is_relative_to(self.sysroot))
        return (self.sysroot, *elsewhere)

    @property
    def clippy(self) -> bool:
        """Whether `cargo clippy` is installed."""
        names = ("cargo-clippy", "clippy-driver")
        return all((self.sysroot / "bin" / name).is_file() for name in names)

    @property
    def rustfmt(self) -> bool:
        """Whether rustfmt is installed."""
        return (self.sysroot / "bin" / "rustfmt").is_file()


def find_toolchain(directory: Path, environ: Mapping[str, str] = os.environ) -> Toolchain:
    """The toolchain that `cargo` would use in `directory`. Raises ToolchainMissing."""
    home = environ.get("HOME") or str(Path.home())
    cargo_home = Path(environ.get("CARGO_HOME") or Path(home, ".cargo")).absolute()
    # Login shells put cargo's own bin folder on PATH; services and editors often don't.
    path = os.pathsep.join(filter(None, (environ.get("PATH"), str(cargo_home / "bin"))))
    named = environ.get("RUSTC")
    proxy = shutil.which(named or "rustc", path=path)
    if proxy is None:
        raise ToolchainMissing(_not_found(named))
    probing = {**environ, "PATH": path, "RUSTUP_AUTO_INSTALL": "0", "RUST_BACKTRACE": "0"}
    sysroot = Path(_ask(proxy, ("--print", "sysroot"), directory, probing))
    binaries = sysroot / "bin"
    cargo = shutil.which("cargo", path=f"{binaries}{os.pathsep}{path}")
    if cargo is None:
        raise ToolchainMissing(
            f"cargo is neither in {binaries} nor on PATH.\n"
            "Install Rust with cargo: https://www.rust-lang.org/tools/install"
        )
    rustc = Path(proxy) if named else _first_file(binaries / "rustc", Path(proxy))
    own = {
        **environ,
        "HOME": home,
        "CARGO_HOME": str(cargo_home),
        "PATH": _path(binaries, path),
    }
    return Toolchain(
        cargo=Path(cargo),
        rustc=rustc,
        sysroot=sysroot,
        version=_ask(str(rustc), ("--version",), directory, probing),
        environment=environment.for_building(own),
        fetch_environment=environment.for_fetching(own),
    )


def _ask(rustc: str, flags: tuple[str, ...], directory: Path, env: Mapping[str, str]) -> str:
    try:
        answer = subprocess.run(
            (rustc, *flags),
            cwd=directory,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ToolchainMissing(
            f"{rustc} did not answer within {PROBE_SECONDS} seconds.\n"
            "See whether another rustup is at work, or run `rustup show`."
        ) from None
    if answer.returncode != 0:
        words = os.fsdecode(answer.stderr).strip() or f"exit code {answer.returncode}"
        raise ToolchainMissing(
            f"rustc can't be used in {directory}:\n{words}\n"
            "Install that toolchain with rustup, or correct rust-toolchain.toml, "
            "RUSTUP_TOOLCHAIN or RUSTC."
        )
    return os.fsdecode(answer.stdout).strip()


def _not_found(named: str | None) -> str:
    if named:
        return f"RUSTC names {named}, which is not a program.\nCorrect RUSTC, or unset it."
    return (
        "There is no rustc on PATH.\n"
        "Install Rust (https://www.rust-lang.org/tools/install), or add its folder to PATH."
    )


def _first_file(*candidates: Path) -> Path:
    return next(path for path in candidates if path.is_file())


def _path(first: Path, path: str) -> str:
    entries = dict.fromkeys((str(first), *path.split(os.pathsep)))
    return os.pathsep.join(entry for entry in entries if entry)
