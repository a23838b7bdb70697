"""The entry point: every command by name, and the one place that turns errors into exit codes.

Exit codes are 0 for success, 1 for a failure outcome or findings, 2 for a usage or site error. Slow
packages are imported inside the commands that need them, so that `--help` answers at once.
"""

import sys

import typer

from sshfacts.cli import audit, calling, demonstration, site_commands, tokens, trying
from sshfacts.cli.output import report_error
from sshfacts.errors import SshfactsError

app = typer.Typer(
    help="Vetted SSH operations for agents: minimal, validated facts out; everything else refused and on record.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demonstration.demo)
app.command("operations")(site_commands.operations)
app.command("call")(calling.call)
app.command("check")(site_commands.check)
app.command("try")(trying.try_)
app.command("explain")(site_commands.explain)
app.add_typer(audit.app, name="audit")
app.add_typer(tokens.app, name="tokens")


def main() -> None:
    """Run the command line and exit."""
    try:
        app()
    except SshfactsError as error:
        report_error(error)
        sys.exit(2)
