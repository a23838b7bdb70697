"""The record of what a site allowed: its policy and catalogue, whenever they are not what was recorded last."""

import asyncio
from datetime import datetime
from importlib.metadata import version

import sqlalchemy as sa

from sshfacts.commands.site import Site
from sshfacts.permission.policy import policy_digest, policy_of
from sshfacts.storage.engine import reading
from sshfacts.storage.queries import configuration, configured
from sshfacts.storage.recorder import Recorder
from sshfacts.values import JsonObject


class Configuration:
    """Records a site's policy once, before the first call on it.

    Args:
        recorder: its database is asked what was recorded last.
    """

    def __init__(self, site: Site, recorder: Recorder) -> None:
        self._site = site
        self._recorder = recorder
        self._recorded = False
        self._lock = asyncio.Lock()

    async def record(self) -> None:
        """Append a `config` record, unless the last one says the same; after the first time this costs nothing.

        Raises:
            RecordUnavailable: the database does not say what was recorded last, or takes no record.
        """
        if self._recorded:
            return
        async with self._lock:
            if not self._recorded:
                body = _body(self._site)
                last = await asyncio.to_thread(configured, reading(self._recorder.engine))
                if last != (body["catalogue_digest"], body["policy_digest"]):
                    await self._recorder.append(body)
                self._recorded = True


def recorded_policy(engine: sa.Engine, at: datetime) -> tuple[JsonObject, str] | None:
    """Return the policy that was in force at a time, and since when; `None` if none was recorded by then.

    Args:
        engine: opened for reading.
        at: aware.

    Raises:
        RecordUnavailable: the database cannot be read.
        RecordAltered: the record is not what its hash says.
    """
    body = configuration(engine, at)
    policy = body["policy"] if body is not None else None
    return (policy, str(body["at"])) if body is not None and isinstance(policy, dict) else None


def _body(site: Site) -> JsonObject:
    policy = policy_of(site)
    return {
        "kind": "config",
        "site": site.name,
        "service_version": version("sshfacts"),
        "catalogue_digest": site.digest,
        "policy_digest": policy_digest(policy),
        "policy": policy,
    }
