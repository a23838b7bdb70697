"""Callers' tokens: shown once, kept as hashes, revoked at once everywhere.

A token is `sf_` + public id + `_` + secret. The secret is random with 256 bits, so its plain SHA-256
can neither be searched nor looked up, and no slow password hash is needed. The prefix lets scanners find a
token that was committed by mistake.
"""

import re
import secrets
import string
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest

import sqlalchemy as sa

from sshfacts.storage.engine import transaction
from sshfacts.storage.tables import TOKEN

_ALPHABET = string.ascii_letters + string.digits
_ID_LENGTH = 12
_SECRET_LENGTH = 43  # 43 characters of 62 are 256 bits
_FORM = re.compile(rf"sf_([A-Za-z0-9]{{{_ID_LENGTH}}})_([A-Za-z0-9]{{{_SECRET_LENGTH}}})")
_NOBODY = bytes(32)  # compared when the id is unknown, so that the time does not tell


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of one token. `revoked_at` is `None` while it is valid."""

    id: str
    caller: str
    created_at: datetime
    revoked_at: datetime | None


def add(engine: sa.Engine, caller: str) -> str:
    """Make a token for `caller` and return its text, which is not kept and cannot be shown again.

    Args:
        engine: opened for writing.

    Raises:
        RecordUnavailable: the database cannot be written.
    """
    token_id, secret = _random(_ID_LENGTH), _random(_SECRET_LENGTH)
    with transaction(engine) as connection:
        connection.execute(
            sa.insert(TOKEN).inline(),
            [{"id": token_id, "caller": caller, "secret_sha256": _hash(secret), "created_at": datetime.now(UTC)}],
        )
    return f"sf_{token_id}_{secret}"


def find(engine: sa.Engine, text: str) -> Token | None:
    """Return the valid token of this text, or `None` if it is malformed, unknown, wrong or revoked.

    Raises:
        RecordUnavailable: the database cannot be read; then nobody is known.
    """
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    statement = sa.select(TOKEN).where(TOKEN.c.id == form[1])
    with transaction(engine) as connection:
        row = connection.execute(statement).one_or_none()
    matches = compare_digest(_hash(form[2]), row.secret_sha256 if row is not None else _NOBODY)
    if row is None or not matches or row.revoked_at is not None:
        return None
    return _token(row)


def revoke(engine: sa.Engine, token_id: str) -> bool:
    """Revoke a token from now on; return whether there was a valid one of this id.

    Raises:
        RecordUnavailable: the database cannot be written, so the token is still valid.
    """
    statement = (
        sa.update(TOKEN)
        .where(TOKEN.c.id == token_id, TOKEN.c.revoked_at.is_(None))
        .values(revoked_at=datetime.now(UTC))
    )
    with transaction(engine) as connection:
        return connection.execute(statement).rowcount == 1


def all_tokens(engine: sa.Engine) -> list[Token]:
    """Return all tokens, the oldest first, without their hashes.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    with transaction(engine) as connection:
        rows = connection.execute(sa.select(TOKEN).order_by(TOKEN.c.created_at, TOKEN.c.id)).all()
    return [_token(row) for row in rows]


def _token(row: sa.Row[tuple[object, ...]]) -> Token:
    return Token(row.id, row.caller, row.created_at, row.revoked_at)


def _hash(secret: str) -> bytes:
    return sha256(secret.encode("ascii")).digest()


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
