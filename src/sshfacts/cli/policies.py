"""`sshfacts policy`: who may do what where, and why not."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sshfacts.cli.options import ArgumentPairs, SiteOption, live_site, parse_arguments
from sshfacts.cli.output import console, print_json, print_table
from sshfacts.errors import UsageError

if TYPE_CHECKING:
    from sshfacts.commands.settings import CallerSettings
    from sshfacts.commands.site import Site
    from sshfacts.permission.deciding import Ruling
    from sshfacts.permission.request import Request
    from sshfacts.values import JsonObject

app = typer.Typer(help="Explain decisions, and show who may do what where.", no_args_is_help=True)


@app.command("explain")
def explain(
    name: Annotated[str, typer.Argument(help="The operation.", show_default=False)],
    pairs: ArgumentPairs = None,
    caller: Annotated[str, typer.Option("--as", metavar="CALLER", help="A caller of sshfacts.toml.")] = ...,  # type: ignore[assignment]  # typer's "required"
    host: Annotated[str, typer.Option(help="Alias of the host.")] = ...,  # type: ignore[assignment]  # as above
    as_json: Annotated[
        bool, typer.Option("--json", help="Only the decision object, as a call would record it.")
    ] = False,
    site: SiteOption = None,
) -> None:
    """Tell what would be decided about a call, term by term, and who can change it; nothing is run or recorded."""
    from sshfacts.permission.explanation import explain as explain_it
    from sshfacts.permission.explanation import summary
    from sshfacts.permission.request import Request

    loaded = live_site(site)
    known = loaded.require_settings().callers
    if caller not in known:
        raise UsageError(f"no caller {caller!r} in {loaded.require_settings().path.name}")
    request = Request(name, host, parse_arguments(pairs or (), loaded.operations.get(name)))
    ruling, from_database = _preview(loaded, known[caller], request)
    if as_json:
        print_json(ruling.decision.as_json())
        return
    console().print(Text(summary(ruling), style="bold"), soft_wrap=True)
    for line in explain_it(loaded, known[caller], request, ruling):
        console().print(Text(f"  {line.holds:<4} {line.term:<11} {line.told}"), soft_wrap=True)
        if line.remedy is not None:
            console().print(Text(f"                   {line.remedy}"), soft_wrap=True)
    if not from_database:
        console().print("The database cannot be read, so pauses and approvals are not known.")


@app.command("matrix")
def matrix(
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="As recorded at this time, RFC 3339; else now.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each line of the matrix.")] = False,
    site: SiteOption = None,
) -> None:
    """Show which caller may run which operation on which hosts, and the rules that never match."""
    from sshfacts.permission.policy import Policy

    content, told = _content(site, at)
    policy = Policy(content)
    rules = policy.matrix()
    if as_json:
        for rule in rules:
            print_json(
                {
                    "caller": rule.caller,
                    "operation": rule.operation,
                    "decision": rule.decision,
                    "hosts": [*rule.hosts],
                }
            )
        return
    console().print(f"the policy {told}\n")
    print_table(
        "",
        ("caller", "operation", "decision", "hosts"),
        ((rule.caller, rule.operation, rule.decision, " ".join(rule.hosts)) for rule in rules),
    )
    dead = policy.dead_rules()
    console().print(Text("\nrules that never match:" if dead else "\nevery rule matches something"))
    for words in dead:
        console().print(Text(f"  {words}"), soft_wrap=True)


def _preview(site: "Site", caller: "CallerSettings", request: "Request") -> tuple["Ruling", bool]:
    """Return what would be decided, and whether the database was asked."""
    from sshfacts.permission.deciding import Decider, Ruling
    from sshfacts.permission.decision import decide
    from sshfacts.storage.engine import open_for_writing
    from sshfacts.storage.unavailable import RecordUnavailable

    decider = Decider(site, open_for_writing(site.require_settings().database_url))
    try:
        return decider.preview(caller, request, datetime.now(UTC)), True
    except RecordUnavailable:
        return Ruling(decide(site, caller, request)), False


def _content(site: Path | None, at: str | None) -> tuple["JsonObject", str]:
    """Return the policy of now or of a past time, and what to call it."""
    from sshfacts.cli.identity import settings_of
    from sshfacts.permission.configuration import recorded_policy
    from sshfacts.permission.policy import policy_of
    from sshfacts.storage.engine import open_for_reading

    if at is None:
        return policy_of(live_site(site)), "as the files are now"
    time = _time(at)
    recorded = recorded_policy(open_for_reading(settings_of(site).database_url), time)
    if recorded is None:
        raise UsageError("no policy was recorded by then; the first call on a site records it")
    content, since = recorded
    return content, f"as recorded since {since}"


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError("--at takes a time, such as 2026-11-30T10:00:00Z or 2026-11-30") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
