"""The errors of this room: the record cannot be reached, or is not what was written."""

import errno
import sqlite3

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from sshfacts.errors import SshfactsError


class RecordUnavailable(SshfactsError):
    """The database cannot be read or written now.

    Args:
        reason: a short cause for operators, such as `SQLITE_FULL`. It never holds SQL or parameters.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"the record is unavailable: {reason}")


class RecordAltered(SshfactsError):
    """A stored record is not what was written; the text says which entry and how that shows."""


NO_SERVER = "there is no connection to the database server"
"""Why nothing can be read or written while the server cannot be reached, or turns this login away."""

DATABASE_ERRORS = (SQLAlchemyError, sqlite3.Error, OSError)
"""What a statement can raise, from the toolkit, from the driver in a hook, or from the file system."""


def reason_of(error: Exception) -> str:
    """Return why a statement failed, in a form that is safe to show.

    Messages of drivers and of SQLAlchemy quote statements, parameters and key values, so only the
    driver's symbolic code is taken: SQLite's name, PostgreSQL's SQLSTATE, or `errno`'s name.
    """
    if isinstance(error, RecordUnavailable):
        return error.reason
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    if isinstance(cause, OSError) and cause.errno is not None:
        return errno.errorcode.get(cause.errno, type(cause).__name__)
    for attribute in ("sqlite_errorname", "sqlstate"):
        code = getattr(cause, attribute, None)
        if isinstance(code, str):
            return code
    if hasattr(cause, "sqlstate"):  # PostgreSQL's driver, and no word from the server: there is no connection to it
        return NO_SERVER
    return type(cause).__name__
