from pathlib import Path

import pytest

from sshfacts.errors import UsageError
from sshfacts.storage.address import holds_password, url_problem, with_password_file
from sshfacts.storage.engine import open_for_reading, open_for_writing, reading
from sshfacts.storage.postgresql import open_server


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:////var/lib/sshfacts/audit.db",
        "sqlite:///audit.db",
        "postgresql://db/audit",
        "postgresql://facts@db.example.com:5432/audit?sslmode=verify-full",
        "postgresql://facts@/audit?host=/run/postgresql&password_file=/run/secrets/database",
        "postgresql:///audit?host=one&host=two&target_session_attrs=read-write",
        "postgresql://facts@[::1]/audit",
    ],
)
def test_urls_that_name_a_database(url: str):
    assert url_problem(url) is None
    assert not holds_password(url)
    assert open_for_reading(url).dialect.name == open_for_writing(url).dialect.name == url.split(":", 1)[0]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql://me:hunter2@db/audit", "holds a password"),
        ("postgresql://db/audit?password=hunter2", "holds a password"),
        ("postgresql://db/audit?sslpassword=hunter2", "holds a password"),
        ("postgresql://[hunter2/audit", "holds a password"),
        ("postgresql://db", "names no database"),
        ("postgresql:db/audit", "names no database"),
        ("postgresql://db/audit#hunter2", "names no database"),
        ("postgresql+asyncpg://db/audit", "names no database that can hold a record"),
        ("postgres://db/audit", "names no database that can hold a record"),
        ("postgresql://db/audit?options=-cfsync%3Doff", "sets options other than"),
        ("postgresql://db/audit?passfile=/p", "sets options other than"),
        ("postgresql://db/audit?hunter2", "sets options other than"),
        ("sqlite:///audit.db?mode=ro", "names no database that can hold a record"),
        ("", "names no database that can hold a record"),
    ],
)
def test_urls_that_name_none_or_say_too_much(url: str, problem: str):
    found = url_problem(url)
    assert found is not None
    assert problem in found
    assert "hunter2" not in found
    with pytest.raises(UsageError) as caught:
        open_for_reading(url)
    assert "hunter2" not in str(caught.value)


def test_a_password_file_is_an_option_of_the_url():
    file = Path("/run/secrets/a b&c")
    first = with_password_file("postgresql://db/audit", file)
    assert first == "postgresql://db/audit?password_file=/run/secrets/a%20b%26c"
    assert open_server(first, read_only=True).url.query["password_file"] == str(file)
    assert with_password_file("postgresql://db/audit?sslmode=require", file).count("?") == 1


def test_a_reading_engine_is_on_the_same_database_with_the_same_password_file():
    url = "postgresql://facts@db:5433/audit?password_file=%2Fp&sslmode=require"
    assert reading(open_for_writing(url)).url == open_for_reading(url).url
