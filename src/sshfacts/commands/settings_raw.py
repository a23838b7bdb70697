"""The part of `sshfacts.toml` that is about encrypted copies of what hosts sent: `[raw]`."""

from dataclasses import replace
from pathlib import Path

from sshfacts.commands import names
from sshfacts.commands.records import Built, Field, ListOf, Record
from sshfacts.commands.settings import RawSettings
from sshfacts.commands.shapes import Quantity, Text
from sshfacts.limits import KIB, MIB

_GIB = 1024 * MIB
_PATH = Built(Path, Text(512, names.PRINTABLE, "a path, relative to the site's folder or absolute"))

RAW = Record(
    RawSettings,
    {
        "key_files": Field(
            ListOf(_PATH, 1, 64),
            "Files of the keys that wrap copies: the first for new ones, the others to read old ones.",
            must=True,
        ),
        "per_day": Field(
            Quantity({"KiB": KIB, "MiB": MIB, "GiB": _GIB}, 1, 1024 * _GIB, bare=True),
            "Bytes of copies that one service keeps in a day; default 256MiB.",
        ),
    },
)


def raw_settings(given: RawSettings, folder: Path) -> RawSettings:
    """Return the settings with their files resolved against the site's folder."""
    return replace(given, key_files=tuple(folder / path for path in given.key_files))
