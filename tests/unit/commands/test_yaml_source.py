"""Strict YAML: one meaning for everybody, or a finding."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.commands.findings import Findings, Unreadable
from sshfacts.commands.source import Source
from sshfacts.commands.yaml_source import parse_yaml, read_yaml


def parse(text: str) -> Source:
    return parse_yaml(text, "f.yaml", Findings())


def messages(text: str) -> list[str]:
    findings = Findings()
    with pytest.raises(Unreadable):
        parse_yaml(text, "f.yaml", findings)
    return [str(finding).splitlines()[0] for finding in findings.sorted()]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: true", {"a": True}),
        ("a: false", {"a": False}),
        ("a: null", {"a": None}),
        ("a: 0", {"a": 0}),
        ("a: -12", {"a": -12}),
        ("a: 2.5", {"a": 2.5}),
        ("a: text with blanks", {"a": "text with blanks"}),
        ("a: 'no'", {"a": "no"}),
        ('a: "0755"', {"a": "0755"}),
        ("a: ''", {"a": ""}),
        ("a: 2026-11-30T10:00:00Z", {"a": "2026-11-30T10:00:00Z"}),
        ("a: 10.0.0.1", {"a": "10.0.0.1"}),
        ("a: --all", {"a": "--all"}),
        ("{0: document, 4: not_found}", {"0": "document", "4": "not_found"}),
        ("'on': 1", {"on": 1}),
        ("- [a, {b: c}]", [["a", {"b": "c"}]]),
        ("a: >-\n  one\n  two\n", {"a": "one two"}),
        ("a: |\n  one\n", {"a": "one\n"}),
        ("# a comment\n---\na: 1\n...\n", {"a": 1}),
        ("a: été", {"a": "été"}),
        ("a:\r\n  b: 1\r\n", {"a": {"b": 1}}),
    ],
)
def test_reads_plain_values(text: str, value: object):
    read = parse(text).value
    assert read == value
    assert repr(read) == repr(value)  # True is no 1


@pytest.mark.parametrize(
    "word",
    [
        *("yes", "No", "ON", "off", "y", "N", "True", "FALSE", "Null", "~"),
        *("0755", "0o17", "0x1F", "0b11", "+1", "1_000", "1e3", "1.5e3", ".5", "5.", ".inf", "-.INF", ".nan"),
        *("22:30", "1:30:00", "190:20:30.15", "12345678901234567890"),
    ],
)
def test_refuses_words_that_readers_disagree_about(word: str):
    assert messages(f"a: {word}") == [f"f.yaml:1:4: error[yaml.ambiguous]: {word!r} can be read in two ways"]


@pytest.mark.parametrize("word", ["yes", "True", "~", "0755", "22:30"])
def test_refuses_ambiguous_words_as_keys(word: str):
    assert messages(f"{word}: a") == [f"f.yaml:1:1: error[yaml.ambiguous]: {word!r} can be read in two ways"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.yaml: error[yaml.documents]: the file is empty"),
        ("# only a comment\n", "f.yaml: error[yaml.documents]: the file is empty"),
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1: error[yaml.documents]: a second document starts here"),
        ("%YAML 1.1\n---\na: 1\n", "f.yaml:2:1: error[yaml.directive]: the file has a directive"),
        ("%TAG ! tag:x,2000:\n---\na: 1\n", "f.yaml:2:1: error[yaml.directive]: the file has a directive"),
        ("a: &x 1", "f.yaml:1:4: error[yaml.anchor]: '&x' is an anchor"),
        ("a: *x", "f.yaml:1:4: error[yaml.anchor]: '*x' is an alias"),
        ("? *x\n: 1", "f.yaml:1:3: error[yaml.anchor]: '*x' is an alias"),
        ("a: !x 1", "f.yaml:1:4: error[yaml.tag]: the value has a tag"),
        ("a: !!python/object/apply:os.getenv [HOME]", "f.yaml:1:4: error[yaml.tag]: the value has a tag"),
        ("!!map\na: 1", "f.yaml:1:1: error[yaml.tag]: the value has a tag"),
        ("<<: {a: 1}", "f.yaml:1:1: error[yaml.merge]: '<<' is a merge key"),
        ("a: 1\nb: 2\na: 3", "f.yaml:3:1: error[yaml.duplicate_key]: 'a' stands here a second time"),
        ("a: {b: 1, 'b': 2}", "f.yaml:1:11: error[yaml.duplicate_key]: 'b' stands here a second time"),
        ("a:\nb: 1", "f.yaml:1:1: error[yaml.empty]: a value is missing"),
        ("a: {b:c}", "f.yaml:1:5: error[yaml.empty]: a value is missing"),
        ("null: 1", "f.yaml:1:1: error[yaml.key]: 'null' is no name"),
        ("1.5: 1", "f.yaml:1:1: error[yaml.key]: '1.5' is no name"),
        ("? [a]\n: 1", "f.yaml:1:3: error[yaml.key]: a list or an object stands where a name is due"),
        ("{{a: 1}: 2}", "f.yaml:1:2: error[yaml.key]: a list or an object stands where a name is due"),
        ('a: "\\ud800"', "f.yaml:1:4: error[yaml.syntax]: an escape names half of a character"),
        ("a: [1", "f.yaml:1:6: error[yaml.syntax]: expected ',' or ']', but got '<stream end>'"),
        ("a: b: c", "f.yaml:1:5: error[yaml.syntax]: mapping values are not allowed here"),
        ("a: \x00", "f.yaml: error[yaml.syntax]: the file holds a character that YAML forbids"),
        ("[" * 25 + "]" * 25, "f.yaml:1:25: error[yaml.depth]: more than 24 levels"),
    ],
)
def test_refuses_what_is_not_strict(text: str, message: str):
    assert messages(text) == [message]


def test_shows_every_fault_of_a_file_at_once():
    assert messages("a: no\nb: &x 1\na: 2\nc: !x 3\n") == [
        "f.yaml:1:4: error[yaml.ambiguous]: 'no' can be read in two ways",
        "f.yaml:2:4: error[yaml.anchor]: '&x' is an anchor",
        "f.yaml:3:1: error[yaml.duplicate_key]: 'a' stands here a second time",
        "f.yaml:4:4: error[yaml.tag]: the value has a tag",
    ]


def test_a_bomb_of_aliases_is_never_expanded():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    found = messages("\n".join(lines))
    assert len(found) == 30 + 29 * 10
    assert all("error[yaml.anchor]" in message for message in found)


@pytest.mark.parametrize("opener", ["[", "{a: ", "- "])
def test_endless_nesting_ends_early(opener: str):
    assert messages(opener * 10_000)[-1].endswith("error[yaml.depth]: more than 24 levels")


def test_every_key_and_value_has_its_place():
    source = parse("run:\n  argv: [ls, '-l']\n  exit: {0: document}\n")
    assert (source.place(("run",), key=True).line, source.place(("run",), key=True).column) == (1, 1)
    assert (source.place(("run", "argv", "1")).line, source.place(("run", "argv", "1")).column) == (2, 14)
    assert source.place(("run", "exit", "0"), key=True).column == 10
    assert source.place(("run", "exit", "0")).column == 13


def test_reads_a_file(tmp_path: Path):
    path = tmp_path / "x.yaml"
    path.write_text("a: 1\n")
    assert read_yaml(path, 100, Findings()).value == {"a": 1}


_TEXT = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co"]), max_size=20)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(_VALUES, st.sampled_from([None, 2]))
def test_reads_json_as_json_reads_it(value: object, indent: int | None):
    assert parse(json.dumps({"value": value}, ensure_ascii=False, indent=indent)).value == {"value": value}
