"""Public key lines, as they stand in `authorized_keys` and in `.pub` files."""

import base64
import hashlib

import asyncssh


def parse_public_key(line: str) -> asyncssh.SSHKey:
    """Return the key of one OpenSSH public key line, `ssh-ed25519 AAAA... comment`.

    asyncssh takes much more, a private key among it, which must not end up where public keys stand.

    Raises:
        ValueError: it is no such line; the text does not repeat it.
    """
    words = line.split()
    if len(words) < 2 or "-----BEGIN" in line or "\n" in line.strip():
        raise ValueError("not an OpenSSH public key line")
    try:
        return asyncssh.import_public_key(line)
    except asyncssh.KeyImportError:
        raise ValueError("not an OpenSSH public key line") from None


def public_line(key: asyncssh.SSHKey) -> str:
    """Return the public key line of a key."""
    return key.export_public_key("openssh").decode().strip()


def fingerprint(public_data: bytes) -> str:
    """Return the fingerprint of a key in SSH's wire form, as `ssh-keygen -l` shows it."""
    digest = base64.b64encode(hashlib.sha256(public_data).digest()).decode()
    return f"SHA256:{digest.rstrip('=')}"
