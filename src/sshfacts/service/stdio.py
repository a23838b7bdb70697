"""The door for one MCP client that started this process: frames of the protocol on stdin and stdout.

Nothing else may come out of stdout, and nothing else may read stdin, whatever a child process does. The SDK sees
to stdout. Stdin is taken here, because the lines of a client are held to the same strictness as a request over HTTP.
"""

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, cast

from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError

from sshfacts.commands.settings import CallerSettings
from sshfacts.commands.site import Site
from sshfacts.service.lines import StrictLines
from sshfacts.service.mcp_door import Context, McpDoor
from sshfacts.service.offers import Offers
from sshfacts.service.problems import Problem
from sshfacts.service.running import Service, open_service

DOOR = "mcp.stdio"
"""How the record names this door."""


async def serve_stdio(site: Site, token: str, os_user: str) -> None:
    """Serve one client until it closes stdin or the process gets SIGTERM; calls under way are recorded as cancelled.

    Args:
        os_user: who runs this process, for the record.

    Raises:
        Unauthenticated: the token is not valid.
        RecordUnavailable: the database cannot be written.
        SiteError: credentials that cannot be used safely, or hosts without a valid pin.
    """
    async with open_service(site) as service:
        await service.identity.caller_of_token(token)
        serving = asyncio.create_task(_serve(service, token, os_user))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, serving.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await serving


async def _serve(service: Service, token: str, os_user: str) -> None:
    async def caller_of(_context: Context) -> CallerSettings:
        # Each time anew: a token that is revoked while the client lives counts no more.
        return await service.identity.caller_of_token(token)

    name = service.settings.service_name
    server = McpDoor(name, Offers(service.site), service.calls, caller_of, DOOR, os_user).server

    async def refuse(problem: Problem) -> None:
        await outgoing.send(_refusal(problem))

    with _own_stdin() as descriptor:
        # Of a file, the SDK only iterates over the lines.
        lines = cast("Any", StrictLines(descriptor, refuse))
        async with stdio_server(stdin=lines) as (incoming, outgoing):
            try:
                await server.run(incoming, outgoing, server.create_initialization_options())
            finally:
                # What was printed and not flushed would follow when descriptor 1 is the client's again.
                sys.stdout.flush()


def _refusal(problem: Problem) -> SessionMessage:
    """Return the answer to a line that is no message; which request it was meant to be is not known."""
    error = ErrorData(code=PARSE_ERROR, message=f"{problem}: {problem.meaning}")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=None, error=error))


@contextlib.contextmanager
def _own_stdin() -> Iterator[int]:
    """Give a descriptor of stdin that no child process has; for them stdin is empty."""
    # Never closed: a thread may still wait on it when everything else has ended.
    private = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    try:
        yield private
    finally:
        os.dup2(private, 0)
