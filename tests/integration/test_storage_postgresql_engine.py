"""How a PostgreSQL database is opened: sessions, snapshots, passwords, and servers that are not there."""

import gc
import stat
from pathlib import Path
from time import monotonic

import pytest
import sqlalchemy as sa

from sshfacts.storage import engine as engines
from sshfacts.storage.engine import is_owner, open_for_reading, open_for_writing, prepare, transaction
from sshfacts.storage.unavailable import NO_SERVER, RecordUnavailable
from tests.support.postgresql import PASSWORD, Cluster, Database, needs_postgresql

pytestmark = needs_postgresql

COUNT = "SELECT count(*) FROM audit_entry"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("search_path", "public"),
        ("TimeZone", "UTC"),
        ("client_encoding", "UTF8"),
        ("application_name", "sshfacts"),
        ("statement_timeout", "4s"),
        ("lock_timeout", "4s"),
        ("idle_in_transaction_session_timeout", "10s"),
        ("transaction_isolation", "read committed"),
        ("transaction_read_only", "off"),
        ("synchronous_commit", "on"),
    ],
)
def test_a_writing_session_has_the_settings_of_a_record(writing: sa.Engine, setting: str, value: str):
    with transaction(writing) as connection:
        assert connection.exec_driver_sql(f"SHOW {setting}").scalar() == value


def test_a_reading_session_cannot_write(reading: sa.Engine):
    with pytest.raises(RecordUnavailable, match="25006"), transaction(reading) as connection:
        connection.exec_driver_sql("CREATE TABLE other (id int)")


def test_a_reading_transaction_is_one_snapshot(reading: sa.Engine, postgresql: Database):
    with transaction(reading) as connection:
        before = connection.exec_driver_sql(COUNT).scalar()
        postgresql.execute(
            "INSERT INTO audit_entry (writer_id, seq, leaf_hash, body, kind, at)"
            " VALUES ('w', 0, '', '{}', 'intent', now())"
        )
        assert connection.exec_driver_sql(COUNT).scalar() == before == 0
    with transaction(reading) as connection:
        assert connection.exec_driver_sql(COUNT).scalar() == 1


def test_a_reading_engine_is_made_from_a_writing_one(writing: sa.Engine):
    reader = engines.reading(writing)
    with transaction(reader) as connection:
        assert connection.exec_driver_sql("SELECT current_user").scalar() == "facts_service"
        assert connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on"
    reader.dispose()


def test_a_connection_that_was_ended_is_replaced_before_it_is_needed(reading: sa.Engine, postgresql: Database):
    with transaction(reading) as connection:
        first = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
    postgresql.execute(f"SELECT pg_terminate_backend({first}, 5000)")
    with transaction(reading) as connection:
        assert connection.exec_driver_sql("SELECT pg_backend_pid()").scalar() != first


def test_connections_end_with_an_engine_that_nobody_closed(postgresql: Database):
    engine = open_for_reading(postgresql.url())
    with transaction(engine) as connection:
        pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
    count = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid}"  # noqa: S608 - a number
    assert postgresql.scalar(count) == 1
    del engine, connection
    gc.collect()
    end = monotonic() + 10
    while postgresql.scalar(count):
        assert monotonic() < end, "the connection stays"


def test_a_failed_transaction_leaves_nothing(postgresql: Database):
    engine = open_for_writing(postgresql.superuser_url)

    def fail_halfway() -> None:
        with transaction(engine) as connection:
            connection.exec_driver_sql("CREATE TABLE half (id int)")
            connection.exec_driver_sql("SELECT no_such_column FROM token")

    with pytest.raises(RecordUnavailable, match="42703"):
        fail_halfway()
    assert postgresql.scalar("SELECT to_regclass('half')") is None


def test_an_error_holds_neither_sql_nor_parameters(writing: sa.Engine):
    with pytest.raises(RecordUnavailable) as caught, transaction(writing) as connection:
        connection.execute(sa.text("INSERT INTO token (id) VALUES (:secret)"), {"secret": "hunter2"})
    assert str(caught.value) == "the record is unavailable: 23502"
    assert caught.value.__suppress_context__


def test_who_logs_in_with_the_rights_of_the_service_owns_the_database(writing: sa.Engine, postgresql: Database):
    assert is_owner(writing)
    assert not is_owner(open_for_writing(postgresql.url("facts_sealer")))


def test_a_password_is_read_for_each_connection(postgresql: Database, tmp_path: Path):
    file = tmp_path / "password"
    file.touch(mode=0o600)
    file.write_text("an old one\n")
    engine = open_for_writing(f"{postgresql.url().partition('?')[0]}?password_file={file}")
    with pytest.raises(RecordUnavailable, match=NO_SERVER):
        prepare(engine)
    file.write_text(PASSWORD, encoding="utf-8")
    prepare(engine)


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        (None, 0, "cannot be read: ENOENT"),
        (b"secret\n", 0o604, "open to every user"),
        (b"", 0o600, "holds no password"),
        (b"\n", 0o600, "holds no password"),
        (b"secret\nsecret\n", 0o600, "holds no password"),
        (b"se\x00cret", 0o600, "holds no password"),
        (b"s" * 2_000, 0o600, "holds no password"),
        (b"\xff\xfesecret", 0o600, "not UTF-8"),
    ],
)
def test_a_password_file_that_cannot_be_used(tmp_path: Path, content: bytes | None, mode: int, reason: str):
    file = tmp_path / "password"
    if content is not None:
        file.write_bytes(content)
        file.chmod(mode)
        assert stat.S_IMODE(file.stat().st_mode) == mode
    engine = open_for_writing(f"postgresql://someone@127.0.0.1:1/audit?password_file={file}")
    with pytest.raises(RecordUnavailable, match=reason) as caught:
        prepare(engine)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://someone@127.0.0.1:1/audit",
        "postgresql://someone@/audit?host=/nowhere/at/all",
        "postgresql://someone@127.0.0.1:{port}/audit",
        "postgresql://facts_service@127.0.0.1:{port}/no_such_database?password_file={password_file}",
    ],
)
def test_a_server_that_is_not_there_or_turns_us_away(cluster: Cluster, url: str):
    named = url.format(port=cluster.port, password_file=cluster.password_file)
    begin = monotonic()
    for engine in (open_for_writing(named), open_for_reading(named)):
        with pytest.raises(RecordUnavailable) as caught:
            prepare(engine)
        assert caught.value.reason == NO_SERVER
    assert monotonic() - begin < 8
