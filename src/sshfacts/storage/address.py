"""What the URL of a database may say. Site files are checked against it, so nothing slow is imported here."""

import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlsplit

SQLITE = re.compile(r"sqlite:///(?P<file>[^?]+)")
"""A file's name is taken as it is. Options after a question mark are refused: `storage.sqlite` sets them."""

POSTGRESQL = "postgresql:"
"""How the URL of a PostgreSQL database begins."""

PASSWORD_FILE = "password_file"  # noqa: S105 - the name of an option
"""The option that names the file with the password."""

FORMS = "sqlite:////FOLDER/audit.db or postgresql://USER@HOST/DATABASE"
"""What a URL looks like."""

# What libpq takes and we do not set: where the server is, and how the way there is protected.
_OPTIONS = frozenset(
    {
        "host",
        "port",
        "target_session_attrs",
        "sslmode",
        "sslrootcert",
        "sslcert",
        "sslkey",
        "sslcrl",
        "channel_binding",
        "gssencmode",
        PASSWORD_FILE,
    }
)
_PASSWORDS = frozenset({"password", "passwd", "pwd", "sslpassword"})


def with_password_file(url: str, file: Path) -> str:
    """Return the URL of a PostgreSQL database with the option that names its password file."""
    return f"{url}{'&' if '?' in url else '?'}{PASSWORD_FILE}={quote(str(file), safe='/')}"


def holds_password(url: str) -> bool:
    """Tell whether a secret stands in the URL, which no text may show then."""
    try:
        parts = urlsplit(url)
        options = {name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    except ValueError:
        return True  # who knows
    return parts.password is not None or bool(options & _PASSWORDS)


def url_problem(url: str) -> str | None:
    """Return why this URL names no database that can hold a record, or `None`; the text does not hold the URL."""
    if holds_password(url):
        return "the database URL holds a password, which belongs into a file"
    if not url.startswith(POSTGRESQL):
        named = SQLITE.fullmatch(url)
        is_file = named is not None and not named["file"].startswith((":memory:", "file:"))
        return None if is_file else "the database URL names no database that can hold a record"
    parts = urlsplit(url)
    if not url.startswith("postgresql://") or not parts.path.strip("/") or parts.fragment:
        return "the database URL names no database"
    unknown = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)} - _OPTIONS
    if unknown:
        return f"the database URL sets options other than {', '.join(sorted(_OPTIONS))}"
    return None
