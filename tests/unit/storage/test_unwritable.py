"""Databases that cannot be written: nothing is acknowledged, and the caller hears of it soon."""

import json
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sshfacts.storage.recorder import RecordUnavailable, open_recorder
from tests.support.records import stored, url_of

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
IS_ROOT = os.geteuid() == 0


def record(database: Path, *arguments: str, mount: str | None = None) -> dict[str, object]:
    """Run the recording service, if need be in a mount namespace of its own, and return its report."""
    command = [sys.executable, "-m", "tests.support.recording", str(database), *arguments]
    if mount is not None:
        command = ["unshare", "--mount", "sh", "-ec", f"{mount}\nexec {shlex.join(command)}"]
    run = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=30, check=True)
    report = json.loads(run.stdout)
    assert isinstance(report, dict)
    return report


def may_mount() -> bool:
    return IS_ROOT and subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode == 0


needs_mount = pytest.mark.skipif(not may_mount(), reason="needs root and its own mount namespace")


def full_tmpfs(folder: Path) -> str:
    return f"mount -t tmpfs -o size=512k none {shlex.quote(str(folder))}"


def read_only_mount(folder: Path) -> str:
    quoted = shlex.quote(str(folder))
    return f"mount --bind {quoted} {quoted}\nmount -o remount,bind,ro {quoted}"


def assert_is_clean(report: dict[str, object], reason: str) -> None:
    assert reason in str(report["error"])
    assert "INSERT" not in str(report["error"])
    assert "xxx" not in str(report["error"])
    assert isinstance(report["seconds"], float)
    assert report["seconds"] < 5


@needs_mount
def test_a_full_disk(tmp_path: Path):
    report = record(tmp_path / "audit.db", mount=full_tmpfs(tmp_path))
    assert_is_clean(report, "SQLITE_FULL")
    assert report["acknowledged"] != 0


def test_a_file_that_may_not_grow(database: Path):
    report = record(database, str(256 * 1024))
    assert_is_clean(report, "SQLITE_")
    bodies = stored(database)
    assert sum(body["kind"] == "intent" for body in bodies) >= int(str(report["acknowledged"])) > 0


@needs_mount
def test_a_disk_that_is_mounted_for_reading(tmp_path: Path):
    report = record(tmp_path / "audit.db", mount=read_only_mount(tmp_path))
    assert_is_clean(report, "EROFS")
    assert report["acknowledged"] == 0


@needs_mount
def test_an_existing_database_on_a_disk_that_is_mounted_for_reading(database: Path):
    record(database, str(256 * 1024))
    report = record(database, mount=read_only_mount(database.parent))
    assert_is_clean(report, "SQLITE_")
    assert report["acknowledged"] == 0


def read_only_file(database: Path) -> None:
    database.touch(mode=0o444)


def missing_folder(database: Path) -> None:
    database.parent.rmdir()


def folder_of_that_name(database: Path) -> None:
    database.mkdir()


def no_database(database: Path) -> None:
    database.write_text("this is no database, it is a letter to a friend")


def another_database(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE other (id)")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        pytest.param(read_only_file, "SQLITE_READONLY", marks=pytest.mark.skipif(IS_ROOT, reason="root may write it")),
        (missing_folder, "ENOENT"),
        (folder_of_that_name, "SQLITE_CANTOPEN"),
        (no_database, "SQLITE_NOTADB"),
        (another_database, "none of sshfacts"),
    ],
)
async def test_what_is_no_database_of_ours(database: Path, spoil: Callable[[Path], None], reason: str):
    spoil(database)
    with pytest.raises(RecordUnavailable, match=reason):
        async with open_recorder(url_of(database), patience=0.1):
            pass
