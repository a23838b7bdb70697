"""`sshfacts tokens`: who may call, and who may decide."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sshfacts.cli.identity import Database, acting_person, actor, database_of, settings_of
from sshfacts.cli.options import SiteOption, TokenFileOption, token_of
from sshfacts.cli.output import console, print_table
from sshfacts.errors import UsageError

if TYPE_CHECKING:
    from sshfacts.commands.settings import Settings
    from sshfacts.storage.ledger import Actor

app = typer.Typer(help="Make, list, revoke and rotate the tokens of callers and people.", no_args_is_help=True)

TokenId = Annotated[str, typer.Argument(metavar="ID", help="As `tokens list` shows it.", show_default=False)]


def make_token(caller: str, database_url: str) -> str:
    """Make a token for a caller of a site that was just made, and return its text, which is not kept.

    Raises:
        RecordUnavailable: the database cannot be written.
    """
    from sshfacts.storage import tokens
    from sshfacts.storage.engine import open_for_writing, prepare

    engine = open_for_writing(database_url)
    prepare(engine)
    return tokens.add(engine, caller, actor(None, "cli.demo"))


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="A caller of sshfacts.toml.", show_default=False)],
    person: Annotated[bool, typer.Option("--person", help="NAME is one of the people of sshfacts.toml.")] = False,
    site: SiteOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Make a token; it is shown once, and only its hash is kept."""
    from sshfacts.storage import tokens

    settings = settings_of(site)
    known, other = (settings.people, settings.callers) if person else (settings.callers, settings.people)
    kind = "person" if person else "caller"
    if name not in known:
        hint = f"; for the {'caller leave out' if person else 'person pass'} --person" if name in other else ""
        raise UsageError(f"no {kind} {name!r} in {settings.path.name}{hint}")
    database = database_of(settings)
    by = _operator(settings, database, token_file)
    make = tokens.add_for_person if person else tokens.add
    typer.echo(make(database.writing, name, by))


@app.command("list")
def list_(site: SiteOption = None) -> None:
    """List tokens by id; secrets are not kept and cannot be shown."""
    from sshfacts.storage.tokens import all_tokens

    rows = all_tokens(database_of(settings_of(site)).reading)
    print_table(
        "",
        ("id", "caller", "person", "created", "revoked"),
        (
            (
                token.id,
                token.caller or "-",
                token.person or "-",
                f"{token.created_at:%Y-%m-%d %H:%M:%S}",
                f"{token.revoked_at:%Y-%m-%d %H:%M:%S}" if token.revoked_at else "-",
            )
            for token in rows
        ),
    )


@app.command("revoke")
def revoke(token_id: TokenId, site: SiteOption = None, token_file: TokenFileOption = None) -> None:
    """Revoke a token; it is refused from now on."""
    from sshfacts.storage import tokens

    settings = settings_of(site)
    database = database_of(settings)
    if not tokens.revoke(database.writing, token_id, _operator_or_holder(settings, database, token_file, token_id)):
        raise UsageError("no such token that is still valid")
    console(stderr=True).print(f"revoked {token_id}")


@app.command("rotate")
def rotate(token_id: TokenId, site: SiteOption = None, token_file: TokenFileOption = None) -> None:
    """Revoke a token and make another one for its holder; people rotate their own, operators any."""
    from sshfacts.storage import tokens

    settings = settings_of(site)
    database = database_of(settings)
    by = _operator_or_holder(settings, database, token_file, token_id)
    text = tokens.rotate(database.writing, token_id, by)
    if text is None:
        raise UsageError("no such token that is still valid")
    typer.echo(text)


def _operator(settings: "Settings", database: Database, token_file: Path | None) -> "Actor":
    """Return who may make tokens: an operator by token, or the database's owner while no operator has one.

    Raises:
        Unauthenticated: the token is no person's.
        UsageError: the person is no operator, or the database belongs to another user.
        RecordUnavailable: the database cannot be read.
    """
    from sshfacts.commands.settings import Role
    from sshfacts.permission.authentication import has_operator
    from sshfacts.storage.engine import is_owner

    if has_operator(settings, database.reading):
        return actor(acting_person(settings, database, token_file, Role.OPERATOR), "cli.tokens")
    if not is_owner(database.writing):
        raise UsageError("no operator has a token yet; only the owner of the database makes the first ones")
    return actor(None, "cli.tokens")


def _operator_or_holder(settings: "Settings", database: Database, token_file: Path | None, token_id: str) -> "Actor":
    """Return who may change this token: as `_operator`, or the person whose token it is, by that token."""
    from sshfacts.permission.authentication import has_operator
    from sshfacts.storage.tokens import find

    if has_operator(settings, database.reading):
        own = find(database.reading, token_of(token_file))
        if own is not None and own.person is not None and own.id == token_id:
            return actor(acting_person(settings, database, token_file, None), "cli.tokens")
    return _operator(settings, database, token_file)
