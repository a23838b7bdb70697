"""SIGHUP: the credentials are read anew while calls run."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Iterator
from typing import Protocol

from sshfacts.errors import SiteError

_LOG = logging.getLogger(__name__)


class Reloadable(Protocol):
    """What holds credentials."""

    async def reload(self) -> frozenset[str]:
        """Read all credentials anew, or none; return the names of those that changed."""


@contextlib.contextmanager
def reloading_on_hangup(holder: Reloadable) -> Iterator[None]:
    """Reload at each SIGHUP while the body runs, and log what came of it; needs the main thread.

    A credential that cannot be used ends nothing: all stay as they were.
    """
    loop = asyncio.get_running_loop()
    reloads: set[asyncio.Task[None]] = set()

    def reload() -> None:
        task = loop.create_task(_reload(holder))
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    loop.add_signal_handler(signal.SIGHUP, reload)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
        for task in reloads:
            task.cancel()


async def _reload(holder: Reloadable) -> None:
    try:
        changed = await holder.reload()
    except SiteError as error:
        _LOG.error("credentials stay as they were: %s", "; ".join(finding.what for finding in error.findings))
    else:
        _LOG.info("credentials read anew; changed: %s", ", ".join(sorted(changed)) or "none")
