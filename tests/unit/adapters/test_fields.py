"""Fields on each line, or each ended by a NUL byte."""

from dataclasses import replace

import pytest

from sshfacts.adapters.formats import Fields
from sshfacts.limits import DEFAULTS


def document(*rows: str) -> list[dict[str, str]]:
    """Rows of three fields, written with | between them."""
    return [dict(zip("abc", row.split("|"), strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("separator", "stdout", "rows"),
    [
        ("tab", b"bash\t5.2.15-2+b8\tii \nopenssl\t3.0.19\tii \n", ["bash|5.2.15-2+b8|ii ", "openssl|3.0.19|ii "]),
        ("tab", b"\t\t\n", ["||"]),
        ("colon", b"root:x:0\n", ["root|x|0"]),
        ("colon", b" a : :\n", [" a | |"]),
        ("space", b"0.10 0.20 1/234\n", ["0.10|0.20|1/234"]),
        ("blanks", b"  1   2\t \t3\n10 20 30  \n", ["1|2|3", "10|20|30"]),
        ("nul", b"/etc/hosts\00049\0regular file\0", ["/etc/hosts|49|regular file"]),
        ("nul", b"\0\0\0x\0y z\0: \0", ["||", "x|y z|: "]),
    ],
)
def test_fields_are_read(separator, stdout, rows, read):
    assert read(Fields(separator, ("a", "b", "c")), stdout) == document(*rows)


@pytest.mark.parametrize(
    ("separator", "line"),
    [
        ("tab", b"1\t2"),
        ("tab", b"1\t2\t3\t4"),
        ("tab", b"1 2 3"),
        ("tab", b""),
        ("colon", b"1:2"),
        ("colon", b"1:2:3:"),
        ("space", b"1 2"),
        ("space", b"1 2 3 4"),
        ("space", b"1  2"),
        ("space", b" 1 2"),
        ("space", b"1 2 "),
        ("space", b"  "),
        ("blanks", b"1 2"),
        ("blanks", b"1 2 3 4"),
        ("blanks", b"  "),
        ("blanks", b""),
    ],
)
def test_a_line_with_another_number_of_fields_is_refused(separator, line, refusal):
    good = {"tab": b"1\t2\t3\n", "colon": b"1:2:3\n"}.get(separator, b"1 2 3\n")

    assert refusal(Fields(separator, ("a", "b", "c")), good + line + b"\n") == ("output.unread_line", "line 2")


@pytest.mark.parametrize("separator", ["tab", "colon", "space", "blanks"])
def test_an_empty_line_is_no_row_even_of_one_field(separator, refusal):
    assert refusal(Fields(separator, ("a",)), b"x\n\n") == ("output.unread_line", "line 2")


def test_a_field_is_bounded(read, refusal):
    limits = replace(DEFAULTS, string=4)

    for separator, end in (("tab", b"\n"), ("nul", b"\0")):
        assert read(Fields(separator, ("a",)), b"1234" + end, limits) == [{"a": "1234"}]
        assert refusal(Fields(separator, ("a",)), b"12345" + end, limits)[0] == "output.string"
    assert refusal(Fields("colon", ("a", "b")), b"12345:\n", limits)[0] == "output.string"


def test_values_are_counted_with_their_rows_and_the_list(read, refusal):
    two = Fields("colon", ("a", "b"))

    assert len(read(two, b"1:2\n" * 3, replace(DEFAULTS, values=10))) == 3
    assert refusal(two, b"1:2\n" * 3, replace(DEFAULTS, values=9)) == ("output.items", "line 3")
