"""The saved questions and the views on PostgreSQL, asked by an auditor."""

import pytest
import sqlalchemy as sa

from sshfacts.builtin import builtin_site
from sshfacts.storage.engine import open_for_writing, transaction
from sshfacts.storage.recorder import RecordUnavailable, open_recorder
from sshfacts.storage.saved import Kind, SavedQuery, run, saved_queries
from tests.support.postgresql import Database, needs_postgresql
from tests.support.records import intent, outcome, refused

pytestmark = needs_postgresql

QUERIES = saved_queries()
VIEWS = sorted(file.stem for file in (builtin_site() / "storage" / "views").glob("*.sql"))
TEXTS = {"request_id": "req.done", "caller": "helper", "host": "web-1", "operation": "disk_usage"}


@pytest.fixture
async def filled(postgresql: Database) -> Database:
    async with open_recorder(postgresql.url()) as recorder:
        leaf = await recorder.append(intent("req.done"))
        await recorder.append(outcome(leaf, "req.done"))
        await recorder.append(refused("req.denied"))
    return postgresql


def arguments_of(query: SavedQuery) -> dict[str, str]:
    instants = {"since": "2026-11-30", "until": "2026-12-01"}
    return {
        name: instants[name] if kind is Kind.INSTANT else TEXTS.get(name, "x")
        for name, kind in query.parameters.items()
    }


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_every_question_is_answered(filled: Database, reading: sa.Engine, query: SavedQuery):
    assert filled.scalar("SELECT count(*) FROM audit_entry") == 5
    assert run(reading, query, arguments_of(query)).columns


def test_what_a_caller_asked_for_is_found(filled: Database, reading: sa.Engine):
    assert filled.scalar("SELECT count(*) FROM audit_entry") == 5
    answer = run(reading, QUERIES["calls_of_caller"], arguments_of(QUERIES["calls_of_caller"]))
    results = [row[answer.columns.index("result")] for row in answer.rows]
    assert sorted(map(str, results)) == ["DENIED", "success"]


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_every_question_can_be_answered_by_an_index(reading: sa.Engine, query: SavedQuery):
    """A small table is read as a whole unless that is made dear; what then still is has no index."""
    bound = {name: "2026-11-30" if kind is Kind.INSTANT else "x" for name, kind in query.parameters.items()}
    with transaction(reading) as connection:
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        plan = list(connection.scalars(sa.text(f"EXPLAIN {query.statement}"), bound))
    assert plan
    assert [line for line in plan if "Seq Scan" in line] == []


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_can_be_read_by_auditors_and_by_nobody_else(filled: Database, reading: sa.Engine, view: str):
    with transaction(reading) as connection:
        rows = connection.exec_driver_sql(f"SELECT * FROM {view}").fetchall()  # noqa: S608 - a name of ours
    assert rows or view not in ("v1_request", "v1_refusal", "v1_writer")
    with pytest.raises(RecordUnavailable, match="42501"), transaction(open_for_writing(filled.url())) as connection:
        connection.exec_driver_sql(f"SELECT * FROM {view}")  # noqa: S608 - a name of ours


def test_a_request_is_one_row(filled: Database, reading: sa.Engine):
    assert filled.scalar("SELECT count(*) FROM audit_entry") == 5
    with transaction(reading) as connection:
        rows = connection.exec_driver_sql("SELECT request_id, result FROM v1_request ORDER BY 1").fetchall()
    assert [tuple(row) for row in rows] == [("req.denied", "DENIED"), ("req.done", "success")]
