"""Who acts at the command line: a person known by a token, and the operating system's user beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sshfacts.cli.options import os_user, token_of
from sshfacts.errors import SiteError, UsageError

if TYPE_CHECKING:
    import sqlalchemy as sa

    from sshfacts.commands.settings import Person, Role, Settings
    from sshfacts.storage.ledger import Actor


@dataclass(frozen=True, slots=True)
class Database:
    """The database of a site's record, for looking and for changing."""

    reading: "sa.Engine"
    writing: "sa.Engine"


def settings_of(site: Path | None) -> "Settings":
    """Read `sshfacts.toml` of a site and none of its operations, so that a broken one stops nobody from acting.

    Raises:
        SiteError: the file cannot be used.
        UsageError: no site was given, and the current folder is none.
    """
    from sshfacts.commands.findings import Findings
    from sshfacts.commands.settings_file import FILE, read_settings

    root = site or Path.cwd()
    if site is None and not (root / FILE).is_file():
        raise UsageError(f"no site: pass --site DIR, or set SSHFACTS_SITE; a site holds {FILE}")
    findings = Findings()
    settings = read_settings(root, findings)
    if settings is None or findings:
        raise SiteError(findings.sorted())
    return settings


def database_of(settings: "Settings") -> Database:
    """Return the database of a site, which exists from now on.

    Raises:
        RecordUnavailable: it cannot be made or written.
    """
    from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare

    writing = open_for_writing(settings.database_url)
    prepare(writing)
    return Database(open_for_reading(settings.database_url), writing)


def acting_person(settings: "Settings", database: Database, token_file: Path | None, role: "Role | None") -> "Person":
    """Return the person whose token was given, who has `role`.

    Raises:
        Unauthenticated: the token is no person's.
        UsageError: there is no token, or the person has not this role.
        RecordUnavailable: the database cannot be read.
    """
    from sshfacts.permission.authentication import authenticate_person

    return authenticate_person(token_of(token_file), settings, database.reading, role)


def actor(person: "Person | None", door: str) -> "Actor":
    """Return who changes something, for the record."""
    from sshfacts.storage.ledger import Actor

    return Actor(person.name if person is not None else None, door, os_user())
