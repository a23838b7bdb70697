import pytest

from sshfacts.storage.canonical import leaf_hash
from sshfacts.storage.checkpoint import Checkpoint, open_checkpoint, unsigned_checkpoint
from sshfacts.storage.note import NoteError, SigningKey, UnknownSigner, sign

ORIGIN = "sshfacts.example/test"
KEY = SigningKey(ORIGIN, bytes(32))
OTHER = SigningKey("other.example/log", bytes(32))
CHECKPOINT = Checkpoint(ORIGIN, 7, leaf_hash(b""))


def test_what_is_signed():
    assert CHECKPOINT.text() == f"{ORIGIN}\n7\nbjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=\n"


def test_it_is_read_back():
    note = CHECKPOINT.sign([KEY])
    assert open_checkpoint(note, [KEY.public]) == CHECKPOINT
    assert unsigned_checkpoint(note) == CHECKPOINT


def test_during_a_rotation_either_key_will_do():
    new = SigningKey.generate(ORIGIN)
    note = CHECKPOINT.sign([KEY, new])
    assert open_checkpoint(note, [KEY.public]) == open_checkpoint(note, [new.public]) == CHECKPOINT


def test_a_log_is_not_vouched_for_by_another_one():
    with pytest.raises(UnknownSigner):
        open_checkpoint(CHECKPOINT.sign([OTHER]), [OTHER.public, KEY.public])


def test_a_cosignature_alone_is_not_enough():
    note = CHECKPOINT.sign([KEY]) + OTHER.signature_line(CHECKPOINT.text())
    assert open_checkpoint(note, [KEY.public, OTHER.public]) == CHECKPOINT
    with pytest.raises(UnknownSigner):
        open_checkpoint(note, [OTHER.public])


@pytest.mark.parametrize(
    "text",
    [
        CHECKPOINT.text() + "an extension line\n",
        CHECKPOINT.text().replace("\n7\n", "\n07\n"),
        CHECKPOINT.text().replace("\n7\n", "\n-7\n"),
        CHECKPOINT.text().replace("\n7\n", "\n0\n"),
        CHECKPOINT.text().replace("\n7\n", "\n" + "9" * 19 + "\n"),
        CHECKPOINT.text().replace("\n7\n", "\n\u0667\n"),  # a seven of another script
        CHECKPOINT.text().replace("bjQL", "bjQ"),
        f"{ORIGIN}\n7\nAAAA\n",
        f"{ORIGIN}\n7\n",
        f"\n7\n{CHECKPOINT.text().splitlines()[2]}\n",
        "text\n",
    ],
)
def test_what_is_no_checkpoint(text: str):
    with pytest.raises(NoteError, match="malformed"):
        Checkpoint.parse(text)
    with pytest.raises(NoteError, match="malformed"):
        open_checkpoint(sign(text, [KEY]), [KEY.public])
