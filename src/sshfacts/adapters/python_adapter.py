"""Text that no built-in format reads, by an adapter of the site."""

from dataclasses import replace

from sshfacts.adapters.bounded import BoundedReader
from sshfacts.adapters.formats import PythonAdapter
from sshfacts.adapters.json_reader import JsonReader
from sshfacts.adapters.worker import run_adapter
from sshfacts.errors import Refusal
from sshfacts.limits import ReadLimits
from sshfacts.values import JsonValue

GROWTH = 4
"""A document may have this many times the bytes of its text: it repeats the names that a column has once or never."""


class PythonAdapterReader(BoundedReader):
    """Collects the output, gives it to a worker, and reads what comes back like any JSON from outside.

    `close` blocks for as long as the worker takes.
    """

    def __init__(self, form: PythonAdapter, limits: ReadLimits) -> None:
        super().__init__(limits)
        self._source = form.source
        self._stdout = bytearray()

    def _take(self, chunk: bytes) -> None:
        self._stdout += chunk

    def _finish(self) -> JsonValue:
        limits = replace(self._limits, bytes=GROWTH * self._limits.bytes)
        reader = JsonReader(limits)
        try:
            reader.feed(run_adapter(self._source, bytes(self._stdout), limits.bytes))
            return reader.close()
        except Refusal as refusal:
            if refusal.detail.startswith("adapter."):
                raise
            raise Refusal(refusal.detail, f"the adapter's document, {refusal.where}") from None
