import sqlite3

import pytest
from sqlalchemy.exc import DBAPIError, OperationalError

from sshfacts.storage.unavailable import reason_of


class PostgresError(Exception):
    sqlstate = "23505"


def sqlite_error() -> sqlite3.Error:
    try:
        sqlite3.connect("file:/nowhere/at/all?mode=rw", uri=True)
    except sqlite3.Error as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (sqlite_error(), "SQLITE_CANTOPEN"),
        (OperationalError("INSERT secret", {"body": "secret"}, sqlite_error()), "SQLITE_CANTOPEN"),
        (DBAPIError("INSERT secret", {}, PostgresError("Key (id)=(secret) exists")), "23505"),
        (FileNotFoundError(2, "No such file", "/secret"), "ENOENT"),
        (OSError("secret"), "OSError"),
        (TypeError("secret"), "TypeError"),
    ],
)
def test_a_reason_is_a_symbol_and_no_text_of_others(error: Exception, reason: str):
    assert reason_of(error) == reason
