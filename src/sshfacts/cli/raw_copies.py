"""`sshfacts audit raw`, `purge` and `raw-keys`: encrypted copies of what hosts sent, and their keys."""

import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sshfacts.cli.address import PasswordFileOption, UrlOption, chosen_url
from sshfacts.cli.identity import Database, acting_person, actor, database_of, settings_of
from sshfacts.cli.options import SiteOption, TokenFileOption
from sshfacts.cli.output import console, print_table
from sshfacts.errors import UsageError

if TYPE_CHECKING:
    from sshfacts.commands.settings import Settings
    from sshfacts.storage.raw_copies import Opened, StoredCopy
    from sshfacts.storage.raw_keys import RawKey

keys_app = typer.Typer(help="Make the keys that wrap raw copies, list them, and replace them.", no_args_is_help=True)

DOOR = "cli.audit"
_MODE = 0o600


def raw(
    request_id: Annotated[str, typer.Argument(help="As it stands in the envelope.", show_default=False)],
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the bytes into this new file.")] = None,
    to_stdout: Annotated[
        bool, typer.Option("--stdout", help="Write the bytes to stdout; a terminal obeys what is in them.")
    ] = False,
    site: SiteOption = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Give what a host sent, byte for byte, to a person with the role raw_reader; that is on record before."""
    if (output is None) == (not to_stdout):
        raise UsageError("say where the bytes go: --output FILE, or --stdout")
    if output is not None and output.exists():
        raise UsageError(f"{output} is there already")
    settings, database = database_for(site, url, password_file)
    opened = open_for_person(settings, database, token_file, request_id, "read")
    if output is None:
        sys.stdout.buffer.write(opened.plain)
        sys.stdout.buffer.flush()
        return
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(opened.plain)
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from None


def purge(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be removed, and remove nothing.")] = False,
    site: SiteOption = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
) -> None:
    """Remove the raw copies whose time is over; each is on record before. For a timer, once a day."""
    from sshfacts.storage.raw_copies import due, purge

    _, database = database_for(site, url, password_file)
    now = datetime.now(UTC)
    if dry_run:
        _print_copies(due(database.reading, now, 10_000))
        return
    removed = sum(len(batch) for batch in purge(database.writing, now, actor(None, DOOR)))
    console(stderr=True).print(f"{removed} copies were removed")


@keys_app.command("new")
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file, such as keys/raw-2026-12.key.")],
) -> None:
    """Make a key in a new file; copies need it for as long as they are kept."""
    from sshfacts.storage.raw_keys import make_key

    key = make_key(file)
    told = console(stderr=True)
    told.print(
        f"made the key {key.name}; name its file first in raw.key_files of sshfacts.toml, and restart the service"
    )
    told.print("back it up apart from the database: without it the copies are lost, and with both they are open")


@keys_app.command("list")
def list_(site: SiteOption = None, url: UrlOption = None, password_file: PasswordFileOption = None) -> None:
    """List the keys that wrap copies, and those of the site."""
    from sshfacts.storage.raw_copies import key_uses

    settings, database = database_for(site, url, password_file)
    files = {path.stem: path for path in settings.raw.key_files}
    uses = {use.key: use for use in key_uses(database.reading)}
    print_table(
        "",
        ("key", "copies", "the last one until", "file"),
        (
            (
                name,
                str(uses[name].copies) if name in uses else "0",
                f"{uses[name].last_until:%Y-%m-%d %H:%M:%S}" if name in uses else "-",
                str(files.get(name, "not in raw.key_files")),
            )
            for name in sorted({*files, *uses})
        ),
    )


@keys_app.command("rewrap")
def rewrap(site: SiteOption = None, url: UrlOption = None, password_file: PasswordFileOption = None) -> None:
    """Wrap the keys of all copies by the first key of raw.key_files, so that the others can be destroyed."""
    from sshfacts.storage.raw_copies import rewrap_all

    settings, database = database_for(site, url, password_file)
    keys = keys_of(settings)
    done = sum(rewrap_all(database.writing, keys, actor(None, DOOR)))
    console(stderr=True).print(f"{done} copies are wrapped by {next(iter(keys))} now")


def database_for(site: Path | None, url: str | None, password_file: Path | None) -> tuple["Settings", Database]:
    """Return the settings of a site, with the database that the command line names or the site's own.

    Raises:
        SiteError: the settings cannot be used.
        UsageError: no site was given, and the current folder is none.
        RecordUnavailable: the database cannot be written.
    """
    settings = settings_of(site)
    named = replace(settings, database_url=chosen_url(site, url, password_file))
    return named, database_of(named)


def keys_of(settings: "Settings") -> "dict[str, RawKey]":
    """Return the keys of a site by name, the one for new copies first.

    Raises:
        RawKeyError: one of them cannot be used.
        UsageError: there is none.
    """
    from sshfacts.storage.raw_keys import read_keys

    if not settings.raw.key_files:
        raise UsageError(f"{settings.path.name} has no table [raw], so there are no keys and no copies")
    return read_keys(settings.raw.key_files)


def open_for_person(
    settings: "Settings", database: Database, token_file: Path | None, request_id: str, purpose: str
) -> "Opened":
    """Return the copy of a request's output for whoever has the role `raw_reader`, after it is on record.

    Raises:
        Unauthenticated: the token is no person's.
        UsageError: the person has not the role, or the site has no keys.
        SshfactsError: there is no copy, or it cannot be opened; see `storage.raw_copies.open_copy`.
    """
    from sshfacts.commands.settings import Role
    from sshfacts.storage.raw_copies import open_copy

    person = acting_person(settings, database, token_file, Role.RAW_READER)
    return open_copy(database.writing, request_id, keys_of(settings), actor(person, DOOR), purpose)


def _print_copies(copies: "list[StoredCopy]") -> None:
    print_table(
        "",
        ("copy", "request", "stream", "kept until", "key"),
        (
            (copy.blob_id, copy.request_id, copy.stream, f"{copy.retain_until:%Y-%m-%d %H:%M:%S}", copy.kek_id)
            for copy in copies
        ),
    )
