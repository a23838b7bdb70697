"""The record on PostgreSQL: the same chains, refusals and recoveries as in a file."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic

import psycopg
import pytest
import sqlalchemy as sa

from sshfacts.storage import tokens
from sshfacts.storage.canonical import CanonicalError
from sshfacts.storage.chain import Entry
from sshfacts.storage.engine import open_for_writing, prepare, reading, transaction
from sshfacts.storage.orphans import record_orphans
from sshfacts.storage.projection import BodyError, project
from sshfacts.storage.recorder import Recorder, open_recorder
from sshfacts.storage.tables import ENTRY
from sshfacts.storage.unavailable import NO_SERVER, RecordUnavailable
from sshfacts.storage.upkeep import open_upkeep
from sshfacts.storage.writer import Writer, last_seq
from tests.support.postgresql import Database, needs_postgresql
from tests.support.records import intent, outcome, refused

pytestmark = needs_postgresql

PATIENCE = 0.4
LATER = datetime(2026, 11, 30, 11, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sshfacts.storage.recorder.REOPEN_SECONDS", 0.05)


@pytest.fixture
async def recorder(postgresql: Database) -> AsyncIterator[Recorder]:
    async with open_recorder(postgresql.url(), patience=PATIENCE) as opened:
        yield opened


def kinds(database: Database) -> list[object]:
    return [body["kind"] for body in database.stored()]


async def until_available(recorder: Recorder) -> None:
    async with asyncio.timeout(10):
        while not recorder.available:  # noqa: ASYNC110 - the service asks in the same way
            await asyncio.sleep(0.01)


async def test_one_service_is_one_chain_with_a_first_and_a_last_record(postgresql: Database):
    async with open_recorder(postgresql.url(), {"service_version": "0.1.0"}) as recorder:
        leaf = await recorder.append(intent())
        assert kinds(postgresql) == ["writer_start", "intent"], "it is durable when append returns"
        await recorder.append(outcome(leaf))
        await recorder.append(refused())
    bodies = postgresql.stored()
    assert [body["kind"] for body in bodies] == ["writer_start", "intent", "outcome", "intent", "writer_stop"]
    assert (bodies[0]["service_version"], bodies[2]["intent"]) == ("0.1.0", leaf.hex())


async def test_columns_are_what_the_body_says(postgresql: Database, reading: sa.Engine):
    async with open_recorder(postgresql.url()) as recorder:
        leaf = await recorder.append(intent(arguments={"mount": "/srv/größe 🗄 \u202e", "limit": 2**53 - 1}))
        await recorder.append(outcome(leaf, exit_status=255, stderr={"bytes": 2**40, "sha256": None, "text": "\ufffd"}))
    with transaction(reading) as connection:
        rows = connection.execute(sa.select(ENTRY).order_by(ENTRY.c.id)).mappings().all()
    for row, body in zip(rows, postgresql.stored(), strict=True):
        columns = project(body)
        assert {name: row[name] for name in columns} == columns


async def test_many_callers_share_commits_and_all_get_their_own_hash(postgresql: Database):
    async with open_recorder(postgresql.url()) as recorder:
        leaves = await asyncio.gather(*(recorder.append(intent(f"req.{number:08}")) for number in range(600)))
    intents = [body for body in postgresql.stored() if body["kind"] == "intent"]
    assert len(set(leaves)) == 600
    assert [body["request_id"] for body in intents] == [f"req.{number:08}" for number in range(600)]
    assert postgresql.scalar("SELECT count(DISTINCT xmin::text) FROM audit_entry") < 100


async def test_replicas_write_one_database_without_waiting_for_each_other(postgresql: Database):
    async def replica() -> None:
        async with open_recorder(postgresql.url()) as recorder:
            for number in range(40):
                leaf = await recorder.append(intent(f"req.{number:08}"))
                await recorder.append(outcome(leaf, f"req.{number:08}"))

    await asyncio.gather(*(replica() for _ in range(4)))
    bodies = postgresql.stored()
    assert len(bodies) == 4 * (1 + 80 + 1)
    assert len({body["writer"] for body in bodies}) == 4


async def test_a_cancelled_caller_does_not_break_the_chain(recorder: Recorder, postgresql: Database):
    calls = [asyncio.create_task(recorder.append(intent(f"req.{number:08}"))) for number in range(20)]
    await asyncio.sleep(0)
    for call in calls[::2]:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await recorder.append(intent("req.afterwards"))
    requests = [body["request_id"] for body in postgresql.stored() if body["kind"] == "intent"]
    assert requests == [*(f"req.{number:08}" for number in range(20)), "req.afterwards"]


async def test_a_bad_body_fails_its_caller_alone(recorder: Recorder, postgresql: Database):
    results = await asyncio.gather(
        recorder.append(intent("req.good0001")),
        recorder.append(intent(host="h" * 3_000)),
        recorder.append(intent(reason="a\x00b")),
        recorder.append(intent("req.good0002")),
        return_exceptions=True,
    )
    assert [type(result) for result in results] == [bytes, BodyError, CanonicalError, bytes]
    assert kinds(postgresql) == ["writer_start", "intent", "intent"]


async def test_the_longest_text_that_is_taken_fits_every_index(recorder: Recorder):
    # Random text, which PostgreSQL cannot compress.
    text = "".join(chr(0x4E00 + (number * 7_919) % 20_000) for number in range(341))
    names = ("caller", "host", "operation", "operation_digest", "approver", "request_id")
    await recorder.append(intent(**dict.fromkeys(names, text)))


async def test_a_commit_whose_answer_was_lost_is_not_doubled(
    postgresql: Database, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
):
    lost: list[bool] = []
    commit = Writer._commit

    def losing(self: Writer, entries: Sequence[Entry], *, doubtful: bool) -> None:
        commit(self, entries, doubtful=doubtful)
        if not lost:
            lost.append(True)
            raise psycopg.OperationalError("the connection broke while the answer was on its way")

    monkeypatch.setattr(Writer, "_commit", losing)
    await recorder.append(intent())
    assert lost
    assert kinds(postgresql) == ["writer_start", "intent"]


async def test_rows_of_a_commit_that_is_still_under_way_are_waited_for(recorder: Recorder, postgresql: Database):
    """A server that lost its client may commit later; the rows that are tried again meet their own unique numbers."""
    held = threading.Event()
    commit = Writer._commit
    connections = []

    def cut_off(self: Writer, entries: Sequence[Entry], *, doubtful: bool) -> None:
        if doubtful:
            return commit(self, entries, doubtful=doubtful)
        assert self._connection is not None
        transaction = self._connection.begin()
        self._insertion.execute(self._connection, [entry.row for entry in entries])
        connections.append((self._connection, transaction))  # goes on living on the server
        self._connection = None
        held.set()
        raise psycopg.OperationalError("the network is gone")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Writer, "_commit", cut_off)
        waiting = asyncio.create_task(recorder.append(intent()))
        await asyncio.to_thread(held.wait, 5)
        await asyncio.sleep(0.1)
        assert not waiting.done()
        connections[0][1].commit()
        await waiting
    connections[0][0].close()
    assert kinds(postgresql) == ["writer_start", "intent"]


async def test_a_database_that_drops_rows_in_silence_is_not_believed(recorder: Recorder, postgresql: Database):
    postgresql.execute("CREATE RULE swallow AS ON INSERT TO audit_entry DO INSTEAD NOTHING")
    with pytest.raises(RecordUnavailable, match="drops rows"):
        await recorder.append(intent())
    postgresql.execute("DROP RULE swallow ON audit_entry")
    await until_available(recorder)


async def test_while_the_server_is_away_callers_are_refused_and_soon_at_once(recorder: Recorder, postgresql: Database):
    postgresql.refuse_connections()
    begin = monotonic()
    with pytest.raises(RecordUnavailable, match=NO_SERVER):
        await recorder.append(intent())
    assert PATIENCE / 2 < monotonic() - begin < PATIENCE + 2
    assert not recorder.available
    begin = monotonic()
    with pytest.raises(RecordUnavailable, match=NO_SERVER):
        await recorder.append(intent())
    assert monotonic() - begin < PATIENCE / 2
    postgresql.refuse_connections(refused=False)
    await until_available(recorder)
    await recorder.append(intent("req.afterwards"))
    bodies = postgresql.stored()
    assert [body["kind"] for body in bodies] == ["writer_start", "writer_start", "intent"]
    assert bodies[1]["after"] == bodies[0]["writer"]


async def test_outcomes_of_calls_that_ran_are_recorded_late(
    recorder: Recorder, postgresql: Database, caplog: pytest.LogCaptureFixture
):
    leaves = [await recorder.append(intent(f"req.{number:08}")) for number in range(3)]
    postgresql.refuse_connections()
    calls = (recorder.append(outcome(leaf, f"req.{number:08}")) for number, leaf in enumerate(leaves))
    results = await asyncio.gather(*calls, recorder.append(intent("req.not_run")), return_exceptions=True)
    assert [type(result) for result in results] == [RecordUnavailable] * 4
    postgresql.refuse_connections(refused=False)
    await until_available(recorder)
    await recorder.close()
    late = [body for body in postgresql.stored() if body["kind"] == "outcome"]
    assert [(body["request_id"], body["late"]) for body in late] == [(f"req.{number:08}", True) for number in range(3)]
    assert "req.not_run" not in {body.get("request_id") for body in postgresql.stored()}
    assert not {"insert", "req."} & set(caplog.text.lower().split()), "what drivers log is no content of records"


async def test_a_statement_that_hangs_is_ended_by_the_server(recorder: Recorder, postgresql: Database):
    assert recorder.available
    with postgresql.connection() as connection, connection.transaction():
        connection.execute("LOCK TABLE audit_entry IN ACCESS EXCLUSIVE MODE")
        begin = monotonic()
        with pytest.raises(RecordUnavailable, match="does not answer"):
            await recorder.append(intent())
        assert monotonic() - begin < PATIENCE + 2
    await until_available(recorder)


async def test_how_far_a_chain_reaches_can_be_seen_with_the_rights_of_the_service(
    recorder: Recorder, postgresql: Database, writing: sa.Engine
):
    await recorder.append(intent())
    [start, _] = postgresql.stored()
    with transaction(writing) as connection:
        assert last_seq(connection, str(start["writer"])) == 1
        assert last_seq(connection, "another") == -1


async def test_orphans_are_closed_with_the_rights_of_the_service(recorder: Recorder, postgresql: Database):
    leaf = await recorder.append(intent("req.cut_off"))
    await recorder.append(outcome(await recorder.append(intent("req.answered")), "req.answered"))
    await recorder.append(refused("req.denied"))
    reader = reading(recorder.engine)
    assert await record_orphans(reader, recorder, LATER) == ["req.cut_off"]
    assert await record_orphans(reader, recorder, LATER) == []
    reader.dispose()
    [orphan] = [body for body in postgresql.stored() if body["kind"] == "orphan"]
    assert (orphan["request_id"], orphan["intent"]) == ("req.cut_off", leaf.hex())


async def test_upkeep_knows_when_calls_can_be_recorded(recorder: Recorder, postgresql: Database):
    async with open_upkeep(recorder, seconds=0.05) as upkeep:
        assert upkeep.ready
        assert upkeep.defects == ()
        postgresql.execute("ALTER TABLE audit_entry DISABLE TRIGGER audit_entry_no_change")
        async with asyncio.timeout(5):
            while upkeep.ready:  # noqa: ASYNC110 - as the service asks
                await asyncio.sleep(0.01)
        assert [defect.name for defect in upkeep.defects] == ["guards"]
        postgresql.execute("ALTER TABLE audit_entry ENABLE ALWAYS TRIGGER audit_entry_no_change")
        async with asyncio.timeout(5):
            while not upkeep.ready:  # noqa: ASYNC110 - as the service asks
                await asyncio.sleep(0.01)


async def test_a_new_service_closes_what_was_cut_off_long_ago(postgresql: Database):
    month_ago = datetime.now(UTC) - timedelta(days=30)
    async with open_recorder(postgresql.url()) as recorder:
        await recorder.append(intent("req.cut_off", at=month_ago.isoformat(), deadline_at=month_ago.isoformat()))
        async with open_upkeep(recorder):
            assert kinds(postgresql)[-1] == "orphan"


def test_tokens_are_made_found_and_revoked_with_the_rights_of_the_service(writing: sa.Engine, postgresql: Database):
    reader = reading(writing)
    kept, gone = tokens.add(writing, "helper"), tokens.add_for_person(writing, "anna")
    assert tokens.revoke(writing, gone.split("_")[1])
    assert not tokens.revoke(writing, gone.split("_")[1])
    found = tokens.find(reader, kept)
    assert found is not None
    assert found.caller == "helper"
    assert tokens.find(reader, gone) is None
    assert [token.revoked_at is None for token in tokens.all_tokens(reader)] == [True, False]
    reader.dispose()
    assert kinds(postgresql).count("token") == 3


async def test_a_database_of_another_encoding_is_not_used(postgresql: Database):
    """The one defect that needs a database of its own; the others are looked at with the doctor."""
    name = f"{postgresql.name}_latin"
    with postgresql.cluster.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    latin = Database(postgresql.cluster, name)
    latin.execute("GRANT CONNECT ON DATABASE " + name + " TO PUBLIC")
    with pytest.raises(RecordUnavailable, match="encoding is LATIN1"):
        prepare(open_for_writing(latin.url()))
