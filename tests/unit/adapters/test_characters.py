"""Characters that no answer may hold."""

import codecs
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.adapters.characters import CharacterCheck, Utf8Check
from sshfacts.errors import Refusal


def test_exactly_the_controls_and_the_noncharacters_are_forbidden():
    check = CharacterCheck(allowed="\t")
    found = {code for code in range(0x110000) if check.find(chr(code)) is not None}

    controls = {code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cc"} - {0x09}
    # Unicode, section 23.7: 66 noncharacters, 32 of them in one block.
    noncharacters = {
        *range(0xFDD0, 0xFDF0),
        *(plane + end for plane in range(0, 0x110000, 0x10000) for end in (0xFFFE, 0xFFFF)),
    }
    assert len(noncharacters) == 66
    assert found == controls | noncharacters


def test_the_first_forbidden_character_is_found_behind_rare_ones():
    assert CharacterCheck(allowed="").find("\U00020000\U0002a6d6x\U0002ffff\x00") == 3


def checked(data: bytes, size: int) -> Refusal | None:
    """Return the refusal of a stream in chunks of one size."""
    check = Utf8Check()
    try:
        for start in range(0, len(data), size):
            check.take(data[start : start + size])
    except Refusal as refusal:
        return refusal
    return None


@given(st.binary(max_size=50) | st.text().map(str.encode), st.integers(1, 7))
def test_it_agrees_with_the_decoder_in_every_chunking(data, size):
    try:
        # A character that is cut at the end may still be completed.
        text, _ = codecs.utf_8_decode(data, "strict", False)
    except UnicodeDecodeError:
        good = False
    else:
        good = CharacterCheck(allowed="".join(map(chr, range(0x80)))).find(text) is None

    assert (checked(data, size) is None) == good


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"ab\xffcd", 2),
        ("\u20ac\u20acx\u0080y".encode(), 7),
        ("\U0001f600\ufffe".encode(), 4),
        (b"\xe2\x82x", 0),
    ],
)
def test_the_place_is_the_offset_of_the_character(data, offset, size):
    refusal = checked(data, size)

    assert refusal is not None
    assert (refusal.detail, refusal.where) == ("output.encoding", f"byte {offset}")
