"""Who acts: a token names a caller, or a person, of `sshfacts.toml`, and never both."""

import sqlalchemy as sa

from sshfacts.commands.settings import CallerSettings, Person, Role, Settings
from sshfacts.errors import SshfactsError, UsageError
from sshfacts.storage.tokens import all_tokens, find


class Unauthenticated(SshfactsError):
    """Nobody is known by this token; why is not told, so that nothing can be learnt by trying."""

    def __init__(self) -> None:
        super().__init__("the token is not valid")


def authenticate(token: str, settings: Settings, engine: sa.Engine) -> CallerSettings:
    """Return the caller that `token` belongs to.

    Args:
        engine: opened for reading.

    Raises:
        Unauthenticated: the token is malformed, unknown, wrong, revoked or a person's, or its caller is gone.
        RecordUnavailable: the database cannot be read; then nobody is known.
    """
    found = find(engine, token)
    caller = settings.callers.get(found.caller) if found is not None and found.caller is not None else None
    if caller is None:
        raise Unauthenticated
    return caller


def authenticate_person(token: str, settings: Settings, engine: sa.Engine, role: Role | None = None) -> Person:
    """Return the person that `token` belongs to.

    Args:
        engine: opened for reading.
        role: what the person must be.

    Raises:
        Unauthenticated: the token is malformed, unknown, wrong, revoked or a caller's, or its person is gone.
        UsageError: the person has not this role.
        RecordUnavailable: the database cannot be read; then nobody is known.
    """
    found = find(engine, token)
    person = settings.people.get(found.person) if found is not None and found.person is not None else None
    if person is None:
        raise Unauthenticated
    if role is not None and role not in person.roles:
        raise UsageError(f"{person.name} has not the role {role}")
    return person


def has_operator(settings: Settings, engine: sa.Engine) -> bool:
    """Tell whether somebody can make tokens by a token: a valid one of a person with the role `operator`.

    Args:
        engine: opened for reading.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    operators = {person.name for person in settings.people.values() if Role.OPERATOR in person.roles}
    return any(token.revoked_at is None and token.person in operators for token in all_tokens(engine))
