"""Lines of a text format: cut, bounded, decoded and free of control characters, with their number."""

from abc import abstractmethod

from sshfacts.adapters.bounded import BoundedReader
from sshfacts.adapters.characters import CharacterCheck
from sshfacts.errors import Refusal
from sshfacts.limits import ReadLimits

_BYTES_PER_CHARACTER = 4
_BYTE_ORDER_MARK = "\ufeff"


class LineReader(BoundedReader):
    r"""The frame of a text reader: subclasses get whole lines, one at a time.

    A line ends with `\n` and nothing else: a carriage return is refused like any control character,
    because a tool that writes one was not made for this format. UTF-8 is strict. The last line must
    end too, or the answer was cut.

    Args:
        limits: the bounds of the whole answer.
        longest: characters of one line.
        most: how many lines; `limits.items` if it is None.
        terminator: the byte that ends a line.
        tab: whether a tab may stand in a line.
        unit: what operators are told that a line is.
    """

    def __init__(
        self,
        limits: ReadLimits,
        *,
        longest: int,
        most: int | None = None,
        terminator: bytes = b"\n",
        tab: bool = True,
        unit: str = "line",
    ) -> None:
        super().__init__(limits)
        self._longest = longest
        self._most = limits.items if most is None else most
        self._unit = unit
        self._terminator = terminator
        self._characters = CharacterCheck(allowed="\t" if tab else "")
        self._pending = bytearray()
        self._lines = 0

    @abstractmethod
    def _read_line(self, line: str) -> None:
        """Read one line, without its end."""

    @property
    def _where(self) -> str:
        return f"{self._unit} {self._lines}"

    def _take(self, chunk: bytes) -> None:
        start = 0
        while (end := chunk.find(self._terminator, start)) >= 0:
            line = chunk[start:end]
            if self._pending:
                line = bytes(self._pending) + line
                self._pending.clear()
            self._end_line(line)
            start = end + 1
        self._pending += chunk[start:]
        if len(self._pending) > _BYTES_PER_CHARACTER * self._longest:
            raise Refusal("output.string", f"{self._unit} {self._lines + 1}")

    def _check_end(self) -> None:
        """Refuse a last line without its end; subclasses call it first in `_finish`."""
        if self._pending:
            raise Refusal("output.truncated", f"{self._unit} {self._lines + 1}")

    def _end_line(self, raw: bytes) -> None:
        self._lines += 1
        if self._lines > self._most:
            raise Refusal("output.items", self._where)
        try:
            line = raw.decode()
        except UnicodeDecodeError:
            raise Refusal("output.encoding", self._where) from None
        if self._lines == 1 and line.startswith(_BYTE_ORDER_MARK):
            raise Refusal("output.leading_data", "byte 0")
        if self._characters.find(line) is not None:
            raise Refusal("output.encoding", self._where)
        if len(line) > self._longest:
            raise Refusal("output.string", self._where)
        self._read_line(line)
