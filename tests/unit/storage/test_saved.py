import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.errors import UsageError
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.saved import Answer, Kind, SavedQuery, read_query, run, saved_queries
from sshfacts.values import JsonObject
from tests.support.records import SHA256, intent, outcome, refused, url_of

QUERIES = saved_queries()
KEY = "SHA256:p2QAMXNIC1TJYWeIOttrVc98/R1BUFWu3/LiyKgUfQM"
PERIOD = {"since": "2026-11-30", "until": "2026-12-01T00:00:00+00:00"}
ARGUMENTS = {
    "request": {"request_id": "req.failed"},
    "calls_of_caller": {"caller": "helper", **PERIOD},
    "calls_on_host": {"host": "web-1", **PERIOD},
    "calls_of_operation": {"operation": "disk_usage", **PERIOD},
    "refusals": PERIOD,
    "failures": PERIOD,
    "may_have_run": PERIOD,
    "approvals": {"approver": "berta", **PERIOD},
    "uses_of_key": {"key_fingerprint": KEY, **PERIOD},
    "uses_of_operation_digest": {"operation_digest": SHA256},
    "who_saw_output": {"stdout_sha256": SHA256},
    "calls_per_caller": PERIOD,
    "services": {"since": "2026-01-01", "until": "2100-01-01"},
    "raw_reads": PERIOD,
}
REQUESTS = {
    "request": ["req.failed"] * 3,
    "calls_of_caller": ["req.failed", "req.denied", "req.cut_off", "req.approved"],
    "calls_on_host": ["req.failed", "req.denied", "req.cut_off", "req.approved"],
    "calls_of_operation": ["req.failed", "req.denied", "req.cut_off", "req.approved"],
    "refusals": ["req.denied"],
    "failures": ["req.failed"],
    "may_have_run": ["req.cut_off"],
    "approvals": ["req.approved"],
    "uses_of_key": ["req.failed", "req.approved"],
    "who_saw_output": ["req.failed", "req.approved"],
    "raw_reads": ["req.failed"],
}

INDEXES = {
    "calls_per_caller": "COVERING INDEX ix_audit_entry_asked",
    "failures": "INDEX ix_audit_entry_failed",
    "raw_reads": "INDEX ix_audit_entry_raw_read",
    "refusals": "INDEX ix_audit_entry_refused",
    "services": "INDEX ix_audit_entry_writer",
    "uses_of_operation_digest": "COVERING INDEX ix_audit_entry_operation_digest",
}
"""What reads no more than the answer, where any other index would read all records of the period."""


def minute(number: int) -> str:
    return f"2026-11-30T10:{number:02}:00.000000Z"


async def record_calls(database: Path) -> None:
    async with open_recorder(url_of(database), {"service_version": "0.1.0"}) as recorder:
        leaf = await recorder.append(intent("req.failed", at=minute(0)))
        await recorder.append(outcome(leaf, "req.failed", at=minute(1), code="TIMEOUT", detail="timeout.run"))
        await recorder.append(refused("req.denied", at=minute(2)))
        await recorder.append(intent("req.cut_off", at=minute(3)))
        leaf = await recorder.append(intent("req.approved", at=minute(4), approver="berta"))
        await recorder.append(outcome(leaf, "req.approved", at=minute(5)))
        reading: JsonObject = {"kind": "raw_read", "request_id": "req.failed", "reason": "read", "at": minute(6)}
        await recorder.append(reading)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One database for all tests of this module, which only read."""
    database = tmp_path_factory.mktemp("saved") / "audit.db"
    asyncio.run(record_calls(database))
    return database


@pytest.fixture
def reader(written: Path) -> sa.Engine:
    return open_for_reading(url_of(written))


def column(answer: Answer, name: str) -> list[object]:
    return [row[answer.columns.index(name)] for row in answer.rows]


def test_every_saved_query_is_tried_here():
    assert ARGUMENTS.keys() == QUERIES.keys()


@pytest.mark.parametrize("name", sorted(REQUESTS))
def test_it_finds_the_requests_that_it_asks_for(reader: sa.Engine, name: str):
    answer = run(reader, QUERIES[name], ARGUMENTS[name])
    found = column(answer, "request_id") if name != "request" else [ARGUMENTS[name]["request_id"]] * len(answer.rows)
    assert found == REQUESTS[name]


def test_what_became_of_each_call(reader: sa.Engine):
    answer = run(reader, QUERIES["calls_of_caller"], ARGUMENTS["calls_of_caller"])
    assert column(answer, "result") == ["TIMEOUT", "DENIED", "may have run", "success"]


def test_how_often_a_version_was_in_use(reader: sa.Engine):
    answer = run(reader, QUERIES["uses_of_operation_digest"], ARGUMENTS["uses_of_operation_digest"])
    assert [row[0] for row in answer.rows] == ["disk_usage"]
    assert column(answer, "requests") == [4]


def test_how_much_each_caller_asked_for(reader: sa.Engine):
    answer = run(reader, QUERIES["calls_per_caller"], PERIOD)
    assert [row[:3] for row in answer.rows] == [("helper", 4, 1)]


def test_when_the_service_ran(reader: sa.Engine):
    answer = run(reader, QUERIES["services"], ARGUMENTS["services"])
    assert column(answer, "kind") == ["writer_start", "writer_stop"]
    assert column(answer, "service_version") == ["0.1.0", None]


def plan_of(database: Path, name: str) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {QUERIES[name].statement}", ARGUMENTS[name])
        return [str(row[3]) for row in plan]


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_it_reads_by_an_index(written: Path, name: str):
    steps = plan_of(written, name)
    assert steps
    assert [step for step in steps if step.startswith("SCAN") and "INDEX" not in step] == []


@pytest.mark.parametrize("name", sorted(INDEXES))
def test_it_reads_by_the_index_that_was_made_for_it(written: Path, name: str):
    assert f"USING {INDEXES[name]} " in plan_of(written, name)[0]


@pytest.mark.parametrize("query", QUERIES.values(), ids=lambda query: query.name)
def test_its_parameters_are_those_of_its_statement(query: SavedQuery):
    assert set(sa.text(query.statement).compile().params) == set(query.parameters)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"since": "2026-11-30"},
        {**PERIOD, "caller": "helper"},
        {"since": "yesterday", "until": "2026-12-01"},
    ],
)
def test_arguments_that_do_not_fit_are_refused(reader: sa.Engine, arguments: dict[str, str]):
    with pytest.raises(UsageError):
        run(reader, QUERIES["refusals"], arguments)


def test_an_argument_is_never_sql(reader: sa.Engine):
    answer = run(reader, QUERIES["request"], {"request_id": "x' OR '1'='1"})
    assert answer.rows == []


def test_a_file_says_its_question_and_parameters(tmp_path: Path):
    file = tmp_path / "q.sql"
    file.write_text("-- Who?\n--   name: text\n--   since: instant\nSELECT :name, :since\n")
    query = read_query(file)
    assert (query.name, query.question, query.statement) == ("q", "Who?", "SELECT :name, :since")
    assert query.parameters == {"name": Kind.TEXT, "since": Kind.INSTANT}


@pytest.mark.parametrize(
    "text",
    ["SELECT 1\n", "-- Who\nSELECT 1\n", "-- Who?\n--   name: number\nSELECT 1\n", "-- Who?\n-- why\nSELECT 1\n"],
)
def test_a_file_that_begins_in_another_way_is_refused(tmp_path: Path, text: str):
    file = tmp_path / "q.sql"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"q\.sql"):
        read_query(file)
