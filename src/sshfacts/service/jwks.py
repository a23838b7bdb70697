"""The public keys of an identity provider, fetched when they are needed and kept."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic

import httpx2
import jwt

from sshfacts.adapters.formats import Json
from sshfacts.adapters.reader import read
from sshfacts.errors import Refusal
from sshfacts.limits import KIB, ReadLimits
from sshfacts.values import JsonObject

KEEP_SECONDS = 3_600.0
"""After this the keys are fetched again, so that one that the provider has withdrawn is not believed for ever."""
RETRY_SECONDS = 30.0
"""Between two fetches at least: tokens with made-up key ids must not become requests to the provider."""
FETCH_SECONDS = 5.0

_LIMITS = ReadLimits(bytes=256 * KIB, items=100)
_LOG = logging.getLogger(__name__)

Fetch = Callable[[str], Awaitable[bytes]]
"""Gets what is at a URL, or raises `OSError`."""


class KeySet:
    """The keys at one URL, by their ids.

    When they cannot be fetched, those that are known go on being believed: an outage of the provider must not
    be one of the service.

    Args:
        now: seconds of a clock that never goes back.
    """

    def __init__(self, url: str, fetch: Fetch | None = None, now: Callable[[], float] = monotonic) -> None:
        self._url = url
        self._fetch = fetch or fetch_over_http
        self._now = now
        self._keys: dict[str | None, JsonObject] = {}
        self._fetched: float | None = None
        self._tried: float | None = None
        self._lock = asyncio.Lock()

    async def find(self, key_id: str | None, algorithm: str) -> jwt.PyJWK | None:
        """Return the key of this id as a key of this algorithm; `None` if there is none, or it is of another kind.

        Args:
            key_id: `None` is enough for a provider with one key.
        """
        if self._is_old() or self._key(key_id) is None:
            async with self._lock:
                if self._is_old() or self._key(key_id) is None:
                    await self._refresh()
        key = self._key(key_id)
        if key is None or key.get("use", "sig") != "sig" or key.get("alg", algorithm) != algorithm:
            return None
        try:
            return jwt.PyJWK.from_dict(key, algorithm)
        except jwt.PyJWTError:
            return None

    def _key(self, key_id: str | None) -> JsonObject | None:
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id)

    def _is_old(self) -> bool:
        return self._fetched is None or self._now() - self._fetched > KEEP_SECONDS

    async def _refresh(self) -> None:
        if self._tried is not None and self._now() - self._tried < RETRY_SECONDS:
            return
        self._tried = self._now()
        try:
            self._keys = _keys_in(await self._fetch(self._url))
        except (OSError, Refusal) as error:
            # The text of an error could quote what the provider sent.
            _LOG.warning("the keys of the identity provider cannot be fetched: %s", type(error).__name__)
            return
        self._fetched = self._now()


def _keys_in(body: bytes) -> dict[str | None, JsonObject]:
    document = read(Json(), _LIMITS, body.strip())
    listed = document.get("keys") if isinstance(document, dict) else None
    keys: dict[str | None, JsonObject] = {}
    for key in listed if isinstance(listed, list) else ():
        key_id = key.get("kid") if isinstance(key, dict) else None
        if isinstance(key, dict) and (key_id is None or isinstance(key_id, str)):
            keys[key_id] = key
    return keys


async def fetch_over_http(url: str) -> bytes:
    """Return what is at `url`, of a bounded size, without following a redirect.

    Raises:
        OSError: it is not to be had.
    """
    body = bytearray()
    try:
        async with (
            asyncio.timeout(FETCH_SECONDS),
            httpx2.AsyncClient(follow_redirects=False) as client,
            client.stream("GET", url, headers={"Accept": "application/json"}) as response,
        ):
            response.raise_for_status()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _LIMITS.bytes:
                    break  # The reader refuses it for its size.
    except httpx2.HTTPError as error:
        raise OSError(type(error).__name__) from None
    return bytes(body)
