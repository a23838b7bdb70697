"""JWTs of an identity provider: verified, and turned into a caller of `sshfacts.toml`."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jwt

from sshfacts.commands.settings import CallerSettings, Oidc
from sshfacts.permission.authentication import Unauthenticated
from sshfacts.service.jwks import KeySet

LEEWAY_SECONDS = 30
"""By which the provider's clock and ours may differ."""
LONGEST_TOKEN = 8_192
"""Characters."""

_SESSION = re.compile(r"[!-~]{1,128}")
"""Printable and short: it is the provider's text, and goes into the record."""
_REQUIRED = ("exp", "iat", "iss", "aud")
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
"""What a header's `typ` may be, if it says one (RFC 9068, section 2.1); a JWT for another purpose says so there."""


class InsufficientScope(Unauthenticated):
    """The token is valid, and lacks a scope that opens the door."""


class Issuer:
    """Knows callers by the JWTs of one identity provider.

    A JWT grants nothing: what the caller may do stands in the settings, and claims can only take away from it.
    """

    def __init__(self, oidc: Oidc, callers: Mapping[str, CallerSettings], keys: KeySet) -> None:
        self._oidc = oidc
        self._keys = keys
        self._algorithms = sorted(oidc.algorithms)
        self._callers = {caller.oidc: caller for caller in callers.values() if caller.oidc is not None}

    async def caller(self, token: str) -> CallerSettings:
        """Return the caller that a token names.

        Raises:
            Unauthenticated: the token is not valid here, or names nobody.
            InsufficientScope: it is valid, and lacks a required scope.
        """
        claims = await self._verified(token)
        if not self._oidc.required_scopes <= _words(claims.get("scope", claims.get("scp"))):
            raise InsufficientScope
        subject = claims.get(self._oidc.caller_claim)
        caller = self._callers.get(subject) if isinstance(subject, str) else None
        if caller is None:
            raise Unauthenticated
        return self._narrowed(caller, claims)

    async def _verified(self, token: str) -> dict[str, Any]:
        """Return the claims of a token that the provider signed, for us and for now."""
        if len(token) > LONGEST_TOKEN:
            raise Unauthenticated
        try:
            header = jwt.get_unverified_header(token)
            algorithm, key_id = header.get("alg"), header.get("kid")
            if algorithm not in self._algorithms or str(header.get("typ", "JWT")).lower() not in _TYPES:
                raise Unauthenticated
            key = await self._keys.find(key_id, algorithm)
            if key is None:
                raise Unauthenticated
            return jwt.decode(
                token,
                key,
                algorithms=[algorithm],  # one of ours, and the key was made for it alone
                audience=self._oidc.audience,
                issuer=self._oidc.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": [*_REQUIRED]},
            )
        except jwt.PyJWTError:
            # Why is not told, so that nothing can be learnt by trying; and its text quotes the token.
            raise Unauthenticated from None

    def _narrowed(self, caller: CallerSettings, claims: dict[str, Any]) -> CallerSettings:
        oidc = self._oidc
        caller = replace(caller, session=_session(claims))
        if oidc.grants_claim is not None:
            caller = replace(caller, grants=caller.grants & _words(claims.get(oidc.grants_claim)))
        if oidc.host_groups_claim is not None:
            caller = replace(caller, host_groups=caller.host_groups & _words(claims.get(oidc.host_groups_claim)))
        principal = claims.get(oidc.principal_claim) if oidc.principal_claim is not None else None
        if principal is None:
            return caller
        # The settings' principal cannot approve the caller's calls; a token must not put another one in its place.
        if not isinstance(principal, str) or caller.principal not in (None, principal):
            raise Unauthenticated
        return replace(caller, principal=principal)


def _session(claims: dict[str, Any]) -> str | None:
    """Return what tells one session of a client from another: `sid`, else `jti` (RFC 7519, section 4.1.7)."""
    for name in ("sid", "jti"):
        session = claims.get(name)
        if isinstance(session, str) and _SESSION.fullmatch(session):
            return session
    return None


def _words(claim: object) -> frozenset[str]:
    """Return what a claim lists: a list of texts, or one text with spaces in between (RFC 6749, section 3.3)."""
    words = claim.split() if isinstance(claim, str) else claim
    return frozenset(word for word in words if isinstance(word, str)) if isinstance(words, list) else frozenset()
