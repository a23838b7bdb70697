"""`sshfacts audit`: what the record says."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sshfacts.cli.options import SiteOption, live_site
from sshfacts.cli.output import console, print_json, print_table
from sshfacts.errors import UsageError
from sshfacts.values import JsonObject, JsonValue

if TYPE_CHECKING:
    from sshfacts.storage.queries import RequestRow

app = typer.Typer(help="Query the record of calls.", no_args_is_help=True)


@app.command("list")
def list_(
    site: SiteOption = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many requests, newest first.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each request, on a line.")] = False,
) -> None:
    """List requests, newest first; a call without an outcome may have run."""
    from sshfacts.storage.engine import open_for_reading
    from sshfacts.storage.queries import requests

    engine = open_for_reading(live_site(site).require_settings().database_url)
    rows = requests(engine, limit=limit)
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


@app.command("show")
def show(
    request_id: Annotated[str, typer.Argument(help="As it stands in the envelope.", show_default=False)],
    site: SiteOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="The records as stored, one on a line.")] = False,
) -> None:
    """Show the whole story of one request, record by record."""
    from sshfacts.storage.engine import open_for_reading
    from sshfacts.storage.queries import story

    engine = open_for_reading(live_site(site).require_settings().database_url)
    bodies = story(engine, request_id)
    if not bodies:
        raise UsageError("no request with this id is in the record")
    for body in bodies:
        if as_json:
            print_json(body)
        else:
            print_body(body)


def print_body(body: JsonObject) -> None:
    """Write one record as lines of `name: value`; absent values are left out."""
    shown = console()
    shown.print(Text(f"{body['kind']} at {body['at']}", style="bold"))
    for name, value in _flat(body):
        if name not in ("kind", "at", "v"):
            shown.print(Text(f"  {name}: {value}"), soft_wrap=True)


def _flat(value: JsonValue, prefix: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        parts = [_flat(member, f"{prefix}.{name}" if prefix else name) for name, member in value.items()]
        return [line for part in parts for line in part]
    if isinstance(value, list):
        parts = [_flat(item, f"{prefix}[{index}]") for index, item in enumerate(value)]
        return [line for part in parts for line in part]
    # Text from a host may hold escape sequences; a person's terminal must not obey them.
    return [] if value is None else [(prefix, ascii(value)[1:-1] if isinstance(value, str) else str(value).lower())]
