"""`sshfacts tokens`: who may call."""

from typing import TYPE_CHECKING, Annotated

import typer

from sshfacts.cli.options import SiteOption, live_site
from sshfacts.cli.output import console, print_table
from sshfacts.errors import UsageError

if TYPE_CHECKING:
    import sqlalchemy as sa

app = typer.Typer(help="Make, list and revoke the tokens of callers.", no_args_is_help=True)


def _database(url: str) -> "sa.Engine":
    """Return an engine for writing tokens, on a database that exists from now on."""
    from sshfacts.storage.engine import open_for_writing, prepare

    engine = open_for_writing(url)
    prepare(engine)
    return engine


def make_token(caller: str, database_url: str) -> str:
    """Make a token for `caller` and return its text, which is not kept.

    Raises:
        RecordUnavailable: the database cannot be written.
    """
    from sshfacts.storage.tokens import add as add_token

    return add_token(_database(database_url), caller)


@app.command("add")
def add(
    caller: Annotated[str, typer.Argument(help="A caller of sshfacts.toml.", show_default=False)],
    site: SiteOption = None,
) -> None:
    """Make a token for a caller; it is shown once, and only its hash is kept."""
    settings = live_site(site).require_settings()
    if caller not in settings.callers:
        raise UsageError(f"no caller {caller!r} in {settings.path.name}")
    typer.echo(make_token(caller, settings.database_url))


@app.command("list")
def list_(site: SiteOption = None) -> None:
    """List tokens by id; secrets are not kept and cannot be shown."""
    from sshfacts.storage.tokens import all_tokens

    rows = all_tokens(_database(live_site(site).require_settings().database_url))
    print_table(
        "",
        ("id", "caller", "created", "revoked"),
        (
            (
                token.id,
                token.caller,
                f"{token.created_at:%Y-%m-%d %H:%M:%S}",
                f"{token.revoked_at:%Y-%m-%d %H:%M:%S}" if token.revoked_at else "-",
            )
            for token in rows
        ),
    )


@app.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `tokens list` shows it.", show_default=False)],
    site: SiteOption = None,
) -> None:
    """Revoke a token; it is refused from now on."""
    from sshfacts.storage.tokens import revoke as revoke_token

    if not revoke_token(_database(live_site(site).require_settings().database_url), token_id):
        raise UsageError("no such token that is still valid")
    console(stderr=True).print(f"revoked {token_id}")
