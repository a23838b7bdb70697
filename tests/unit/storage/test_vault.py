import hashlib
import os
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given, settings
from hypothesis import strategies as st

from sshfacts.limits import CEILINGS
from sshfacts.storage.canonical import dumps
from sshfacts.storage.raw_keys import RawKey, RawKeyError
from sshfacts.storage.vault import Kept, RawCopyError, Reference, Vault, protect, reveal, rewrap, size_of

KEY = RawKey("raw-1", bytes(range(32)))
OTHER = RawKey("raw-2", bytes(range(1, 33)))
KEYS = {KEY.name: KEY, OTHER.name: OTHER}
NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)
PLAIN = b"Filesystem  Size\n/dev/vda1  20G \x1b[2J\n" * 20


def kept(plain: bytes = PLAIN, request_id: str = "req.a", key: RawKey = KEY) -> Kept:
    return protect(plain, request_id, NOW + timedelta(days=7), key)


@settings(max_examples=50)
@given(st.binary(min_size=1, max_size=5_000))
def test_what_was_kept_comes_back(plain: bytes):
    copy = kept(plain)
    assert reveal(copy.row, "req.a", copy.reference, KEYS) == plain


def test_the_largest_output_comes_back_and_one_byte_more_is_a_fault_of_the_program():
    plain = os.urandom(CEILINGS.bytes)
    copy = kept(plain)
    assert reveal(copy.row, "req.a", copy.reference, KEYS) == plain
    with pytest.raises(ValueError, match="more bytes"):
        kept(plain + b"x")


def test_nothing_of_the_plain_text_stands_in_the_row():
    copy = kept()
    stored = b"".join(value for value in copy.row.values() if isinstance(value, bytes))
    assert b"Filesystem" not in stored
    assert zlib.compress(PLAIN, 3)[:16] not in stored


def test_each_copy_has_a_key_of_its_own():
    one, two = kept(), kept()
    assert one.row["ciphertext"] != two.row["ciphertext"]
    assert one.row["wrapped_dek"] != two.row["wrapped_dek"]


def test_the_record_says_what_was_kept_and_until_when():
    copy = kept()
    said = copy.reference.as_json()
    assert said["sha256"] == hashlib.sha256(PLAIN).hexdigest()
    assert said["bytes"] == len(PLAIN)
    assert said["ciphertext_sha256"] == hashlib.sha256(copy.row["ciphertext"]).hexdigest()
    assert said["retain_until"] == "2026-12-07T10:00:00.000000Z"
    assert Reference.read(said) == copy.reference


def test_no_field_of_a_copy_can_be_taken_from_another_one():
    mine, other = kept(), kept(PLAIN.upper())
    for names in (["ciphertext"], ["wrapped_dek"], ["nonce"], ["ciphertext", "nonce", "wrapped_dek"]):
        swapped = {**mine.row, **{name: other.row[name] for name in names}}
        with pytest.raises(RawCopyError):
            reveal(swapped, "req.a", mine.reference, KEYS)
    with pytest.raises(RawCopyError):
        reveal(other.row, "req.a", mine.reference, KEYS)


@pytest.mark.parametrize(
    "change",
    [{"blob_id": "0" * 32}, {"stream": "stderr"}, {"bytes": len(PLAIN) - 1}, {"sha256": "0" * 64}],
)
def test_a_copy_cannot_stand_for_another_identity(change: dict[str, object]):
    copy = kept()
    with pytest.raises(RawCopyError):
        reveal(copy.row, "req.a", replace(copy.reference, **change), KEYS)


def test_a_copy_cannot_stand_for_another_request():
    copy = kept()
    with pytest.raises(RawCopyError):
        reveal(copy.row, "req.b", copy.reference, KEYS)


@pytest.mark.parametrize("field", ["ciphertext", "wrapped_dek", "nonce"])
def test_one_changed_bit_is_noticed(field: str):
    copy = kept()
    value = copy.row[field]
    for index in (0, len(value) // 2, -1):
        changed = bytearray(value)
        changed[index] ^= 1
        with pytest.raises(RawCopyError):
            reveal({**copy.row, field: bytes(changed)}, "req.a", copy.reference, KEYS)


@pytest.mark.parametrize("value", [None, "text", b"", b"\x01", b"\x01" + bytes(11)])
@pytest.mark.parametrize("field", ["ciphertext", "wrapped_dek", "nonce"])
def test_a_field_that_holds_anything_else_is_refused(field: str, value: object):
    copy = kept()
    with pytest.raises(RawCopyError):
        reveal({**copy.row, field: value}, "req.a", copy.reference, KEYS)


def test_what_was_packed_to_fill_the_memory_is_not_unpacked():
    """Whoever holds the copy's own key can encrypt anything under the recorded identity."""
    copy, own_key, nonce = kept(b"small"), os.urandom(32), os.urandom(12)
    said = copy.reference
    identity = {"v": 1, "blob_id": said.blob_id, "request_id": "req.a", "stream": "stdout", "alg": said.alg}
    aad = dumps({**identity, "sha256": said.sha256, "bytes": said.bytes})
    bomb = AESGCM(own_key).encrypt(nonce, zlib.compress(bytes(50_000_000)), aad)
    wrap_nonce = os.urandom(12)
    name = f"{KEY.name} {said.blob_id}".encode()
    wrapped = b"\x01" + wrap_nonce + AESGCM(KEY.secret).encrypt(wrap_nonce, own_key, name)
    with pytest.raises(RawCopyError):
        reveal({**copy.row, "ciphertext": bomb, "nonce": nonce, "wrapped_dek": wrapped}, "req.a", said, KEYS)


def test_a_copy_needs_the_key_that_wraps_it():
    copy = kept()
    with pytest.raises(RawKeyError, match="raw-1"):
        reveal(copy.row, "req.a", copy.reference, {OTHER.name: OTHER})
    with pytest.raises(RawCopyError, match="does not open"):
        reveal(copy.row, "req.a", copy.reference, {KEY.name: RawKey(KEY.name, OTHER.secret)})


def test_a_copy_that_is_wrapped_anew_opens_with_the_new_key_alone():
    copy = kept()
    wrapped = rewrap(copy.row["wrapped_dek"], copy.reference.blob_id, KEY, OTHER)
    row = {**copy.row, "kek_id": OTHER.name, "wrapped_dek": wrapped}
    assert reveal(row, "req.a", copy.reference, {OTHER.name: OTHER}) == PLAIN
    with pytest.raises(RawCopyError):
        reveal({**row, "kek_id": KEY.name}, "req.a", copy.reference, KEYS)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {**kept().reference.as_json(), "more": 1},
        {**kept().reference.as_json(), "bytes": "5"},
        {**kept().reference.as_json(), "alg": "none"},
    ],
)
def test_a_reference_of_another_form_is_refused(value: object):
    with pytest.raises(RawCopyError):
        Reference.read(value)


def test_a_day_has_room_for_so_many_bytes_and_the_next_for_as_many():
    plain = os.urandom(1_000)
    vault = Vault(KEY, per_day=2_500)
    made = [vault.keep("req.a", plain, 7, NOW) for _ in range(4)]
    assert [copy is not None for copy in made] == [True, True, True, False]
    assert sum(size_of(copy.row) for copy in made if copy is not None) < 2_500 + 1_100
    tomorrow = vault.keep("req.a", plain, 7, NOW + timedelta(days=1))
    assert tomorrow is not None
    assert tomorrow.row["retain_until"] == NOW + timedelta(days=8)
