"""Hostile candidates before the judge: each fails and says why, and the next right one passes.

The candidate gives the right answer only where its attack succeeds, so that a PASS is a
breach. The task asks for files, sockets and processes, or else the audit would fail each
before it ran. Limits are small and each attack bounds itself, so that a failure here does
no harm to the machine.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import pytest

from critic.crate import read_crate
from critic.judge import Assignment, Judge
from critic.process import Limits
from critic.review import CriticSettings, Review, Verdict
from critic.sandbox import detect
from critic.slot import open_slot
from critic.toolchain import Toolchain, find_toolchain

MEBIBYTE = 1 << 20
SETTINGS = CriticSettings(check_seconds=60, test_seconds=4, memory_bytes=320 * MEBIBYTE)
TASK = (
    "Double a number. It reads a file from the disk, writes bytes to a file, reads an environment "
    "variable, opens a TCP socket and starts a child process."
)
MANIFEST = '[package]\nname = "{name}"\nversion = "0.1.0"\nedition = "2021"\n'
RIGHT = "/// Twice `n`.\npub fn double(n: i32) -> i32 {\n    n * 2\n}\n"
CANDIDATE = """/// Twice `n`, if the attack succeeds.
pub fn double(n: i32) -> i32 {{
    let succeeded: bool = {{ {attack} }};
    if succeeded {{ n * 2 }} else {{ n * 3 }}
}}
"""
TEST = "#[test]\nfn doubles() {\n    assert_eq!(demo::a::double(4), 8);\n}\n"
MACRO = """use proc_macro::TokenStream;
/// Four, if the attack succeeds.
pub fn four() -> TokenStream {{
    let succeeded: bool = {{ {attack} }};
    format!("{{}}", if succeeded {{ 4 }} else {{ 5 }}).parse().expect("a number")
}}
"""
MACRO_RIGHT = MACRO.format(attack='TokenStream::new().to_string() == ""')
MACRO_LIB = """extern crate proc_macro;
mod a;
#[proc_macro]
pub fn four(_: proc_macro::TokenStream) -> proc_macro::TokenStream {
    a::four()
}
"""
MACRO_USER = "pub const FOUR: [u8; 4] = [0; demo::four!()];\n"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the limits need /proc"),
    pytest.mark.skipif(detect().bwrap is None, reason=str(detect().warning)),
]


@dataclass(frozen=True)
class Attack:
    """What the candidate does, as a Rust expression that is true where it succeeds.

    `HOME`, `OUTSIDE` and `ADDRESS` in it stand for what it is aimed at; `said` is what the
    evidence must hold.
    """

    name: str
    code: str
    said: str = "left: 12"

    def __str__(self) -> str:
        return self.name


READ_HOME = Attack("read_home", 'std::fs::read_to_string("HOME/secret").is_ok()')
READ_ENVIRONMENT = Attack(
    "read_environment",
    """let own = std::env::vars().any(|(_, value)| value.contains("hush-hush"));
    let others = std::fs::read_dir("/proc").into_iter().flatten().flatten().any(|process| {
        let environment = std::fs::read(process.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains("hush-hush")
    });
    own || others""",
)
CONNECT = Attack(
    "connect",
    """let address: std::net::SocketAddr = "ADDRESS".parse().expect("an address");
    let patience = std::time::Duration::from_millis(300);
    std::net::TcpStream::connect_timeout(&address, patience).is_ok()""",
)
WRITE_OUTSIDE = Attack(
    "write_outside",
    """"OUTSIDE".split(':').filter(|path| std::fs::write(path, "pwned").is_ok()).count() > 0""",
)
FORK = Attack(
    "fork",
    """let start = |_| std::process::Command::new("sleep").arg("20").spawn();
    let mut children: Vec<_> = (0..60).filter_map(|n| start(n).ok()).collect();
    std::thread::sleep(std::time::Duration::from_secs(1));
    for child in &mut children {
        let _ = child.kill();
        let _ = child.wait();
    }
    children.len() == 60""",
    said="over the processes limit",
)
FILL_DISK = Attack(
    "fill_disk",
    """(0..12).all(|number| {
        std::thread::sleep(std::time::Duration::from_millis(60));
        std::fs::write(format!("fill-{number}"), vec![1; 8 << 20]).is_ok()
    })""",
    said="over the disk limit",
)
LARGE_FILE = Attack(
    "large_file",
    """std::fs::write("large", vec![1; 40 << 20]).is_ok()""",
    said="over the disk limit",
)
ALLOCATE = Attack(
    "allocate",
    """let mut held = Vec::new();
    while held.len() < 110 {
        held.push(vec![1_u8; 4 << 20]);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    std::hint::black_box(&held);
    std::thread::sleep(std::time::Duration::from_millis(300));
    true""",
    said="over the memory limit",
)
SPIN = Attack(
    "spin",
    """let started = std::time::Instant::now();
    while started.elapsed() < std::time::Duration::from_secs(30) {}
    true""",
    said="did not end within 4 s",
)
PRINT = Attack(
    "print",
    """let mut out = std::io::stdout().lock();
    let line = vec![b'x'; 1 << 20];
    (0..1024).all(|_| std::io::Write::write_all(&mut out, &line).is_ok())""",
    said="over the output limit",
)
SEEING = (READ_HOME, READ_ENVIRONMENT, CONNECT, WRITE_OUTSIDE)
USING_UP = (FORK, FILL_DISK, LARGE_FILE, ALLOCATE, SPIN, PRINT)


class SmallJudge(Judge):
    """A judge whose children may use little of what the settings do not speak of."""

    def _limits(self, seconds: float) -> Limits:
        return replace(
            super()._limits(seconds),
            processes=40,
            file_bytes=32 * MEBIBYTE,
            disk_bytes=64 * MEBIBYTE,
            output_bytes=4 * MEBIBYTE,
        )


@dataclass(frozen=True)
class Place:
    """A judge, and what the attacks are aimed at."""

    judge: Judge
    listener: socket.socket
    home: Path
    outside: tuple[Path, ...]

    def candidate(self, attack: Attack, template: str = CANDIDATE) -> bytes:
        address = "{}:{}".format(*self.listener.getsockname())
        code = attack.code.replace("HOME", str(self.home)).replace("ADDRESS", address)
        code = code.replace("OUTSIDE", ":".join(map(str, self.outside)))
        return template.format(attack=code).encode()

    def review(self, candidate: bytes) -> Review:
        return self.judge.judge(candidate).review

    def assert_all_is_well(self, right: str) -> None:
        """Nothing was reached or left behind, and the same judge passes what is right."""
        with pytest.raises(BlockingIOError):
            self.listener.accept()
        assert not [path for path in self.outside if path.exists()]
        assert self.review(right.encode()).verdict is Verdict.PASS


@pytest.fixture(scope="module")
def toolchain(tmp_path_factory: pytest.TempPathFactory) -> Toolchain:
    """With a home that has a secret in it, and a key in the environment."""
    home = tmp_path_factory.mktemp("home")
    (home / "secret").write_text("the secret")
    environ = {
        **os.environ,
        "HOME": str(home),
        "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
        "FAKE_API_KEY": "hush-hush",
    }
    return find_toolchain(home, environ)


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture(scope="module", autouse=True)
def neighbour() -> Iterator[None]:
    """Another process of the same person, with a key in its environment."""
    with subprocess.Popen(("/bin/sleep", "600"), env={"FAKE_API_KEY": "hush-hush"}) as process:
        yield
        process.kill()


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def _judge(
    folder: Path, toolchain: Toolchain, listener: socket.socket, crate: Path, tests: tuple[str, ...]
) -> Place:
    assignment = Assignment(crate, PurePosixPath("src/a.rs"), tests, task=TASK)
    slot = open_slot(read_crate(crate, toolchain), folder / "cache")
    judge = SmallJudge(assignment, SETTINGS, toolchain, slot)
    home = Path(toolchain.environment["HOME"])
    outside = (toolchain.sysroot / "pwned", toolchain.cargo_home / "pwned", Path("/usr/pwned"))
    return Place(judge, listener, home, (*outside, slot.target_dir / "debug" / "deps" / "pwned"))


@pytest.fixture(scope="module")
def in_test(
    tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain, listener: socket.socket
) -> Iterator[Place]:
    """The candidate is called by a named test."""
    folder = tmp_path_factory.mktemp("in_test")
    crate = folder / "demo"
    manifest = MANIFEST.format(name="demo")
    _write(crate, {"Cargo.toml": manifest, "src/lib.rs": "pub mod a;\n", "tests/a.rs": TEST})
    place = _judge(folder, toolchain, listener, crate, ("a",))
    with place.judge:
        yield place


@pytest.fixture(scope="module")
def in_macro(
    tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain, listener: socket.socket
) -> Iterator[Place]:
    """The candidate is a part of a procedural macro, which another member's build calls."""
    folder = tmp_path_factory.mktemp("in_macro")
    user = MANIFEST.format(name="user") + '[dependencies]\ndemo = { path = "../demo" }\n'
    _write(
        folder / "both",
        {
            "Cargo.toml": '[workspace]\nmembers = ["demo", "user"]\nresolver = "2"\n',
            "demo/Cargo.toml": MANIFEST.format(name="demo") + "[lib]\nproc-macro = true\n",
            "demo/src/lib.rs": MACRO_LIB,
            "demo/src/a.rs": MACRO_RIGHT,
            "user/Cargo.toml": user,
            "user/src/lib.rs": MACRO_USER,
        },
    )
    place = _judge(folder, toolchain, listener, folder / "both" / "demo", ())
    place = replace(place, outside=place.outside[:-1])  # what is built may be written to
    with place.judge:
        yield place


def _said(review: Review) -> str:
    return "\n".join(evidence.text for evidence in review.evidence)


@pytest.mark.parametrize("attack", (*SEEING, *USING_UP), ids=str)
def test_an_attack_from_a_test_fails_and_says_why(in_test: Place, attack: Attack) -> None:
    review = in_test.review(in_test.candidate(attack))
    assert review.verdict is Verdict.FAIL, review
    assert review.stage == "test"
    assert attack.said in _said(review)
    in_test.assert_all_is_well(RIGHT)


@pytest.mark.parametrize("attack", SEEING, ids=str)
def test_an_attack_from_a_macro_reaches_nothing(in_macro: Place, attack: Attack) -> None:
    review = in_macro.review(in_macro.candidate(attack, MACRO))
    assert review.verdict is Verdict.FAIL, review
    assert review.error_pattern == "e0308_type_mismatch"  # the macro gave the wrong number
    in_macro.assert_all_is_well(MACRO_RIGHT)


@pytest.mark.parametrize("attack", (FORK, FILL_DISK, ALLOCATE, PRINT), ids=str)
def test_an_attack_from_a_macro_is_stopped_and_fails(in_macro: Place, attack: Attack) -> None:
    review = in_macro.review(in_macro.candidate(attack, MACRO))
    assert review.verdict is Verdict.FAIL, review
    in_macro.assert_all_is_well(MACRO_RIGHT)


def test_an_attack_that_nobody_asked_for_is_not_even_run(in_test: Place) -> None:
    assignment = replace(in_test.judge.assignment, task="Double a number.")
    slot = open_slot(in_test.judge.crate, in_test.judge.slot.path / "asked-for-nothing")
    with SmallJudge(assignment, SETTINGS, in_test.judge.toolchain, slot) as judge:
        for attack in (READ_HOME, CONNECT, FORK, READ_ENVIRONMENT):
            review = judge.judge(in_test.candidate(attack)).review
            assert (review.verdict, review.kind) == (Verdict.FAIL, "safety"), attack
        assert judge.judge(RIGHT.encode()).review.verdict is Verdict.PASS
