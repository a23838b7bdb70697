"""What a large record costs its auditors: every saved question, and verification, on each database.

The aims at one million records are 50 ms for each question and 5,000 verified records per second. Both are
reported, and not judged, since they depend on the machine.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import islice
from pathlib import Path
from time import perf_counter

import sqlalchemy as sa

from benchmarks.audit_rows import (
    DAYS,
    FIRST_DAY,
    OPERATION,
    approver_name,
    caller_name,
    host_name,
    key_fingerprint,
    operation_digest,
    rows_of_quarter,
)
from sshfacts.storage.engine import open_for_reading, open_for_writing, transaction, upgrade
from sshfacts.storage.saved import run, saved_queries
from sshfacts.storage.signing_keys import KeyFile
from sshfacts.storage.tables import ENTRY
from tests.support.postgresql import INITDB, Cluster, on_postgresql
from tests.support.sealed import KEY, SealedRecord, new_sqlite

QUESTION_MS = 50.0
VERIFIED_PER_SECOND = 5_000
TURNS = 3
ROWS_AT_ONCE = 10_000
"""Rows in one transaction, and between two checkpoints."""

_MIDDLE = DAYS // 2
_WEEK = 7
_OF_ONE_DAY = frozenset({"calls_of_caller", "calls_of_operation", "may_have_run"})
"""The questions about one day; those about other periods are about a week."""


def measure_questions(records: int, folder: Path, url: str | None) -> dict[str, float]:
    """Print and return what questions and verification cost on SQLite, and on PostgreSQL where there is one.

    Args:
        folder: where the databases are made.
        url: of an empty PostgreSQL database, for a login that has every right on it; without one a server is
            started if its programs are installed.
    """
    # The database that was given comes first, so that one that cannot be used shows at once.
    results = _measure_postgresql(records, folder, url)
    return results | _measure("sqlite", new_sqlite(folder / "sqlite"), records)


def _measure_postgresql(records: int, folder: Path, url: str | None) -> dict[str, float]:
    if url is not None:
        return _measure("postgresql", _in_empty_database(folder / "postgresql", url), records, vacuum_url=url)
    if INITDB is None:
        print("no PostgreSQL server is installed: it is not measured")
        return {}
    with Cluster(folder.parent) as cluster:
        database = cluster.new_database()
        record = on_postgresql(database, folder / "postgresql")
        return _measure("postgresql", record, records, vacuum_url=database.url("facts_migration"))


def _in_empty_database(folder: Path, url: str) -> SealedRecord:
    engine = open_for_writing(url)
    with transaction(engine) as connection:
        if sa.inspect(connection).get_table_names():
            raise SystemExit("the PostgreSQL database is not empty")
    upgrade(engine)
    KeyFile(folder / "key").write([KEY])
    return SealedRecord(folder, url, url, url, url)


def _measure(name: str, record: SealedRecord, records: int, vacuum_url: str | None = None) -> dict[str, float]:
    _load(name, record, records)
    if vacuum_url is not None:
        _vacuum(vacuum_url)
    slowest = _measure_questions(name, record)
    rate = _measure_verification(name, record, records)
    return {f"slowest_question_ms_{name}": round(slowest, 2), f"verify_records_per_second_{name}": round(rate)}


def _load(name: str, record: SealedRecord, records: int) -> None:
    """Write and seal so many records."""
    rows = rows_of_quarter(records)
    sealer = record.sealer()
    done = 0
    begin = perf_counter()
    with _progress(name) as show:
        while batch := list(islice(rows, ROWS_AT_ONCE)):
            record.append(batch)
            sealer.seal()
            done += len(batch)
            show(f"{done} of {records} records written and sealed, {done / (perf_counter() - begin):.0f} per second")


def _vacuum(url: str) -> None:
    """Do at once what PostgreSQL does by itself some minutes after so many rows."""
    engine = open_for_writing(url).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("SET statement_timeout = 0")
        connection.exec_driver_sql("VACUUM (ANALYZE)")


def _measure_questions(name: str, record: SealedRecord) -> float:
    """Print the time of every question, and return that of the slowest, in milliseconds."""
    engine = open_for_reading(record.auditor_url)
    known = _arguments(engine)
    slowest = 0.0
    for query in saved_queries().values():
        arguments = {parameter: known[parameter] for parameter in query.parameters}
        if query.name in _OF_ONE_DAY:
            arguments |= _period(1)
        times = []
        for _ in range(TURNS):
            begin = perf_counter()
            rows = len(run(engine, query, arguments).rows)
            times.append((perf_counter() - begin) * 1e3)
        verdict = "" if min(times) <= QUESTION_MS else f"   over {QUESTION_MS:.0f} ms"
        print(f"{name:12} {query.name:26} {rows:6} rows {min(times):8.2f} ms{verdict}", flush=True)
        slowest = max(slowest, min(times))
    engine.dispose()
    return slowest


def _arguments(engine: sa.Engine) -> dict[str, str]:
    """Return a text for each parameter of any question: of what is frequent, in the middle of the record."""
    middle = FIRST_DAY + timedelta(days=_MIDDLE)
    statement = (
        sa.select(ENTRY.c.request_id, ENTRY.c.stdout_sha256)
        .where(ENTRY.c.kind == "outcome", ENTRY.c.stdout_sha256.is_not(None), ENTRY.c.at >= middle)
        .order_by(ENTRY.c.at)
        .limit(1)
    )
    with transaction(engine) as connection:
        request_id, stdout_sha256 = connection.execute(statement).one()
    return {
        "request_id": request_id,
        "stdout_sha256": stdout_sha256,
        "caller": caller_name(0),
        "host": host_name(0),
        "operation": OPERATION,
        "operation_digest": operation_digest(OPERATION, _MIDDLE),
        "approver": approver_name(0),
        "key_fingerprint": key_fingerprint(0),
        **_period(_WEEK),
    }


def _period(days: int) -> dict[str, str]:
    since = FIRST_DAY + timedelta(days=_MIDDLE)
    return {"since": since.isoformat(), "until": (since + timedelta(days=days)).isoformat()}


def _measure_verification(name: str, record: SealedRecord, records: int) -> float:
    """Print and return how many records are verified in a second; all must be sealed and right."""
    begin = perf_counter()
    with _progress(name) as show:
        report = record.verify(progress=lambda done, total: show(f"{done} of {total} records verified"))
    rate = records / (perf_counter() - begin)
    if not report.ok or report.end != records or report.unsealed:
        raise SystemExit(f"{name}: the record does not verify")
    verdict = "" if rate >= VERIFIED_PER_SECOND else f"   under {VERIFIED_PER_SECOND}"
    print(f"{name:12} {'verify':26} {records:6} records {rate:8.0f} records/s{verdict}", flush=True)
    return rate


@contextmanager
def _progress(name: str) -> Iterator[Callable[[str], None]]:
    """Give what shows a line on stderr in the place of the one before, at most once in a second."""
    shown_at = 0.0

    def show(text: str) -> None:
        nonlocal shown_at
        if perf_counter() - shown_at >= 1:
            shown_at = perf_counter()
            print(f"\r{name:12} {text}", end="", file=sys.stderr, flush=True)

    yield show
    print(file=sys.stderr)
