"""Files that are safe to log in with, and each way in which they are not."""

import os
from pathlib import Path

import asyncssh
import pytest

from sshfacts.commands.settings import Credential
from sshfacts.ssh.credentials import FILE_BYTES, AgentKey, FileKey, load
from tests.support.fault_host import write_key

PASSPHRASE = "correct horse"  # noqa: S105 - of a key that is made here


@pytest.fixture
def key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


def _write(path: Path, content: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


def _certificate(folder: Path, key: asyncssh.SSHKey) -> Path:
    authority = asyncssh.generate_private_key("ssh-ed25519")
    certificate = authority.generate_user_certificate(key, "test", principals=["facts"])
    return _write(folder / "id-cert.pub", certificate.export_certificate("openssh"), 0o644)


async def test_a_plain_key(tmp_path, key):
    loaded = load(Credential("key", key_file=write_key(tmp_path, key)))
    assert loaded.fingerprint == key.get_fingerprint()
    async with loaded.offer() as offer:
        assert (offer.pair.public_data, offer.fingerprint) == (key.public_data, key.get_fingerprint())
        assert "SSHLocalKeyPair" not in repr(offer)


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_a_key_with_passphrase(tmp_path, key, ending):
    passphrase = _write(tmp_path / "passphrase", f"{PASSPHRASE}{ending}".encode())
    path = write_key(tmp_path, key, passphrase=PASSPHRASE)
    assert load(Credential("key", key_file=path, passphrase_file=passphrase)).fingerprint == key.get_fingerprint()


async def test_a_key_with_certificate_offers_the_certificate_and_nothing_else(tmp_path, key):
    credential = Credential("key", key_file=write_key(tmp_path, key), certificate_file=_certificate(tmp_path, key))
    async with load(credential).offer() as offer:
        assert offer.pair.has_cert
        assert offer.pair.public_data != key.public_data
        assert offer.fingerprint == key.get_fingerprint()


@pytest.mark.parametrize("show", [repr, str, "{}".format])
def test_a_loaded_key_shows_nothing_of_itself(tmp_path, key, show):
    loaded = load(Credential("key", key_file=write_key(tmp_path, key), certificate_file=_certificate(tmp_path, key)))
    assert show(loaded) == f"FileKey(fingerprint={key.get_fingerprint()!r})"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o660, 0o666, 0o777])
def test_a_key_that_others_can_use_is_refused(tmp_path, key, mode):
    path = write_key(tmp_path, key)
    path.chmod(mode)
    with pytest.raises(ValueError, match=f"mode {mode:04o} lets others in"):
        load(Credential("key", key_file=path))


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_key_of_ours_alone_is_taken(tmp_path, key, mode):
    path = write_key(tmp_path, key)
    path.chmod(mode)
    assert isinstance(load(Credential("key", key_file=path)), FileKey)


def test_a_symbolic_link_is_refused(tmp_path, key):
    link = tmp_path / "link"
    link.symlink_to(write_key(tmp_path, key))
    with pytest.raises(ValueError, match="symbolic link"):
        load(Credential("key", key_file=link))


def test_a_folder_a_pipe_and_a_missing_file_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name, reason in (("", "not a regular file"), ("pipe", "not a regular file"), ("none", "No such file")):
        with pytest.raises(ValueError, match=reason):
            load(Credential("key", key_file=tmp_path / name))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_refused(tmp_path, key):
    path = write_key(tmp_path, key)
    os.chown(path, 12345, 12345)
    with pytest.raises(ValueError, match="belongs to uid 12345"):
        load(Credential("key", key_file=path))


def test_a_file_that_is_no_key(tmp_path):
    for content in (b"", b"secret-content", b"x" * (FILE_BYTES + 1)):
        with pytest.raises(ValueError, match=r"not a private key|larger than") as caught:
            load(Credential("key", key_file=_write(tmp_path / "id", content)))
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_missing_and_a_wrong_passphrase(tmp_path, key):
    path = write_key(tmp_path, key, passphrase=PASSPHRASE)
    wrong = _write(tmp_path / "passphrase", b"wrong-secret\n")
    for passphrase in (None, wrong):
        with pytest.raises(ValueError, match="passphrase") as caught:
            load(Credential("key", key_file=path, passphrase_file=passphrase))
        assert "secret" not in str(caught.value)


