import asyncio
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import event

from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.queries import MAY_HAVE_RUN, Filters, open_intents, requests, story
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.unavailable import RecordAltered, RecordUnavailable
from tests.support.records import SHA256, intent, outcome, refused, url_of

TEN = datetime(2026, 11, 30, 10, tzinfo=UTC)


def minute(number: int) -> str:
    return f"2026-11-30T10:{number:02}:00.000000Z"


async def record_calls(database: Path) -> None:
    """Record five requests: answered, failed, denied, cut off, and refused after its decision."""
    async with open_recorder(url_of(database)) as recorder:
        leaf = await recorder.append(intent("req.answered", at=minute(0)))
        await recorder.append(outcome(leaf, "req.answered", at=minute(1)))
        leaf = await recorder.append(intent("req.failed", at=minute(2), caller="other", host="db-1"))
        await recorder.append(
            outcome(leaf, "req.failed", at=minute(3), code="TIMEOUT", stage="run", detail="timeout.run")
        )
        await recorder.append(refused("req.denied", at=minute(4)))
        await recorder.append(intent("req.cut_off", at=minute(5)))
        await recorder.append(
            intent("req.unrunnable", at=minute(6), code="INTERNAL", stage="any", detail="internal", command=None)
        )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One database for all tests that only read."""
    database = tmp_path_factory.mktemp("queries") / "audit.db"
    asyncio.run(record_calls(database))
    return database


@pytest.fixture
def reader(written: Path) -> sa.Engine:
    return open_for_reading(url_of(written))


@pytest.fixture
def own(written: Path, database: Path) -> Path:
    """A copy for a test that writes; with no writer on it, the file is the whole database."""
    return Path(shutil.copy(written, database))


def test_requests_are_listed_newest_first_with_what_became_of_them(reader: sa.Engine):
    assert [(row.request_id, row.state, row.detail) for row in requests(reader)] == [
        ("req.unrunnable", "INTERNAL", "internal"),
        ("req.cut_off", MAY_HAVE_RUN, None),
        ("req.denied", "DENIED", "grant_missing"),
        ("req.failed", "TIMEOUT", "timeout.run"),
        ("req.answered", "success", None),
    ]


def test_a_row_joins_intent_and_outcome(reader: sa.Engine):
    row = requests(reader)[-1]
    assert (row.at, row.finished_at) == (TEN, TEN + timedelta(minutes=1))
    assert (row.caller, row.principal, row.operation, row.host) == ("helper", "anna", "disk_usage", "web-1")
    assert (row.decision, row.reason, row.exit_status, row.attempts) == ("allow", "ok", 0, 1)
    assert (row.stdout_bytes, row.stdout_sha256, row.facts_sha256) == (812, SHA256, SHA256)


def test_a_row_as_json_has_instants_as_text(reader: sa.Engine):
    row = requests(reader)[1].as_json()
    assert row["at"] == minute(5)
    assert row["finished_at"] is None
    assert row["state"] == MAY_HAVE_RUN


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(caller="other"), ["failed"]),
        (Filters(caller="nobody"), []),
        (Filters(principal="anna", host="db-1"), ["failed"]),
        (Filters(operation="disk_usage", decision="deny"), ["denied"]),
        (Filters(code="success"), ["answered"]),
        (Filters(code="DENIED"), ["denied"]),
        (Filters(code="TIMEOUT"), ["failed"]),
        (Filters(only_open=True), ["cut_off"]),
        (Filters(since=TEN + timedelta(minutes=5)), ["unrunnable", "cut_off"]),
        (Filters(until=TEN + timedelta(minutes=2)), ["answered"]),
        (Filters(since=TEN, until=TEN), []),
    ],
)
def test_filters(reader: sa.Engine, filters: Filters, expected: list[str]):
    assert [row.request_id for row in requests(reader, filters=filters)] == [f"req.{name}" for name in expected]


def test_the_limit_keeps_the_newest(reader: sa.Engine):
    assert [row.request_id for row in requests(reader, limit=2)] == ["req.unrunnable", "req.cut_off"]


async def test_a_second_outcome_does_not_double_a_request(own: Path):
    async with open_recorder(url_of(own)) as recorder:
        await recorder.append(outcome(bytes(32), "req.answered", code="INTERNAL", late=True))
    rows = requests(open_for_reading(url_of(own)))
    assert [row.state for row in rows if row.request_id == "req.answered"] == ["success"]


def test_a_story_is_every_record_of_one_request_in_order(reader: sa.Engine):
    assert [body["kind"] for body in story(reader, "req.answered")] == ["intent", "outcome"]
    assert [body["kind"] for body in story(reader, "req.denied")] == ["intent"]
    assert story(reader, "req.unknown") == []


def test_only_requests_that_were_to_run_are_open(reader: sa.Engine):
    found = open_intents(reader, TEN, TEN + timedelta(hours=1))
    assert [one.request_id for one in found] == ["req.cut_off"]
    assert found[0].deadline_at == TEN + timedelta(seconds=11)
    assert open_intents(reader, TEN, TEN + timedelta(minutes=5)) == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"kind": "intent"}', "not in canonical form"),
        ('{"kind":"intent"}', "not what its hash says"),
        ("hunter2", "not JSON"),
    ],
)
def test_a_body_that_was_altered_is_not_shown_as_a_story(own: Path, body: str, message: str):
    with closing(sqlite3.connect(own)) as connection:
        connection.execute("DROP TRIGGER audit_entry_no_update")
        connection.execute("UPDATE audit_entry SET body = ? WHERE request_id = 'req.answered'", (body,))
        connection.commit()
    with pytest.raises(RecordAltered, match=message) as caught:
        story(open_for_reading(url_of(own)), "req.answered")
    assert "hunter2" not in str(caught.value)


def test_a_missing_database_is_unavailable(tmp_path: Path):
    with pytest.raises(RecordUnavailable):
        requests(open_for_reading(url_of(tmp_path / "missing.db")))


class Plans:
    """What SQLite plans for each statement that an engine executes."""

    def __init__(self, engine: sa.Engine, database: Path) -> None:
        self._database = database
        self.steps: list[str] = []
        event.listen(engine, "before_cursor_execute", self._explain)

    def _explain(self, *execution: object) -> None:
        _, _, statement, parameters, _, _ = execution
        with closing(sqlite3.connect(self._database)) as connection:
            self.steps += [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]


@pytest.fixture
def plans(reader: sa.Engine, written: Path) -> Plans:
    return Plans(reader, written)


@pytest.mark.parametrize(
    "filters",
    [Filters(), Filters(caller="helper"), Filters(host="web-1"), Filters(since=TEN), Filters(only_open=True)],
)
def test_the_list_reads_by_an_index_and_sorts_nothing(reader: sa.Engine, plans: Plans, filters: Filters):
    requests(reader, filters=filters)
    assert plans.steps
    assert [
        step for step in plans.steps if "INDEX" not in step and "PRIMARY KEY" not in step and "SUB" not in step
    ] == []
    assert not any("TEMP B-TREE" in step for step in plans.steps)


def test_a_story_and_open_intents_are_searched_not_scanned(reader: sa.Engine, plans: Plans):
    story(reader, "req.answered")
    open_intents(reader, TEN, TEN + timedelta(hours=1))
    assert [step for step in plans.steps if step.startswith("SCAN")] == []
