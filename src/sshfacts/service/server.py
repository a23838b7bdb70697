"""Serves the ASGI application: listens, tells when it does, and ends in order."""

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Iterator

import uvicorn

from sshfacts.commands.settings import Doors
from sshfacts.commands.site import Site
from sshfacts.errors import UsageError
from sshfacts.service.app import build_app
from sshfacts.service.calls import Calls
from sshfacts.service.running import open_service, sealed

DRAIN_SECONDS = 25
"""For which a call under way may go on after SIGTERM; Kubernetes kills after 30, systemd after 90."""
ANSWER_SECONDS = 3
"""For the last answers to leave, after the calls have ended."""
KEEP_ALIVE_SECONDS = 75
"""Longer than the 60 of most proxies, so that the proxy closes an idle connection and no request is lost."""
CONNECTIONS = 1_000
"""At once; beyond that the server itself answers with 503."""

_LOG = logging.getLogger(__name__)


async def serve(site: Site) -> None:
    """Serve the doors of a site until SIGTERM or SIGINT; calls under way end, or are recorded as cancelled.

    A second signal cancels them at once.

    Raises:
        UsageError: nothing can listen on the address that the settings name.
        RecordUnavailable: the database cannot be written.
        SiteError: credentials that cannot be used safely, or hosts without a valid pin.
    """
    with _listen(site.require_settings().doors) as listener:
        # The last records of the service are sealed after it has closed its record.
        async with sealed(site.require_settings()), open_service(site) as service:
            server = _Server(
                uvicorn.Config(
                    build_app(service),
                    loop="asyncio",
                    http="httptools",
                    ws="none",
                    lifespan="on",
                    log_config=None,
                    access_log=False,  # the record holds who called what
                    proxy_headers=False,  # nothing here depends on where a request came from
                    server_header=False,
                    limit_concurrency=CONNECTIONS,
                    timeout_keep_alive=KEEP_ALIVE_SECONDS,
                    timeout_graceful_shutdown=DRAIN_SECONDS + ANSWER_SECONDS,
                )
            )
            with _ending_by_signal(server, service.calls):
                address, port = listener.getsockname()[:2]
                shown = f"[{address}]" if ":" in address else address
                _LOG.info("serving %d operations at http://%s:%d", len(site.operations), shown, port)
                await server.serve(sockets=[listener])
    _LOG.info("every call has ended")


@contextlib.contextmanager
def _listen(doors: Doors) -> Iterator[socket.socket]:
    """Give a socket that listens, before anything else is opened."""
    family = socket.AF_INET6 if ":" in doors.address else socket.AF_INET
    with socket.socket(family) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((doors.address, doors.port))
            listener.listen()  # Who comes before everything is open waits, and is not refused.
        except OSError as error:
            raise UsageError(f"cannot listen on {doors.address} port {doors.port}: {error.strerror}") from None
        yield listener


class _Server(uvicorn.Server):
    """Leaves signals alone: at its end uvicorn raises them again, and then the record could not be closed."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture nothing."""
        yield


@contextlib.contextmanager
def _ending_by_signal(server: uvicorn.Server, calls: Calls) -> Iterator[None]:
    """End the server by a signal; calls are cancelled here, because uvicorn would leave their clients no answer."""
    loop = asyncio.get_running_loop()
    draining: list[asyncio.Task[None]] = []

    def end() -> None:
        seconds = 0 if draining else DRAIN_SECONDS
        _LOG.info("ending: no new calls, and %d seconds for those under way", seconds)
        draining.append(loop.create_task(calls.drain(seconds)))
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
