"""`sshfacts pause` and `resume`: the brake."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sshfacts.builtin import builtin_site
from sshfacts.cli.identity import Database, acting_person, actor, database_of, settings_of
from sshfacts.cli.options import SiteOption, TokenFileOption
from sshfacts.cli.output import console, print_table
from sshfacts.errors import UsageError

if TYPE_CHECKING:
    from sshfacts.commands.settings import Person, Settings
    from sshfacts.storage.pauses import Pause, Scope

OperationOption = Annotated[str | None, typer.Option("--operation", metavar="NAME", help="Calls of this operation.")]
HostOption = Annotated[str | None, typer.Option("--host", metavar="ALIAS", help="Calls on this host.")]
CallerOption = Annotated[str | None, typer.Option("--caller", metavar="NAME", help="Calls of this caller.")]
AllOption = Annotated[bool, typer.Option("--all", help="Every call.")]

_REASON_LENGTH = 500


def pause(
    operation: OperationOption = None,
    host: HostOption = None,
    caller: CallerOption = None,
    everything: AllOption = False,
    reason: Annotated[str | None, typer.Option(help="Why, for the record and for `--list`.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="Only show what is paused.")] = False,
    site: SiteOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Deny calls from now on, on all replicas; several options together mean calls that match all of them."""
    from sshfacts.storage.pauses import active
    from sshfacts.storage.pauses import pause as pause_it

    settings = settings_of(site)
    database = database_of(settings)
    if list_:
        _print(active(database.reading))
        return
    scope = _scope(operation, host, caller, everything=everything)
    person = _operator(settings, database, token_file)
    _require_known(settings, scope)
    made = pause_it(database.writing, scope, _reason(reason), person.name, actor(person, "cli.pause"))
    console().print(f"paused {scope} ({made.id}); calls that run already are not stopped")


def resume(
    operation: OperationOption = None,
    host: HostOption = None,
    caller: CallerOption = None,
    everything: AllOption = False,
    reason: Annotated[str | None, typer.Option(help="Why, for the record.")] = None,
    site: SiteOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """End the pauses that were made with exactly these options."""
    from sshfacts.storage.pauses import active
    from sshfacts.storage.pauses import resume as resume_it

    settings = settings_of(site)
    database = database_of(settings)
    scope = _scope(operation, host, caller, everything=everything)
    person = _operator(settings, database, token_file)
    ended = resume_it(database.writing, scope, _reason(reason), person.name, actor(person, "cli.pause"))
    left = active(database.reading)
    if not ended:
        _print(left)
        raise UsageError(f"{scope} is not paused; above is what is")
    console().print(f"resumed {scope}")
    if left:
        console().print("still paused:")
        _print(left)


def _operator(settings: "Settings", database: Database, token_file: Path | None) -> "Person":
    from sshfacts.commands.settings import Role

    return acting_person(settings, database, token_file, Role.OPERATOR)


def _scope(operation: str | None, host: str | None, caller: str | None, *, everything: bool) -> "Scope":
    from sshfacts.storage.pauses import Scope

    scope = Scope(operation, host, caller)
    if everything == (scope != Scope()):
        raise UsageError("give --operation, --host or --caller, or --all for every call")
    return scope


def _reason(text: str | None) -> str:
    from sshfacts.storage.canonical import clean

    if text is None or not text.strip():
        raise UsageError("give --reason: whoever is denied a call, or asks a year later, will want to know")
    return clean(text.strip(), _REASON_LENGTH)


def _require_known(settings: "Settings", scope: "Scope") -> None:
    """A pause with a misspelt name would look as if it stopped something.

    The operation is looked up by its file: the site may be broken at the moment, and a brake must work then.
    """
    from sshfacts.commands.site import command_files

    files = [*command_files(settings.path.parent), *command_files(builtin_site())]
    known: dict[str, tuple[str | None, Iterable[str]]] = {
        "operation": (scope.operation, {path.stem for path in files}),
        "host": (scope.host, settings.hosts),
        "caller": (scope.caller, settings.callers),
    }
    for kind, (name, names) in known.items():
        if name is not None and name not in names:
            raise UsageError(f"no {kind} {name!r} in this site; nothing was paused")


def _print(pauses: "list[Pause]") -> None:
    print_table(
        "",
        ("id", "since", "what", "by", "reason"),
        (
            (
                one.id,
                f"{one.paused_at:%Y-%m-%d %H:%M:%S}",
                str(one.scope),
                one.paused_by,
                ascii(one.reason)[1:-1],
            )
            for one in pauses
        ),
    )
