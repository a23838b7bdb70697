"""Looks at the whole state of the record's database: what statements show, and the disk of a file."""

import os
import stat
from pathlib import Path

import sqlalchemy as sa

from sshfacts.limits import KEEP_FREE, MIB
from sshfacts.storage.doctor import Defect, Effect, defects_of
from sshfacts.storage.engine import is_sqlite, transaction
from sshfacts.storage.sqlite import file_of
from sshfacts.storage.unavailable import RecordUnavailable, reason_of


def examine(engine: sa.Engine, keep_free: int = KEEP_FREE) -> list[Defect]:
    """Return every defect of the database, the worst first. Blocks.

    The disk of a PostgreSQL server is not seen: the server tells nobody how much of it is free.

    Args:
        engine: opened for reading, so that looking changes nothing and waits for nobody.
        keep_free: bytes that must stay free on the disk of an SQLite file.

    Raises:
        RecordUnavailable: the database cannot be looked at.
    """
    with transaction(engine) as connection:
        found = defects_of(connection)
    if is_sqlite(engine):
        found += _file_defects(file_of(engine), keep_free)
    return found


def _file_defects(file: Path, keep_free: int) -> list[Defect]:
    try:
        mode = file.stat().st_mode
        disk = os.statvfs(file)
    except OSError as error:
        raise RecordUnavailable(reason_of(error)) from None
    found = []
    if disk.f_bavail * disk.f_frsize < keep_free:
        # Without the number of now: it changes all the time, and a service tells what is new.
        what = f"less than {keep_free // MIB} MiB are free on the disk of the database"
        found.append(Defect("disk", Effect.PAUSES, what, "make room, or lower database.keep_free"))
    if mode & (stat.S_IWGRP | stat.S_IRWXO):
        what = f"the database file has mode {stat.S_IMODE(mode):04o}, so that others may open or write it"
        found.append(Defect("file_mode", Effect.ADVICE, what, "chmod it to 0640"))
    return found
