"""Who the host is and who we are, against a real OpenSSH server and a real ssh-agent."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sshfacts.commands.settings import Credential, Host, Settings
from sshfacts.ssh.transport import SshTransport
from tests.support.runs import Ran, run
from tests.support.sshd import Sshd, can_make_accounts, fingerprint, keygen, needs_sshd, public_line, sign

pytestmark = needs_sshd


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return keygen(tmp_path / "id")


async def _login(host: Host, credential: Credential, *others: Host) -> Ran:
    settings = Settings(
        path=Path("/sshfacts.toml"),
        service_name="test",
        database_url="sqlite://",
        hosts={one.alias: one for one in (host, *others)},
        credentials={"key": credential},
    )
    transport = SshTransport(settings)
    try:
        return await run(transport, host, "printf ok")
    finally:
        await transport.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "sshd"
    path.mkdir()
    return path


async def test_a_host_key_of_another_type_than_the_pinned_one(folder, key):
    with Sshd(folder, public_line(key)) as sshd:
        other = keygen(folder / "other", kind="ecdsa")
        ran = await _login(sshd.as_host(host_keys=(public_line(other),)), Credential("key", key_file=key))
    assert ran.detail == "ssh.host_key"
    assert ran.evidence.host_key is not None
    assert ran.evidence.host_key in ran.where


@pytest.mark.parametrize(
    "pinned", [("rsa",), ("ecdsa",), ("ed25519",), ("ed25519", "rsa"), ("rsa", "ecdsa", "ed25519")]
)
async def test_a_host_with_several_keys_of_which_some_are_pinned(folder, key, pinned):
    keys = {"rsa": keygen(folder / "rsa", kind="rsa"), "ecdsa": keygen(folder / "ecdsa", kind="ecdsa")}
    config = "".join(f"HostKey {path}\n" for path in keys.values())
    with Sshd(folder, public_line(key), config) as sshd:
        keys["ed25519"] = sshd.host_key
        host = sshd.as_host(host_keys=tuple(public_line(keys[kind]) for kind in pinned))
        ran = await _login(host, Credential("key", key_file=key))
    assert (ran.detail, ran.stdout) == (None, b"ok")


async def test_a_pinned_key_of_a_host_that_shows_certificates_of_a_stranger(folder, key, tmp_path):
    sshd = Sshd(folder, public_line(key))
    sshd.config = f"HostCertificate {sign(keygen(tmp_path / 'stranger'), sshd.host_key, '-h')}"
    with sshd:
        host = sshd.as_host(host_cas=(public_line(keygen(tmp_path / "ours")),))
        assert (await _login(host, Credential("key", key_file=key))).stdout == b"ok"


@pytest.fixture
def certified(folder: Path, key: Path, tmp_path: Path) -> Iterator[tuple[Sshd, Path]]:
    """Return a server whose host key is certified for 127.0.0.1, and the authority."""
    authority = keygen(tmp_path / "authority")
    sshd = Sshd(folder, public_line(key))
    certificate = sign(authority, sshd.host_key, "-h", "-n", "127.0.0.1")
    sshd.config = f"HostCertificate {certificate}"
    with sshd:
        yield sshd, authority


async def test_a_host_certificate_of_a_trusted_authority(certified, key):
    sshd, authority = certified
    host = sshd.as_host(host_keys=(), host_cas=(public_line(authority),))
    assert (await _login(host, Credential("key", key_file=key))).stdout == b"ok"


@pytest.mark.parametrize("what", ["authority", "host_key"])
async def test_a_revoked_authority_or_key_is_refused(certified, key, what):
    sshd, authority = certified
    revoked = authority if what == "authority" else sshd.host_key
    host = sshd.as_host(host_keys=(), host_cas=(public_line(authority),), revoked_keys=(public_line(revoked),))
    assert (await _login(host, Credential("key", key_file=key))).detail == "ssh.host_key"


async def test_a_host_certificate_of_another_authority(certified, key, tmp_path):
    sshd, _ = certified
    host = sshd.as_host(host_keys=(), host_cas=(public_line(keygen(tmp_path / "other")),))
    assert (await _login(host, Credential("key", key_file=key))).detail == "ssh.host_key"


@pytest.mark.parametrize("options", [("-n", "192.0.2.9"), ("-n", "127.0.0.1", "-V", "20200101:20200102")])
async def test_a_host_certificate_for_another_name_or_time(folder, key, tmp_path, options):
    authority = keygen(tmp_path / "authority")
    sshd = Sshd(folder, public_line(key))
    sshd.config = f"HostCertificate {sign(authority, sshd.host_key, '-h', *options)}"
    with sshd:
        host = sshd.as_host(host_keys=(), host_cas=(public_line(authority),))
        assert (await _login(host, Credential("key", key_file=key))).detail == "ssh.host_key"


@pytest.mark.parametrize(
    ("principal", "options", "detail"),
    [(None, (), None), ("somebody-else", (), "ssh.login"), (None, ("-V", "20200101:20200102"), "ssh.login")],
    ids=["valid", "another principal", "expired"],
)
async def test_a_user_certificate(folder, key, tmp_path, principal, options, detail):
    authority = keygen(tmp_path / "authority")
    sshd = Sshd(folder, "", f"TrustedUserCAKeys {authority}.pub")
    certificate = sign(authority, key, "-n", principal or sshd.user, *options)
    with sshd:
        ran = await _login(sshd.as_host(), Credential("key", key_file=key, certificate_file=certificate))
    assert (ran.detail, ran.stdout) == (detail, b"" if detail else b"ok")


async def test_a_key_with_a_passphrase(folder, tmp_path):
    key = keygen(tmp_path / "locked", passphrase="correct horse")  # noqa: S106 - of a key that is made here
    passphrase = tmp_path / "passphrase"
    passphrase.touch(mode=0o600)
    passphrase.write_text("correct horse\n")
    with Sshd(folder, public_line(key)) as sshd:
        ran = await _login(sshd.as_host(), Credential("key", key_file=key, passphrase_file=passphrase))
    assert ran.stdout == b"ok"


@pytest.mark.parametrize("kind", ["ecdsa", "rsa"])
async def test_keys_of_other_types(folder, tmp_path, kind):
    key = keygen(tmp_path / kind, kind=kind)
    with Sshd(folder, public_line(key)) as sshd:
        ran = await _login(sshd.as_host(), Credential("key", key_file=key))
    assert ran.stdout == b"ok"


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Path]:
    socket = tmp_path / "agent"
    process = subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL)
    while not socket.exists():
        assert process.poll() is None
        time.sleep(0.01)
    yield socket
    process.terminate()
    process.wait(5)


def _add(agent: Path, *keys: Path) -> None:
    environment = {**os.environ, "SSH_AUTH_SOCK": str(agent)}
    subprocess.run(["ssh-add", "-q", *map(str, keys)], env=environment, check=True, stdin=subprocess.DEVNULL)


async def test_a_key_that_only_an_agent_holds(folder, key, agent):
    _add(agent, key)
    key.unlink()
    with Sshd(folder, public_line(key)) as sshd:
        ran = await _login(sshd.as_host(), Credential("key", agent_socket=agent))
    assert ran.stdout == b"ok"
    assert ran.evidence.key_fingerprint in fingerprint(key)


async def test_a_key_of_an_agent_with_its_certificate(folder, key, agent, tmp_path):
    authority = keygen(tmp_path / "authority")
    sshd = Sshd(folder, "", f"TrustedUserCAKeys {authority}.pub\nMaxAuthTries 1")
    sign(authority, key, "-n", sshd.user)
    _add(agent, key)  # takes the certificate that lies beside the key as well
    with sshd:
        ran = await _login(sshd.as_host(), Credential("key", agent_socket=agent))
    assert ran.stdout == b"ok"
    assert ran.evidence.key_fingerprint in fingerprint(key)


async def test_an_agent_with_several_keys_is_not_used(folder, key, agent, tmp_path):
    _add(agent, key, keygen(tmp_path / "other"))
    with Sshd(folder, public_line(key)) as sshd:
        ran = await _login(sshd.as_host(), Credential("key", agent_socket=agent))
    assert (ran.detail, ran.where) == ("ssh.login", "our key cannot be used")


async def test_an_agent_that_went_away(folder, key, tmp_path):
    with Sshd(folder, public_line(key)) as sshd:
        ran = await _login(sshd.as_host(), Credential("key", agent_socket=tmp_path / "none"))
    assert (ran.detail, ran.where) == ("ssh.login", "our key cannot be used")


@pytest.mark.parametrize(
    "config", ["DenyUsers *", "PubkeyAuthentication no", "AuthenticationMethods publickey,publickey"]
)
async def test_logins_that_are_refused(folder, key, config):
    with Sshd(folder, public_line(key), config) as sshd:
        assert (await _login(sshd.as_host(), Credential("key", key_file=key))).detail == "ssh.login"


async def test_an_unknown_user(folder, key):
    with Sshd(folder, public_line(key)) as sshd:
        ran = await _login(sshd.as_host(user="no-such-user-here"), Credential("key", key_file=key))
    assert ran.detail == "ssh.login"


async def test_a_source_address_that_does_not_fit(folder, key):
    with Sshd(folder, f'from="192.0.2.1" {public_line(key)}') as sshd:
        assert (await _login(sshd.as_host(), Credential("key", key_file=key))).detail == "ssh.login"


@pytest.mark.parametrize("config", ["Ciphers aes128-cbc", "KexAlgorithms diffie-hellman-group1-sha1"])
async def test_no_algorithm_in_common(folder, key, config):
    with Sshd(folder, public_line(key), config) as sshd:
        ran = await _login(sshd.as_host(), Credential("key", key_file=key))
    # Both ends see it at once; if sshd is first to hang up, there is nothing left to see but that.
    assert ran.where in {"no algorithm in common", "the peer hung up before the login", "ECONNRESET"}
    assert ran.evidence.started_at is None


async def test_through_a_jump_host(tmp_path, key):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    credential = Credential("key", key_file=key)
    with Sshd(tmp_path / "a", public_line(key)) as bastion, Sshd(tmp_path / "b", public_line(key)) as web:
        jump = bastion.as_host("bastion")
        assert (await _login(web.as_host(via="bastion"), credential, jump)).stdout == b"ok"
        unpinned = replace(jump, host_keys=web.as_host().host_keys)
        ran = await _login(web.as_host(via="bastion"), credential, unpinned)
        assert (ran.detail, ran.where.split(":")[0]) == ("ssh.host_key", "jump host bastion")


async def test_a_jump_host_that_forbids_forwarding(tmp_path, key):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with (
        Sshd(tmp_path / "a", public_line(key), "AllowTcpForwarding no") as bastion,
        Sshd(tmp_path / "b", public_line(key)) as web,
    ):
        jump = bastion.as_host("bastion")
        ran = await _login(web.as_host(via="bastion"), Credential("key", key_file=key), jump)
    assert (ran.detail, ran.where) == ("ssh.channel", "the jump host forbids forwarding")


@pytest.mark.skipif(not can_make_accounts(), reason="needs root and mount namespaces")
async def test_an_account_of_its_own(key):
    with tempfile.TemporaryDirectory() as folder, Sshd(Path(folder), public_line(key), account="sshfacts-test") as sshd:
        assert (await _login(sshd.as_host(), Credential("key", key_file=key))).stdout == b"ok"
