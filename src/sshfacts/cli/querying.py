"""`sshfacts audit list` and `query`: which requests there were, and the saved questions of auditors."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sshfacts.cli.address import PasswordFileOption, UrlOption, chosen_url
from sshfacts.cli.options import SiteOption, instant_of, parse_pairs
from sshfacts.cli.output import print_json, print_table
from sshfacts.errors import UsageError
from sshfacts.values import JsonValue

if TYPE_CHECKING:
    from sshfacts.storage.queries import RequestRow


class Verdict(StrEnum):
    """What a request was decided to be."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


def list_(
    site: SiteOption = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
    caller: Annotated[str | None, typer.Option(help="Of this caller.")] = None,
    principal: Annotated[str | None, typer.Option(help="For the person that the caller works for.")] = None,
    operation: Annotated[str | None, typer.Option(help="For this operation.")] = None,
    host: Annotated[str | None, typer.Option(help="On the host of this alias.")] = None,
    decision: Annotated[Verdict | None, typer.Option(help="That were decided so.")] = None,
    code: Annotated[str | None, typer.Option(help="That ended so: success, CANCELLED, or a code.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="From this time on.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Before this time.")] = None,
    only_open: Annotated[bool, typer.Option("--open", help="Without an outcome: those that may have run.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many requests, newest first.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each request, on a line.")] = False,
) -> None:
    """List requests, newest first; a call without an outcome may have run."""
    from sshfacts.storage.engine import open_for_reading
    from sshfacts.storage.queries import Filters, requests

    filters = Filters(
        caller=caller,
        principal=principal,
        operation=operation,
        host=host,
        decision=decision,
        code=code,
        since=instant_of(since, "--since"),
        until=instant_of(until, "--until"),
        only_open=only_open,
    )
    rows = requests(open_for_reading(chosen_url(site, url, password_file)), limit, filters)
    if as_json:
        for row in rows:
            print_json(row.as_json())
        return
    print_table(
        "",
        ("at", "request", "caller", "operation", "host", "decision", "outcome", "detail"),
        (_cells(row) for row in rows),
    )


def _cells(row: "RequestRow") -> tuple[str, ...]:
    return (
        f"{row.at:%Y-%m-%d %H:%M:%S}",
        row.request_id,
        row.caller,
        row.operation,
        row.host or "-",
        row.decision,
        row.state,
        row.detail or "",
    )


def query(
    name: Annotated[str | None, typer.Argument(help="The question; without one they are listed.")] = None,
    pairs: Annotated[
        list[str] | None, typer.Argument(metavar="[k=v]...", help="Its parameters.", show_default=False)
    ] = None,
    site: SiteOption = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each row, on a line.")] = False,
) -> None:
    """Ask one of the saved questions, such as `refusals since=2026-11-30 until=2026-12-01`."""
    from sshfacts.storage.engine import open_for_reading
    from sshfacts.storage.saved import run, saved_queries

    queries = saved_queries()
    if name is None:
        rows = ((one.name, one.question, " ".join(f"{key}=" for key in one.parameters)) for one in queries.values())
        print_table("", ("name", "question", "parameters"), rows)
        return
    if name not in queries:
        raise UsageError(f"there is no question {name!r}; `sshfacts audit query` lists them")
    answer = run(open_for_reading(chosen_url(site, url, password_file)), queries[name], parse_pairs(pairs or ()))
    if as_json:
        for row in answer.rows:
            print_json(dict(zip(answer.columns, map(_value, row), strict=True)))
        return
    print_table("", answer.columns, (tuple(map(_cell, row)) for row in answer.rows))


def _value(value: object) -> JsonValue:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S.%f}"  # as SQLite holds it: the same answer from every database
    return value if value is None or isinstance(value, str | int) else str(value)


def _cell(value: object) -> str:
    """Return what a terminal may be shown: a record holds the head of what a host wrote to stderr."""
    shown = _value(value)
    return "" if shown is None else ascii(shown)[1:-1] if isinstance(shown, str) else str(shown)
