"""`sshfacts database`: the tables of the record, and the roles of PostgreSQL."""

import sys
from typing import Annotated

import typer

from sshfacts.cli.address import PasswordFileOption, UrlOption, chosen_url
from sshfacts.cli.options import SiteOption
from sshfacts.cli.output import console

app = typer.Typer(help="Make and upgrade the tables of the record.", no_args_is_help=True)


@app.command("upgrade")
def upgrade(
    site: SiteOption = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
    as_sql: Annotated[
        bool, typer.Option("--sql", help="Print what would be run on an empty database, and run nothing.")
    ] = False,
) -> None:
    """Bring the tables to this version, and put guards and rights as they must be; only adds, never removes."""
    from sshfacts.storage.engine import open_for_writing
    from sshfacts.storage.engine import upgrade as upgrade_database
    from sshfacts.storage.revision import HEAD

    engine = open_for_writing(chosen_url(site, url, password_file))
    if as_sql:
        from sshfacts.storage.migration import script

        typer.echo(script(engine.dialect.name), nl=False)
        return
    upgrade_database(engine)
    console(stderr=True).print(f"the database has revision {HEAD}, its guards and its rights")


@app.command("current")
def current(site: SiteOption = None, url: UrlOption = None, password_file: PasswordFileOption = None) -> None:
    """Print the revision of the tables; exit with 1 if this version needs another."""
    from sshfacts.storage.engine import open_for_reading, transaction
    from sshfacts.storage.revision import revision, wrong_revision

    with transaction(open_for_reading(chosen_url(site, url, password_file))) as connection:
        found, wrong = revision(connection), wrong_revision(connection)
    typer.echo(found or "none")
    if wrong is not None:
        console(stderr=True).print(f"{wrong}; run `sshfacts database upgrade`")
        sys.exit(1)


@app.command("roles")
def roles() -> None:
    """Print the SQL that makes the roles of PostgreSQL, for an administrator to run in the record's database."""
    from sshfacts.storage.migration import roles_script

    typer.echo(roles_script(), nl=False)
