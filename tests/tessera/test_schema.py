"""What readers accept, and what is said about keys and values that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tessera.errors import InputError
from tessera.schema import Schema, choice, number, read_values, switch, text, whole, word, words
from tessera.toml import parse_toml

SCHEMA: Schema = {
    "name": text,
    "path": word,
    "size": whole(1),
    "limits.seconds": number(0, 10),
    "limits.mode": choice("auto", "off"),
    "checks.lint": switch,
    "checks.names": words,
}


def read(source: str) -> dict[str, object]:
    return read_values(parse_toml(source, Path("a.toml")), SCHEMA)


def test_values_come_by_dotted_key_and_absent_ones_not_at_all() -> None:
    source = 'name = "n"\nlimits.seconds = 3\n[checks]\nnames = ["a", "b"]\nlint = false\n'
    assert read(source) == {
        "name": "n",
        "limits.seconds": 3.0,
        "checks.names": ("a", "b"),
        "checks.lint": False,
    }
    assert read("") == {}


REFUSED = [
    ("naem = 1", "naem: unknown key; did you mean name?"),
    ("Size = 1", "Size: unknown key; did you mean size?"),
    ("[limit]\n", "limit: unknown key; did you mean limits?"),
    ("[limits]\nsecond = 1", "2: limits.second: unknown key; did you mean seconds?"),
    ("lint = true", "lint: unknown key; it belongs in [checks]"),
    ("[checks]\nsize = 1", "2: checks.size: unknown key; it belongs above the first [table]"),
    ("[limits]\nxyz = 1", "2: limits.xyz: unknown key; known here: mode, seconds"),
    ('"limits.mode" = "off"', '"limits.mode": unknown key'),
    ('limits = "off"', "limits: expected a table, found text; write [limits], and its keys below"),
    ("[[limits]]\nmode = 1", "limits: expected a table, found a list"),
    ("[limits.mode]\n", "limits.mode: expected text, found a table"),
    ("name = 3", "name: expected text, found the integer 3; write it in quotes"),
    ('name = " "', "name: is empty"),
    ('path = "a\\u0000b"', "path: holds a control character"),
    ('path = "a\\n"', "path: holds a control character or space at an end"),
    ("size = true", "size: expected a whole number, found the boolean true"),
    ("size = 1.0", "size: expected a whole number, found the number 1.0"),
    ('size = "4"', "size: expected a whole number, found text; write digits without quotes"),
    ("size = 0", "size: 0 is too small; write 1 or more"),
    ("limits.seconds = nan", "limits.seconds: nan is out of range; write 0 to 10"),
    ("limits.seconds = false", "limits.seconds: expected a number, found the boolean false"),
    ("limits.seconds = 10.5", "limits.seconds: 10.5 is out of range"),
    ('limits.mode = "of"', "limits.mode: of is none of auto or off; did you mean off?"),
    ("limits.mode = 1979-05-27", "limits.mode: expected text, found a date or time"),
    ('checks.lint = "true"', "checks.lint: expected true or false, found text"),
    ("checks.lint = 1", "checks.lint: expected true or false, found the integer 1"),
    ('checks.names = "a"', 'checks.names: expected a list of texts, found text; write ["…", "…"]'),
    ('checks.names = [\n"a",\n3]', "3: checks.names[1]: expected text, found the integer 3"),
    ('checks.names = [""]', "checks.names[0]: is empty"),
]


@pytest.mark.parametrize(("source", "said"), REFUSED)
def test_wrong_keys_and_values_are_named_with_what_to_do(source: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        read(source)
    assert said in str(raised.value)
    assert str(raised.value).startswith("a.toml:")


def test_a_wrong_text_is_not_repeated_since_it_may_be_a_secret() -> None:
    with pytest.raises(InputError) as raised:
        read('size = "sk-secret"')
    assert "sk-secret" not in str(raised.value)
