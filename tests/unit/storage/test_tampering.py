"""The attacks of a database's owner, guards switched off. The same functions serve every database."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.storage.canonical import rfc3339
from sshfacts.storage.chain import Chain
from sshfacts.storage.checkpoint import open_checkpoint
from sshfacts.storage.engine import open_for_reading, open_for_writing
from sshfacts.storage.integration import integrate
from sshfacts.storage.raw_keys import RawKey
from sshfacts.storage.sealer import RolledBack
from sshfacts.storage.stored_rows import COLUMNS
from sshfacts.storage.tables import ENTRY, LEAF, RAW, TILE
from sshfacts.storage.unavailable import RecordAltered
from sshfacts.storage.vault import protect
from sshfacts.storage.verify_database import verify_database
from tests.support import attacks
from tests.support.attacks import OTHER, SEEN, TARGET, Attack
from tests.support.records import intent, outcome
from tests.support.sealed import BEGIN, KEY, NOW, SealedRecord, copy_sqlite, new_sqlite, rows_of_calls

CALLS = 140
"""In each of two checkpoints: enough for a full tile under each."""


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> SealedRecord:
    """Two checkpoints over calls of every kind; copied for each test."""
    record = new_sqlite(tmp_path_factory.mktemp("pristine"))
    for first in (0, CALLS):
        record.append(rows_of_calls(CALLS, first=first))
        record.seal()
    return record


@pytest.fixture
def record(pristine: SealedRecord, tmp_path: Path) -> SealedRecord:
    return copy_sqlite(pristine, tmp_path / "copy")


def kept(record: SealedRecord, which: str):
    """The oldest or the newest checkpoint, as somebody kept it elsewhere."""
    with sa.create_engine(record.owner_url).connect() as connection:
        note = connection.scalar(
            sa.text(f"SELECT note FROM audit_checkpoint ORDER BY tree_size {which} LIMIT 1")  # noqa: S608 - ASC or DESC
        )
    return open_checkpoint(note, [KEY.public])


def violations(record: SealedRecord, **arguments) -> list[str]:
    return record.verify(**arguments).violations.shown


@pytest.mark.parametrize("which", ["ASC", "DESC"])
def test_what_nobody_touched_is_right(record: SealedRecord, which: str):
    report = record.verify(kept(record, which))
    assert report.ok
    assert report.warnings.shown == []
    assert (report.open_calls, report.orphaned_calls, report.unsealed) == (28, 28, 0)
    assert report.kinds["outcome"] == 224


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
            ids = sa.select(LEAF.c.entry_id).where(LEAF.c.leaf_index == leaf)
            connection.execute(sa.update(ENTRY).where(ENTRY.c.id.in_(ids)).values({name: other_value(name)}))
    assert [re.sub("entry \\d+", "entry N", text) for text in violations(record)] == [
        f"leaf {leaf}: column {name} of entry N is not what its body says" for leaf, name in enumerate(names)
    ]


def other_value(name: str) -> object:
    if name in ("at", "deadline_at"):
        return BEGIN - timedelta(days=1)
    return 987_654 if isinstance(ENTRY.c[name].type, sa.BigInteger) else "other"


@pytest.mark.parametrize("name", ["writer_id", "seq"])
def test_a_row_that_was_moved_to_another_place_of_a_chain_is_seen(record: SealedRecord, name: str):
    with record.unguarded() as connection:
        ids = sa.select(LEAF.c.entry_id).where(LEAF.c.leaf_index == TARGET)
        values = {name: "cd" * 16 if name == "writer_id" else 4_000}
        connection.execute(sa.update(ENTRY).where(ENTRY.c.id.in_(ids)).values(values))
    assert any(f"column {name} of entry" in text for text in violations(record))


def test_a_clean_rollback_is_seen_with_a_checkpoint_from_elsewhere_only(record: SealedRecord):
    newest = kept(record, "DESC")
    with record.unguarded() as connection:
        attacks.roll_back(connection)
    assert record.verify().ok
    oldest = kept(record, "ASC")
    assert violations(record, trusted=newest) == [
        f"rollback: the trusted checkpoint has {newest.size} records, and the log {oldest.size}"
    ]
    with pytest.raises(RolledBack, match=f"{newest.size} records were signed, and the database has {oldest.size}"):
        record.seal()


def test_a_log_that_was_cut_off_is_not_continued(record: SealedRecord):
    with record.unguarded() as connection:
        attacks.roll_back(connection)
    record.append(rows_of_calls(CALLS + 50, first=5_000))
    with pytest.raises(RolledBack):
        record.seal()
    assert record.verify().end == kept(record, "ASC").size


def test_a_rollback_that_grew_again_is_seen(record: SealedRecord):
    newest = kept(record, "DESC")
    with record.unguarded() as connection:
        attacks.roll_back(connection)
    record.append(rows_of_calls(CALLS + 50, first=5_000))
    integrate(open_for_reading(record.url), open_for_writing(record.url), thorough=True)
    with pytest.raises(RolledBack, match=f"the first {newest.size} records are not those that were signed"):
        record.seal()
    record.log.state_file.write_text(kept(record, "ASC").sign([KEY]))
    record.seal()
    assert record.verify().ok
    assert violations(record, trusted=newest) == ["the log was rewritten since the trusted checkpoint"]


def test_a_trusted_checkpoint_of_another_log_is_none(record: SealedRecord):
    other = kept(record, "DESC")
    other = type(other)("another.example/log", other.size, other.root)
    assert violations(record, trusted=other) == ["the trusted checkpoint is one of another log"]


def test_a_record_of_the_past_is_seen_after_it_was_sealed_too(record: SealedRecord):
    with record.unguarded() as connection:
        attacks.insert_a_record_of_the_past(connection)
    record.seal()
    assert any("has a second intent" in text for text in violations(record))


def test_an_unsealed_record_that_was_changed_is_seen_and_never_sealed(record: SealedRecord):
    record.append(rows_of_calls(5, first=5_000))
    before = kept(record, "DESC")
    with record.unguarded() as connection:
        changed = sa.func.replace(ENTRY.c.body, "helper", "other")
        connection.execute(sa.update(ENTRY).where(ENTRY.c.request_id == "req.00005001").values(body=changed))
    assert any(re.fullmatch("unsealed entry \\d+ was changed", text) for text in violations(record))
    with pytest.raises(RecordAltered, match="was changed before it was sealed"):
        record.seal()
    assert kept(record, "DESC") == before


def test_an_unsealed_column_that_was_edited_is_seen(record: SealedRecord):
    record.append(rows_of_calls(5, first=5_000))
    with record.unguarded() as connection:
        connection.execute(sa.update(ENTRY).where(ENTRY.c.request_id == "req.00005001").values(host="other"))
    assert any("unsealed entry" in text and "column host" in text for text in violations(record))


def test_an_unsealed_record_that_was_removed_from_a_chain_is_seen(record: SealedRecord):
    record.append(rows_of_calls(10, writers=1, first=100_000))
    with record.unguarded() as connection:
        connection.execute(sa.delete(ENTRY).where(ENTRY.c.request_id == "req.00100004", ENTRY.c.kind == "intent"))
    assert any("jumps from record" in text for text in violations(record))
    sealed = record.seal()
    assert len(sealed.gaps) == 1
    assert any("jumps from record" in text for text in violations(record))


def test_the_newest_unsealed_record_of_a_chain_can_be_removed_unseen(record: SealedRecord):
    """The limit of the design: nothing outside the database knows of it until it is sealed."""
    record.append(rows_of_calls(10, writers=1, first=100_000))
    with record.unguarded() as connection:
        newest = sa.select(sa.func.max(ENTRY.c.id)).scalar_subquery()
        connection.execute(sa.delete(ENTRY).where(ENTRY.c.id == newest))
    assert record.verify().ok


def test_records_that_wait_too_long_are_told(record: SealedRecord):
    record.append(rows_of_calls(5, first=100_000))
    report = record.verify(kept(record, "DESC"), now=NOW + timedelta(days=2))
    assert report.ok
    assert report.unsealed == 3 + 9
    assert report.warnings.shown == ["records wait to be sealed since 2026-12-01 13:46:40 UTC"]
    assert record.verify(kept(record, "DESC"), now=NOW).warnings.count == 0
    record.seal()
    assert record.verify().unsealed == 0


def test_leaves_over_the_newest_checkpoint_are_not_sealed_yet(record: SealedRecord):
    """A sealer was cut off between its two halves."""
    newest = kept(record, "DESC")
    with record.unguarded() as connection:
        connection.execute(sa.text("DELETE FROM audit_checkpoint WHERE tree_size = :size"), {"size": newest.size})
    report = record.verify()
    assert report.ok
    assert report.unsealed == newest.size - kept(record, "ASC").size
    assert record.seal().checkpoint == newest


# What an altered row may hold on SQLite, where a column takes any type.
STRANGE = {
    "body as bytes": "UPDATE audit_entry SET body = CAST(body AS BLOB) WHERE id = 201",
    "body that is no UTF-8": "UPDATE audit_entry SET body = CAST(x'7b22ff227d' AS TEXT) WHERE id = 201",
    "body as a number": "UPDATE audit_entry SET body = 7 WHERE id = 201",
    "time that is none": "UPDATE audit_entry SET at = 'yesterday' WHERE id = 201",
    "time as a number": "UPDATE audit_entry SET at = 7 WHERE id = 201",
    "caller that is no UTF-8": "UPDATE audit_entry SET caller = CAST(x'ff' AS TEXT) WHERE id = 201",
    "number as a text": "UPDATE audit_entry SET exit_status = 'zero' WHERE id = 201",
    "hash as a text": "UPDATE audit_entry SET leaf_hash = 'text' WHERE id = 201",
    "hash of a leaf as a huge number": "UPDATE audit_leaf SET leaf_hash = 9000000000000000000 WHERE entry_id = 201",
    "hash of a leaf as a text": "UPDATE audit_leaf SET leaf_hash = 'text' WHERE entry_id = 201",
    "tile as a text": "UPDATE audit_tile SET hashes = 'text' WHERE idx = 0",
    "note as bytes": "UPDATE audit_checkpoint SET note = CAST(note AS BLOB)",
    "root as a number": "UPDATE audit_checkpoint SET root_hash = 7",
    "an entry that is listed twice": "UPDATE audit_leaf SET entry_id = 'x' WHERE entry_id = 201",
}


@pytest.mark.parametrize("statement", STRANGE.values(), ids=STRANGE)
def test_a_value_of_any_type_is_seen(record: SealedRecord, statement: str):
    with record.unguarded() as connection:
        connection.exec_driver_sql(statement)
    assert violations(record)


@pytest.mark.parametrize(
    "body",
    [
        '{"v":1}',
        '{"kind":"intent","v":1}',
        '{"kind":[],"v":1}',
        '{"at":"2026-11-30T10:00:00.000000Z","kind":"orphan","request_id":"x","v":1}',
        '{"at":"2026-11-30T10:00:00.000000Z","kind":"pause","prev":[],"reason":"x","seq":true,"v":1,"writer":{}}',
        "[" * 100_000,
        "null",
        "",
    ],
)
def test_a_body_of_any_form_is_judged(record: SealedRecord, body: str):
    with record.unguarded() as connection:
        connection.execute(sa.update(ENTRY).where(ENTRY.c.id == TARGET).values(body=body))
    assert violations(record)


def test_findings_show_nothing_of_what_a_row_holds(record: SealedRecord):
    evil = "\x1b[2J evil"
    with record.unguarded() as connection:
        connection.execute(sa.update(ENTRY).values(host=evil))
        connection.execute(sa.update(TILE).values(hashes=OTHER))
    report = record.verify()
    assert report.violations.count > len(report.violations.shown) == 100
    assert "evil" not in str(report.as_json())


def test_a_checkpoint_by_a_key_that_was_not_given_counts_by_its_content(record: SealedRecord):
    retired = type(KEY).generate(KEY.public.name)
    oldest = kept(record, "ASC")
    with record.unguarded() as connection:
        connection.execute(
            sa.text("UPDATE audit_checkpoint SET note = :note WHERE tree_size = :size"),
            {"note": oldest.sign([retired]), "size": oldest.size},
        )
    report = record.verify(kept(record, "DESC"))
    assert report.ok
    assert report.warnings.shown == [
        "stored checkpoints that agree with the records, and are signed by keys that were not given: 1"
    ]
    assert record.verify(keys=[KEY.public, retired.public], trusted=oldest).warnings.count == 0


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (sa.delete(RAW), "is gone, and no record says that it was removed"),
        (sa.update(RAW).values(request_id="req.other000"), "is not as its record says"),
        (sa.update(RAW).values(retain_until=BEGIN), "is not as its record says"),
    ],
)
def test_a_raw_copy_that_was_touched_is_seen(record: SealedRecord, statement: sa.Update | sa.Delete, found: str):
    copy = protect(b"what the host sent", "req.00100000", NOW + timedelta(days=30), RawKey("raw-1", bytes(32)))
    chain = Chain()
    start = chain.link({"kind": "writer_start", "at": rfc3339(NOW)})
    asked = chain.link(intent("req.00100000", at=rfc3339(NOW)))
    ended = chain.link(outcome(asked.leaf_hash, "req.00100000", at=rfc3339(NOW), raw=[copy.reference.as_json()]))
    record.append([start.row, asked.row, ended.row])
    record.seal()
    with record.unguarded() as connection:
        connection.execute(sa.insert(RAW).values(copy.row))
    assert record.verify().ok
    with record.unguarded() as connection:
        connection.execute(statement)
    assert violations(record) == [f"raw copy {copy.reference.blob_id} {found}"]


def test_progress_is_told(record: SealedRecord):
    told = []
    report = verify_database(
        open_for_reading(record.url),
        [KEY.public],
        now=NOW,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told[-1] == (report.tree_size, report.tree_size)
    assert told == sorted(told)
