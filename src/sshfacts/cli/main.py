"""The entry point: every command by name, and the one place that turns errors into exit codes.

Exit codes are 0 for success, 1 for a failure outcome or findings, 2 for a usage or site error. Slow
packages are imported inside the commands that need them, so that `--help` answers at once.
"""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from sshfacts.cli import (
    approving,
    audit,
    calling,
    database,
    demonstration,
    diagnosis,
    hosts,
    pausing,
    policies,
    serving,
    site_commands,
    tokens,
    trying,
)
from sshfacts.cli.output import report_error
from sshfacts.errors import SshfactsError

app = typer.Typer(
    help="Vetted SSH operations for agents: minimal, validated facts out; everything else refused and on record.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version("sshfacts"))
        raise typer.Exit


@app.callback()
def _root(
    shows_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take what stands before the command."""


app.command("demo")(demonstration.demo)
app.command("operations")(site_commands.operations)
app.command("call")(calling.call)
app.command("serve")(serving.serve)
app.command("mcp")(serving.mcp)
app.command("check")(site_commands.check)
app.command("try")(trying.try_)
app.command("explain")(site_commands.explain)
app.command("doctor")(diagnosis.doctor)
app.command("pause")(pausing.pause)
app.command("resume")(pausing.resume)
app.add_typer(approving.app, name="approvals")
app.add_typer(policies.app, name="policy")
app.add_typer(audit.app, name="audit")
app.add_typer(database.app, name="database")
app.add_typer(tokens.app, name="tokens")
app.add_typer(hosts.app, name="hosts")


def main() -> None:
    """Run the command line and exit."""
    try:
        app()
    except SshfactsError as error:
        report_error(error)
        sys.exit(2)
