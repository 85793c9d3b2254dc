"""Child processes: what is recorded of them, and that none outlives its run."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critic.process import KEPT_BYTES, Cancelled, Limit, Limits, _Stream, run
from critic.review import Run, Stage
from critic.sandbox import Sandbox, detect
from critic.toolchain import find_toolchain

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
needs_bubblewrap = pytest.mark.skipif(detect().bwrap is None, reason=str(detect().warning))
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(params=["plain", "sandboxed"])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Run]:
    """`run` with the boring arguments filled in, without and with a sandbox."""
    sandbox = None
    if request.param == "sandboxed":
        if detect().bwrap is None:
            pytest.skip(detect().warning or "")
        sandbox = Sandbox(Path("/nonexistent"), tmp_path / "cargo", writable=(tmp_path,))

    def start(*argv: str, wall: float = 10, limits: Limits | None = None, **more: Any) -> Run:
        return run(
            argv,
            cwd=tmp_path,
            env=ENVIRONMENT,
            stage=Stage.CHECK,
            limits=limits or Limits(wall),
            sandbox=sandbox,
            **more,
        )

    return start


def shell(script: str) -> tuple[str, str, str]:
    return ("/bin/sh", "-c", script)


@pytest.mark.parametrize(
    ("script", "exit_code", "ended_by"),
    [
        ("exit 0", 0, None),
        ("exit 1", 1, None),
        ("exit 101", 101, None),
        ("kill -9 $$", None, signal.SIGKILL),
        ("kill -6 $$", None, signal.SIGABRT),
        ("kill -11 $$", None, signal.SIGSEGV),
    ],
)
def test_the_end_is_told_as_exit_code_or_signal(
    start: Callable[..., Run], script: str, exit_code: int | None, ended_by: int | None
) -> None:
    done = start(*shell(script))
    assert (done.exit_code, done.signal) == (exit_code, ended_by)
    assert done.limit is None
    assert not done.timed_out


def test_both_streams_are_kept_apart(start: Callable[..., Run]) -> None:
    done = start(*shell("echo out; echo err >&2"))
    assert (done.stdout, done.stderr, done.capped) == ("out\n", "err\n", False)
    assert done.argv == shell("echo out; echo err >&2")


def test_standard_input_is_passed_on_and_otherwise_empty(start: Callable[..., Run]) -> None:
    assert start("cat", stdin=b"x" * 300_000).stdout == "x" * 300_000
    assert start("cat").stdout == ""


def test_the_environment_is_what_was_given(start: Callable[..., Run]) -> None:
    told = dict(line.split("=", 1) for line in start("env").stdout.splitlines())
    own = {name: value for name, value in told.items() if name not in ("PWD", "TMPDIR")}
    assert own == ENVIRONMENT


def test_undecodable_output_is_replaced(start: Callable[..., Run]) -> None:
    assert start("printf", r"a\377b").stdout == "a\ufffdb"


def test_the_time_limit_ends_a_run_and_keeps_what_it_printed(start: Callable[..., Run]) -> None:
    done = start(*shell("echo early; sleep 20; echo late"), wall=0.3)
    assert done.stdout == "early\n"
    assert done.timed_out
    assert done.limit is Limit.WALL
    assert done.exit_code is None
    assert done.signal == signal.SIGKILL
    assert 0.3 <= done.seconds < 1.5


def test_a_program_that_closes_its_output_is_still_waited_for(start: Callable[..., Run]) -> None:
    assert start(*shell("exec >&- 2>&-; sleep 0.3; exit 3")).exit_code == 3
    assert start(*shell("exec >&- 2>&-; sleep 20"), wall=0.3).limit is Limit.WALL


def test_a_flood_is_ended_and_its_first_and_last_parts_are_kept(start: Callable[..., Run]) -> None:
    done = start(*shell("echo first; yes"), limits=Limits(10, output_bytes=8 << 20))
    assert done.limit is Limit.OUTPUT
    assert done.capped
    assert done.stdout.startswith("first\ny\n")
    assert done.stdout.endswith("y\n")
    assert len(done.stdout) < 2 * KEPT_BYTES


def test_much_output_within_the_limit_does_not_block(start: Callable[..., Run]) -> None:
    done = start(*shell("yes | head -c 5000000; echo last; yes 1 | head -c 5000000 >&2"))
    assert done.ok
    assert done.capped
    assert "bytes were not kept" in done.stdout
    assert done.stdout.endswith("last\n")


def test_cargo_messages_become_objects_and_the_rest_stays_text(start: Callable[..., Run]) -> None:
    script = r"""
        echo '{"reason":"build-finished","success":true}'
        echo 'running 1 test'; echo '{"reason": broken'; echo '{"other": 1}'; echo '[1]'
        printf '{"reason":"no line end"}'
    """
    done = start("env", "X=1", *shell(script), "sh", "--message-format=json")
    assert [message["reason"] for message in done.messages] == ["build-finished", "no line end"]
    assert done.stdout == 'running 1 test\n{"reason": broken\n{"other": 1}\n[1]\n'


@pytest.mark.parametrize(
    ("flags", "messages"),
    [
        (("--message-format=json",), 1),
        (("--message-format", "json-diagnostic-rendered-ansi"), 1),
        (("--message-format=short",), 0),
        ((), 0),
        (("--", "--message-format=json"), 0),
        (("--error-format=json",), 0),
    ],
)
def test_json_is_read_only_where_it_was_asked_for(
    start: Callable[..., Run], flags: tuple[str, ...], messages: int
) -> None:
    done = start(*shell("""echo '{"reason":"x"}'"""), "sh", *flags)
    assert len(done.messages) == messages
    assert bool(done.stdout) == (messages == 0)


def test_rustc_diagnostics_are_read_from_stderr(tmp_path: Path) -> None:
    toolchain = find_toolchain(tmp_path)
    source = tmp_path / "broken.rs"
    source.write_text("fn main() { let x: u8 = true; }")
    done = run(
        (str(toolchain.rustc), "--error-format=json", "--emit=metadata", str(source)),
        cwd=tmp_path,
        env=toolchain.environment,
        stage=Stage.REPAIR,
        limits=Limits(20),
    )
    assert done.exit_code == 1
    assert "E0308" in [(m.get("code") or {}).get("code") for m in done.messages]
    assert done.stderr == ""


def test_lines_are_told_while_the_program_runs(start: Callable[..., Run]) -> None:
    heard: list[tuple[str, float]] = []
    done = start(
        *shell("echo one; sleep 0.4; echo two >&2; printf three"),
        on_line=lambda line: heard.append((line, time.monotonic())),
    )
    assert [line for line, _ in heard] == ["one", "two", "three"]
    assert heard[1][1] - heard[0][1] > 0.3
    assert (done.stdout, done.stderr) == ("one\nthree", "two\n")


def test_the_program_waits_for_what_is_done_meanwhile(
    start: Callable[..., Run], tmp_path: Path
) -> None:
    file = tmp_path / "candidate.rs"
    done = start("cat", str(file), meanwhile=lambda: _write(file, "late but not too late"))
    assert done.stdout == "late but not too late"


def _write(path: Path, text: str) -> None:
    time.sleep(0.05)
    path.write_text(text)


@linux_only
def test_nothing_is_left_after_a_normal_end(start: Callable[..., Run]) -> None:
    started = time.monotonic()
    assert start(*shell("sleep 54321 & echo up")).ok
    assert time.monotonic() - started < 2
    assert not _sleepers()


@needs_bubblewrap
def test_no_process_escapes_a_sandbox_by_leaving_its_session(tmp_path: Path) -> None:
    done = run(
        shell("setsid setsid sleep 54321 & sleep 0.2"),
        cwd=tmp_path,
        env=ENVIRONMENT,
        stage=Stage.TEST,
        limits=Limits(5),
        sandbox=Sandbox(Path("/nonexistent"), tmp_path, writable=(tmp_path,)),
    )
    assert done.ok
    assert not _sleepers()


@linux_only
@pytest.mark.parametrize(
    "script",
    [
        "sleep 54321",
        "sleep 54321 & sleep 54321 & sleep 54321",
        "setsid sleep 54321 & setsid sh -c 'sleep 54321; true' & sleep 54321",
        "trap '' TERM INT HUP; sleep 54321",
    ],
)
def test_the_whole_tree_is_ended_at_the_limit(start: Callable[..., Run], script: str) -> None:
    assert start(*shell(script), wall=0.3).limit is Limit.WALL
    assert not _sleepers()


@linux_only
def test_cancelling_ends_the_tree(start: Callable[..., Run]) -> None:
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    started = time.monotonic()
    with pytest.raises(Cancelled):
        start(*shell("sleep 54321 & sleep 54321"), cancel=cancel)
    assert time.monotonic() - started < 1.5
    assert not _sleepers()


@linux_only
def test_ctrl_c_ends_the_tree_and_goes_on_to_the_caller(start: Callable[..., Run]) -> None:
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        start(*shell("sleep 54321 & sleep 54321"))
    assert not _sleepers()


@linux_only
@pytest.mark.parametrize("where", ["on_line", "meanwhile"])
def test_an_error_of_the_caller_ends_the_tree(start: Callable[..., Run], where: str) -> None:
    def fail(*_: str) -> None:
        raise LookupError(where)

    with pytest.raises(LookupError, match=where):
        start(*shell("echo line; sleep 54321"), **{where: fail})
    assert not _sleepers()


def _sleepers() -> list[Path]:
    return [
        process
        for process in Path("/proc").glob("[0-9]*")
        if b"sleep\x0054321" in _command_line(process)
    ]


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_missing_program_or_folder_is_an_error_at_once(
    start: Callable[..., Run], tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        start("no-such-program")
    with pytest.raises(FileNotFoundError):
        run(
            ("true",),
            cwd=tmp_path / "gone",
            env=ENVIRONMENT,
            stage=Stage.CHECK,
            limits=Limits(1),
        )


@needs_bubblewrap
def test_a_program_that_talks_like_the_sandbox_is_a_failing_program(tmp_path: Path) -> None:
    done = run(
        shell('echo "bwrap: Can\'t bind mount" >&2; exit 1'),
        cwd=tmp_path,
        env=ENVIRONMENT,
        stage=Stage.TEST,
        limits=Limits(5),
        sandbox=Sandbox(Path("/nonexistent"), tmp_path, writable=(tmp_path,)),
    )
    assert done.exit_code == 1


def test_runs_on_several_threads_do_not_mix(start: Callable[..., Run]) -> None:
    done: dict[int, Run] = {}

    def work(number: int) -> None:
        done[number] = start(*shell(f"echo {number}; sleep 0.2; exit {number}"))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: (d.exit_code, d.stdout) for n, d in done.items()} == {
        number: (number, f"{number}\n") for number in range(4)
    }


@linux_only
def test_no_descriptor_and_no_zombie_is_left(start: Callable[..., Run]) -> None:
    gc.collect()
    before = _descriptors()
    start("true")
    start(*shell("sleep 20"), wall=0.1)
    with pytest.raises(FileNotFoundError):
        start("no-such-program")
    assert _descriptors() == before
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def _descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names are all that is wanted


LINES = st.lists(
    st.sampled_from([b'{"reason":"a"}', b"text", b"", b"{", b"\xff\xfe", "é".encode(), b"x" * 99])
)


@given(lines=LINES, cuts=st.lists(st.integers(0, 400)), json_lines=st.booleans())
def test_how_output_is_cut_into_chunks_changes_nothing(
    lines: list[bytes], cuts: list[int], json_lines: bool
) -> None:
    data = b"\n".join(lines)
    whole, parts = _Stream(json_lines, None), _Stream(json_lines, None)
    whole.feed(data)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(places):
        parts.feed(data[start:end])
    whole.finish()
    parts.finish()
    assert parts.text() == whole.text()
    assert parts.messages == whole.messages
    assert len(whole.messages) == (lines.count(b'{"reason":"a"}') if json_lines else 0)


@given(st.lists(st.integers(0, KEPT_BYTES), max_size=6))
def test_kept_text_is_bounded_and_complete_below_the_bound(sizes: list[int]) -> None:
    stream = _Stream(False, None)
    for number, size in enumerate(sizes):
        stream.feed(bytes([97 + number]) * size)
    total = sum(sizes)
    assert stream.printed == total
    assert stream.capped == (total > KEPT_BYTES)
    if total <= KEPT_BYTES:
        assert len(stream.text()) == total
    else:
        assert len(stream.text()) < KEPT_BYTES + 100


def test_what_is_printed_during_a_slow_look_is_not_lost(tmp_path: Path) -> None:
    class Slow(threading.Event):
        def is_set(self) -> bool:
            time.sleep(0.3)
            return False

    argv = ("/bin/sh", "-c", "sleep 0.15; echo last words")
    env = {"PATH": "/usr/bin:/bin"}
    found = run(argv, cwd=tmp_path, env=env, stage=Stage.CHECK, limits=Limits(10), cancel=Slow())
    assert (found.exit_code, found.stdout) == (0, "last words\n")
