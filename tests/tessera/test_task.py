"""Task files on real directories: what is accepted, and what is said of the rest."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest

from tessera.errors import InputError
from tessera.task import load_task

MINIMAL = 'crate = "../crate"\ntarget = "src/new.rs"\ntask = "Write it."\n'
MANIFEST = '[package]\nname = "c"\nversion = "0.1.0"\nedition = "2021"\n[workspace]\n'


@pytest.fixture
def crate(tmp_path: Path) -> Path:
    crate = tmp_path / "crate"
    (crate / "src").mkdir(parents=True)
    (crate / "target/debug").mkdir(parents=True)
    (crate / "Cargo.toml").write_text(MANIFEST)
    (crate / "src/lib.rs").write_text("// é\n")
    (tmp_path / "tasks").mkdir()
    return crate


def write(crate: Path, text: str) -> Path:
    path = crate.parent / "tasks/do_it.toml"
    path.write_text(text)
    return path


def complaint(crate: Path, text: str) -> str:
    with pytest.raises(InputError) as raised:
        load_task(write(crate, text))
    assert raised.value.file == crate.parent / "tasks/do_it.toml"
    return str(raised.value).removeprefix(f"{raised.value.file}").lstrip(":")


def with_target(name: str) -> str:
    return MINIMAL.replace("src/new.rs", name)


def test_a_full_task_becomes_a_record(crate: Path) -> None:
    path = write(
        crate,
        'crate = "../crate"\ntarget = "./src//deep/new.rs"\ntask = """\n\nWrite it.\n  So.\n"""\n'
        '[verify]\ntests = ["it", "that::one"]\nclippy = true\ndeclare = true\n'
        '[context]\nfiles = ["src/lib.rs"]\n'
        '[dependencies]\nindexmap = "2"\n'
        "[dependencies.serde]\nversion = '>=1.0, <2'\nfeatures = ['derive']\n",
    )
    task = load_task(path)
    assert task.id == "do_it"
    assert task.path == path
    assert task.crate == crate
    assert task.target == PurePosixPath("src/deep/new.rs")
    assert task.text == "Write it.\n  So."
    assert task.tests == ("it", "that::one")
    assert task.clippy
    assert task.declare
    assert task.context_files == (PurePosixPath("src/lib.rs"),)
    assert task.dependencies == {
        "indexmap": "2",
        "serde": {"version": ">=1.0, <2", "features": ["derive"]},
    }


def test_what_is_not_said_has_its_default(crate: Path) -> None:
    task = load_task(write(crate, MINIMAL))
    assert (task.tests, task.clippy, task.declare, task.context_files) == ((), False, False, ())
    assert task.dependencies == {}


def test_a_task_named_by_a_relative_path_has_absolute_ones(
    crate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(crate, MINIMAL)
    monkeypatch.chdir(crate.parent / "tasks")
    task = load_task(Path("do_it.toml"))
    assert task.path == crate.parent / "tasks/do_it.toml"
    assert task.crate == crate


def test_a_crate_behind_a_symbolic_link_is_the_crate_itself(crate: Path) -> None:
    (crate.parent / "link").symlink_to(crate, target_is_directory=True)
    assert load_task(write(crate, MINIMAL.replace("../crate", "../link"))).crate == crate


def test_missing_keys_are_named_with_an_example(crate: Path) -> None:
    assert complaint(crate, "") == (
        ' crate: is missing; add crate = "path of the crate, relative to this file"'
    )
    assert 'target: is missing; add target = "src/name.rs"' in complaint(
        crate, 'crate = "../crate"'
    )


def test_a_key_after_the_tables_is_told_where_it_belongs(crate: Path) -> None:
    text = 'crate = "../crate"\ntarget = "src/a.rs"\n[verify]\ntask = "x"\n'
    assert complaint(crate, text) == (
        "4: verify.task: unknown key; it belongs above the first [table]"
    )


def test_an_empty_task_is_refused(crate: Path) -> None:
    assert complaint(crate, MINIMAL.replace('"Write it."', '"""\n \n"""')).startswith(
        "3: task: is empty"
    )


def test_a_crate_must_be_a_directory_with_a_package(crate: Path) -> None:
    (crate.parent / "empty").mkdir()
    virtual = crate.parent / "ws"
    virtual.mkdir()
    (virtual / "Cargo.toml").write_text('[workspace]\nmembers = ["one", "two"]\n')
    expected = {
        "../crat": "1: crate: there is no directory ../crat; did you mean crate?",
        "../no/where": "1: crate: there is no directory ../no/where; write it as seen from",
        "../crate/Cargo.toml": "1: crate: ../crate/Cargo.toml is a file; name the directory",
        "../empty": "1: crate: ../empty holds no Cargo.toml",
        "../ws": "1: crate: ../ws is a workspace, not a crate; name a member: ../ws/one, ../ws/two",
        "x" * 300: "1: crate: ",
    }
    for name, said in expected.items():
        assert complaint(crate, MINIMAL.replace("../crate", name)).startswith(said)


def test_a_manifest_that_does_not_parse_is_left_to_cargo(crate: Path) -> None:
    (crate / "Cargo.toml").write_text("[package\n")
    assert load_task(write(crate, MINIMAL)).crate == crate


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/etc/passwd.rs", "is an absolute path"),
        ("../other/src/lib.rs", "does not name a file in the crate"),
        ("src/../../x.rs", "does not name a file in the crate"),
        (".", "does not name a file in the crate"),
        ("src\\\\new.rs", "holds a backslash; part directories with /"),
        ("src/new.py", "is no Rust file"),
        ("src/new", "is no Rust file"),
        ("src/.rs", "is no Rust file"),
        ("manifest.rs", "is no Rust file"),
        ("root.rs", "is no Rust file"),
        ("target/debug/new.rs", "lies in cargo's build directory"),
        ("src/lib.rs/new.rs", "src/lib.rs is no directory"),
        ("src/dir.rs", "src/dir.rs is a directory"),
        ("src/latin.rs", "src/latin.rs is not UTF-8 text"),
        ("src/pipe.rs", "src/pipe.rs is not a regular file"),
        ("outside.rs", "outside.rs leads out of the crate, to /"),
        ("dangling.rs", "dangling.rs leads out of the crate, to /"),
        ("away/new.rs", "away/new.rs leads out of the crate, to /"),
        ("built/new.rs", "lies in cargo's build directory"),
        ("x" * 300 + ".rs", "can't be used (File name too long)"),
        ("", "is empty"),
    ],
)
def test_a_target_stays_in_the_crate_and_is_rust(crate: Path, name: str, said: str) -> None:
    (crate / "src/dir.rs").mkdir()
    (crate / "src/latin.rs").write_bytes(b"// \xe9\n")
    os.mkfifo(crate / "src/pipe.rs")
    (crate / "outside.rs").symlink_to(crate.parent / "tasks/do_it.toml")
    (crate / "dangling.rs").symlink_to(crate.parent / "nothing.rs")
    (crate / "away").symlink_to(crate.parent / "tasks")
    (crate / "manifest.rs").symlink_to("Cargo.toml")
    (crate / "root.rs").symlink_to(".")
    (crate / "built").symlink_to("target/debug")
    before = sorted(crate.rglob("*"))
    found = complaint(crate, with_target(name))
    assert found.startswith("2: target: ")
    assert said in found
    assert sorted(crate.rglob("*")) == before


def test_a_link_that_stays_in_the_crate_is_a_target(crate: Path) -> None:
    (crate / "src/link.rs").symlink_to("lib.rs")
    assert load_task(write(crate, with_target("src/link.rs"))).target.name == "link.rs"


def test_context_files_are_readable_text_in_the_crate(crate: Path) -> None:
    (crate / "src/latin.rs").write_bytes(b"//\n// \xe9\n")
    (crate / "link.md").symlink_to("/etc/passwd")
    expected = {
        "src/gone.rs": "src/gone.rs does not exist",
        "src/lob.rs": "src/lob.rs does not exist; did you mean lib.rs?",
        "src/latin.rs": "src/latin.rs is not UTF-8 text (line 2); save it as UTF-8",
        "src": "src is a directory",
        "../tasks/do_it.toml": "does not name a file in the crate",
        "/etc/passwd": "is an absolute path",
        "link.md": "leads out of the crate, to /etc/passwd",
    }
    for name, said in expected.items():
        text = f'{MINIMAL}[context]\nfiles = [\n  "src/lib.rs",\n  "{name}",\n]\n'
        assert complaint(crate, text).startswith("7: context.files[1]: ")
        assert said in complaint(crate, text)


def test_a_test_name_is_never_a_flag_for_cargo(crate: Path) -> None:
    found = complaint(crate, MINIMAL + '[verify]\ntests = ["a", "--config=x"]\n')
    assert found.startswith("5: verify.tests[1]: --config=x is a flag")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("dependencies = 3", "4: dependencies: expected a table, found the integer 3"),
        ("[dependencies]\na = 1", "5: dependencies.a: expected text, found the integer 1"),
        ("[dependencies]\na = []", "5: dependencies.a: expected text, found a list"),
        ("[dependencies]\na = ''", "5: dependencies.a: is empty"),
        ("[dependencies]\n1a = '1'", "5: dependencies.1a: is no package name"),
        ("[dependencies]\n'a b' = '1'", '5: dependencies."a b": is no package name'),
        ("[dependencies]\na = 'latest'", "'latest' is no version requirement"),
        ("[dependencies.a]\n", "4: dependencies.a: has no source"),
        ("[dependencies.a]\nversion = 1", "5: dependencies.a.version: expected text"),
        (
            "[dependencies.a]\nversion = '1'\nfeature = ['x']",
            "6: dependencies.a.feature: unknown key; did you mean features?",
        ),
        (
            "[dependencies]\na = { version = '1',\nfeatures = 'x' }",
            "6: dependencies.a.features: exp",
        ),
        ("[dependencies.a]\ngit = 'u'\ntag = 't'\nrev = 'r'", "7: dependencies.a.rev: can't stand"),
        ("[dependencies.a]\nversion = '1'\ntag = 't'", "6: dependencies.a.tag: can't stand here"),
        ("[dependencies]\na.workspace = false", "5: dependencies.a.workspace: can't be false"),
    ],
)
def test_dependencies_have_the_form_cargo_knows(crate: Path, entry: str, said: str) -> None:
    assert said in complaint(crate, MINIMAL + entry + "\n")


REQUIREMENTS = [
    *("1", "*", "1.x", "1.*", "1.2.*", "1.*.*", ">=1, <2", "1.2.3-alpha.1+b", " 1 ", "=1.2", "~1"),
    *("^0.3", "> 1", "0", "latest", "v1", "*.1", "1,", "> 1 < 2", ">=*", "1.2.3.4", "01", "1.*.3"),
    *(
        "1, *",
        "1.2-beta",
        "=",
        "1..2",
        "=>1",
        "1 .2",
        "X",
        "1.2.3-",
        "1.2.3-01",
        "1.2.3+01",
        "1.2.3-a..b",
        "1.2.3-0a.0-",
    ),
]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is the judge here")
@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_a_version_requirement_is_accepted_as_cargo_does(crate: Path, requirement: str) -> None:
    manifest = f'{MANIFEST}[dependencies]\na = "{requirement}"\n'
    (crate / "Cargo.toml").write_text(manifest)
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version=1"]
    cargo = subprocess.run(command, cwd=crate, capture_output=True, check=False)
    task = write(crate, f'{MINIMAL}[dependencies]\na = "{requirement}"\n')
    if cargo.returncode == 0:
        assert load_task(task).dependencies == {"a": requirement}
    else:
        with pytest.raises(InputError, match="is no version requirement"):
            load_task(task)


def test_a_task_file_that_is_none_is_told_apart(crate: Path) -> None:
    tasks = crate.parent / "tasks"
    write(crate, MINIMAL)
    with pytest.raises(InputError, match="tasks: is a directory; name a file in it"):
        load_task(tasks)
    with pytest.raises(InputError, match=r"does not exist; did you mean do_it\.toml"):
        load_task(tasks / "doit.toml")
    with pytest.raises(InputError, match="can't be read"):
        load_task(tasks / "do_it.toml/x.toml")
