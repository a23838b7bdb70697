"""TOML: tomllib decides, and every finding still has a place."""

import tomllib
from pathlib import Path

import pytest

from sshfacts.commands.findings import Findings, Unreadable
from sshfacts.commands.toml_positions import locate_toml
from sshfacts.commands.toml_source import read_toml

TRICKY = '''\
# [not.a.table]
title = "a # b ] = c"   # comment = "x"
"quoted key" = 1
'literal.key' = 2
dotted . "second part" = 3
text = """
[still.text]
key = "value" \\""" more
"""
raw = \'\'\'
[raw]
'quoted' = 1\'\'\'
list = [
  "one", # ]
  "two]",
  { inner = "}" , other = [1, 2] },
]
inline = { a = 1, "b c" = { d = 'e' } }

[ table . "sub table" ]
key = true

[[array]]
name = "first"
[[array]]
name = "second"
[array.child]
x = 1
'''


def test_finds_keys_and_tables_whatever_stands_around_them():
    tomllib.loads(TRICKY)
    positions = locate_toml(TRICKY)
    lines = TRICKY.split("\n")

    def line_of(*pointer: str) -> str:
        line, column = positions.keys[pointer]
        return lines[line - 1][column - 1 :]

    assert line_of("title").startswith("title =")
    assert line_of("quoted key").startswith('"quoted key"')
    assert line_of("literal.key").startswith("'literal.key'")
    assert line_of("dotted", "second part").startswith('"second part" = 3')
    assert line_of("text").startswith("text =")
    assert line_of("raw").startswith("raw =")
    assert line_of("list", "2", "inner").startswith("inner =")
    assert line_of("inline", "b c", "d").startswith("d = 'e'")
    assert line_of("table", "sub table").startswith('"sub table" ]')
    assert line_of("table", "sub table", "key").startswith("key = true")
    assert line_of("array", "0", "name").startswith('name = "first"')
    assert line_of("array", "1", "name").startswith('name = "second"')
    assert line_of("array", "1", "child", "x").startswith("x = 1")
    assert not {("not",), ("still",), ("raw", "quoted"), ("key",)} & positions.keys.keys()
    line, column = positions.values["list", "1"]
    assert lines[line - 1][column - 1 :].startswith('"two]"')


def pointers(value: object, at: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found = {at}
    if isinstance(value, dict):
        found |= {place for key, member in value.items() for place in pointers(member, (*at, key))}
    if isinstance(value, list):
        found |= {place for index, item in enumerate(value) for place in pointers(item, (*at, str(index)))}
    return found


def test_every_value_has_a_place():
    assert pointers(tomllib.loads(TRICKY)) - {()} <= locate_toml(TRICKY).values.keys()


@pytest.mark.parametrize(
    "text", ["", "\n", "a", "a =", "[", "]", "=", '"', "a = [", "a = {", "[[", "a = '''", "\u00e9"]
)
def test_a_broken_text_ends_the_scan_all_the_same(text: str):
    locate_toml(text)


def messages(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "s.toml"
    path.write_text(text)
    findings = Findings()
    with pytest.raises(Unreadable):
        read_toml(path, 1_000_000, findings)
    return [str(finding).splitlines()[0].removeprefix(f"{tmp_path}/") for finding in findings.sorted()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = nope\n", "s.toml:2:5: error[toml.syntax]: the text is not TOML here"),
        ("a = 1\na = 2\n", "s.toml:2:6: error[toml.syntax]: a key or table stands here a second time"),
        ("[a]\n[a]\n", "s.toml:2:3: error[toml.syntax]: a key or table stands here a second time"),
        ('a = "open', "s.toml:1:1: error[toml.syntax]: the text is not TOML here"),
        ("a = 1\n[b]\nc = 2026-11-30\n", "s.toml:3:5: error[toml.date]: a date stands here"),
        ("a = [07:30:00]\n", "s.toml:1:6: error[toml.date]: a date stands here"),
        ("a = " + "1" * 5_000, "s.toml: error[toml.syntax]: a number has thousands of digits, or a value is nested"),
        ("a = " + "[" * 100_000, "s.toml: error[toml.syntax]: a number has thousands of digits, or a value is nested"),
    ],
)
def test_refuses_what_is_not_toml(tmp_path: Path, text: str, message: str):
    [found] = messages(tmp_path, text)
    assert found.startswith(message)


def test_a_secret_in_the_wrong_place_is_not_shown(tmp_path: Path):
    assert "hunter2" not in str(messages(tmp_path, "password = hunter2"))
