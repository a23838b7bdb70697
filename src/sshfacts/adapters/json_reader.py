r"""One strict JSON document from bytes, as they arrive.

    byte budget -> UTF-8 -> first byte -> token lexer -> ijson (yajl2_c) -> event walk

What is accepted is I-JSON (RFC 7493) and less: the top level is an object or an array, nothing stands
before it (not a space, not a byte order mark), and at most one newline (`\n` or `\r\n`) after it. A number
is an int of at most 2**53 - 1 in size or the nearest float, never a Decimal.
"""

from typing import Protocol

from ijson.utils import sendable_list

from sshfacts.adapters.bounded import BoundedReader
from sshfacts.adapters.characters import Utf8Check
from sshfacts.adapters.json_lexer import Lexer
from sshfacts.adapters.json_tokens import trace
from sshfacts.adapters.json_tree import BrokenEvent, Event, Tree
from sshfacts.errors import Refusal
from sshfacts.limits import KIB, ReadLimits
from sshfacts.values import JsonValue

# By name: `ijson.basic_parse_coro` is another backend, without a word, when the C extension is missing or
# IJSON_BACKEND says so. The other ones lose data or accept more, and the lexer was not measured on them.
try:
    from ijson.backends import yajl2_c
except ImportError:
    raise ImportError("ijson has no yajl2_c backend here: install ijson from its wheel") from None

SLICE = 7 * KIB
"""Bytes that go through lexer, yajl and walk at a time. Their events fit CPython's free lists, which makes
ijson twice as fast as with 32 KiB; and few slices can hold a string over the usual limit."""
COLLECT = 1 * KIB
"""Chunks are put together up to this size, or one-byte chunks would cost 5 us each."""
_WHITE_SPACE = b" \t\r\n"


class _Parser(Protocol):
    """The push interface of ijson: bytes in, events appended to a list."""

    def send(self, data: bytes, /) -> None: ...

    def close(self) -> None: ...


class _Backend(Protocol):
    """What is used of a backend of ijson."""

    def basic_parse_coro(self, target: list[Event], /) -> _Parser: ...


_YAJL: _Backend = yajl2_c
# The C code appends to this list type itself; a sink written in Python leaks events when it raises.
_EventList: type[list[Event]] = sendable_list


class JsonReader(BoundedReader):
    """Reads one JSON document. Small chunks cost no more than linear time.

    Memory is bounded by the longest string and one slice, plus the document itself.
    """

    def __init__(self, limits: ReadLimits) -> None:
        super().__init__(limits)
        self._pending = bytearray()
        self._utf8 = Utf8Check()
        self._lexer = Lexer(limits)
        self._events = _EventList()
        self._parser = _YAJL.basic_parse_coro(self._events)
        self._tree = Tree(limits)
        self._end = 0  # offset behind the document, once it is complete
        self._after = b""

    @property
    def values(self) -> int:
        """Scalars and containers read so far."""
        return self._tree.values

    def _take(self, chunk: bytes) -> None:
        if self._received == len(chunk) and chunk[0] not in b"{[":
            raise Refusal("output.leading_data", "byte 0")
        if self._pending or len(chunk) < COLLECT:
            self._pending += chunk
            if len(self._pending) >= COLLECT:
                self._read_pending()
        else:
            self._read(chunk)

    def _finish(self) -> JsonValue:
        self._read_pending()
        if not self._tree.complete:
            raise self._lexer.unfinished()
        if self._after == b"\r":
            raise self._trailing_data()
        try:
            self._parser.close()
        except Exception:  # noqa: BLE001 - as in _parse
            # The tree is complete, so yajl should agree.
            raise Refusal("output.syntax", f"byte {self._end}") from None
        return self._tree.document

    def _read_pending(self) -> None:
        data = bytes(self._pending)
        self._pending.clear()
        self._read(data)

    def _read(self, data: bytes) -> None:
        for start in range(0, len(data), SLICE):
            self._read_slice(data[start : start + SLICE])

    def _read_slice(self, piece: bytes) -> None:
        if self._tree.complete:
            self._follow(piece)
            return
        self._utf8.take(piece)
        tokens = self._lexer.take(piece)
        if tokens and self._parse(tokens):
            document = tokens.rstrip(_WHITE_SPACE)
            self._end = self._lexer.offset - len(tokens) + len(document)
            self._follow(tokens[len(document) :] + self._lexer.held)
        elif self._lexer.fault is not None:
            raise self._lexer.fault

    def _parse(self, tokens: bytes) -> bool:
        """Read complete tokens; return whether the document is complete then."""
        try:
            self._parser.send(tokens)
        except ArithmeticError:
            # decimal knows no exponent beyond 10**18; 22 bytes are enough to write one.
            raise self._yajl_refusal("output.number", tokens) from None
        except Exception:  # noqa: BLE001 - ijson raises classes without a common root
            # Their texts quote the data.
            raise self._yajl_refusal("output.syntax", tokens) from None
        try:
            self._tree.walk(self._events, long_strings=len(tokens) > self._limits.string)
        except BrokenEvent as broken:
            raise self._event_refusal(broken, tokens) from None
        self._events.clear()
        return self._tree.complete

    def _event_refusal(self, broken: BrokenEvent, tokens: bytes) -> Refusal:
        start = trace(tokens, 0, broken.index).start
        return Refusal(broken.detail, f"byte {self._lexer.offset - len(tokens) + start}")

    def _yajl_refusal(self, detail: str, tokens: bytes) -> Refusal:
        """Return the refusal of the token that made yajl fail; the events before it have been sent."""
        # The list can hold a NULL after an exception: it may be counted, and never read.
        place = trace(tokens, self._tree.depth, len(self._events))
        if detail == "output.syntax" and place.depth == 0:
            detail = "output.trailing_data"
        return Refusal(detail, f"byte {self._lexer.offset - len(tokens) + place.before}")

    def _follow(self, data: bytes) -> None:
        """Take what stands after the document."""
        self._after += data
        if self._after not in (b"", b"\n", b"\r", b"\r\n"):
            raise self._trailing_data()

    def _trailing_data(self) -> Refusal:
        return Refusal("output.trailing_data", f"byte {self._end}")
