"""Lines of the text formats: where they end, and what may stand in them."""

import pytest

from sshfacts.adapters.formats import Fields, KeyValue
from sshfacts.limits import DEFAULTS, ReadLimits

PAIRS = KeyValue("=")
TABS = Fields("tab", ("a", "b"))
COLONS = Fields("colon", ("a", "b"))
NULS = Fields("nul", ("a", "b"))


@pytest.mark.parametrize(
    ("output_format", "stdout", "detail", "where"),
    [
        (PAIRS, b"a=1\nb=2", "output.truncated", "line 2"),
        (PAIRS, b"a=1", "output.truncated", "line 1"),
        (NULS, b"1\0002\0003\000", "output.truncated", "field 3"),
        (NULS, b"1\0002", "output.truncated", "field 2"),
        (PAIRS, b"\xef\xbb\xbfa=1\n", "output.leading_data", "byte 0"),
        (PAIRS, b"a=1\nb=\xff\n", "output.encoding", "line 2"),
        (PAIRS, b"a=\xc0\xaf\n", "output.encoding", "line 1"),
        (PAIRS, b"a=\xed\xa0\x80\n", "output.encoding", "line 1"),
        (PAIRS, b"a=\xe2\x82\n", "output.encoding", "line 1"),
        (PAIRS, b"a=1\r\n", "output.encoding", "line 1"),
        (PAIRS, b"a=1\rb=2\n", "output.encoding", "line 1"),
        (PAIRS, b"a=\0\n", "output.encoding", "line 1"),
        (PAIRS, b"a=\x1b[31m\n", "output.encoding", "line 1"),
        (PAIRS, b"a=\x7f\n", "output.encoding", "line 1"),
        (PAIRS, "a=\u009b\n".encode(), "output.encoding", "line 1"),
        (PAIRS, "a=\ufdd0\n".encode(), "output.encoding", "line 1"),
        (COLONS, b"a\t:b\n", "output.encoding", "line 1"),
        (NULS, b"a\nb\0c\0", "output.encoding", "field 1"),
        (NULS, b"a\0\tb\0", "output.encoding", "field 2"),
    ],
)
def test_a_line_that_is_cut_or_holds_a_forbidden_character_is_refused(output_format, stdout, detail, where, refusal):
    assert refusal(output_format, stdout) == (detail, where)


def test_what_looks_like_the_end_of_a_line_elsewhere_is_data(read):
    assert read(PAIRS, "a=x\u2028y\u00a0z\n".encode()) == {"a": "x\u2028y\u00a0z"}


def test_a_tab_is_data_unless_it_separates(read):
    assert read(PAIRS, b"a=x\ty\n") == {"a": "x\ty"}
    assert read(TABS, b"x\ty\n") == [{"a": "x", "b": "y"}]


def test_a_character_is_whole_wherever_chunks_are_cut(read):
    assert read(TABS, "\u00e9\u20ac\t\U0001f600\n".encode() * 3) == [{"a": "\u00e9\u20ac", "b": "\U0001f600"}] * 3


def test_a_line_that_never_ends_is_given_up_before_the_byte_limit(refusal):
    limits = ReadLimits(bytes=100_000, name=5, string=10)

    assert refusal(PAIRS, b"a=" + b"x" * 90_000, limits) == ("output.string", "line 1")


@pytest.mark.parametrize("output_format", [TABS, COLONS, Fields("blanks", ("a", "b")), Fields("space", ("a", "b"))])
def test_lines_are_counted(output_format, read, refusal):
    separator = {"tab": b"\t", "colon": b":"}.get(output_format.separator, b" ")
    line = b"x" + separator + b"y\n"
    limits = ReadLimits(items=3)

    assert len(read(output_format, line * 3, limits)) == 3
    assert refusal(output_format, line * 4, limits) == ("output.items", "line 4")


def test_rows_of_nul_fields_are_counted_and_not_their_fields(read, refusal):
    limits = ReadLimits(items=3)

    assert len(read(NULS, b"x\0y\0" * 3, limits)) == 3
    assert refusal(NULS, b"x\0y\0" * 4, limits) == ("output.items", "field 7")


def test_blanks_count_for_the_length_of_a_line(read, refusal):
    limits = ReadLimits(name=5, string=10)
    form = KeyValue(":", trim=True)

    assert read(form, b"a:" + b" " * 13 + b"x\n", limits) == {"a": "x"}
    assert refusal(form, b"a:" + b" " * 14 + b"x\n", limits) == ("output.string", "line 1")


def test_the_limits_of_a_site_hold_for_long_lines(read, refusal):
    value = "\U0001f600" * DEFAULTS.string

    assert read(PAIRS, f"a={value}\n".encode()) == {"a": value}
    assert refusal(PAIRS, f"a={value}x\n".encode())[0] == "output.string"
