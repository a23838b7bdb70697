import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sshfacts.storage.checkpoint import Checkpoint, open_checkpoint
from sshfacts.storage.publication import FileDrop, Published, print_line, publishers
from tests.support.sealed import KEY, ORIGIN

AT = datetime(2026, 11, 30, 23, 59, 59, 5, tzinfo=UTC)


def published(size: int, at: datetime = AT) -> Published:
    checkpoint = Checkpoint(ORIGIN, size, bytes([size] * 32))
    return Published(checkpoint, checkpoint.sign([KEY]), at)


def test_one_line_of_json_holds_the_whole_checkpoint():
    stream = io.StringIO()
    one = published(7)
    print_line(one, stream)
    [line] = stream.getvalue().splitlines()
    told = json.loads(line)
    assert told == {
        "event": "audit_checkpoint",
        "at": "2026-11-30T23:59:59.000005Z",
        "origin": ORIGIN,
        "tree_size": 7,
        "root_hash": "07" * 32,
        "note": one.note,
    }
    assert open_checkpoint(told["note"], [KEY.public]) == one.checkpoint


def test_the_line_goes_to_stderr(capsys: pytest.CaptureFixture[str]):
    for publish in publishers(None):
        publish(published(7))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert json.loads(captured.err)["tree_size"] == 7


def test_each_checkpoint_has_a_file_and_the_newest_is_found_at_once(tmp_path: Path):
    folder = tmp_path / "drop"
    _, drop = publishers(folder)
    drop(published(7))
    drop(published(120))
    drop(published(121, AT + timedelta(seconds=1)))
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert names == ["2026-11-30/000000000007", "2026-11-30/000000000120", "2026-12-01/000000000121", "latest"]
    assert (folder / "latest").read_text() == published(121).note
    assert (folder / "2026-11-30/000000000007").read_text() == published(7).note


def test_a_file_that_was_taken_away_is_not_missed(tmp_path: Path):
    drop = FileDrop(tmp_path)
    drop(published(7))
    (tmp_path / "2026-11-30" / "000000000007").unlink()
    (tmp_path / "2026-11-30").rmdir()
    drop(published(8))
    assert (tmp_path / "2026-11-30" / "000000000008").exists()
