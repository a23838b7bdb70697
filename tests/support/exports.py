"""Exports of a sealed record, whole or of a period, and their lines."""

import io
from collections.abc import Sequence
from datetime import datetime, timedelta

from sshfacts.storage.checkpoint import Checkpoint
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.export import WHOLE, Export
from sshfacts.storage.export_format import Period
from sshfacts.storage.note import PublicKey
from sshfacts.storage.report import Report
from sshfacts.storage.verify_file import verify_file
from tests.support.sealed import BEGIN, KEY, SealedRecord


def call_time(number: float) -> datetime:
    """When a call of `sealed.rows_of_calls` was made."""
    return BEGIN + timedelta(seconds=number)


def exported(record: SealedRecord, period: Period = WHOLE, trusted: Checkpoint | None = None) -> list[bytes]:
    """Return the lines of an export."""
    file = io.BytesIO()
    engine = open_for_reading(record.auditor_url)
    Export(engine, period, trusted).write(file)
    engine.dispose()
    return file.getvalue().splitlines(keepends=True)


def verified(
    lines: Sequence[bytes], trusted: Checkpoint | None = None, keys: Sequence[PublicKey] = (KEY.public,)
) -> Report:
    """Return what the verifier says of a file of these lines."""
    return verify_file(io.BytesIO(b"".join(lines)), keys, trusted)
