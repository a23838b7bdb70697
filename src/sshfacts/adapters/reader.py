"""The door of this room: one reader for each format, all used alike."""

from typing import Protocol, assert_never

from sshfacts.adapters.fields import FieldsReader, NulFieldsReader
from sshfacts.adapters.formats import Fields, Format, Json, JsonLines, KeyValue, PythonAdapter
from sshfacts.adapters.json_lines import JsonLinesReader
from sshfacts.adapters.json_reader import JsonReader
from sshfacts.adapters.key_value import KeyValueReader
from sshfacts.adapters.python_adapter import PythonAdapterReader
from sshfacts.limits import ReadLimits
from sshfacts.values import JsonValue


class Reader(Protocol):
    """Turns stdout into one document, as the bytes arrive.

    `feed` any number of times, then `close`. A refusal may come from either, and then comes from
    every later call too.
    """

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes; none are fine. Raises `Refusal` of stage `read`."""

    def close(self) -> JsonValue:
        """Return the document. Raises `Refusal` of stage `read`; `output.empty` for no byte at all."""


def open_reader(output_format: Format, limits: ReadLimits) -> Reader:
    """Return a reader for one answer."""
    match output_format:
        case Json():
            return JsonReader(limits)
        case JsonLines():
            return JsonLinesReader(limits)
        case KeyValue():
            return KeyValueReader(output_format, limits)
        case Fields(separator="nul"):
            return NulFieldsReader(output_format, limits)
        case Fields():
            return FieldsReader(output_format, limits)
        case PythonAdapter():
            return PythonAdapterReader(output_format, limits)
        case _:
            assert_never(output_format)


def read(output_format: Format, limits: ReadLimits, stdout: bytes) -> JsonValue:
    """Return the document of a whole answer.

    Raises:
        Refusal: as the reader's `feed` and `close` do.
    """
    reader = open_reader(output_format, limits)
    reader.feed(stdout)
    return reader.close()
