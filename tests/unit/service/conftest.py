"""A served site for the tests of one module, on a transport that answers with bytes."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from sshfacts.commands.site import Site
from tests.support.doors import Served, served
from tests.support.sites import SiteFiles
from tests.support.transports import CannedTransport

GOOD = b'{"mounts": [{"path": "/", "free_bytes": 1000}]}\n'


@pytest.fixture(scope="session")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return SiteFiles(tmp_path_factory.mktemp("site")).load()


@pytest.fixture
def site(loaded: Site, tmp_path: Path) -> Site:
    """The loaded site, with a database of its own."""
    return replace(loaded, settings=replace(loaded.require_settings(), database_url=f"sqlite:///{tmp_path}/audit.db"))


@pytest.fixture
def transport() -> CannedTransport:
    return CannedTransport(GOOD)


@pytest.fixture
async def doors(site: Site, transport: CannedTransport) -> AsyncIterator[Served]:
    async with served(site, transport) as running:
        yield running
