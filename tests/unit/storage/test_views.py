import asyncio
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sshfacts.builtin import builtin_site
from sshfacts.storage.ledger import Actor
from sshfacts.storage.raw_copies import open_copy
from sshfacts.storage.raw_keys import RawKey
from sshfacts.storage.recorder import open_recorder
from sshfacts.storage.vault import protect
from tests.support.records import intent, outcome, refused, url_of

VIEWS = {file.stem: file.read_text(encoding="utf-8") for file in (builtin_site() / "storage" / "views").glob("*.sql")}
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "record-views.md").read_text(encoding="utf-8")
ROLE = (builtin_site() / "storage" / "roles" / "auditor.sql").read_text(encoding="utf-8")
KEY = RawKey("raw-1", bytes(32))


def minute(number: int) -> str:
    return f"2026-11-30T10:{number:02}:00.000000Z"


async def write(database: Path) -> None:
    kept = protect(b"plain", "req.done", datetime(2027, 1, 1, tzinfo=UTC), KEY)
    async with open_recorder(url_of(database), {"service_version": "0.1.0"}) as recorder:
        leaf = await recorder.append(intent("req.done", at=minute(0)))
        body = outcome(leaf, "req.done", at=minute(1), raw=[kept.reference.as_json()])
        await recorder.append(body, [kept.row])
        await recorder.append({**body, "late": True, "at": minute(9)})
        await recorder.append(refused("req.denied", at=minute(2)))
        await recorder.append(intent("req.cut_off", at=minute(3)))
        await recorder.append({"kind": "orphan", "request_id": "req.cut_off", "at": minute(4)})
        await recorder.append({"kind": "approval", "reason": "granted", "request_id": "req.x", "approver": "berta"})
        await recorder.append({"kind": "raw_purged", "request_id": "req.gone", "blob_id": "b"})
        await asyncio.to_thread(open_copy, recorder.engine, "req.done", {KEY.name: KEY}, Actor("rita", "test"), "read")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One database for all tests of this module, which only read."""
    database = tmp_path_factory.mktemp("views") / "audit.db"
    asyncio.run(write(database))
    return database


@pytest.fixture
def connection(written: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"{written.as_uri()}?mode=ro", uri=True)) as opened:
        opened.execute("PRAGMA trusted_schema=OFF")  # as hardened builds do, so that views with JSON functions fail
        opened.row_factory = sqlite3.Row
        yield opened


def described(view: str) -> list[str]:
    section = re.split(rf"^## {view}$", PAGE, flags=re.MULTILINE)[1].split("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


def test_every_view_has_its_section_and_may_be_read_by_auditors():
    assert set(re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)) == set(VIEWS)
    assert set(re.findall(r"\b(v\d_\w+)", ROLE)) == set(VIEWS)


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_its_columns_are_those_that_are_described(connection: sqlite3.Connection, view: str):
    columns = [column[0] for column in connection.execute(f"SELECT * FROM {view}").description]  # noqa: S608 - a name of ours
    assert described(view) == columns


@pytest.mark.parametrize("view", sorted(VIEWS))
def test_it_is_one_statement_that_every_database_takes(view: str):
    text = VIEWS[view]
    assert re.match(rf"-- \S.*\.\nCREATE VIEW {view} AS\n", text)
    assert text.count(";") == 1
    assert not re.search(r"json|::|->|\?|:\w", text, re.IGNORECASE)


def test_a_request_is_one_row_even_with_an_outcome_that_came_twice(connection: sqlite3.Connection):
    rows = {row["request_id"]: row for row in connection.execute("SELECT * FROM v1_request")}
    assert len(rows) == len(list(connection.execute("SELECT 1 FROM v1_request"))) == 3
    assert {name: row["result"] for name, row in rows.items()} == {
        "req.done": "success",
        "req.denied": "DENIED",
        "req.cut_off": "may have run",
    }
    assert rows["req.done"]["finished_at"].startswith("2026-11-30 10:01")


@pytest.mark.parametrize(
    ("view", "column", "values"),
    [
        ("v1_refusal", "request_id", ["req.denied"]),
        ("v1_open", "request_id", ["req.cut_off"]),
        ("v1_approval", "step", ["granted"]),
        ("v1_raw_copy", "request_id", ["req.done"]),
        ("v1_raw_read", "purpose", ["read"]),
        ("v1_purge", "request_id", ["req.gone"]),
        ("v1_checkpoint", "note", []),
        ("v1_writer", "kind", ["writer_start", "writer_start", "writer_stop", "writer_stop"]),
    ],
)
def test_what_each_view_holds(connection: sqlite3.Connection, view: str, column: str, values: list[str]):
    rows = connection.execute(f"SELECT {column} FROM {view} ORDER BY 1")  # noqa: S608 - names of ours
    assert [row[0] for row in rows] == values


@pytest.mark.parametrize(
    "condition",
    ["caller = 'helper' AND at >= '2026-11-30'", "request_id = 'req.done'", "host = 'web-1'", "at > '2027'"],
)
def test_the_view_of_requests_reads_by_an_index(connection: sqlite3.Connection, condition: str):
    statement = f"EXPLAIN QUERY PLAN SELECT * FROM v1_request WHERE {condition}"  # noqa: S608 - conditions of ours
    plan = [row["detail"] for row in connection.execute(statement)]
    assert [step for step in plan if step.startswith("SCAN")] == []
