import pytest
from hypothesis import given
from hypothesis import strategies as st
from jmespath.functions import Functions

from sshfacts.schemas.functions import (
    ALLOWED,
    Arity,
    NotExactError,
    after_last,
    before_last,
    integer,
    kib_bytes,
    none_if,
    number,
    one,
    unix_time,
    where,
)

LARGEST = 2**53 - 1


@pytest.mark.parametrize(
    ("value", "result"),
    [(0, 0), (-7, -7), ("0", 0), ("-12", -12), (str(LARGEST), LARGEST), (-LARGEST, -LARGEST), (5.0, 5), (None, None)],
)
def test_integer_converts_exactly(value, result):
    assert integer(value) == result
    assert not isinstance(integer(value), float)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "+1",
        " 1",
        "1 ",
        "1\n",
        "01",
        "-0x1",
        "1_000",
        "1.0",
        "1e3",
        "٣",
        "NaN",
        "--1",
        1.5,
        float("nan"),
        float("inf"),
        True,
        [],
        {},
        LARGEST + 1,
        str(LARGEST + 1),
        "9" * 5_000,
    ],
)
def test_integer_refuses_what_is_not_exactly_one(value):
    with pytest.raises(NotExactError):
        integer(value)


@pytest.mark.parametrize(
    ("value", "result"),
    [(1, 1), (0.5, 0.5), ("1", 1), ("0.50", 0.5), ("-1.5e3", -1500.0), ("-0", 0), ("1E2", 100.0), (None, None)],
)
def test_number_converts_json_numbers(value, result):
    assert number(value) == result


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "inf",
        "-Infinity",
        "1_000",
        " 12 ",
        "1,5",
        ".5",
        "5.",
        "01.5",
        "+1",
        "1e999",
        "",
        True,
        [],
        float("inf"),
        float("nan"),
        str(LARGEST + 1),
    ],
)
def test_number_refuses_what_jmespaths_own_takes(value):
    with pytest.raises(NotExactError):
        number(value)


@pytest.mark.parametrize(
    ("value", "result"), [(1, 1024), ("2", 2048), ("16316412 kB", 16_708_005_888), ("0 kB", 0), (None, None)]
)
def test_kib_bytes_converts_to_bytes(value, result):
    assert kib_bytes(value) == result


@pytest.mark.parametrize("value", [-1, "1 KB", "1kB", " 1 kB", "1 kB ", "1.5 kB", "1 MB", LARGEST, "kB", True])
def test_kib_bytes_refuses_another_unit(value):
    with pytest.raises(NotExactError):
        kib_bytes(value)


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (0, "1970-01-01T00:00:00Z"),
        ("@1796080947", "2026-11-30T23:22:27Z"),
        ("1796080947.123456", "2026-11-30T23:22:27.123456Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
        (None, None),
    ],
)
def test_unix_time_converts_to_rfc_3339(value, result):
    assert unix_time(value) == result


@pytest.mark.parametrize(
    "value", [-1, 253_402_300_800, "", "@", "@-1", "1e9", "n/a", 1.5, True, "1796080947.", "17960809471234567"]
)
def test_unix_time_refuses_what_is_no_time(value):
    with pytest.raises(NotExactError):
        unix_time(value)


@pytest.mark.parametrize(
    ("value", "marker", "result"),
    [
        ("[not set]", "[not set]", None),
        ("7", "[not set]", "7"),
        ("-", ["", "-"], None),
        (0, 0, None),
        (False, 0, False),
        (1, True, 1),
        (None, "x", None),
        ({"a": 1}, {"a": 1}, None),
    ],
)
def test_none_if_is_null_for_the_marker_only(value, marker, result):
    assert none_if(value, marker) == result
    assert type(none_if(value, marker)) is type(result)


ROWS = [{"name": "a", "n": 1}, {"name": "b", "n": 2}, {}, {"name": "b", "n": 3}, {"name": True}]


@pytest.mark.parametrize(
    ("text", "separator", "before", "after"),
    [
        ("127.0.0.1:80", ":", "127.0.0.1", "80"),
        ("[fe80::1]%eth0:546", ":", "[fe80::1]%eth0", "546"),
        (":", ":", "", ""),
        ("a, b, c", ", ", "a, b", "c"),
        (None, ":", None, None),
    ],
)
def test_a_text_is_cut_at_the_last_separator(text, separator, before, after):
    assert (before_last(text, separator), after_last(text, separator)) == (before, after)


@pytest.mark.parametrize(("text", "separator"), [("80", ":"), ("", ":"), ("a:b", ""), (80, ":"), ([":"], ":")])
def test_what_has_no_separator_is_not_cut(text, separator):
    for part in (before_last, after_last):
        with pytest.raises(NotExactError):
            part(text, separator)


def test_where_keeps_the_rows_whose_member_is_equal():
    assert [row["n"] for row in where(ROWS, "name", "b")] == [2, 3]
    assert where(ROWS, "name", 1) == []
    assert where([], "name", "a") == []


def test_where_refuses_a_row_that_is_no_object():
    with pytest.raises(NotExactError):
        where([{"name": "a"}, "a"], "name", "a")


def test_one_is_exactly_one():
    assert one(ROWS, "name", "a") == {"name": "a", "n": 1}
    for name in ("b", "c"):
        with pytest.raises(NotExactError):
            one(ROWS, "name", name)


@given(st.one_of(st.integers(), st.floats(), st.text(max_size=20), st.booleans()))
def test_a_conversion_never_changes_a_number(value):
    try:
        converted = integer(value)
    except NotExactError:
        return
    assert converted == (int(value) if isinstance(value, str) else value)
    assert abs(converted) <= LARGEST


@given(st.text(max_size=12))
def test_no_text_appears_in_an_error(text):
    for convert in (integer, number, kib_bytes, unix_time):
        with pytest.raises(NotExactError, match=r"^(?:not an integer|not a size|not a time)$"):
            convert(f"{text}x")


def test_the_list_of_functions_is_closed():
    own = {"after_last", "before_last", "integer", "kib_bytes", "none_if", "number", "one", "unix_time", "where"}
    left_out = set(Functions.FUNCTION_TABLE) - set(ALLOWED)
    assert own <= set(ALLOWED)
    assert left_out == {"avg", "to_number", "to_string"}
    assert ALLOWED["not_null"] == Arity(1, is_open=True)
    assert ALLOWED["one"] == Arity(3, is_open=False)
