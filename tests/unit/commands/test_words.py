"""The proof that an argument's pattern keeps to the characters that every login shell passes unchanged."""

import string

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.commands.words import ALLOWED, HOSTILE, Unprovable, is_word, reach


@pytest.mark.parametrize(
    ("pattern", "first"),
    [
        (r"^abc$", "a"),
        (r"^[a-c]x$", "abc"),
        (r"^a?b$", "ab"),
        (r"^a*b+c$", "ab"),
        (r"^a{0,3}b$", "ab"),
        (r"^a{2}b$", "a"),
        (r"^(?:a|b|)c$", "abc"),
        (r"^(x?y?)z$", "xyz"),
        (r"^\.[_.-]$", "."),
        (r"^[.\-a]$", ".-a"),
        (r"^[-a]$", "-a"),
        (r"^[a-]$", "-a"),
        (r"^[+]$", "+"),
        (r"^[A-Za-z0-9_@][A-Za-z0-9:_.@-]{0,120}\.service$", string.ascii_letters + string.digits + "_@"),
    ],
)
def test_knows_what_a_pattern_can_start_with(pattern: str, first: str):
    assert reach(pattern).first == frozenset(first)


@pytest.mark.parametrize(("pattern", "nullable"), [("^a*$", True), ("^(a|b?)$", True), ("^a*b$", False), ("^$", True)])
def test_knows_whether_a_pattern_matches_nothing(pattern: str, nullable: bool):
    assert reach(pattern).nullable is nullable


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"^.$", "an unescaped '.'"),
        (r"^a b$", "the character ' '"),
        (r"^\$$", "the character '$'"),
        (r"^[a$]$", "the character '$'"),
        (r"^[^a]$", "a class that starts with '^'"),
        (r"^[A-z]$", "the range 'A-z'"),
        (r"^[ -~]$", "the range ' -~'"),
        (r"^[\n]$", r"the escape '\n'"),
        (r"^\x41$", r"the escape '\x'"),
        (r"^\w$", r"the escape '\w'"),
        (r"^(?i:a)$", "a '(?' that is not '(?:'"),
        (r"^(?=a)$", "a '(?' that is not '(?:'"),
        (r"^a{,3}$", "an unescaped '{'"),
        (r"^a{x}$", "an unescaped '{'"),
        (r"^a**$", "an unescaped '*'"),
        (r"^(a$", "an unfinished pattern"),
        (r"^[a", "an unfinished pattern"),
        (r"^a)$", "an unexpected ')'"),
        (r"^\u0430$", r"the escape '\u'"),
        ("^\u0430$", "the character '\u0430'"),
        (f"^{'(' * 200}a{')' * 200}$", "more than 32 groups in one another"),
    ],
)
def test_refuses_what_it_cannot_prove(pattern: str, reason: str):
    with pytest.raises(Unprovable) as refusal:
        reach(pattern)
    assert str(refusal.value) == reason


@pytest.mark.parametrize("value", HOSTILE[:-1])
def test_hostile_values_are_no_words(value: str):
    assert not is_word(value)


@pytest.mark.parametrize("value", ["nginx.service", "/var/log", "a=b", "user@host", "%x", "+1", "a-b", "1,2"])
def test_plain_values_are_words(value: str):
    assert is_word(value)


_atoms = st.sampled_from(["a", "-", r"\.", "[a-c]", "[x-]", "[0-9_]", "@", ",", "(?:a|-b)", "(-|c|)", "[.:-]"])
_patterns = st.lists(
    st.tuples(_atoms, st.sampled_from(["", "", "*", "+", "?", "{0,2}", "{2}"])).map("".join), min_size=1, max_size=5
)


@given(_patterns, st.text(sorted(ALLOWED | set(" $\n;'\\")), max_size=8))
def test_whatever_matches_is_within_what_was_proved(parts: list[str], text: str):
    pattern = f"^(?:{''.join(parts)})$"
    proved = reach(pattern)
    if re2.fullmatch(pattern, text):
        assert ALLOWED.issuperset(text)
        assert proved.nullable if text == "" else text[0] in proved.first
