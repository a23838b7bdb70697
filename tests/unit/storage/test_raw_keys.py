from pathlib import Path

import pytest

from sshfacts.storage.raw_keys import KEY_BYTES, RawKeyError, make_key, read_key, read_keys


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "raw-2026-12.key"


def test_a_new_key_is_read_back_and_open_to_its_owner_alone(file: Path):
    key = make_key(file)
    assert read_key(file) == key
    assert (key.name, len(key.secret)) == ("raw-2026-12", KEY_BYTES)
    assert file.stat().st_mode & 0o777 == 0o600


def test_no_two_keys_are_the_same(tmp_path: Path):
    secrets = {make_key(tmp_path / f"raw-{number}.key").secret for number in range(3)}
    assert len(secrets) == 3


def test_a_key_is_never_shown(file: Path):
    key = make_key(file)
    assert repr(key.secret) not in repr(key)
    assert key.secret.hex() not in repr(key)


def test_a_key_is_never_written_over(file: Path):
    key = make_key(file)
    with pytest.raises(RawKeyError, match="is there already"):
        make_key(file)
    assert read_key(file) == key


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_may_read_is_refused(file: Path, mode: int):
    make_key(file)
    file.chmod(mode)
    with pytest.raises(RawKeyError, match="others may read"):
        read_key(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"sshfacts-raw-key-1",
        b"sshfacts-raw-key-1 AAAA\n",
        b"sshfacts-raw-key-2 " + b"A" * 43 + b"=\n",
        b"sshfacts-raw-key-1 " + b"!" * 44 + b"\n",
        b"\xff\xfe\x00",
        b"sshfacts-raw-key-1 " + b"A" * 4_000,
    ],
)
def test_what_is_no_key_is_refused_without_being_shown(file: Path, content: bytes):
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(RawKeyError, match="holds no key") as caught:
        read_key(file)
    assert "AAAA" not in str(caught.value)


def test_a_missing_file_is_named(file: Path):
    with pytest.raises(RawKeyError, match="ENOENT"):
        read_key(file)


@pytest.mark.parametrize("name", ["raw 1.key", ".key", "schlüssel.key", f"{'a' * 65}.key"])
def test_a_name_that_no_key_can_have(tmp_path: Path, name: str):
    with pytest.raises(RawKeyError, match="named after it"):
        make_key(tmp_path / name)


def test_keys_keep_the_order_of_their_files_and_have_each_name_once(tmp_path: Path):
    files = [tmp_path / "raw-b.key", tmp_path / "raw-a.key"]
    made = [make_key(one) for one in files]
    assert list(read_keys(files).values()) == made
    (tmp_path / "old").mkdir()
    make_key(tmp_path / "old" / "raw-a.key")
    with pytest.raises(RawKeyError, match="named raw-a"):
        read_keys([*files, tmp_path / "old" / "raw-a.key"])
