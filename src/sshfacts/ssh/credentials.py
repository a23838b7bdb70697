"""The keys we log in with: read once, strictly, and never shown.

asyncssh loads a world-readable key without a word, and decrypts an encrypted one anew for each connection
(150 ms of CPU). So files are opened and checked here, and only parsed keys are handed on.
"""

import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from sshfacts.commands.settings import Credential
from sshfacts.ssh.public_keys import fingerprint

FILE_BYTES = 64 * 1024
"""The largest key, certificate or passphrase file that is read."""
SYSTEMD_FOLDER = "CREDENTIALS_DIRECTORY"
"""The environment variable by which systemd tells a service where its credentials are."""


@dataclass(frozen=True, slots=True)
class _Guard:
    """What a file must be before it is read."""

    forbidden_mode: int
    or_root: bool = False

    def check(self, path: Path, state: os.stat_result) -> None:
        """Raise ValueError if others could use the file, or have replaced it."""
        if not stat.S_ISREG(state.st_mode):
            raise ValueError(f"{path}: not a regular file")
        if state.st_uid != os.geteuid() and not (self.or_root and state.st_uid == 0):
            raise ValueError(f"{path}: belongs to uid {state.st_uid}, not to the service's uid {os.geteuid()}")
        if state.st_mode & self.forbidden_mode:
            raise ValueError(f"{path}: mode {stat.S_IMODE(state.st_mode):04o} lets others in; chmod it to 0600")
        if state.st_size > FILE_BYTES:
            raise ValueError(f"{path}: larger than {FILE_BYTES} bytes")


_SECRET = _Guard(0o077)
_PUBLIC = _Guard(0o022)
_SYSTEMD = _Guard(0o037, or_root=True)
"""systemd gives the file to the service's user, or leaves it root's and lets that user read it by an access list. The
mask of such a list shows as the group's right to read."""


@dataclass(frozen=True, slots=True)
class Offer:
    """The one key that is shown to a host."""

    pair: asyncssh.SSHKeyPair = field(repr=False)
    fingerprint: str | None


@dataclass(frozen=True, slots=True)
class FileKey:
    """A private key from a file, with its certificate if it has one. Its repr shows no key material."""

    fingerprint: str
    _key: asyncssh.SSHKey = field(repr=False)
    _certificate: asyncssh.SSHCertificate | None = field(repr=False)

    @asynccontextmanager
    async def offer(self) -> AsyncIterator[Offer]:
        """Lend the key for the time of a login."""
        # A key with a certificate makes two pairs, the certified one first. Offering the bare key as well
        # would be a second failed login where only the authority is trusted.
        material = self._key if self._certificate is None else (self._key, self._certificate)
        yield Offer(asyncssh.load_keypairs([material])[0], self.fingerprint)


@dataclass(frozen=True, slots=True)
class AgentKey:
    """A key that an ssh-agent holds and never gives away."""

    socket: Path

    @property
    def fingerprint(self) -> None:
        """Nothing: only the agent knows its key, and it is asked at each login."""
        return

    @asynccontextmanager
    async def offer(self) -> AsyncIterator[Offer]:
        """Lend the key for the time of a login; the agent may be restarted between two.

        Raises:
            ValueError: the agent cannot be reached, or holds anything but one key, or one key and its
                certificate. Offering several is several failed logins in the eyes of the host.
        """
        async with asyncssh.SSHAgentClient(str(self.socket)) as agent:
            pairs = await agent.get_keys()
            bare = [pair for pair in pairs if not pair.has_cert]
            certified = [pair for pair in pairs if pair.has_cert]
            if not pairs or len(bare) > 1 or len(certified) > 1:
                raise ValueError("the agent must hold exactly one key")
            yield Offer((certified or bare)[0], fingerprint(bare[0].key_public_data) if bare else None)


LoadedCredential = FileKey | AgentKey


def load(credential: Credential) -> LoadedCredential:
    """Return the credential, ready to log in with.

    Raises:
        ValueError: a file is missing, unsafe or unreadable; the text names the file and never its content.
    """
    if credential.key_file is None:
        if credential.agent_socket is None:
            raise ValueError("neither key_file nor agent_socket is set")
        return AgentKey(credential.agent_socket)
    key = _private_key(credential.key_file, _passphrase(credential))
    certificate = None if credential.certificate_file is None else _certificate(credential.certificate_file, key)
    return FileKey(key.get_fingerprint(), key, certificate)


def _private_key(path: Path, passphrase: bytes | None) -> asyncssh.SSHKey:
    content = _read(path, _SECRET)
    try:
        return asyncssh.import_private_key(content, passphrase)
    except asyncssh.KeyEncryptionError:
        raise ValueError(f"{path}: the passphrase does not open this key") from None
    except asyncssh.KeyImportError:
        what = "a private key that this passphrase opens" if passphrase else "a private key without passphrase"
        raise ValueError(f"{path}: not {what}") from None


def _certificate(path: Path, key: asyncssh.SSHKey) -> asyncssh.SSHCertificate:
    try:
        certificate = asyncssh.import_certificate(_read(path, _PUBLIC))
    except asyncssh.KeyImportError:
        raise ValueError(f"{path}: not an OpenSSH certificate") from None
    if certificate.key.public_data != key.public_data:
        raise ValueError(f"{path}: the certificate is for another key")
    return certificate


def _passphrase(credential: Credential) -> bytes | None:
    if credential.passphrase_file is not None:
        content = _read(credential.passphrase_file, _SECRET)
    elif credential.passphrase_credential is not None:
        content = _read(_systemd_folder() / credential.passphrase_credential, _SYSTEMD)
    else:
        return None
    return content.removesuffix(b"\n").removesuffix(b"\r")


def _systemd_folder() -> Path:
    folder = os.environ.get(SYSTEMD_FOLDER, "")
    if not folder.startswith("/"):
        raise ValueError(f"passphrase_credential needs ${SYSTEMD_FOLDER}, which systemd sets for LoadCredential=")
    return Path(folder)


def _read(path: Path, guard: _Guard) -> bytes:
    """Return the content of a file that others cannot use; what is checked is what is read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        reason = "is a symbolic link" if path.is_symlink() else os.strerror(error.errno or 0)
        raise ValueError(f"{path}: {reason}") from None
    try:
        guard.check(path, os.fstat(descriptor))
        return os.read(descriptor, FILE_BYTES)
    finally:
        os.close(descriptor)
