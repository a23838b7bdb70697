"""An identity provider without a network: it signs JWTs, and hands out its keys."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from sshfacts.service.jwks import KeySet

ISSUER = "https://idp.example.com"
RESOURCE = "https://facts.example.com/mcp"
SETTINGS = f"""
[oidc]
issuer = "{ISSUER}"
resource = "{RESOURCE}"
jwks = "https://idp.example.com/keys"
"""


def _new_key(algorithm: str) -> Any:
    match algorithm:
        case "ES256":
            return ec.generate_private_key(ec.SECP256R1())
        case "ES384":
            return ec.generate_private_key(ec.SECP384R1())
        case "EdDSA":
            return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65_537, 2_048)


@dataclass
class Provider:
    """Signs with one key."""

    algorithm: str = "ES256"
    key_id: str | None = "one"
    key: Any = None
    fetched: int = 0
    broken: bool = False
    now: float = 0.0
    more: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.key = self.key or _new_key(self.algorithm)

    def token(
        self, *, without: tuple[str, ...] = (), headers: dict[str, object] | None = None, **claims: object
    ) -> str:
        """Return a JWT that is in order but for what the arguments say."""
        now = int(time.time())
        whole = {"iss": ISSUER, "aud": RESOURCE, "sub": "client-1", "iat": now, "exp": now + 60, **claims}
        for name in without:
            del whole[name]
        header = {"kid": self.key_id} if self.key_id is not None else {}
        return jwt.encode(whole, self.key, self.algorithm, headers={**header, **(headers or {})})

    def jwk(self) -> dict[str, object]:
        """Return the public key."""
        maker = jwt.get_algorithm_by_name(self.algorithm)
        public = maker.to_jwk(self.key.public_key(), as_dict=True)  # type: ignore[call-overload]
        return {**public, **({"kid": self.key_id} if self.key_id is not None else {}), **self.more}

    async def fetch(self, _url: str) -> bytes:
        """Hand out the keys."""
        self.fetched += 1
        if self.broken:
            raise OSError("PLANTED-MARKER")
        return json.dumps({"keys": [self.jwk()]}).encode()

    def keys(self) -> KeySet:
        """Return the keys as the service keeps them, on a clock that the test sets."""
        return KeySet("https://idp.example.com/keys", self.fetch, lambda: self.now)
