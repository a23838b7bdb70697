"""Which characters no answer may hold, whatever its format.

Control characters can drive a terminal (U+009B is CSI); noncharacters are forbidden by RFC 7493
section 2.1. Surrogates cannot be written in UTF-8, so that only JSON's escapes have to care for them.
"""

import codecs
import re

from sshfacts.errors import Refusal

_CONTROLS = "".join(map(chr, (*range(0x20), *range(0x7F, 0xA0))))
_ASCII = "".join(map(chr, range(0x80)))


class CharacterCheck:
    """Finds the first forbidden character of a text.

    Args:
        allowed: control characters that may stand in the text.
    """

    def __init__(self, allowed: str) -> None:
        controls = "".join(character for character in _CONTROLS if character not in allowed)
        # The two noncharacters at the end of each higher plane would make the class eight times as slow:
        # it takes all the planes that few texts use, and `find` looks again.
        self._suspects = re.compile(f"[{re.escape(controls)}\ufdd0-\ufdef\ufffe\uffff\U0001fffe-\U0010ffff]")

    def find(self, text: str) -> int | None:
        """Return the index of the first forbidden character."""
        for suspect in self._suspects.finditer(text):
            code = ord(suspect[0])
            if code <= 0xFFFF or code & 0xFFFE == 0xFFFE:
                return suspect.start()
        return None


class Utf8Check:
    """Checks, chunk by chunk, that a stream is UTF-8 and that its characters beyond ASCII are allowed.

    Python's decoder is strict in the sense of RFC 3629: no overlong form, no surrogate, nothing above
    U+10FFFF. It must run before yajl, whose own check accepts all three.
    """

    _characters = CharacterCheck(allowed=_ASCII)

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")
        self._seen = 0

    def take(self, chunk: bytes) -> None:
        """Check the next bytes.

        Raises:
            Refusal: `output.encoding`, with the offset of the character.
        """
        begin = self._seen - len(self._decoder.getstate()[0])
        self._seen += len(chunk)
        try:
            text = self._decoder.decode(chunk)
        except UnicodeDecodeError as error:
            raise Refusal("output.encoding", f"byte {begin + error.start}") from None
        if text.isascii():
            return
        found = self._characters.find(text)
        if found is not None:
            raise Refusal("output.encoding", f"byte {begin + len(text[:found].encode())}")
