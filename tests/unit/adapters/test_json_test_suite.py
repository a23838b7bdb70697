"""The public JSONTestSuite, read from beside the project; nothing of it is copied here."""

import json
from pathlib import Path

import pytest

from sshfacts.adapters.formats import Json
from sshfacts.adapters.reader import open_reader
from sshfacts.errors import Refusal
from sshfacts.limits import CEILINGS

FOLDER = Path(__file__).parents[4] / "shared" / "data" / "JSONTestSuite" / "test_parsing"
FILES = sorted(FOLDER.glob("*.json"))
pytestmark = pytest.mark.skipif(not FILES, reason="the JSONTestSuite is not beside the project")

LONELY = "the top level is an object or an array"
CONTROL = "no control character but tab, newline and carriage return"
NONCHARACTER = "no noncharacter (RFC 7493 section 2.1)"
BEFORE = "nothing before the document"
AFTER = "only one newline after the document"
UNIQUE = "names are unique (RFC 7493 section 2.3)"
LONG = "a number has at most 32 bytes"
RULES = {
    LONELY: "output.leading_data",
    CONTROL: "output.encoding",
    NONCHARACTER: "output.encoding",
    BEFORE: "output.leading_data",
    AFTER: "output.trailing_data",
    UNIQUE: "output.duplicate_name",
    LONG: "output.number",
}
STRICTER = {
    "y_array_with_leading_space": BEFORE,
    "y_array_with_trailing_space": AFTER,
    "y_number_double_close_to_zero": LONG,
    "y_object_duplicated_key": UNIQUE,
    "y_object_duplicated_key_and_value": UNIQUE,
    "y_object_escaped_null_in_key": CONTROL,
    "y_string_allowed_escapes": CONTROL,
    "y_string_escaped_control_character": CONTROL,
    "y_string_escaped_noncharacter": NONCHARACTER,
    "y_string_last_surrogates_1_and_2": NONCHARACTER,
    "y_string_nonCharacterInUTF-8_U+10FFFF": NONCHARACTER,
    "y_string_nonCharacterInUTF-8_U+FFFF": NONCHARACTER,
    "y_string_null_escape": CONTROL,
    "y_string_space": LONELY,
    "y_string_unescaped_char_delete": CONTROL,
    "y_string_unicode_U+10FFFE_nonchar": NONCHARACTER,
    "y_string_unicode_U+1FFFE_nonchar": NONCHARACTER,
    "y_string_unicode_U+FDD0_nonchar": NONCHARACTER,
    "y_string_unicode_U+FFFE_nonchar": NONCHARACTER,
    "y_string_with_del_character": CONTROL,
    "y_structure_lonely_false": LONELY,
    "y_structure_lonely_int": LONELY,
    "y_structure_lonely_negative_real": LONELY,
    "y_structure_lonely_null": LONELY,
    "y_structure_lonely_string": LONELY,
    "y_structure_lonely_true": LONELY,
    "y_structure_string_empty": LONELY,
    "y_structure_whitespace_array": BEFORE,
}
"""Files that are JSON and refused here, each with the rule that refuses it."""


def of_kind(kind: str) -> list[object]:
    return [pytest.param(path, id=path.stem) for path in FILES if path.stem.startswith(kind)]


def test_the_suite_is_complete():
    assert [len(of_kind(kind)) for kind in ("y_", "n_", "i_")] == [95, 188, 35]


@pytest.mark.parametrize("path", of_kind("n_"))
def test_what_is_not_json_is_refused(path, read):
    with pytest.raises(Refusal):
        read(Json(), path.read_bytes(), CEILINGS)


@pytest.mark.parametrize("path", of_kind("y_"))
def test_what_is_json_is_read_or_refused_for_a_reason(path, read):
    data = path.read_bytes()
    if path.stem in STRICTER:
        with pytest.raises(Refusal) as caught:
            read(Json(), data, CEILINGS)
        assert caught.value.detail == RULES[STRICTER[path.stem]]
    else:
        assert read(Json(), data, CEILINGS) == json.loads(data)


@pytest.mark.parametrize("path", of_kind("i_"))
def test_what_readers_disagree_about_is_refused(path, read):
    with pytest.raises(Refusal):
        read(Json(), path.read_bytes(), CEILINGS)


@pytest.mark.parametrize("path", of_kind("n_"))
def test_a_refused_file_stays_refused(path):
    reader = open_reader(Json(), CEILINGS)
    with pytest.raises(Refusal) as first:  # noqa: PT012 - either call may refuse
        reader.feed(path.read_bytes())
        reader.close()
    with pytest.raises(Refusal) as second:
        reader.close()
    assert (first.value.detail, first.value.where) == (second.value.detail, second.value.where)
