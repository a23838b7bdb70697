"""Near misses of one JSON document: bytes that RFC 8259 or I-JSON (RFC 7493) does not allow, whatever they mean."""

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    rb'(?P<text>"(?:[^"\\]|\\.)*")(?P<colon>[ \t\r\n]*:)?'  # a text, or a name with its colon
    rb"|-?[0-9][0-9.eE+-]*|true|false|null"
)
"""A scalar or a name. What looks like one inside a text is not found, because the text is taken whole."""

_NO_SCALARS = (
    ("NaN", b"NaN"),
    ("an infinite number", b"-Infinity"),
    ("a number beyond doubles", b"1e999"),
    ("an integer beyond 2^53", b"9007199254740993"),
    ("a leading zero", b"01"),
    ("a leading plus", b"+1"),
    ("a word without quotes", b"ok"),
    ("single quotes", b"'ok'"),
    ("a text without its end", b'"ok'),
    ("a newline in a text", b'"a\nb"'),
    ("a control character in a text", b'"a\x1bb"'),
    ("an escaped control character", rb'"a\u001bb"'),
    ("an escaped NUL", rb'"a\u0000b"'),
    ("half of a surrogate pair", rb'"\ud800"'),
    ("an unknown escape", rb'"\x41"'),
    ("a byte that is not UTF-8", b'"\xff"'),
    ("a surrogate in UTF-8", b'"\xed\xa0\x80"'),
)
"""What can stand in no place of a scalar."""
_CUTS = (0.02, 0.25, 0.5, 0.75, 0.98)


def json_flaws(document: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield flawed forms of a document, each with what is wrong.

    Args:
        document: an object or array that a strict reader accepts, with nothing before and after it.
    """
    for end in sorted({int(len(document) * share) or 1 for share in _CUTS} | {len(document) - 1}):
        yield "a document that is cut", document[:end]
    opening, closing = document[:1], document[-1:]
    yield "a comma before the last bracket", document[:-1] + b"," + closing
    yield "another last bracket", document[:-1] + (b"]" if closing == b"}" else b"}")
    yield "a bracket too many", document + closing
    yield "a comment", opening + b"/* ok */" + document[1:]
    yield "a vertical tab", opening + b"\x0b" + document[1:]
    tokens = list(_TOKEN.finditer(document))
    names = [token for token in tokens if token["colon"]]
    scalars = [token for token in tokens if not token["colon"]]
    for token in dict.fromkeys(names[:1] + names[-1:]):
        yield from _of_name(document, token)
    for token in dict.fromkeys(scalars[:1] + scalars[-1:]):
        for flaw, instead in _NO_SCALARS:
            yield flaw, document[: token.start()] + instead + document[token.end() :]


def _of_name(document: bytes, name: re.Match[bytes]) -> Iterator[tuple[str, bytes]]:
    text, before, after = name["text"], document[: name.start()], document[name.start() :]
    yield "a name twice", before + text + b":null," + after
    if text[1:2].isalnum():
        yield "a name twice, once with an escape", before + rb'"\u%04x' % text[1] + text[2:] + b":null," + after
    yield "a name without quotes", before + text[1:-1] + document[name.end("text") :]
    yield "a name without a value", before + text + b"," + after
