"""The strict JSON reader: bounds, places, and what it stands on."""

import json
import os
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.adapters import json_reader
from sshfacts.adapters.formats import Json
from sshfacts.adapters.json_reader import JsonReader
from sshfacts.adapters.reader import read
from sshfacts.errors import Refusal
from sshfacts.limits import DEFAULTS, MIB, ReadLimits

SOURCE = Path(json_reader.__file__).parents[2]
LIMITS = ReadLimits(bytes=100_000, depth=3, values=1000, items=5, members=4, name=6, string=9, number=5)
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"]), max_size=20)
DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(1 - 2**53, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)
    | TEXT,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXT, inner, max_size=6),
    max_leaves=30,
).filter(lambda value: isinstance(value, list | dict))


@given(DOCUMENTS, st.booleans(), st.sampled_from([None, 1]), st.integers(1, 50))
def test_what_json_writes_is_read_back(document, ascii_only, indent, size):
    data = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    reader = JsonReader(replace(DEFAULTS, bytes=MIB, depth=32))

    for start in range(0, len(data), size):
        reader.feed(data[start : start + size])

    assert repr(reader.close()) == repr(document)


@given(DOCUMENTS, st.data())
def test_a_document_that_is_cut_anywhere_is_refused(document, data):
    text = json.dumps(document).encode()
    reader = JsonReader(replace(DEFAULTS, bytes=MIB, depth=32))

    with pytest.raises(Refusal):  # noqa: PT012 - either call may refuse
        reader.feed(text[: data.draw(st.integers(0, len(text) - 1))])
        reader.close()


@given(st.binary(max_size=200))
def test_whatever_is_accepted_is_json(data):
    reader = JsonReader(DEFAULTS)
    try:
        reader.feed(data)
        document = reader.close()
    except Refusal:
        return
    assert document == json.loads(data)


@pytest.mark.parametrize(
    "data",
    [
        b"[[[1]]]",
        b"[1,2,3,4,5]",
        b'{"a":1,"b":2,"c":3,"d":4}',
        b'{"abcdef":1}',
        rb'{"\u0061bcdef":1}',
        b'["123456789"]',
        '["\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\U0001f600"]'.encode(),
        rb'["' + rb"\ud83d\ude00" * 9 + rb'"]',
        b"[12345,-1.50]",
    ],
)
def test_a_document_at_its_bounds_is_accepted(data, read):
    assert read(Json(), data, LIMITS) == json.loads(data)


@pytest.mark.parametrize(
    ("data", "detail", "where"),
    [
        (b"[[[[1]]]]", "output.depth", "byte 3"),
        (b'[[[{"a":1}]]]', "output.depth", "byte 3"),
        (b"[1,2,3,4,5,6]", "output.items", "byte 12"),
        (b'{"a":1,"b":2,"c":3,"d":4,"e":5}', "output.items", "byte 30"),
        (b"[[1,2,3,4,5,6],7]", "output.items", "byte 13"),
        (b'{"abcdefg":1}', "output.string", "byte 1"),
        (b'["1234567890"]', "output.string", "byte 1"),
        (rb'["' + rb"\ud83d\ude00" * 10 + rb'"]', "output.string", "byte 1"),
        (b"[123456]", "output.number", "byte 1"),
        (b"[1,2.00000]", "output.number", "byte 3"),
        (b'{"a":[1],"b":[],"a":0}', "output.duplicate_name", "byte 16"),
    ],
)
def test_a_document_over_a_bound_is_refused_with_its_place(data, detail, where, refusal):
    assert refusal(Json(), data, LIMITS) == (detail, where)


def test_digits_inside_a_string_are_no_number(read):
    assert read(Json(), b'["12345678"]', LIMITS) == ["12345678"]


def test_the_document_itself_is_no_item(read, refusal):
    assert read(Json(), b'{"a":{}}', replace(LIMITS, items=0)) == {"a": {}}
    assert refusal(Json(), b"[1]", replace(LIMITS, items=0))[0] == "output.items"


def test_a_name_may_be_longer_than_a_string(read):
    assert read(Json(), b'{"abcdef":1}', replace(LIMITS, string=0)) == {"abcdef": 1}


def test_values_are_counted_over_all_containers(read, refusal):
    data = b"[[1,2],[3,{}]]"

    assert read(Json(), data, replace(LIMITS, values=7)) == [[1, 2], [3, {}]]
    assert refusal(Json(), data, replace(LIMITS, values=6))[0] == "output.items"


def test_the_byte_limit_is_exact(read, refusal):
    assert read(Json(), b"[1]\n", replace(LIMITS, bytes=4)) == [1]
    assert refusal(Json(), b"[1]\n", replace(LIMITS, bytes=3)) == ("output.too_large", "more than 3 bytes")


def accepts(data: bytes) -> bool:
    reader = JsonReader(DEFAULTS)
    try:
        reader.feed(data)
        reader.close()
    except Refusal:
        return False
    return True


