"""The table `[audit]` of `sshfacts.toml`: what seals the record."""

from dataclasses import replace
from pathlib import Path

from sshfacts.commands import names
from sshfacts.commands.records import Built, Field, Record
from sshfacts.commands.settings import AuditSettings
from sshfacts.commands.shapes import Quantity, Text

_ORIGIN = Text(
    128,
    r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$",
    "a name such as sshfacts.example.com/production, of letters, digits and . _ / -",
)
_PATH = Built(Path, Text(512, names.PRINTABLE, "a path, relative to the site's folder or absolute"))

AUDIT = Record(
    AuditSettings,
    {
        "origin": Field(_ORIGIN, "Name of the log: unique to this database, and never changed.", must=True),
        "key_file": Field(_PATH, "Private keys that sign checkpoints; `sshfacts audit keys add` makes it.", must=True),
        "state_file": Field(_PATH, "What was signed last; kept where the database and its copies are not.", must=True),
        "checkpoints": Field(_PATH, "Folder into which each checkpoint is put as a file; default: none."),
        "interval": Field(
            Quantity({"s": 1, "m": 60, "h": 3_600}, 1, 3_600, bare=False),
            "How often a service seals what is new; default 10s.",
        ),
    },
)


def absolute(given: AuditSettings | None, folder: Path) -> AuditSettings | None:
    """Resolve the paths against the site's folder; an absolute one stays as it is."""
    if given is None:
        return None
    return replace(
        given,
        key_file=folder / given.key_file,
        state_file=folder / given.state_file,
        checkpoints=None if given.checkpoints is None else folder / given.checkpoints,
    )
