import asyncssh
import pytest

from sshfacts.commands.settings import Host
from sshfacts.ssh.host_keys import CERTIFIED_ALGORITHMS, PLAIN_ALGORITHMS, trust


def _line(kind: str = "ssh-ed25519") -> str:
    return asyncssh.generate_private_key(kind).export_public_key("openssh").decode()


def _host(**keys: tuple[str, ...]) -> Host:
    return Host(alias="web-1", address="192.0.2.1", user="facts", credential="key", **keys)


def test_keys_authorities_and_revoked_keys_are_parsed():
    lines = [_line(), _line("ecdsa-sha2-nistp256"), _line(), _line()]
    pinned = trust(_host(host_keys=tuple(lines[:2]), host_cas=(lines[2],), revoked_keys=(lines[3],)))
    parsed = [asyncssh.import_public_key(line) for line in lines]
    assert pinned.known_hosts() == (parsed[:2], [parsed[2]], [parsed[3]])
    assert pinned.describe() == (
        f"{parsed[0].get_fingerprint()}, {parsed[1].get_fingerprint()}, CA {parsed[2].get_fingerprint()}"
    )


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        ("ssh-ed25519", ["ssh-ed25519"]),
        ("ecdsa-sha2-nistp384", ["ecdsa-sha2-nistp384"]),
        ("ssh-rsa", ["rsa-sha2-512", "rsa-sha2-256"]),
    ],
)
def test_algorithms_of_pinned_keys_come_first_and_the_others_follow(kind, first):
    for authorities in ((), (_line(),)):
        names = trust(_host(host_keys=(_line(kind),), host_cas=authorities)).algorithms()
        assert names[: len(first)] == first
        assert sorted(names) == sorted({*PLAIN_ALGORITHMS, *CERTIFIED_ALGORITHMS})
        assert ("cert" in names[len(first)]) == bool(authorities)


def test_certificates_come_first_where_only_an_authority_is_known():
    names = trust(_host(host_cas=(_line(),))).algorithms()
    assert names == [*CERTIFIED_ALGORITHMS, *PLAIN_ALGORITHMS]


def test_no_algorithm_uses_sha_1():
    assert not {"ssh-rsa", "ssh-dss", "ssh-rsa-cert-v01@openssh.com"} & {*PLAIN_ALGORITHMS, *CERTIFIED_ALGORITHMS}


def test_a_type_that_is_not_accepted_is_no_pin():
    with pytest.raises(ValueError, match=r"host_keys\[0\] is of a type that is not accepted"):
        trust(_host(host_keys=(_line("ssh-dss"),)))


def test_an_authority_alone_is_enough():
    assert len(trust(_host(host_cas=(_line(),))).authorities) == 1


@pytest.mark.parametrize("keys", [{}, {"revoked_keys": (_line(),)}], ids=["nothing", "only revoked keys"])
def test_a_host_that_nothing_is_known_of_is_refused(keys):
    with pytest.raises(ValueError, match="no host key and no authority"):
        trust(_host(**keys))


@pytest.mark.parametrize("line", ["", "ssh-ed25519", "ssh-ed25519 AAAA", "* ssh-ed25519 AAAA", "secret-text"])
@pytest.mark.parametrize("field", ["host_keys", "host_cas", "revoked_keys"])
def test_a_line_that_is_no_key_is_refused_without_being_shown(line, field):
    with pytest.raises(ValueError, match=rf"{field}\[1\] is not an OpenSSH public key line") as caught:
        trust(_host(**{"host_keys": (_line(),), field: (_line(), line)}))
    assert caught.value.__cause__ is None
    assert "secret" not in str(caught.value)


def test_a_private_key_is_no_pin():
    text = asyncssh.generate_private_key("ssh-ed25519").export_private_key("openssh").decode()
    with pytest.raises(ValueError, match="not an OpenSSH public key line"):
        trust(_host(host_keys=(text,)))
