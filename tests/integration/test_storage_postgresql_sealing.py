"""Sealing and verifying on PostgreSQL: with the rights of the sealer and the auditor, against its owner's attacks."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.storage.checkpoint import Checkpoint
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.export import Export
from sshfacts.storage.export_format import Period
from sshfacts.storage.sealer import Log, RolledBack, Sealer
from sshfacts.storage.stored_rows import COLUMNS
from sshfacts.storage.tables import ENTRY, LEAF
from sshfacts.storage.unavailable import RecordAltered, RecordUnavailable
from tests.support import attacks
from tests.support.attacks import SEEN, Attack
from tests.support.exports import call_time, exported, verified
from tests.support.postgresql import Cluster, Database, needs_postgresql, on_postgresql
from tests.support.sealed import BEGIN, ORIGIN, SealedRecord, rows_of_calls

pytestmark = needs_postgresql

CALLS = 140


@pytest.fixture(scope="module")
def pristine(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> tuple[Database, str, list[Checkpoint]]:
    """A database with two checkpoints, what the sealer remembers, and both checkpoints."""
    database = cluster.new_database()
    record = on_postgresql(database, tmp_path_factory.mktemp("pristine"))
    checkpoints = []
    for first in (0, CALLS):
        record.append(rows_of_calls(CALLS, first=first))
        checkpoints.append(record.seal().checkpoint)
    return database, record.log.state_file.read_text(), checkpoints


@pytest.fixture
def record(pristine: tuple[Database, str, list[Checkpoint]], cluster: Cluster, tmp_path: Path) -> SealedRecord:
    database, state, _ = pristine
    copy = on_postgresql(cluster.new_database(template=database.name), tmp_path)
    copy.log.state_file.write_text(state)
    return copy


@pytest.fixture(scope="module")
def checkpoints(pristine: tuple[Database, str, list[Checkpoint]]) -> list[Checkpoint]:
    return pristine[2]


def violations(record: SealedRecord, trusted: Checkpoint | None = None) -> list[str]:
    return record.verify(trusted).violations.shown


def test_what_nobody_touched_is_right(record: SealedRecord, checkpoints: list[Checkpoint]):
    for checkpoint in checkpoints:
        report = record.verify(checkpoint)
        assert report.ok
        assert report.warnings.shown == []
        assert (report.open_calls, report.orphaned_calls, report.unsealed) == (28, 28, 0)


@pytest.mark.parametrize("attack", SEEN, ids=lambda attack: attack.__name__)
def test_an_attack_is_seen(record: SealedRecord, attack: Attack):
    with record.unguarded() as connection:
        attack(connection)
    found = violations(record)
    assert any(re.search(SEEN[attack], text) for text in found), found


def test_every_column_that_was_edited_alone_is_seen(record: SealedRecord):
    names = [name for name in COLUMNS if name not in ("writer_id", "seq")]
    with record.unguarded() as connection:
        for leaf, name in enumerate(names):
            other: object = 987_654 if isinstance(ENTRY.c[name].type, sa.BigInteger) else "other"
            if name in ("at", "deadline_at"):
                other = BEGIN - timedelta(days=1)
            ids = sa.select(LEAF.c.entry_id).where(LEAF.c.leaf_index == leaf)
            connection.execute(sa.update(ENTRY).where(ENTRY.c.id.in_(ids)).values({name: other}))
    assert [re.sub(r"entry \d+", "entry N", text) for text in violations(record)] == [
        f"leaf {leaf}: column {name} of entry N is not what its body says" for leaf, name in enumerate(names)
    ]


def test_a_rollback_needs_a_checkpoint_from_elsewhere(record: SealedRecord, checkpoints: list[Checkpoint]):
    with record.unguarded() as connection:
        attacks.roll_back(connection)
    assert record.verify().ok
    assert violations(record, checkpoints[1])[0].startswith("rollback: the trusted checkpoint has")
    with pytest.raises(RolledBack):
        record.seal()


def test_an_unsealed_record_that_was_changed_is_never_sealed(record: SealedRecord):
    record.append(rows_of_calls(5, first=100_000))
    with record.unguarded() as connection:
        changed = sa.func.replace(ENTRY.c.body, "helper", "other")
        connection.execute(sa.update(ENTRY).where(ENTRY.c.request_id == "req.00100001").values(body=changed))
    assert any(re.fullmatch(r"unsealed entry \d+ was changed", text) for text in violations(record))
    with pytest.raises(RecordAltered):
        record.seal()


def test_a_record_of_the_past_is_seen_after_it_was_sealed_too(record: SealedRecord):
    with record.unguarded() as connection:
        attacks.insert_a_record_of_the_past(connection)
    record.seal()
    assert any("has a second intent" in text for text in violations(record))


def test_an_export_verifies_without_the_database(record: SealedRecord, checkpoints: list[Checkpoint]):
    for period in (Period(), Period(call_time(100), call_time(150))):
        report = verified(exported(record, period, checkpoints[0]), checkpoints[0])
        assert report.ok
        assert report.warnings.count == 0


def test_what_is_not_sealed_is_counted(record: SealedRecord):
    record.append(rows_of_calls(5, first=100_000))
    engine = open_for_reading(record.auditor_url)
    assert Export(engine, Period(until=call_time(200_000))).unsealed == 3 + 9
    engine.dispose()


@pytest.mark.parametrize("login", ["facts_service", "facts_auditor", "facts_raw_reader", "facts_purger"])
def test_only_the_sealer_may_seal(record: SealedRecord, login: str):
    record.append(rows_of_calls(3, first=100_000))
    url = record.sealer_url.replace("facts_sealer", login)
    with pytest.raises(RecordUnavailable, match="42501"):
        Sealer(Log(url, ORIGIN, record.log.key_file, record.log.state_file)).seal()
    assert record.verify().unsealed == 3 + 6


def test_two_sealers_with_a_state_of_their_own_agree(record: SealedRecord, tmp_path: Path):
    log = record.log
    other = Sealer(Log(log.database_url, log.origin, log.key_file, tmp_path / "other"))
    other.adopt(log.state_file.read_text())
    record.append(rows_of_calls(5, first=100_000))
    first = record.seal()
    second = other.seal()
    assert second is not None
    assert (second.note, second.added) == (first.note, 0)
    assert record.verify(first.checkpoint).ok
