"""`sshfacts approvals`: what people are asked, and what they answer. No door of agents has any of it."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sshfacts.cli.identity import Database, acting_person, actor, database_of
from sshfacts.cli.options import SiteOption, TokenFileOption, live_site
from sshfacts.cli.output import console, print_table

if TYPE_CHECKING:
    from sshfacts.commands.settings import Person
    from sshfacts.commands.site import Site
    from sshfacts.storage.approvals import Approval

app = typer.Typer(help="See what waits for a person, and approve or refuse it.", no_args_is_help=True)

ApprovalId = Annotated[str, typer.Argument(metavar="ID", help="As the agent was told, `apr....`.", show_default=False)]

EFFECTS = {
    "read": "It reads from the host. Running it changes nothing that it is meant to change.",
    "change": "It changes the host. It runs at most once; if its answer is lost it may have run all the same.",
}
"""What it would mean, in words."""

_REASON_LENGTH = 500


@app.command("list")
def list_(
    site: SiteOption = None,
    token_file: TokenFileOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Those that were decided or are over, too.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many, newest first.")] = 50,
) -> None:
    """List the calls that wait for a person."""
    from sshfacts.storage.approvals import State, newest

    _, database, _ = _approver(site, token_file)
    now = datetime.now(UTC)
    states = [*State] if everything else [State.ASKED]
    rows = [one for one in newest(database.reading, limit, states) if everything or not one.is_over(now)]
    print_table(
        "",
        ("id", "asked", "state", "caller", "operation", "host", "arguments", "until", "approver"),
        (
            (
                one.id,
                f"{one.asked_at:%Y-%m-%d %H:%M:%S}",
                _state(one, now),
                one.subject.caller,
                one.subject.operation,
                one.subject.host,
                _arguments(one),
                f"{one.expires_at:%Y-%m-%d %H:%M:%S}",
                one.approver or "-",
            )
            for one in rows
        ),
    )


@app.command("show")
def show(approval_id: ApprovalId, site: SiteOption = None, token_file: TokenFileOption = None) -> None:
    """Show exactly what would run, for whom, and whether you can approve it."""
    from sshfacts.permission.approving import find

    loaded, database, person = _approver(site, token_file)
    _print(loaded, find(database.reading, approval_id), person)


@app.command("approve")
def approve(
    approval_id: ApprovalId,
    site: SiteOption = None,
    token_file: TokenFileOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask again; you have seen it with `show`.")] = False,
) -> None:
    """Let this call run once, if the agent makes it again in time."""
    from sshfacts.permission.approving import find, grant, may_not_grant

    loaded, database, person = _approver(site, token_file)
    approval = find(database.reading, approval_id)
    _print(loaded, approval, person)
    if may_not_grant(loaded, approval, person.name, datetime.now(UTC)) is None and not yes:
        typer.confirm("approve exactly this?", abort=True)
    granted = grant(database.writing, loaded, approval_id, actor(person, "cli.approvals"), datetime.now(UTC))
    console().print(f"approved: the same call runs once until {granted.expires_at:%Y-%m-%d %H:%M:%S} UTC")


@app.command("refuse")
def refuse(
    approval_id: ApprovalId,
    reason: Annotated[str, typer.Option(help="Why, for the record; agents do not see it.")] = "",
    site: SiteOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Refuse this call; made again it is denied, until its time to wait is over."""
    from sshfacts.permission.approving import refuse as refuse_it
    from sshfacts.storage.canonical import clean

    loaded, database, person = _approver(site, token_file)
    by = actor(person, "cli.approvals")
    because = clean(reason.strip(), _REASON_LENGTH)
    refused = refuse_it(database.writing, loaded, approval_id, because, by, datetime.now(UTC))
    console().print(f"refused: the same call is denied until {refused.expires_at:%Y-%m-%d %H:%M:%S} UTC")


def _approver(site: Path | None, token_file: Path | None) -> tuple["Site", Database, "Person"]:
    from sshfacts.commands.settings import Role

    loaded = live_site(site)
    settings = loaded.require_settings()
    database = database_of(settings)
    return loaded, database, acting_person(settings, database, token_file, Role.APPROVER)


def _print(site: "Site", approval: "Approval", person: "Person") -> None:
    """Show all that the decision is about. What an agent wrote is shown so that a terminal does not obey it."""
    from sshfacts.permission.approving import may_not_grant

    subject = approval.subject
    operation = site.operations.get(subject.operation)
    now = datetime.now(UTC)
    reason = may_not_grant(site, approval, person.name, now)
    lines = {
        "approval": f"{approval.id}, {_state(approval, now)}, until {approval.expires_at:%Y-%m-%d %H:%M:%S} UTC",
        "operation": subject.operation,
        "title": operation.title if operation is not None else "it is not served any more",
        "host": subject.host,
        "arguments": _arguments(approval),
        "command": ascii(subject.command)[1:-1],
        "caller": subject.caller,
        "principal": subject.principal or "-",
        "effect": f"{subject.effect}. {EFFECTS[subject.effect]}",
        "catalogue": subject.catalogue_digest,
        "request": approval.request_id,
        f"{person.name} may approve it": "yes" if reason is None else f"no: {reason}",
    }
    for name, value in lines.items():
        console().print(Text(f"{name}: {value}"), soft_wrap=True)


def _state(approval: "Approval", now: datetime) -> str:
    from sshfacts.storage.approvals import OPEN

    over = approval.state in OPEN and approval.is_over(now)
    return f"{approval.state}, and its time is over" if over else approval.state.value


def _arguments(approval: "Approval") -> str:
    return " ".join(f"{name}={value!a}" for name, value in approval.subject.arguments.items()) or "-"
