"""Who calls: a token names a caller of `sshfacts.toml`."""

import sqlalchemy as sa

from sshfacts.commands.settings import CallerSettings, Settings
from sshfacts.errors import SshfactsError
from sshfacts.storage.tokens import find


class Unauthenticated(SshfactsError):
    """Nobody is known by this token; why is not told, so that nothing can be learnt by trying."""

    def __init__(self) -> None:
        super().__init__("the token is not valid")


def authenticate(token: str, settings: Settings, engine: sa.Engine) -> CallerSettings:
    """Return the caller that `token` belongs to.

    Args:
        engine: opened for reading.

    Raises:
        Unauthenticated: the token is malformed, unknown, wrong or revoked, or its caller is gone.
        RecordUnavailable: the database cannot be read; then nobody is known.
    """
    found = find(engine, token)
    caller = settings.callers.get(found.caller) if found is not None else None
    if caller is None:
        raise Unauthenticated
    return caller
