"""Contract files: strict JSON, with positions."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.commands.findings import Findings, Unreadable
from sshfacts.commands.json_source import locate, read_json


def messages(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "c.json"
    path.write_text(text)
    findings = Findings()
    with pytest.raises(Unreadable):
        read_json(path, 10_000_000, findings)
    return [str(finding).splitlines()[0].removeprefix(f"{tmp_path}/") for finding in findings.sorted()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}]', "c.json:1:17: error[json.syntax]: extra data"),
        ("", "c.json:1:1: error[json.syntax]: expecting value"),
        ('{"a" 1}', "c.json:1:6: error[json.syntax]: expecting ':' delimiter"),
        ("{'a': 1}", "c.json:1:2: error[json.syntax]: expecting property name enclosed in double quotes"),
        ('{"a": 1} x', "c.json:1:10: error[json.syntax]: extra data"),
        ('// no\n{"a": 1}', "c.json:1:1: error[json.syntax]: expecting value"),
        ('{"a": "\t"}', "c.json:1:8: error[json.syntax]: invalid control character at"),
        ('{"a": "\\ud800"}', "c.json: error[json.syntax]: an escape names half of a character"),
        ('{"a": 1,\n "a": 2}', "c.json:2:2: error[json.duplicate_name]: 'a' stands here a second time"),
        ('{"a": {"b": 1, "\\u0062": 2}}', "c.json:1:16: error[json.duplicate_name]: 'b' stands here a second time"),
    ],
)
def test_refuses_what_is_not_strict(tmp_path: Path, text: str, message: str):
    assert messages(tmp_path, text) == [message]


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": -Infinity}', "[" * 100_000, '{"a": ' + "1" * 5_000 + "}"])
def test_refuses_what_json_has_no_words_for(tmp_path: Path, text: str):
    [found] = messages(tmp_path, text)
    assert found.startswith("c.json: error[json.syntax]: the file holds NaN, Infinity")


def test_finds_the_places_of_nested_values():
    positions, repeated = locate('{\n  "a": [1, {"b\\"": "x,]}"}],\n  "c": {}\n}')
    assert repeated == []
    assert positions.keys == {("a",): (2, 3), ("a", "1", 'b"'): (2, 13), ("c",): (3, 3)}
    assert positions.values == {
        (): (1, 1),
        ("a",): (2, 8),
        ("a", "0"): (2, 9),
        ("a", "1"): (2, 12),
        ("a", "1", 'b"'): (2, 20),
        ("c",): (3, 8),
    }


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def pointers(value: object, at: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    found = {at}
    if isinstance(value, dict):
        for key, member in value.items():
            found |= pointers(member, (*at, key))
    if isinstance(value, list):
        for index, item in enumerate(value):
            found |= pointers(item, (*at, str(index)))
    return found


@given(_VALUES, st.sampled_from([None, 1, "\t"]))
def test_every_value_has_a_place_at_which_it_begins(value: object, indent: int | str | None):
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    positions, _ = locate(text)
    assert positions.values.keys() == pointers(value)
    lines = text.split("\n")
    for pointer, (line, column) in positions.values.items():
        part: object = value
        for step in pointer:
            part = part[int(step)] if isinstance(part, list) else part[step]  # type: ignore[index]
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        assert json.JSONDecoder().raw_decode(rest)[0] == part
