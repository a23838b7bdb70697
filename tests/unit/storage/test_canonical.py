import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.storage.canonical import DEPTH, CanonicalError, clean, dumps, leaf_hash, loads_strict, timestamp
from sshfacts.values import JsonObject, JsonValue

LARGEST = 2**53 - 1

texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20)
names = st.text(st.characters(min_codepoint=1, max_codepoint=127), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-LARGEST, LARGEST) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=12
)
bodies = st.dictionaries(names, values, max_size=6)


@given(bodies)
def test_the_form_is_rfc_8785(body: JsonObject):
    assert dumps(body) == rfc8785.dumps(body)


@given(bodies)
def test_what_is_read_back_is_what_was_written(body: JsonObject):
    assert loads_strict(dumps(body)) == body


@given(bodies)
def test_any_other_spelling_of_the_same_value_is_refused(body: JsonObject):
    data = dumps(body)
    for other in (json.dumps(body).encode(), data + b"\n", b" " + data):
        if other != data:
            with pytest.raises(CanonicalError, match="canonical form"):
                loads_strict(other)


@given(st.binary(max_size=60))
def test_arbitrary_bytes_are_refused_or_canonical(data: bytes):
    try:
        body = loads_strict(data)
    except CanonicalError:
        return
    assert dumps(body) == data


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (LARGEST + 1, "integer"),
        (-LARGEST - 1, "integer"),
        (1.0, "float"),
        (float("nan"), "float"),
        ("a\x00b", "NUL"),
        ("\ud800", "surrogate"),
        ({"größe": 1}, "name"),
        ({"a\x00": 1}, "name"),
        ({1: 1}, "name"),
        (b"bytes", "bytes"),
        (("a",), "tuple"),
    ],
)
def test_what_has_no_canonical_form_is_refused(value: JsonValue, rule: str):
    with pytest.raises(CanonicalError, match=rule):
        dumps({"a": [value]})


def nested(depth: int) -> JsonObject:
    value: JsonObject = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return value


def test_depth_is_bounded_exactly():
    assert dumps(nested(DEPTH))
    with pytest.raises(CanonicalError, match="nested"):
        dumps(nested(DEPTH + 1))


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":1}',  # parsing would keep one of them
        b'{"a":1.0}',
        b'{"b":1,"a":1}',
        b'{"a":NaN}',
        b"[]",
        b"null",
        b"",
        b'{"a":"\xff"}',
        b'{"a":' * 100_000,
        b'{"a":' + b"9" * 5_000 + b"}",
    ],
)
def test_bytes_that_are_no_canonical_object_are_refused(data: bytes):
    with pytest.raises(CanonicalError):
        loads_strict(data)


def test_an_error_never_quotes_the_data():
    with pytest.raises(CanonicalError) as caught:
        loads_strict(b'{"a": hunter2}')
    assert "hunter2" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_the_leaf_hash_is_that_of_rfc_9162():
    # The first leaf of the reference tree of RFC 6962's implementations: SHA-256 of one zero byte.
    assert leaf_hash(b"").hex() == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1_796_032_800_000_001, "2026-11-30T10:00:00.000001Z"),
        (999_999, "1970-01-01T00:00:00.999999Z"),
    ],
)
def test_a_timestamp_is_utc_with_six_decimals(microseconds: int, text: str):
    assert timestamp(microseconds) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\n\ttext é 日", "plain\n\ttext é 日"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("a\x00b\rc\x7fd\x9be", "a\ufffdb\ufffdc\ufffdd\ufffde"),
        ("a\u202eb\u200bc\ufeffd", "a\ufffdb\ufffdc\ufffdd"),
        ("a\u2028b", "a\ufffdb"),
        ("\udc80", "\ufffd"),
    ],
)
def test_remote_text_cannot_steer_a_terminal(text: str, shown: str):
    assert clean(text) == shown


@given(st.text(), st.integers(0, 40))
def test_cleaned_text_is_bounded_and_storable(text: str, limit: int):
    cleaned = clean(text, limit)
    assert len(cleaned.encode()) <= limit
    assert loads_strict(dumps({"text": cleaned})) == {"text": cleaned}


def test_cleaning_never_splits_a_character():
    assert clean("ééé", 5) == "éé"
