"""Every option by its value: a default of asyncssh that comes back is a hole."""

import asyncssh
import pytest

from sshfacts.commands.settings import Host
from sshfacts.ssh.host_keys import trust
from sshfacts.ssh.options import connect_options, scan_options


@pytest.fixture
def key() -> asyncssh.SSHKey:
    return asyncssh.generate_private_key("ssh-ed25519")


@pytest.fixture
def options(key) -> asyncssh.SSHClientConnectionOptions:
    line = key.export_public_key("openssh").decode()
    host = Host(alias="web-1", address="192.0.2.1", port=2222, user="facts", credential="key", host_keys=(line,))
    return connect_options(host, trust(host), asyncssh.load_keypairs([key])[0], 5.0, asyncssh.SSHClient)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("host", "192.0.2.1"),
        ("port", 2222),
        ("username", "facts"),
        ("x509_trusted_certs", None),
        ("gss_host", None),
        ("preferred_auth", ["publickey"]),
        ("password_auth", False),
        ("kbdint_auth", False),
        ("host_based_auth", False),
        ("public_key_auth", True),
        ("disable_trivial_auth", True),
        ("agent_forward_path", None),
        ("agent_identities", None),
        ("pkcs11_provider", None),
        ("compression_algs", [b"none"]),
        ("connect_timeout", 5.0),
        ("login_timeout", 5.0),
        ("keepalive_interval", 10),
        ("keepalive_count_max", 2),
        ("utf8_decode_errors", "replace"),
        ("encoding", None),
        ("request_pty", False),
        ("window", 128 * 1024),
        ("max_pktsize", 32 * 1024),
        ("tunnel", None),
        ("proxy_command", None),
        ("x11_forwarding", None),
        ("send_env", None),
        ("env", None),
        ("command", None),
    ],
)
def test_value(options, name, value):
    actual = getattr(options, name)
    assert not actual if value is None else actual == value


def test_one_key_and_no_agent(options, key):
    assert [pair.public_data for pair in options.client_keys] == [key.public_data]
    assert not options.agent_path


def test_pins_are_a_tuple_that_is_not_empty(options, key):
    assert options.known_hosts == ([key.convert_to_public()], [], [])


def test_authenticated_ciphers_come_first(options):
    assert [bytes(name) for name in options.encryption_algs][:2] == [
        b"aes128-gcm@openssh.com",
        b"aes256-gcm@openssh.com",
    ]
    assert all(b"cbc" not in name for name in options.encryption_algs)


def test_the_environment_decides_nothing(key, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text(
        "Host *\n  UserKnownHostsFile none\n  ProxyCommand touch hit\n  User root\n"
    )
    line = key.export_public_key("openssh").decode()
    host = Host(alias="web-1", address="192.0.2.1", user="facts", credential="key", host_keys=(line,))
    options = connect_options(host, trust(host), asyncssh.load_keypairs([key])[0], 5.0, asyncssh.SSHClient)
    assert (options.username, options.proxy_command, options.agent_path) == ("facts", None, "")
    assert options.known_hosts[0]


def test_a_uid_without_a_name_can_connect(key, monkeypatch):
    def no_entry(uid: int) -> object:
        raise KeyError(uid)

    monkeypatch.setattr("pwd.getpwuid", no_entry)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody")  # so that it is put back, whatever it was
        monkeypatch.delenv(name)
    line = key.export_public_key("openssh").decode()
    host = Host(alias="web-1", address="192.0.2.1", user="facts", credential="key", host_keys=(line,))
    assert connect_options(host, trust(host), asyncssh.load_keypairs([key])[0], 5.0, asyncssh.SSHClient).port == 22


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("host", "192.0.2.1"),
        ("port", 2222),
        ("username", "nobody"),
        ("known_hosts", ([], [], [])),
        ("client_keys", None),
        ("agent_path", None),
        ("x509_trusted_certs", None),
        ("gss_host", None),
        ("preferred_auth", ["publickey"]),
        ("compression_algs", [b"none"]),
        ("connect_timeout", 5.0),
    ],
)
def test_value_of_a_scan(monkeypatch, tmp_path, name, value):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    host = Host(alias="web-1", address="192.0.2.1", port=2222, user="facts", credential="key")
    actual = getattr(scan_options(host, ["ssh-ed25519"], 5.0, asyncssh.SSHClient), name)
    assert not actual if value is None else actual == value