@pytest.mark.parametrize("spelling", ["04x", "04X"])
def test_an_escape_names_exactly_the_characters_that_are_allowed(spelling):
    accepted = {code for code in range(0x10000) if accepts(rf'["\u{code:{spelling}}"]'.encode())}

    controls = {*range(0x20), *range(0x7F, 0xA0)} - {0x09, 0x0A, 0x0D}
    surrogates = set(range(0xD800, 0xE000))
    noncharacters = {*range(0xFDD0, 0xFDF0), 0xFFFE, 0xFFFF}
    assert accepted == set(range(0x10000)) - controls - surrogates - noncharacters


@pytest.mark.parametrize("plane", range(1, 17))
def test_a_pair_of_escapes_names_every_character_but_the_last_two_of_a_plane(plane):
    for low in (*range(0, 0x10000, 257), 0xFFFD, 0xFFFE, 0xFFFF):
        character = chr(plane << 16 | low)
        high_unit, low_unit = struct.unpack(">2H", character.encode("utf-16-be"))
        for escaped in (rf"\u{high_unit:04x}\u{low_unit:04x}", rf"\u{high_unit:04X}\u{low_unit:04X}"):
            assert accepts(f'["{escaped}"]'.encode()) == (low < 0xFFFE)


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b'{"a":1}\n\n', "byte 7"),
        (b'{"a" 1}', "byte 4"),
        (b"[1,\n2,,3]", "byte 5"),
        (b'["ab\xff"]', "byte 4"),
        ('["\u00e9\u00e9\u009b"]'.encode(), "byte 6"),
        (rb'["\u00e9\ud800"]', "byte 8"),
        (b'[{"a":[1,\n 1e999]}]', "byte 11"),
        (b"[1,", "byte 3"),
    ],
)
def test_the_place_of_a_fault_is_its_offset(data, where, refusal):
    assert refusal(Json(), data)[1] == where


def test_the_place_of_a_fault_counts_bytes_over_slices(refusal):
    begin = b'["' + "\u20ac".encode() * 4000 + b'",'

    assert refusal(Json(), begin + b'"\xc2\x9b"]') == ("output.encoding", f"byte {len(begin) + 1}")
    assert refusal(Json(), begin + b"1,]")[1] == f"byte {len(begin) + 1}"
    assert refusal(Json(), begin + rb'"\ud800"]')[1] == f"byte {len(begin) + 1}"


def test_a_banner_is_refused_at_its_first_byte():
    with pytest.raises(Refusal, match=r"output\.leading_data"):
        JsonReader(DEFAULTS).feed(b"W")


def test_a_fault_is_refused_before_the_end_of_a_long_answer():
    reader = JsonReader(replace(DEFAULTS, bytes=MIB))

    with pytest.raises(Refusal, match=r"output\.syntax"):
        reader.feed(b"[1,,2" + b" " * 2000)


def test_a_token_that_many_slices_cut_is_read_once_and_whole(monkeypatch, read):
    monkeypatch.setattr(json_reader, "SLICE", 3)
    monkeypatch.setattr(json_reader, "COLLECT", 1)
    data = rb'{"n\u00e4me":["\ud83d\ude00 \\ text",-12.5e+2,false,null,"' + b"long " * 50 + rb'"]}'

    assert read(Json(), data) == json.loads(data)


def test_an_ijson_error_is_not_shown():
    with pytest.raises(Refusal) as caught:
        JsonReader(DEFAULTS).feed(b"[secret" + b" " * 2000)

    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert "secret" not in str(caught.value)


def _run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(SOURCE), *sys.path))
    return subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_environment_does_not_choose_another_backend():
    code = "from sshfacts.adapters import json_reader; print(json_reader._YAJL.__name__)"

    assert _run_python(code, IJSON_BACKEND="python").stdout == "ijson.backends.yajl2_c\n"


def test_the_reader_does_not_start_without_the_c_backend():
    code = "import sys; sys.modules['ijson.backends._yajl2'] = None; import sshfacts.adapters.json_reader"
    result = _run_python(code, IJSON_BACKEND="python")

    assert result.returncode == 1
    assert result.stderr.endswith("ijson has no yajl2_c backend here: install ijson from its wheel\n")


@pytest.mark.parametrize("number", ["0.9999999999999999999999", "9007199254740990.9999999", "23.999999999999999999999"])
def test_a_fraction_that_rounds_to_a_whole_number_is_refused(number):
    with pytest.raises(Refusal) as refused:
        read(Json(), DEFAULTS, f"[{number}]\n".encode())

    assert refused.value.detail == "output.number"


@pytest.mark.parametrize(("number", "value"), [("1.0", 1.0), ("1e3", 1000.0), ("0.1", 0.1), ("1e300", 1e300)])
def test_a_number_that_is_what_its_float_is_passes(number, value):
    assert read(Json(), DEFAULTS, f"[{number}]\n".encode()) == [value]
