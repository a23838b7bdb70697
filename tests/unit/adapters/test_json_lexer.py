"""The token lexer: what it hands out, what it holds, and when it gives up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.adapters.json_lexer import Lexer
from sshfacts.adapters.json_tokens import Place, trace
from sshfacts.errors import Refusal
from sshfacts.limits import DEFAULTS, ReadLimits


@pytest.mark.parametrize(
    ("data", "tokens"),
    [
        (b'{"a": 1, "b": [true, null]}', b'{"a": 1, "b": [true, null]}'),
        (b'{"a', b"{"),
        (rb'["\u00e', b"["),
        (rb'["\ud83d\ud', b"["),
        (b"[12", b"["),
        (b"[12,", b"[12,"),
        (b"[1.5e", b"["),
        (b"[tru", b"["),
        (b"[true ", b"[true "),
        (b'["a"', b'["a"'),
        (b'["a", 7', b'["a", '),
    ],
)
def test_only_complete_tokens_are_handed_out(data, tokens):
    lexer = Lexer(DEFAULTS)

    assert lexer.take(data) == tokens
    assert lexer.held == data[len(tokens) :]
    assert lexer.offset == len(tokens)
    assert lexer.fault is None


@given(
    st.lists(st.sampled_from([b'"a"', rb'"\ud83d\ude00\n"', b"-1.5e3,", b"true ", b"[", b"}", b" "]), max_size=8),
    st.integers(1, 5),
)
def test_what_is_handed_out_and_held_is_what_came_in(pieces, size):
    data = b"".join(pieces)
    lexer = Lexer(DEFAULTS)
    tokens = b"".join(lexer.take(data[start : start + size]) for start in range(0, len(data), size))

    assert tokens + lexer.held == data
    assert lexer.fault is None
    assert not lexer.held.startswith((b'"', b" ", b",", b"["))


def test_tokens_before_a_fault_are_handed_out_first():
    lexer = Lexer(DEFAULTS)

    assert lexer.take(b"[1,2,\x00") == b"[1,2,"
    assert lexer.fault is not None
    assert (lexer.fault.detail, lexer.fault.where) == ("output.encoding", "byte 5")
    assert lexer.held == b"\x00"


@pytest.mark.parametrize(
    ("held", "detail"),
    [
        (b"", "output.truncated"),
        (b'"abc', "output.truncated"),
        (rb'"abc\u0', "output.truncated"),
        (b"-", "output.truncated"),
        (b"10", "output.truncated"),
        (b"1.", "output.truncated"),
        (b"1.5e+", "output.truncated"),
        (b"nul", "output.truncated"),
        (b"false", "output.truncated"),
        (b"01", "output.syntax"),
        (b"+", "output.syntax"),
        (b"1.e", "output.syntax"),
        (b"nil", "output.syntax"),
        (b"truer", "output.syntax"),
    ],
)
def test_an_end_inside_a_token_is_no_error_in_the_token(held, detail):
    lexer = Lexer(DEFAULTS)
    lexer.take(b"[" + held)

    assert lexer.unfinished().detail == detail


def test_a_string_that_could_only_be_too_long_is_given_up():
    lexer = Lexer(ReadLimits(string=10, name=3))

    lexer.take(b'["' + b"x" * 121)
    assert lexer.fault is None
    lexer.take(b"xx")
    assert lexer.fault is not None
    assert lexer.fault.detail == "output.string"


@pytest.mark.parametrize(("word", "detail"), [(b"9", "output.number"), (b"x", "output.syntax")])
def test_a_word_that_never_ends_is_given_up(word, detail):
    lexer = Lexer(DEFAULTS)

    lexer.take(b"[" + word * DEFAULTS.number)
    assert lexer.fault is None
    lexer.take(word)
    assert lexer.fault is not None
    assert (lexer.fault.detail, lexer.fault.where) == (detail, "byte 1")


@pytest.mark.parametrize("number", [0, 1, 4])
def test_literals_are_no_numbers_however_short_those_must_be(number):
    lexer = Lexer(ReadLimits(number=number))

    assert lexer.take(b"[false") + lexer.take(b"]") == b"[false]"


def test_no_limit_lets_a_number_through_that_kills_the_process():
    with pytest.raises(Refusal, match=r"output\.number \(byte 3\)"):
        Lexer(ReadLimits(number=1_000_000)).take(b"[1,-" + b"9" * 4301 + b"]")


def test_a_held_string_is_not_scanned_again(monkeypatch):
    starts = []

    class Pattern:
        @staticmethod
        def match(data, position):
            starts.append(position)
            return original.match(data, position)

    lexer = Lexer(DEFAULTS)
    original = lexer.take.__func__.__globals__["INSIDE_STRING"]
    monkeypatch.setitem(lexer.take.__func__.__globals__, "INSIDE_STRING", Pattern)
    lexer.take(b'["')
    for _ in range(50):
        lexer.take(b"x" * 10)

    assert starts == [2, *range(1, 501, 10)]


@pytest.mark.parametrize(
    ("count", "place"),
    [
        (0, Place(0, 1, 3)),
        (1, Place(2, 2, 4)),
        (2, Place(7, 10, 4)),
        (3, Place(14, 15, 4)),
        (4, Place(16, 16, 5)),
        (5, Place(17, 18, 4)),
        (6, Place(19, 20, 3)),
        (60, Place(19, 20, 3)),
    ],
)
def test_an_event_is_traced_to_its_token(count, place):
    assert trace(rb' {"[\"" : true,[] } ', 3, count) == place
