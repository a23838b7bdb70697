"""What a command file may name as `output.format`, as plain data."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Ignorable: TypeAlias = Literal["blank", "comment"]
"""Lines that `key_value` may pass over: only blanks, or beginning with `#`."""

FieldSeparator: TypeAlias = Literal["tab", "colon", "nul", "space", "blanks"]
"""What stands between two fields; `blanks` is any run of spaces and tabs."""


@dataclass(frozen=True, slots=True)
class Json:
    """One JSON object or array, and nothing else but one final newline."""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """One JSON object or array on each line; the document is the list of them."""


@dataclass(frozen=True, slots=True)
class KeyValue:
    """One `key SEPARATOR value` on each line; the document is an object of strings.

    Raises:
        ValueError: the separator is empty, or could never stand in a line.
    """

    separator: str
    """The first occurrence in a line ends the key."""
    trim: bool = False
    """Spaces and tabs around key and value do not belong to them."""
    quoted: bool = False
    """Values are quoted as os-release(5) says."""
    ignore: frozenset[Ignorable] = frozenset()

    def __post_init__(self) -> None:
        if not self.separator or not set(self.separator).isdisjoint("\n\r\0"):
            raise ValueError("the separator of key_value is empty or holds a character that ends a line")


@dataclass(frozen=True, slots=True)
class Fields:
    """A fixed number of fields on each line; the document is a list of objects of strings.

    Raises:
        ValueError: there is no name, or a name stands twice.
    """

    separator: FieldSeparator
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.names or len(set(self.names)) != len(self.names):
            raise ValueError("the names of fields are missing, or one of them stands twice")


@dataclass(frozen=True, slots=True)
class PythonAdapter:
    """A module of the site's `adapters/` folder, for text that no built-in format reads."""

    name: str
    source: bytes = field(default=b"", repr=False)
    """Its code as it was digested, which is what the worker runs; the file is not read again."""


Format: TypeAlias = Json | JsonLines | KeyValue | Fields | PythonAdapter
"""Every way stdout can become a document. A command file names exactly one; nothing is guessed."""
