"""`commands/site.toml`: the marker that makes a folder a site."""

from dataclasses import dataclass
from pathlib import Path

from sshfacts.builtin import MARKER
from sshfacts.commands import names
from sshfacts.commands.findings import Findings, Unreadable
from sshfacts.commands.records import Field, ListOf, Record
from sshfacts.commands.shapes import FormatVersion, Shape
from sshfacts.commands.source import Node, Source, require_inside
from sshfacts.commands.toml_source import read_toml
from sshfacts.limits import KIB
from sshfacts.values import JsonObject

ALL = "all"
"""`builtin` when every built-in operation is served beside the site's own."""
_FILE_BYTES = 16 * KIB
_NAMES = ListOf(names.OPERATION.text(), 0, 256)


@dataclass(frozen=True, slots=True)
class Marker:
    """What the marker says."""

    name: str
    format: int
    builtin: str | tuple[str, ...] = ()
    """The word `all`, or the names of the built-in operations that are served beside the site's own."""


class _Builtin(Shape[str | tuple[str, ...]]):
    """The word `all`, or a list of names."""

    def read(self, node: Node, findings: Findings) -> str | tuple[str, ...]:
        return ALL if node.value == ALL else _NAMES.read(node, findings)

    def schema(self) -> JsonObject:
        return {"anyOf": [{"const": ALL}, _NAMES.schema()]}


MARKER_FIELDS = Record(
    Marker,
    {
        "name": Field(names.LABEL.text(), "Name of the site, in lists and in the record.", must=True),
        "format": Field(FormatVersion(), "Version of the site's layout.", must=True),
        "builtin": Field(_Builtin(), "`all`, or the built-in operations served beside the site's own; default: none."),
    },
)


def read_marker(root: Path, findings: Findings) -> tuple[Marker, Source] | None:
    """Return the marker of a site, or None when the findings say why there is none."""
    try:
        require_inside(root, root / MARKER, findings)
        source = read_toml(root / MARKER, _FILE_BYTES, findings)
        return MARKER_FIELDS.read(source.root, findings), source
    except Unreadable:
        return None
