r"""The tokens of JSON as regular expressions over bytes, and what a token may look like when it is cut.

Possessive quantifiers stand on single character classes only, and atomic groups elsewhere: possessive
groups are wrong in CPython 3.11.0 to 3.11.4 (python/cpython#106052). Without either, the patterns would
need 80 bytes of stack for each byte of input.
"""

import re
from itertools import islice
from typing import NamedTuple

_HEX = rb"[0-9A-Fa-f]"
# Code units that no escape may name: controls but tab, newline and carriage return; DEL and C1;
# surrogates on their own; noncharacters of the first plane.
_FORBIDDEN_UNIT = (
    rb"(?:00(?:0[0-8BCEFbcef]|1" + _HEX + rb"|7[Ff]|[89]" + _HEX + rb")"
    rb"|[Dd][89A-Fa-f]" + _HEX + rb"{2}"
    rb"|[Ff][Dd][DEde]" + _HEX + rb"|[Ff]{3}[EFef])"
)
_HIGH_SURROGATE = rb"[Dd][89ABab]" + _HEX + rb"{2}"
_PAIR = _HIGH_SURROGATE + rb"\\u[Dd][C-Fc-f]" + _HEX + rb"{2}"
# The last two code points of each plane but the first are noncharacters too.
_FORBIDDEN_PAIR = rb"[Dd][89ABab][37BFbf][Ff]\\u[Dd][Ff]{2}[EFef]"
_ESCAPE = (
    rb'\\(?:["\\/nrt]'
    rb"|u(?!" + _FORBIDDEN_UNIT + rb")" + _HEX + rb"{4}"
    rb"|u(?!" + _FORBIDDEN_PAIR + rb")" + _PAIR + rb")"
)  # fmt: skip
_RUN = rb'[^"\\\x00-\x1f\x7f]*+'
_INSIDE = _RUN + rb"(?>(?:" + _ESCAPE + _RUN + rb")*)"
# Most strings have no escape, and the first branch is the faster one.
_STRING = rb'"(?>' + _RUN + rb'"|' + _INSIDE + rb'")'
_OUTSIDE = rb"[-+.0-9Ea-z{}\[\]:, \t\r\n]*+"
_NUMBER_START = rb"-?(?:0|[1-9][0-9]*)"

TOKENS = re.compile(_OUTSIDE + rb"(?:" + _STRING + _OUTSIDE + rb")*")
"""The longest run of complete strings and of bytes that may stand outside strings; it may be empty."""

INSIDE_STRING = re.compile(_INSIDE)
"""The longest run of complete characters of a string; it may be empty."""

ESCAPE_SHAPE = re.compile(rb'\\(?:["\\/bfnrt]|u' + _HEX + rb"{4})")
"""An escape in RFC 8259's grammar, whether or not its character is accepted."""

CUT_ESCAPE = re.compile(rb"\\(?:u(?:" + _HIGH_SURROGATE + rb"(?:\\(?:u" + _HEX + rb"{0,3})?)?|" + _HEX + rb"{0,3}))?")
"""An escape, or a pair of escapes, that is not complete."""

CUT_WORD = re.compile(
    rb"-|" + _NUMBER_START + rb"(?:\.[0-9]*)?|" + _NUMBER_START + rb"(?:\.[0-9]+)?[eE][-+]?[0-9]*"
    rb"|t|tr|true?|f|fa|fal|false?|n|nu|null?"
)
"""A number or a literal that may not be complete."""

EVENT_TOKEN = re.compile(_STRING + rb"|[{}\[\]]|[-+.0-9Ea-z]+")
"""A token that makes ijson send one event: every token but `,` and `:`."""

WORD_BYTES = b"+-.0123456789Eabcdefghijklmnopqrstuvwxyz"
"""The bytes that numbers and literals are made of."""

NUMBER_BYTES = b"+-.0123456789Ee"
"""The bytes that numbers are made of."""

_NESTING = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}


class Place(NamedTuple):
    """Where the token of an event stands among others."""

    before: int
    """Where the event token before it ends."""
    start: int
    depth: int
    """Containers open before it."""


def trace(tokens: bytes, depth: int, count: int) -> Place:
    """Return the place of the token that makes event number `count`, counted from 0.

    So a place in the list of events is a place in the bytes. Only a refusal asks for it, hence it is
    found then and not on the way.

    Args:
        tokens: complete tokens.
        depth: containers open before them.
        count: how many events come before the token; if there are no more, their end is meant.
    """
    before = 0
    for token in islice(EVENT_TOKEN.finditer(tokens), count):
        before = token.end()
        depth += _NESTING.get(token[0], 0)
    found = EVENT_TOKEN.search(tokens, before)
    return Place(before, len(tokens) if found is None else found.start(), depth)
