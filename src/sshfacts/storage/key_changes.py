"""Which keys sign for a log, changed and on record.

The record of a new key is sealed under the old one as well, so that an auditor who trusts the old key finds in the
log which key follows it.
"""

from enum import StrEnum

import sqlalchemy as sa

from sshfacts.errors import UsageError
from sshfacts.storage.checkpoint import open_checkpoint
from sshfacts.storage.ledger import Actor, Change, change_once
from sshfacts.storage.note import NoteError, PublicKey, SigningKey
from sshfacts.storage.sealer_state import SealerState
from sshfacts.storage.signing_keys import KeyFile
from sshfacts.values import JsonObject


class KeyChange(StrEnum):
    """What was done to a key: the `reason` of a `signing_key` record."""

    ADDED = "added"
    RETIRED = "retired"


def add_key(engine: sa.Engine, file: KeyFile, origin: str, by: Actor) -> PublicKey:
    """Make a key that signs from the next checkpoint on, beside those that there are.

    Args:
        engine: opened for writing, on a database that exists.

    Raises:
        RecordUnavailable: the change could not be recorded, so it was not made.
        KeyFileError: the file cannot be read or written.
        NoteError: a log cannot have this name.
    """
    keys = [*(file.read() if file.exists() else []), SigningKey.generate(origin)]
    _record(engine, KeyChange.ADDED, keys[-1], keys, by)
    file.write(keys)
    return keys[-1].public


def retire_key(engine: sa.Engine, file: KeyFile, state: SealerState, key_id: str, by: Actor) -> PublicKey:
    """Remove a key, which signs no more.

    Args:
        engine: opened for writing.
        key_id: as in the key's public text, eight hexadecimal digits.

    Raises:
        UsageError: there is no such key, or none would be left that signed the last checkpoint.
        RecordUnavailable: the change could not be recorded, so it was not made.
        KeyFileError, StateError: a file cannot be read or written.
    """
    keys = file.read()
    kept = [key for key in keys if key.public.id.hex() != key_id]
    retired = [key for key in keys if key not in kept]
    if not retired:
        raise UsageError("no signing key has this id")
    note = state.read()
    if not kept or note is None or not _signed_by(note, [key.public for key in kept]):
        raise UsageError(
            "no key that stays has signed the last checkpoint; add one, run `sshfacts audit seal`, and then retire this"
        )
    _record(engine, KeyChange.RETIRED, retired[0], kept, by)
    file.write(kept)
    return retired[0].public


def _record(engine: sa.Engine, change: KeyChange, key: SigningKey, signing: list[SigningKey], by: Actor) -> None:
    body: JsonObject = {
        "kind": "signing_key",
        "reason": change.value,
        "key": str(key.public),
        "signing": [str(one.public) for one in signing],
        **by.as_json(),
    }
    change_once(engine, lambda _: Change(None, [body]))


def _signed_by(note: str, keys: list[PublicKey]) -> bool:
    try:
        open_checkpoint(note, keys)
    except NoteError:
        return False
    return True
