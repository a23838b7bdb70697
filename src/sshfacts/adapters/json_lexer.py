r"""The token lexer that stands before ijson, and settles what yajl leaves open or gets wrong.

Measured on ijson 3.6.0 with yajl2_c, each of these is accepted, or worse: `\v` and `\f` as white
space; lone and mispaired surrogate escapes (they become `?` or another character); a document
followed by an unterminated string; an integer of 4301 digits (the process crashes). And yajl lexes an
unfinished token again from its start on each chunk, so that small chunks take quadratic time.

So the lexer decides about white space, control bytes, escapes and surrogates, where a string ends and
how long a number may be, and hands on complete tokens only. The grammar of numbers and literals and
the structure are left to yajl, which gets them right: the JSONTestSuite and the fuzz script hold that.
"""

import re

from sshfacts.adapters.json_tokens import (
    CUT_ESCAPE,
    CUT_WORD,
    ESCAPE_SHAPE,
    EVENT_TOKEN,
    INSIDE_STRING,
    NUMBER_BYTES,
    TOKENS,
    WORD_BYTES,
)
from sshfacts.errors import Refusal
from sshfacts.limits import ReadLimits

_QUOTE = b'"'
# One character takes at most 12 bytes: an escaped surrogate pair.
_BYTES_PER_CHARACTER = 12
# CPython converts no integer of more than 4300 digits, and yajl2_c does not survive that. A site may raise
# the limit on numbers, but not to there.
_SAFE_NUMBER = 4000
_LITERALS = frozenset({b"true", b"false", b"null"})
_DIGIT = b"0"
_NUMBERS_AS_DIGITS = bytes(_DIGIT[0] if code in NUMBER_BYTES else 0 for code in range(256))


class Lexer:
    """Cuts a byte stream behind its last complete token, and holds the rest until it is complete.

    A held string is scanned once and not once per chunk. Memory is bounded by the longest string that
    the limits allow, in its longest spelling.
    """

    __slots__ = ("_number", "_scanned", "_string_bytes", "fault", "held", "offset")

    def __init__(self, limits: ReadLimits) -> None:
        self._string_bytes = len('""') + _BYTES_PER_CHARACTER * max(limits.string, limits.name)
        self._number = min(limits.number, _SAFE_NUMBER)
        self._scanned = 0  # how many bytes of a held string are good; 0 outside a string
        self.held = b""
        """The unfinished token, or everything from a faulty one on."""
        self.offset = 0
        """How many bytes were handed out; `held` begins there."""
        self.fault: Refusal | None = None
        """Why the held bytes can never be a token. What was handed out comes first, so it is not raised here."""

    def take(self, piece: bytes) -> bytes:
        """Return the tokens that `piece` completes, with the white space and punctuation around them.

        Raises:
            Refusal: `output.number`.
        """
        data = self.held + piece
        end = 0
        if self._scanned:
            end = self._scan_string(data, 0, self._scanned)
            if not end:
                return b""
        end = _end(TOKENS, data, end)
        if end == len(data):
            return self._hand_out(data, self._word_start(data))
        if data.startswith(_QUOTE, end):
            self._scan_string(data, end, end + 1)
        else:
            self.fault = self._character_fault(data, end)
        return self._hand_out(data, end)

    def unfinished(self) -> Refusal:
        """Return what is wrong when nothing follows and the document is not complete."""
        if not self.held or self._scanned or CUT_WORD.fullmatch(self.held):
            return Refusal("output.truncated", f"byte {self.offset + len(self.held)}")
        return Refusal("output.syntax", f"byte {self.offset}")

    def _scan_string(self, data: bytes, start: int, good: int) -> int:
        """Return the end of the string that begins at `start` and is good up to `good`; 0 if it has none yet."""
        end = _end(INSIDE_STRING, data, good)
        if data.startswith(_QUOTE, end):
            self._scanned = 0
            return end + 1
        self.held = data[start:]
        self._scanned = end - start
        if end < len(data) and not CUT_ESCAPE.fullmatch(data, end):
            self.fault = self._escape_fault(data, end) or self._character_fault(data, end)
        elif len(self.held) > self._string_bytes:
            self.fault = Refusal("output.string", f"byte {self.offset + start}")
        return 0

    def _word_start(self, data: bytes) -> int:
        """Return where a number or literal at the end begins: the next byte may still belong to it."""
        start = len(data.rstrip(WORD_BYTES))
        if len(data) - start > max(self._number, len("false")):
            number = not data[start:].strip(NUMBER_BYTES)
            self.fault = Refusal("output.number" if number else "output.syntax", f"byte {self.offset + start}")
        return start

    def _hand_out(self, data: bytes, end: int) -> bytes:
        tokens = data[:end]
        long_number = _DIGIT * (self._number + 1)
        if long_number in tokens.translate(_NUMBERS_AS_DIGITS):
            # The run may be part of a string, and then it is no number: look at whole tokens.
            for token in EVENT_TOKEN.finditer(tokens):
                word = not token[0].startswith(_QUOTE) and token[0] not in _LITERALS
                if word and long_number in token[0].translate(_NUMBERS_AS_DIGITS):
                    raise Refusal("output.number", f"byte {self.offset + token.start()}")
        self.held = data[end:]
        self.offset += end
        return tokens

    def _escape_fault(self, data: bytes, position: int) -> Refusal | None:
        # An escape in good grammar that is not accepted names a character that is not accepted.
        if ESCAPE_SHAPE.match(data, position):
            return Refusal("output.encoding", f"byte {self.offset + position}")
        return None

    def _character_fault(self, data: bytes, position: int) -> Refusal:
        byte = data[position]
        control = (byte < 0x20 or byte == 0x7F) and byte not in b"\t\n\r"
        return Refusal("output.encoding" if control else "output.syntax", f"byte {self.offset + position}")


def _end(pattern: re.Pattern[bytes], data: bytes, position: int) -> int:
    """Return where a pattern that also matches nothing at all stops matching."""
    found = pattern.match(data, position)
    return position if found is None else found.end()
