"""What people see: tables on stdout, everything about errors on stderr."""

import json
import sys
from collections.abc import Iterable
from time import monotonic

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sshfacts.errors import Finding, SiteError, SshfactsError
from sshfacts.values import JsonValue

WIDE = 1_000
"""Columns of a table that is not shown on a terminal: nothing is folded, so that lines can be searched and cut."""

PROGRESS_SECONDS = 2.0
"""Between two lines about how far a command is."""


def console(*, stderr: bool = False) -> Console:
    """Return a console that neither guesses markup nor highlights what it is given."""
    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, markup=False, highlight=False, width=None if stream.isatty() else WIDE)


class Progress:
    """Tells on stderr how far a long command is, and nothing about a short one.

    Args:
        verb: what was done with each record, such as `verified`.
    """

    def __init__(self, verb: str) -> None:
        self._verb = verb
        self._told = monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Take the number of records that are done, and of all."""
        if monotonic() - self._told >= PROGRESS_SECONDS:
            self._told = monotonic()
            sys.stderr.write(f"{self._verb} {done} of {total} records\n")


def print_json(value: JsonValue) -> None:
    """Write one JSON value on one line of stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Write a table on stdout; cells are plain text."""
    table = Table(title=title or None, title_justify="left", show_edge=False, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)


def print_findings(findings: Iterable[Finding]) -> None:
    """Write findings on stderr, each with its place, reason and fix."""
    shown = console(stderr=True)
    for finding in findings:
        shown.print(Text(str(finding)), soft_wrap=True)


def report_error(error: SshfactsError) -> None:
    """Tell a person why the program stops."""
    if isinstance(error, SiteError):
        print_findings(error.findings)
        count = len(error.findings)
        console(stderr=True).print(f"{count} {'error' if count == 1 else 'errors'}")
    else:
        console(stderr=True).print(Text(f"error: {error}"), soft_wrap=True)
