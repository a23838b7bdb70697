"""JSON lines: each line a strict document, all of them under one set of limits."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.adapters.formats import JsonLines
from sshfacts.adapters.reader import open_reader
from sshfacts.limits import DEFAULTS, ReadLimits

LINES = JsonLines()


@given(
    st.lists(st.dictionaries(st.text("abc"), st.integers(0, 9) | st.none(), max_size=3), min_size=1), st.integers(1, 9)
)
def test_what_json_writes_line_by_line_is_read_back(documents, size):
    data = "".join(f"{json.dumps(document)}\n" for document in documents).encode()
    reader = open_reader(LINES, DEFAULTS)

    for start in range(0, len(data), size):
        reader.feed(data[start : start + size])

    assert reader.close() == documents


@pytest.mark.parametrize(
    ("stdout", "detail", "where"),
    [
        (b'{"a":1}\n{"b":2}', "output.truncated", "line 2"),
        (b'{"a":1}\n{"b":', "output.truncated", "line 2"),
        (b'{"a":1}\n{"b":\n', "output.truncated", "line 2, byte 5"),
        (b'{"a":1}\n\n{"b":2}\n', "output.unread_line", "line 2"),
        (b"\n", "output.unread_line", "line 1"),
        (b"{}\n\n", "output.unread_line", "line 2"),
        (b'{"a":1}\r\n', "output.trailing_data", "line 1, byte 7"),
        (b"{} \n", "output.trailing_data", "line 1, byte 2"),
        (b"{}{}\n", "output.trailing_data", "line 1, byte 2"),
        (b"{},\n{}\n", "output.trailing_data", "line 1, byte 2"),
        (b'{}\n{}"\n', "output.trailing_data", "line 2, byte 2"),
        (b"[\n{},\n{}\n]\n", "output.truncated", "line 1, byte 1"),
        (b"{}\n {}\n", "output.leading_data", "line 2, byte 0"),
        (b"\xef\xbb\xbf{}\n", "output.leading_data", "line 1, byte 0"),
        (b"{}\njson\n", "output.leading_data", "line 2, byte 0"),
        (b"{}\nnull\n", "output.leading_data", "line 2, byte 0"),
        (b'{}\n{"a":1,"a":1}\n', "output.duplicate_name", "line 2, byte 7"),
        (b'["\xff"]\n', "output.encoding", "line 1, byte 2"),
        (b"[1,]\n", "output.syntax", "line 1, byte 2"),
        (b"[" + b"9" * 5000 + b"]\n", "output.number", "line 1, byte 1"),
    ],
)
def test_a_line_that_is_no_document_is_refused(stdout, detail, where, refusal):
    assert refusal(LINES, stdout) == (detail, where)


def test_the_list_is_one_level_of_depth(read, refusal):
    limits = replace(DEFAULTS, depth=3)

    assert read(LINES, b"[[]]\n", limits) == [[[]]]
    assert refusal(LINES, b"[[[]]]\n", limits) == ("output.depth", "line 1, byte 2")
    assert refusal(LINES, b"[]\n", replace(DEFAULTS, depth=1))[0] == "output.depth"


def test_lines_are_the_items_of_the_list(read, refusal):
    limits = replace(DEFAULTS, items=2)

    assert read(LINES, b"{}\n{}\n", limits) == [{}, {}]
    assert refusal(LINES, b"{}\n{}\n{}\n", limits) == ("output.items", "line 3")


def test_values_of_all_lines_are_counted_together(read, refusal):
    # The list, and two objects with one member each.
    limits = replace(DEFAULTS, values=5)

    assert read(LINES, b'{"a":1}\n{"a":1}\n', limits) == [{"a": 1}] * 2
    assert refusal(LINES, b'{"a":1}\n{"a":[1]}\n', limits)[0] == "output.items"
    assert refusal(LINES, b'{"a":1}\n{"a":1}\n{}\n', limits)[0] == "output.items"


def test_bytes_of_all_lines_are_counted_together(refusal):
    assert refusal(LINES, b"{}\n" * 10, ReadLimits(bytes=29)) == ("output.too_large", "more than 29 bytes")
