"""Tokens of callers and people: shown once, kept as hashes, revoked at once everywhere.

A token is `sf_` + public id + `_` + secret. The secret is random with 256 bits, so its plain SHA-256
can neither be searched nor looked up, and no slow password hash is needed. The prefix lets scanners find a
token that was committed by mistake.

Who makes or revokes a token is on record: each change and its record are one transaction.
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
from sshfacts.storage.ledger import Actor, Change, change_once
from sshfacts.storage.tables import TOKEN
from sshfacts.values import JsonObject

_ALPHABET = string.ascii_letters + string.digits
_ID_LENGTH = 12
_SECRET_LENGTH = 43  # 43 characters of 62 are 256 bits
_FORM = re.compile(rf"sf_([A-Za-z0-9]{{{_ID_LENGTH}}})_([A-Za-z0-9]{{{_SECRET_LENGTH}}})")
_NOBODY = bytes(32)  # compared when the id is unknown, so that the time does not tell

OWNER = Actor(None, "storage.tokens")
"""Who makes a token when nobody else is named: whoever has the database open for writing."""


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of one token. It belongs to a caller or to a person; `revoked_at` is `None` while it is valid."""

    id: str
    caller: str | None
    created_at: datetime
    revoked_at: datetime | None
    person: str | None = None


def add(engine: sa.Engine, caller: str, by: Actor = OWNER) -> str:
    """Make a token for `caller` and return its text, which is not kept and cannot be shown again.

    Args:
        engine: opened for writing.

    Raises:
        RecordUnavailable: the database cannot be written.
    """
    return _add(engine, {"caller": caller, "person": None}, by)


def add_for_person(engine: sa.Engine, person: str, by: Actor = OWNER) -> str:
    """Make a token for `person`, as `add` does for a caller."""
    return _add(engine, {"caller": None, "person": person}, by)


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


def revoke(engine: sa.Engine, token_id: str, by: Actor = OWNER) -> bool:
    """Revoke a token from now on; return whether there was a valid one of this id.

    Raises:
        RecordUnavailable: the database cannot be written, so the token is still valid.
    """

    def apply(connection: sa.Connection) -> Change[bool]:
        token = _revoke(connection, token_id)
        return Change(token is not None, [] if token is None else [_body("revoked", token, by)])

    return change_once(engine, apply)


def rotate(engine: sa.Engine, token_id: str, by: Actor = OWNER) -> str | None:
    """Revoke a token and make another one for its holder; return the new text, or `None` if there was no valid one.

    Raises:
        RecordUnavailable: the database cannot be written, so the token is still valid.
    """

    def apply(connection: sa.Connection) -> Change[str | None]:
        old = _revoke(connection, token_id)
        if old is None:
            return Change(None)
        text, new = _insert(connection, {"caller": old.caller, "person": old.person})
        return Change(text, [_body("revoked", old, by), _body("added", new, by)])

    return change_once(engine, apply)


def all_tokens(engine: sa.Engine) -> list[Token]:
    """Return all tokens, the oldest first, without their hashes.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    with transaction(engine) as connection:
        rows = connection.execute(sa.select(TOKEN).order_by(TOKEN.c.created_at, TOKEN.c.id)).all()
    return [_token(row) for row in rows]


def _add(engine: sa.Engine, holder: dict[str, str | None], by: Actor) -> str:
    def apply(connection: sa.Connection) -> Change[str]:
        text, token = _insert(connection, holder)
        return Change(text, [_body("added", token, by)])

    return change_once(engine, apply)


def _insert(connection: sa.Connection, holder: dict[str, str | None]) -> tuple[str, Token]:
    token_id, secret = _random(_ID_LENGTH), _random(_SECRET_LENGTH)
    token = Token(token_id, holder["caller"], datetime.now(UTC), None, holder["person"])
    row = {"id": token_id, **holder, "secret_sha256": _hash(secret), "created_at": token.created_at}
    connection.execute(sa.insert(TOKEN).inline(), [row])
    return f"sf_{token_id}_{secret}", token


def _revoke(connection: sa.Connection, token_id: str) -> Token | None:
    still_valid = sa.and_(TOKEN.c.id == token_id, TOKEN.c.revoked_at.is_(None))
    revoked = connection.execute(sa.update(TOKEN).where(still_valid).values(revoked_at=datetime.now(UTC)))
    if revoked.rowcount != 1:
        return None
    return _token(connection.execute(sa.select(TOKEN).where(TOKEN.c.id == token_id)).one())


def _body(reason: str, token: Token, by: Actor) -> JsonObject:
    """Return the record of what was done to a token; the person in it did it, the holder has it."""
    holder = {"caller": token.caller, "holder": token.caller or token.person}
    return {"kind": "token", "reason": reason, "token": token.id, **holder, **by.as_json()}


def _token(row: sa.Row[tuple[object, ...]]) -> Token:
    return Token(row.id, row.caller, row.created_at, row.revoked_at, row.person)


def _hash(secret: str) -> bytes:
    return sha256(secret.encode("ascii")).digest()


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
