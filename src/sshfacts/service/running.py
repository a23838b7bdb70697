"""A service that runs: the record, the connections to hosts, and the pipeline between them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sshfacts.call import Pipeline
from sshfacts.commands.settings import Settings
from sshfacts.commands.site import Site
from sshfacts.service.calls import Calls
from sshfacts.service.identity import Identity
from sshfacts.service.jwks import KeySet
from sshfacts.service.reloading import reloading_on_hangup
from sshfacts.ssh.transport import SshTransport, Transport
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.publication import publishers
from sshfacts.storage.recorder import Recorder, open_recorder
from sshfacts.storage.sealer import Log, Sealer, sealing
from sshfacts.storage.upkeep import Upkeep, open_upkeep


@dataclass(frozen=True, slots=True)
class Service:
    """What the doors are built on."""

    site: Site
    settings: Settings
    calls: Calls
    identity: Identity
    recorder: Recorder
    upkeep: Upkeep

    @property
    def ready(self) -> bool:
        """Whether calls are taken now; none is run that cannot be recorded, and the disk must have room for more."""
        return self.upkeep.ready and not self.calls.draining


@asynccontextmanager
async def open_service(site: Site) -> AsyncIterator[Service]:
    """Give the service of a site; at the end the outcome of every call is on record. SIGHUP renews the credentials.

    Raises:
        RecordUnavailable: the database cannot be written.
        SiteError: credentials that cannot be used safely, or hosts without a valid pin.
    """
    settings = site.require_settings()
    async with open_recorder(settings.database_url) as recorder:
        transport = SshTransport(settings)
        try:
            with reloading_on_hangup(transport):
                async with started(site, transport, recorder) as service:
                    yield service
        finally:
            await transport.close()


@asynccontextmanager
async def sealed(settings: Settings) -> AsyncIterator[None]:
    """Seal the record for as long as the body runs, if the settings have a table `[audit]`.

    One process does it for a site's service; that of a client over stdio comes and goes, and does not.
    """
    audit = settings.audit
    if audit is None:
        yield
        return
    log = Log(settings.database_url, audit.origin, audit.key_file, audit.state_file)
    async with sealing(Sealer(log, publishers(audit.checkpoints)), audit.interval):
        yield


@asynccontextmanager
async def started(
    site: Site, transport: Transport, recorder: Recorder, keys: KeySet | None = None
) -> AsyncIterator[Service]:
    """Give the service on a transport and a recorder that are open.

    Args:
        keys: of the identity provider; for tests that have none to ask.
    """
    settings = site.require_settings()
    pipeline = Pipeline(site, transport, recorder)
    calls = Calls(pipeline)
    engine = open_for_reading(settings.database_url)
    identity = Identity(settings, engine, pipeline.count_unauthenticated, keys)
    try:
        async with open_upkeep(recorder, settings.database_keep_free) as upkeep:
            yield Service(site, settings, calls, identity, recorder, upkeep)
    finally:
        await calls.drain(0)
        await pipeline.close()
