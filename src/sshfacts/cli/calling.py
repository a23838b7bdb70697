"""`sshfacts call`: one call, as an agent makes it."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sshfacts.cli.options import (
    ArgumentPairs,
    SiteOption,
    TokenFileOption,
    live_site,
    os_user,
    parse_arguments,
    token_of,
)
from sshfacts.cli.output import print_json, report_error

if TYPE_CHECKING:
    from sshfacts.commands.answer import Observer
    from sshfacts.commands.site import Site
    from sshfacts.permission.request import Request
    from sshfacts.values import JsonObject


def call(
    name: Annotated[str, typer.Argument(help="The operation.", show_default=False)],
    pairs: ArgumentPairs = None,
    host: Annotated[str, typer.Option(help="Alias of the host.")] = ...,  # type: ignore[assignment]  # typer's "required"
    site: SiteOption = None,
    token_file: TokenFileOption = None,
) -> None:
    """Call one operation on one host; stdout is the envelope and nothing else."""
    from sshfacts.permission.request import Request

    loaded = live_site(site)
    token = token_of(token_file)
    request = Request(name, host, parse_arguments(pairs or (), loaded.operations.get(name)))
    envelope = asyncio.run(call_once(loaded, token, request, "cli.call"))
    print_json(envelope)
    sys.exit(0 if envelope["outcome"] == "success" else 1)


async def call_once(
    site: "Site", token: str, request: "Request", door: str, observer: "Observer | None" = None
) -> "JsonObject":
    """Open the record and the transport, make one call as the token's caller, and close both.

    Without a database that can be written, nothing is run and the answer is `AUDIT_UNAVAILABLE`.

    Raises:
        Unauthenticated: the token is not valid.
    """
    from sshfacts.call import Pipeline, unrecorded
    from sshfacts.permission.authentication import authenticate
    from sshfacts.ssh.transport import SshTransport
    from sshfacts.storage.engine import open_for_reading
    from sshfacts.storage.recorder import RecordUnavailable, open_recorder

    settings = site.require_settings()
    try:
        async with open_recorder(settings.database_url) as recorder:
            caller = authenticate(token, settings, open_for_reading(settings.database_url))
            transport = SshTransport(settings)
            pipeline = Pipeline(site, transport, recorder)
            try:
                return await pipeline.call(caller, request, door, os_user(), observer)
            finally:
                await transport.close()
                await pipeline.close()
    except RecordUnavailable as error:
        report_error(error)  # for whoever runs the command; the envelope says no more than an agent may know
        return unrecorded(request)
