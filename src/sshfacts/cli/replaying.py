"""`sshfacts audit replay`: whether a recorded call comes to the same end again."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from sshfacts.cli.address import PasswordFileOption, UrlOption
from sshfacts.cli.identity import Database
from sshfacts.cli.options import SiteOption, TokenFileOption
from sshfacts.cli.output import console
from sshfacts.cli.raw_copies import database_for, open_for_person

if TYPE_CHECKING:
    from sshfacts.commands.replay import Recorded
    from sshfacts.commands.settings import Settings


def replay(
    request_id: Annotated[str, typer.Argument(help="As it stands in the envelope.", show_default=False)],
    site: SiteOption = None,
    operations: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A site's folder as it was at the time; else the site's own operations."),
    ] = None,
    url: UrlOption = None,
    password_file: PasswordFileOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Judge the kept output of a call again, by the operation of the recorded digest.

    Exit with 0 if verdict, detail and facts are as recorded, 1 if they differ, 2 if that cannot be told. It takes a
    person with the role raw_reader, and is on record as a reading.
    """
    from sshfacts.commands.replay import judge_again, operation_of, recorded
    from sshfacts.commands.site import load_site
    from sshfacts.storage.queries import story

    settings, database = database_for(site, url, password_file)
    call = recorded(story(database.reading, request_id))
    loaded = load_site(operations or settings.path.parent, need_settings=False)
    operation = operation_of(call, [*loaded.operations.values(), *loaded.drafts.values()])
    stdout = _output_of(call, settings, database, token_file)
    differences = call.verdict.differences(judge_again(operation, call, stdout))
    shown = console()
    shown.print(Text(f"{call.operation} on {call.host}, {call.stdout_bytes} bytes, digest {operation.digest}"))
    if differences and call.service_version != version("sshfacts"):
        shown.print(Text(f"it was judged by sshfacts {call.service_version}, and is now by {version('sshfacts')}"))
    for line in differences:
        shown.print(Text(f"difference: {line}"), soft_wrap=True)
    if not differences:
        shown.print(Text(f"the same again: {call.verdict.detail or call.verdict.code}"))
    sys.exit(1 if differences else 0)


def _output_of(call: "Recorded", settings: "Settings", database: Database, token_file: Path | None) -> bytes:
    """Return what was kept of the output; of an empty one nothing is, and nothing is needed.

    Raises:
        SshfactsError: there is no copy, or it cannot be read.
    """
    if call.stdout_bytes == 0:
        return b""
    return open_for_person(settings, database, token_file, call.request_id, "replay").plain
