"""One JSON document on each line: `journalctl --output=json`, `docker ps --format '{{json .}}'`."""

from dataclasses import replace

from sshfacts.adapters.bounded import BoundedReader
from sshfacts.adapters.json_reader import JsonReader
from sshfacts.errors import Refusal
from sshfacts.limits import ReadLimits
from sshfacts.values import JsonValue


class JsonLinesReader(BoundedReader):
    r"""Reads each line as a document of its own and returns the list of them.

    Every line is read by the strict JSON reader and ends with `\n`: a last line without it may have
    been cut. An empty line is no document. The limits hold for the list as a whole: it is one level
    of depth, its lines are its items, and the values of all lines are counted together.
    """

    def __init__(self, limits: ReadLimits) -> None:
        super().__init__(limits)
        self._documents: list[JsonValue] = []
        self._values = 1  # the list itself
        self._line: JsonReader | None = None

    def _take(self, chunk: bytes) -> None:
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._feed_line(chunk[start:end])
            self._end_line()
            start = end + 1
        self._feed_line(chunk[start:])

    def _finish(self) -> JsonValue:
        if self._line is not None:
            raise Refusal("output.truncated", self._where(None))
        return self._documents

    def _feed_line(self, part: bytes) -> None:
        if not part:
            return
        if self._line is None:
            if len(self._documents) >= self._limits.items:
                raise Refusal("output.items", self._where(None))
            left = self._limits.values - self._values
            self._line = JsonReader(replace(self._limits, depth=self._limits.depth - 1, values=left))
        try:
            self._line.feed(part)
        except Refusal as refusal:
            raise Refusal(refusal.detail, self._where(refusal.where)) from None

    def _end_line(self) -> None:
        if self._line is None:
            raise Refusal("output.unread_line", self._where(None))
        try:
            document = self._line.close()
        except Refusal as refusal:
            raise Refusal(refusal.detail, self._where(refusal.where)) from None
        self._values += self._line.values
        self._documents.append(document)
        self._line = None

    def _where(self, where: str | None) -> str:
        line = f"line {len(self._documents) + 1}"
        return line if where is None else f"{line}, {where}"
