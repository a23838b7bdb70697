import unicodedata

import pytest

from sshfacts.schemas.hidden_text import has_hidden_characters, hidden_text_in

HIDDEN = {
    "line feed": "\n",
    "tab": "\t",
    "NUL": "\0",
    "escape": "\x1b",
    "delete": "\x7f",
    "C1 control sequence introducer": "\x9b",
    "line separator": "\u2028",
    "soft hyphen": "\u00ad",
    "zero width space": "\u200b",
    "zero width joiner": "\u200d",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "right-to-left mark": "\u200f",
    "right-to-left override": "\u202e",
    "first strong isolate": "\u2068",
    "arabic letter mark": "\u061c",
    "hangul filler": "\u3164",
    "tag a": "\U000e0061",
    "variation selector 17": "\U000e0100",
    "variation selector 1": "\ufe00",
    "interlinear annotation": "\ufff9",
    "lone surrogate": "\ud800",
    "object replacement character": "\ufffc",
    "blank braille pattern": "\u2800",
    "private use": "\ue041",
    "private use of plane 15, which spells a hidden A": "\U000f0041",
    "hieroglyph joiner": "\U00013431",
    "two variation selectors": "\ufe0e\ufe0f",
}


@pytest.mark.parametrize("character", HIDDEN.values(), ids=HIDDEN)
def test_a_hidden_character_is_found(character):
    assert has_hidden_characters(f"a{character}b")
    assert hidden_text_in({"a": [1, "x", None, {"b/c": f"x{character}"}]}) == "/a/3/b~1c"
    assert hidden_text_in(character) == ""


@pytest.mark.parametrize("text", ["\ufe0f", "\ufe0fa", "a\ufe0e\ufe0eb"])
def test_a_variation_selector_stands_once_and_after_a_character(text):
    assert has_hidden_characters(text)


@pytest.mark.parametrize(
    "text", ["", "plain text", "naïve", "日本語", "שלום", "\u2714\ufe0f", "\U0001f600", "\u00a0", "\ufffd"]
)
def test_visible_text_of_any_language_passes(text):
    assert not has_hidden_characters(text)
    assert hidden_text_in([text, 1, 2.5, True, None, {"a": text}]) is None


def test_every_control_and_format_character_of_unicode_counts_as_hidden_but_signs_of_scripts():
    shown = {
        chr(point)
        for point in range(0x110000)
        if unicodedata.category(chr(point)) in ("Cc", "Cf", "Zl", "Zp") and not has_hidden_characters(chr(point))
    }
    # These are drawn: number signs of Arabic, Syriac, Kaithi and hieroglyph and shorthand controls with a shape.
    assert {unicodedata.name(character).split()[0] for character in shown} <= {
        "ARABIC",
        "SYRIAC",
        "KAITHI",
        "EGYPTIAN",
    }
