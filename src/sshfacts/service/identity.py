"""Who makes a request: the header `Authorization`, turned into a caller or into a challenge."""

import asyncio
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

import sqlalchemy as sa

from sshfacts.commands.settings import CallerSettings, Settings
from sshfacts.permission.authentication import Unauthenticated, authenticate
from sshfacts.service.jwks import KeySet
from sshfacts.service.oidc import InsufficientScope, Issuer
from sshfacts.service.problems import NotARequest, Problem
from sshfacts.storage.recorder import RecordUnavailable
from sshfacts.values import JsonObject

_OWN_TOKEN = "sf_"  # noqa: S105 - the first letters of each, and no secret
_METADATA_PATH = "/.well-known/oauth-protected-resource"


class Identity:
    """Knows callers by their tokens.

    Args:
        engine: opened for reading.
        count_unknown: is called for each request of somebody whom nobody knows.
        keys: of the identity provider; for tests that have none to ask.
    """

    def __init__(
        self, settings: Settings, engine: sa.Engine, count_unknown: Callable[[], None], keys: KeySet | None = None
    ) -> None:
        self._settings = settings
        self._engine = engine
        self._count_unknown = count_unknown
        self._oidc = oidc = settings.doors.oidc
        self._issuer = Issuer(oidc, settings.callers, keys or KeySet(oidc.jwks)) if oidc is not None else None

    async def caller_of_token(self, token: str) -> CallerSettings:
        """Return the caller that a token belongs to, as the database says at this moment.

        Raises:
            Unauthenticated: nobody is known by this token.
            InsufficientScope: a JWT lacks a required scope.
            RecordUnavailable: the database cannot be read; then nobody is known.
        """
        if self._issuer is not None and not token.startswith(_OWN_TOKEN):
            return await self._issuer.caller(token)
        # In a thread: the database may be slow, and other calls must not wait for it.
        return await asyncio.to_thread(authenticate, token, self._settings, self._engine)

    async def caller(self, authorization: Sequence[str]) -> CallerSettings:
        """Return the caller of an HTTP request.

        Args:
            authorization: every header of this name.

        Raises:
            NotARequest: with the challenge of RFC 6750 where another token would help.
        """
        scheme, _, token = authorization[0].partition(" ") if len(authorization) == 1 else ("", "", "")
        if scheme.lower() != "bearer":
            self._count_unknown()
            raise NotARequest(Problem.UNAUTHENTICATED, self._challenge())
        try:
            return await self.caller_of_token(token.strip())
        except InsufficientScope:
            self._count_unknown()
            raise NotARequest(Problem.INSUFFICIENT_SCOPE, self._challenge('error="insufficient_scope"')) from None
        except Unauthenticated:
            self._count_unknown()
            raise NotARequest(Problem.UNAUTHENTICATED, self._challenge('error="invalid_token"')) from None
        except RecordUnavailable:
            raise NotARequest(Problem.RECORD_UNAVAILABLE) from None

    def _challenge(self, *parameters: str) -> dict[str, str]:
        """Return the header; clients that see `resource_metadata` start OAuth, so it is there only with an issuer."""
        told = [*parameters]
        if self._oidc is not None:
            if self._oidc.required_scopes:
                told.append(f'scope="{" ".join(sorted(self._oidc.required_scopes))}"')
            told.append(f'resource_metadata="{self._metadata_url()}"')
        return {"WWW-Authenticate": f"Bearer {', '.join(told)}" if told else "Bearer"}

    def metadata(self) -> tuple[str, JsonObject] | None:
        """Return path and content of the resource's metadata (RFC 9728), or `None` without an identity provider."""
        if self._oidc is None:
            return None
        content: JsonObject = {
            "resource": self._oidc.resource,
            "resource_name": self._settings.service_name,
            "authorization_servers": [self._oidc.issuer],
            "bearer_methods_supported": ["header"],
            "scopes_supported": [*sorted(self._oidc.required_scopes)],
        }
        return urlsplit(self._metadata_url()).path, content

    def _metadata_url(self) -> str:
        """Return where the metadata is: the resource's own path comes after the well-known one (section 3.1)."""
        resource = urlsplit(self._oidc.resource if self._oidc is not None else "")
        return f"{resource.scheme}://{resource.netloc}{_METADATA_PATH}{resource.path.rstrip('/')}"
