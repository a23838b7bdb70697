import os
import stat
from pathlib import Path

import pytest

from sshfacts.errors import UsageError
from sshfacts.storage.engine import open_for_reading, open_for_writing
from sshfacts.storage.key_changes import add_key, retire_key
from sshfacts.storage.ledger import Actor
from sshfacts.storage.note import NoteError, PublicKey, SigningKey
from sshfacts.storage.sealer_state import SealerState
from sshfacts.storage.signing_keys import KeyFile, KeyFileError, read_public_keys
from sshfacts.storage.unavailable import RecordUnavailable
from sshfacts.storage.verify_database import verify_database
from tests.support.records import stored
from tests.support.sealed import KEY, NOW, ORIGIN, SealedRecord, new_sqlite, rows_of_calls

BY = Actor(None, "cli.audit", "root")


@pytest.fixture
def record(tmp_path: Path) -> SealedRecord:
    return new_sqlite(tmp_path / "log")


def keys_of(record: SealedRecord) -> KeyFile:
    return KeyFile(record.log.key_file)


def add(record: SealedRecord) -> PublicKey:
    return add_key(open_for_writing(record.url), keys_of(record), ORIGIN, BY)


def retire(record: SealedRecord, key: PublicKey) -> PublicKey:
    state = SealerState(record.log.state_file)
    return retire_key(open_for_writing(record.url), keys_of(record), state, key.id.hex(), BY)


def records_of_keys(record: SealedRecord) -> list[dict[str, object]]:
    return [dict(body) for body in stored(record.folder / "audit.db") if body["kind"] == "signing_key"]


def test_the_secret_is_for_its_owner_alone(tmp_path: Path):
    file = KeyFile(tmp_path / "new" / "key")
    old = os.umask(0)
    try:
        file.write([KEY])
    finally:
        os.umask(old)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.public_path.stat().st_mode) == 0o644
    assert read_public_keys(file.public_path) == [KEY.public]
    assert KEY.secret_text() not in file.public_path.read_text()
    assert [key.public for key in file.read()] == [KEY.public]
    assert {path.name for path in file.path.parent.iterdir()} == {"key", "key.pub"}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_keys_that_others_may_touch_do_not_sign(tmp_path: Path, mode: int):
    file = KeyFile(tmp_path / "key")
    file.write([KEY])
    file.path.chmod(mode)
    with pytest.raises(KeyFileError, match="others may read"):
        file.read()


@pytest.mark.parametrize("text", ["", "opensesame\n", f"{KEY.public}\n", f"{KEY.secret_text()}\n\n", "é\n"])
def test_a_file_with_anything_else_is_refused_and_not_shown(tmp_path: Path, text: str):
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(KeyFileError) as caught:
        KeyFile(path).read()
    assert "opensesame" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_file_says_what_to_do(tmp_path: Path):
    with pytest.raises(KeyFileError, match="sshfacts audit keys add"):
        KeyFile(tmp_path / "key").read()


def test_public_keys_are_read_line_by_line(tmp_path: Path):
    path = tmp_path / "keys"
    path.write_text(f"{KEY.public}\n\n{SigningKey.generate('other.example/log').public}\n")
    assert [key.name for key in read_public_keys(path)] == [ORIGIN, "other.example/log"]
    path.write_text("something\n")
    with pytest.raises(NoteError):
        read_public_keys(path)
    path.write_bytes(b"\xff")
    with pytest.raises(UsageError):
        read_public_keys(path)
    with pytest.raises(UsageError, match="ENOENT"):
        read_public_keys(tmp_path / "missing")


def test_the_first_key_is_on_record(record: SealedRecord):
    record.log.key_file.unlink()
    key = add(record)
    assert [one.public for one in keys_of(record).read()] == [key]
    [body] = records_of_keys(record)
    assert (body["reason"], body["key"], body["signing"]) == ("added", str(key), [str(key)])
    assert (body["door"], body["os_user"]) == ("cli.audit", "root")
    assert keys_of(record).read()[0].secret_text() not in (record.folder / "audit.db").read_text(errors="replace")


def test_keys_are_replaced_with_an_overlap(record: SealedRecord):
    old = KEY.public
    record.append(rows_of_calls(3))
    first = record.seal()
    new = add(record)
    both = record.seal()
    assert retire(record, old) == old
    last = record.seal()

    bodies = records_of_keys(record)
    assert [(body["reason"], body["key"]) for body in bodies] == [("added", str(new)), ("retired", str(old))]
    assert [body["signing"] for body in bodies] == [[str(old), str(new)], [str(new)]]
    assert read_public_keys(keys_of(record).public_path) == [new]
    # Who trusts the old key can follow up to here, and finds the new one on record under it.
    assert record.verify(both.checkpoint, keys=[old]).violations.shown == [
        "the newest checkpoint: the note is not signed by a key that was given"
    ]
    for keys in ([new], [old, new]):
        report = verify_database(open_for_reading(record.url), keys, last.checkpoint, now=NOW)
        assert report.ok
        assert report.warnings.count == (1 if keys == [new] else 0)
    assert record.verify(first.checkpoint, keys=[new]).ok


def test_a_key_stays_until_another_one_has_signed(record: SealedRecord):
    record.append(rows_of_calls(3))
    with pytest.raises(UsageError, match="no key that stays has signed"):
        retire(record, KEY.public)
    record.seal()
    with pytest.raises(UsageError, match="no key that stays has signed"):
        retire(record, KEY.public)
    add(record)
    with pytest.raises(UsageError, match="no key that stays has signed"):
        retire(record, KEY.public)
    assert [body["reason"] for body in records_of_keys(record)] == ["added"]
    record.seal()
    retire(record, KEY.public)


def test_a_key_that_is_none_cannot_be_retired(record: SealedRecord):
    with pytest.raises(UsageError, match="no signing key has this id"):
        retire(record, SigningKey.generate(ORIGIN).public)


def test_without_its_record_no_key_changes(record: SealedRecord):
    before = record.log.key_file.read_bytes()
    (record.folder / "audit.db").rename(record.folder / "elsewhere")
    with pytest.raises(RecordUnavailable):
        add(record)
    assert record.log.key_file.read_bytes() == before


def test_a_file_that_cannot_be_written_is_as_it_was(tmp_path: Path, monkeypatch):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    file = KeyFile(tmp_path / "key")
    file.write([KEY])
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(KeyFileError, match="ENOSPC"):
        file.write([SigningKey.generate(ORIGIN)])
    assert [key.public for key in file.read()] == [KEY.public]
    assert {path.name for path in tmp_path.iterdir()} == {"key", "key.pub"}
