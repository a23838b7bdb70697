"""Raw copies on PostgreSQL: each step with the rights of the role that it is for, and of no other."""

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from sshfacts.commands.settings import Person, Role, Settings
from sshfacts.permission.authentication import authenticate_person
from sshfacts.storage import tokens
from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare, transaction
from sshfacts.storage.ledger import Actor
from sshfacts.storage.raw_copies import due, key_uses, open_copy, purge, rewrap_all
from sshfacts.storage.raw_keys import RawKey
from sshfacts.storage.recorder import RecordUnavailable, open_recorder
from sshfacts.storage.stored_rows import StoredRows
from sshfacts.storage.tables import RAW
from sshfacts.storage.vault import protect
from tests.support.postgresql import Database, needs_postgresql
from tests.support.records import intent, outcome

pytestmark = needs_postgresql

KEY, NEW = RawKey("raw-1", bytes(range(32))), RawKey("raw-2", bytes(range(1, 33)))
PLAIN = b"what the host sent\n" * 50
BY = Actor("rita", "test", "someone")
DAY = timedelta(days=1)


@pytest.fixture
async def filled(postgresql: Database) -> Database:
    """One copy whose time is over, and one that is kept; written by the service."""
    now = datetime.now(UTC)
    async with open_recorder(postgresql.url()) as recorder:
        for request_id, until in (("req.old", now - DAY), ("req.new", now + DAY)):
            leaf = await recorder.append(intent(request_id))
            kept = protect(PLAIN, request_id, until, KEY)
            await recorder.append(outcome(leaf, request_id, raw=[kept.reference.as_json()]), [kept.row])
    return postgresql


def engine(database: Database, role: str) -> sa.Engine:
    opened = open_for_writing(database.url(f"facts_{role}"))
    prepare(opened)
    return opened


def kinds(database: Database) -> list[object]:
    return [body["kind"] for body in database.stored() if str(body["kind"]).startswith("raw_")]


def test_the_raw_reader_knows_a_person_by_a_token_and_reads_on_record(filled: Database, tmp_path):
    token = tokens.add_for_person(open_for_writing(filled.url()), "rita", BY)
    people = {"rita": Person("rita", frozenset({Role.RAW_READER}))}
    settings = Settings(tmp_path, "test", filled.url("facts_raw_reader"), people=people)
    reader = open_for_reading(settings.database_url)
    assert authenticate_person(token, settings, reader, Role.RAW_READER).name == "rita"
    reader.dispose()

    assert open_copy(engine(filled, "raw_reader"), "req.new", {KEY.name: KEY}, BY, "read").plain == PLAIN
    assert kinds(filled) == ["raw_read"]


def test_the_purger_removes_what_is_due_and_records_it(filled: Database):
    purger = engine(filled, "purger")
    now = datetime.now(UTC)
    assert [[copy.request_id for copy in batch] for batch in purge(purger, now, BY)] == [["req.old"]]
    assert filled.scalar("SELECT array_agg(request_id) FROM audit_raw") == ["req.new"]
    with pytest.raises(RecordUnavailable):
        list(purge(purger, now + 2 * DAY, BY))
    assert kinds(filled) == ["raw_purged", "raw_purged"]


def test_the_purger_wraps_keys_anew_and_cannot_read_a_copy(filled: Database):
    purger = engine(filled, "purger")
    assert list(rewrap_all(purger, {NEW.name: NEW, KEY.name: KEY}, BY)) == [2]
    reader = open_for_reading(filled.url("facts_purger"))
    assert [(use.key, use.copies) for use in key_uses(reader)] == [("raw-2", 2)]
    with pytest.raises(RecordUnavailable), transaction(reader) as connection:
        connection.execute(sa.select(RAW.c.ciphertext))
    reader.dispose()
    assert open_copy(engine(filled, "raw_reader"), "req.new", {NEW.name: NEW}, BY, "read").plain == PLAIN


def test_the_auditor_sees_that_there_are_copies_and_not_what_is_in_them(filled: Database, reading: sa.Engine):
    assert filled.scalar("SELECT count(*) FROM audit_raw") == 2
    with StoredRows(reading).snapshot() as snapshot:
        assert {copy.request_id for copy in snapshot.raw_copies()} == {"req.old", "req.new"}
    with pytest.raises(RecordUnavailable), transaction(reading) as connection:
        connection.execute(sa.select(RAW.c.ciphertext))


@pytest.mark.parametrize("role", ["service", "sealer", "auditor"])
def test_no_other_role_removes_or_rewraps(filled: Database, role: str):
    other = open_for_writing(filled.url(f"facts_{role}"))
    for statement in (sa.delete(RAW), sa.update(RAW).values(kek_id="x")):
        with pytest.raises(RecordUnavailable, match="42501"), transaction(other) as connection:
            connection.execute(statement)


def test_only_those_who_must_may_see_which_copies_are_due(filled: Database):
    service = open_for_reading(filled.url())
    with pytest.raises(RecordUnavailable, match="42501"):
        due(service, datetime.now(UTC), 1)
    service.dispose()
