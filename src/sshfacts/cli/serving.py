"""`sshfacts serve` and `sshfacts mcp`: the doors of agents."""

import asyncio
import logging
import sys

from sshfacts.cli.options import SiteOption, TokenFileOption, live_site, os_user, token_of

_QUIET = ("asyncssh", "httpcore2", "httpx2", "mcp", "sqlalchemy", "uvicorn")
"""Packages that log requests, addresses or sessions at INFO; their warnings are worth knowing."""


def serve(site: SiteOption = None) -> None:
    """Serve agents by MCP and HTTP, until the process is told to end."""
    from sshfacts.service.server import serve as serve_site

    loaded = live_site(site)
    _log_to_stderr()
    asyncio.run(serve_site(loaded))


def mcp(site: SiteOption = None, token_file: TokenFileOption = None) -> None:
    """Serve one MCP client that starts this command, over stdin and stdout."""
    from sshfacts.service.stdio import serve_stdio

    loaded = live_site(site)
    token = token_of(token_file)
    _log_to_stderr()
    asyncio.run(serve_stdio(loaded, token, os_user()))


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
