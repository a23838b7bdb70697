"""Serves a site over stdio on a transport that makes as much noise as it can; run by test_stdio.py."""

import asyncio
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

from sshfacts.commands.site import load_site
from sshfacts.service import stdio
from sshfacts.service.running import started
from sshfacts.storage.recorder import open_recorder
from tests.support.transports import CannedTransport

GOOD = b'{"mounts": []}\n'
HANGING = "hang" in sys.argv


async def make_noise() -> None:
    """Write on stdout in every way that code or its children have, and try to read stdin."""
    print("NOISE by print", flush=True)  # noqa: T201
    os.write(1, b"NOISE by descriptor\n")
    await (await asyncio.create_subprocess_exec("sh", "-c", "echo NOISE by a child; cat")).wait()
    sys.stdout.write("NOISE that is buffered")
    print("running", file=sys.stderr, flush=True)  # noqa: T201
    if HANGING:
        await asyncio.Event().wait()


@asynccontextmanager
async def open_service(site):
    async with (
        open_recorder(site.require_settings().database_url) as recorder,
        started(site, CannedTransport(GOOD, on_run=make_noise), recorder) as service,
    ):
        yield service


stdio.open_service = open_service
asyncio.run(stdio.serve_stdio(load_site(Path(sys.argv[1]), need_settings=True), os.environ["SSHFACTS_TOKEN"], "tester"))
