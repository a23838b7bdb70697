"""The part of `sshfacts.toml` that is about the record: `[database]`."""

from dataclasses import dataclass
from pathlib import Path

from sshfacts.commands import names
from sshfacts.commands.findings import Findings
from sshfacts.commands.records import Built, Field, Record
from sshfacts.commands.shapes import Quantity, Text
from sshfacts.commands.source import Source
from sshfacts.limits import KEEP_FREE, KIB, MIB
from sshfacts.storage.address import (
    FORMS,
    PASSWORD_FILE,
    POSTGRESQL,
    SQLITE,
    holds_password,
    url_problem,
    with_password_file,
)

_GIB = 1024 * MIB


@dataclass(frozen=True, slots=True)
class DatabaseFile:
    """The table `[database]`."""

    url: str = "sqlite:///audit.db"
    password_file: Path | None = None
    keep_free: int = KEEP_FREE


DATABASE = Record(
    DatabaseFile,
    {
        "url": Field(
            Text(512, names.PRINTABLE, FORMS),
            "Where the record is kept: `sqlite:///FILE`, relative to the site's folder, or `postgresql://USER@HOST/NAME`.",
        ),
        "password_file": Field(
            Built(Path, Text(512, names.PRINTABLE, "a path, relative to the site's folder or absolute")),
            "File whose one line is the password for PostgreSQL.",
        ),
        "keep_free": Field(
            Quantity({"KiB": KIB, "MiB": MIB, "GiB": _GIB}, 1, 1024 * _GIB, bare=True),
            "Free space on an SQLite file's disk below which the service takes no calls; default 256MiB.",
        ),
    },
)


def database_url(given: DatabaseFile, folder: Path, source: Source, findings: Findings) -> str:
    """Return the URL with its paths resolved against the site's folder. It is never shown: it may hold a password."""
    place = source.place(("database", "url"))
    if holds_password(given.url):
        fix = "take it out, and change it: it stood in a file; then name a file that holds it as password_file"
        findings.add("settings.password", place, "database.url holds a password", fix)
    elif problem := url_problem(given.url):
        findings.add("settings.database_url", place, problem, f"write {FORMS}")
    elif given.password_file is not None and (not given.url.startswith(POSTGRESQL) or PASSWORD_FILE in given.url):
        what = "database.password_file does not fit database.url"
        fix = "give it once, and only for PostgreSQL"
        findings.add("settings.database_url", source.place(("database", PASSWORD_FILE)), what, fix)
    elif named := SQLITE.fullmatch(given.url):
        return f"sqlite:///{folder / named['file']}"
    elif given.password_file is not None:
        return with_password_file(given.url, folder / given.password_file)
    return given.url
