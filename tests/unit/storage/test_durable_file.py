import os
import stat
from pathlib import Path

import pytest

from sshfacts.storage.durable_file import os_reason, write_durably


@pytest.mark.parametrize("umask", [0, 0o077])
def test_a_file_has_its_text_and_its_mode(tmp_path: Path, umask: int):
    old = os.umask(umask)
    try:
        write_durably(tmp_path / "file", "größe\nline\r\n", 0o644)
        write_durably(tmp_path / "file", "another\n", 0o600)
    finally:
        os.umask(old)
    assert (tmp_path / "file").read_bytes() == b"another\n"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_text_is_written_as_it_is(tmp_path: Path):
    write_durably(tmp_path / "file", "größe\nline\r\n", 0o644)
    assert (tmp_path / "file").read_bytes() == "größe\nline\r\n".encode()


@pytest.mark.parametrize("step", ["fsync", "fchmod"])
def test_what_fails_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    write_durably(tmp_path / "file", "old\n", 0o644)
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(OSError, match="No space"):
        write_durably(tmp_path / "file", "new\n", 0o644)
    assert (tmp_path / "file").read_text() == "old\n"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_the_folder_is_synced_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[bool] = []
    sync = os.fsync

    def watched(descriptor: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", watched)
    write_durably(tmp_path / "file", "text\n", 0o644)
    assert synced == [False, True]


def test_a_reason_has_no_path():
    assert os_reason(FileNotFoundError(2, "No such file", "/secret/path")) == "ENOENT"
    assert os_reason(OSError("text")) == "OSError"
