"""`sshfacts audit seal`, `checkpoint` and `keys`: what makes the record provable."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sshfacts.cli.address import PasswordFileOption, UrlOption, chosen_url
from sshfacts.cli.identity import actor, settings_of
from sshfacts.cli.options import SiteOption
from sshfacts.cli.output import console
from sshfacts.errors import UsageError

if TYPE_CHECKING:
    from sshfacts.commands.settings import AuditSettings

keys_app = typer.Typer(help="Make, list and retire the keys that sign checkpoints.", no_args_is_help=True)


def audit_settings(site: Path | None) -> "AuditSettings":
    """Return what seals the record of a site.

    Raises:
        SiteError: the site's settings cannot be used.
        UsageError: nothing does.
    """
    settings = settings_of(site)
    if settings.audit is None:
        raise UsageError(f"{settings.path.name} has no table [audit], so this record is not sealed")
    return settings.audit


def seal(
    site: SiteOption = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
    trusted: Annotated[
        Path | None,
        typer.Option(metavar="CHECKPOINT", help="For a sealer without state: a checkpoint that was kept elsewhere."),
    ] = None,
) -> None:
    """Seal the record once: order what is new, and sign a checkpoint over all of it.

    The checkpoint goes to stderr as one line of JSON, and into the folder of `audit.checkpoints`. Exit with 1 if a
    writer's records have a gap.
    """
    from sshfacts.storage.publication import publishers
    from sshfacts.storage.sealer import Log, Sealer

    audit = audit_settings(site)
    log = Log(chosen_url(site, url, password_file), audit.origin, audit.key_file, audit.state_file)
    sealer = Sealer(log, publishers(audit.checkpoints))
    if trusted is not None:
        sealer.adopt(read_note(trusted))
    sealed = sealer.seal()
    if sealed is None:
        console().print("the record is empty")
        return
    console().print(f"sealed {sealed.added} records; the log has {sealed.checkpoint.size}")
    for gap in sealed.gaps:
        console(stderr=True).print(Text(f"gap: {gap}"), soft_wrap=True)
    sys.exit(1 if sealed.gaps else 0)


def checkpoint(site: SiteOption = None, url: UrlOption = None, password_file: PasswordFileOption = None) -> None:
    """Show the newest signed checkpoint; keep it where nobody who has the database can change it."""
    from sshfacts.storage.engine import open_for_reading, transaction
    from sshfacts.storage.stored_tree import newest_note

    with transaction(open_for_reading(chosen_url(site, url, password_file))) as connection:
        note = newest_note(connection)
    if note is None:
        raise UsageError("nothing was sealed yet; run `sshfacts audit seal`")
    sys.stdout.write(note)


def read_note(path: Path) -> str:
    """Read a file with a checkpoint.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the checkpoint cannot be read: {type(error).__name__}") from None


@keys_app.command("add")
def add_key(site: SiteOption = None, url: UrlOption = None, password_file: PasswordFileOption = None) -> None:
    """Make a key that signs from now on, beside those that there are, and show its public half."""
    from sshfacts.storage import key_changes
    from sshfacts.storage.engine import open_for_writing, prepare
    from sshfacts.storage.signing_keys import KeyFile

    audit = audit_settings(site)
    engine = open_for_writing(chosen_url(site, url, password_file))
    prepare(engine)
    key = key_changes.add_key(engine, KeyFile(audit.key_file), audit.origin, actor(None, "cli.audit"))
    typer.echo(key)


@keys_app.command("list")
def list_keys(site: SiteOption = None) -> None:
    """List the public halves of the keys that sign; auditors pin them."""
    from sshfacts.storage.signing_keys import KeyFile

    for key in KeyFile(audit_settings(site).key_file).read():
        typer.echo(key.public)


@keys_app.command("retire")
def retire_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The eight digits in the key.", show_default=False)],
    site: SiteOption = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
) -> None:
    """Remove a key, once another one has signed the newest checkpoint as well."""
    from sshfacts.storage import key_changes
    from sshfacts.storage.engine import open_for_writing
    from sshfacts.storage.sealer_state import SealerState
    from sshfacts.storage.signing_keys import KeyFile

    audit = audit_settings(site)
    engine = open_for_writing(chosen_url(site, url, password_file))
    file, state = KeyFile(audit.key_file), SealerState(audit.state_file)
    key = key_changes.retire_key(engine, file, state, key_id, actor(None, "cli.audit"))
    console(stderr=True).print(Text(f"retired {key}"), soft_wrap=True)