def test_a_passphrase_file_is_as_secret_as_the_key(tmp_path, key):
    path = write_key(tmp_path, key, passphrase=PASSPHRASE)
    passphrase = _write(tmp_path / "passphrase", PASSPHRASE.encode(), 0o640)
    with pytest.raises(ValueError, match="passphrase: mode 0640"):
        load(Credential("key", key_file=path, passphrase_file=passphrase))


@pytest.fixture
def systemd(tmp_path: Path, key: asyncssh.SSHKey, monkeypatch: pytest.MonkeyPatch) -> tuple[Credential, Path]:
    """Return a locked key whose passphrase is a systemd credential, and that credential as systemd leaves it."""
    folder = tmp_path / "credentials"
    folder.mkdir()
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    passphrase = _write(folder / "agent-passphrase", PASSPHRASE.encode(), 0o400)
    path = write_key(tmp_path, key, passphrase=PASSPHRASE)
    return Credential("key", key_file=path, passphrase_credential=passphrase.name), passphrase


@pytest.mark.parametrize("mode", [0o400, 0o440], ids=["given to the user", "given by an access list"])
def test_a_passphrase_that_systemd_holds(systemd, key, mode):
    credential, passphrase = systemd
    passphrase.chmod(mode)
    assert load(credential).fingerprint == key.get_fingerprint()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else for a moment")
def test_a_passphrase_that_systemd_holds_may_belong_to_root(systemd, key, monkeypatch):
    credential, passphrase = systemd
    os.chown(credential.key_file, 12345, 12345)
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert load(credential).fingerprint == key.get_fingerprint()
    os.chown(passphrase, 54321, 54321)
    with pytest.raises(ValueError, match="belongs to uid 54321"):
        load(credential)


@pytest.mark.parametrize("mode", [0o444, 0o460, 0o450])
def test_a_systemd_credential_that_others_can_use_is_refused(systemd, mode):
    credential, passphrase = systemd
    passphrase.chmod(mode)
    with pytest.raises(ValueError, match=f"mode {mode:04o}"):
        load(credential)


@pytest.mark.parametrize("folder", [None, "", "relative"])
def test_a_systemd_credential_needs_systemd(systemd, monkeypatch, folder):
    monkeypatch.delenv("CREDENTIALS_DIRECTORY")
    if folder is not None:
        monkeypatch.setenv("CREDENTIALS_DIRECTORY", folder)
    with pytest.raises(ValueError, match="LoadCredential="):
        load(systemd[0])


def test_secrets_as_kubernetes_mounts_them_are_refused(tmp_path, key):
    """They are links to a folder that is exchanged as a whole, so that what is checked need not be what is read."""
    (tmp_path / "..data").mkdir()
    write_key(tmp_path / "..data", key)
    (tmp_path / "id").symlink_to("..data/id")
    with pytest.raises(ValueError, match="symbolic link"):
        load(Credential("key", key_file=tmp_path / "id"))


def test_certificates_that_do_not_fit(tmp_path, key):
    path = write_key(tmp_path, key)
    other = _certificate(tmp_path, asyncssh.generate_private_key("ssh-ed25519"))
    with pytest.raises(ValueError, match="for another key"):
        load(Credential("key", key_file=path, certificate_file=other))
    other.chmod(0o666)
    with pytest.raises(ValueError, match="mode 0666"):
        load(Credential("key", key_file=path, certificate_file=other))
    with pytest.raises(ValueError, match="not an OpenSSH certificate"):
        load(Credential("key", key_file=path, certificate_file=_write(tmp_path / "x", b"x")))


def test_nothing_to_log_in_with():
    with pytest.raises(ValueError, match="neither"):
        load(Credential("key"))


def test_an_agent_is_not_asked_before_a_login(tmp_path):
    loaded = load(Credential("key", agent_socket=tmp_path / "agent"))
    assert isinstance(loaded, AgentKey)
    assert loaded.fingerprint is None


async def test_an_agent_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="No such file"):
        async with load(Credential("key", agent_socket=tmp_path / "agent")).offer():
            pytest.fail("there is no key to lend")
