"""Looking at hosts and checking them, on a real OpenSSH server."""

import shutil
from pathlib import Path

import asyncssh
import pytest

from sshfacts.commands.settings import Host
from sshfacts.ssh.host_check import check_hosts
from sshfacts.ssh.host_keys import trust
from sshfacts.ssh.scan import scan_host
from sshfacts.ssh.shown_keys import Pin, compare
from tests.support.sshd import Sshd, can_make_accounts, fingerprint, keygen, needs_sshd, public_line, sign

pytestmark = needs_sshd


@pytest.fixture
def several(tmp_path: Path) -> tuple[Sshd, list[Path], Path]:
    """Return an sshd with keys of three types and a certificate, not yet started; its keys; and the authority."""
    (tmp_path / "sshd").mkdir()
    sshd = Sshd(tmp_path / "sshd", "")
    keys = [sshd.host_key, keygen(tmp_path / "ecdsa", kind="ecdsa"), keygen(tmp_path / "rsa", kind="rsa")]
    authority = keygen(tmp_path / "authority")
    certificate = sign(authority, keys[2], "-h", "-n", "127.0.0.1")
    sshd.config = "".join(f"HostKey {key}\n" for key in keys[1:]) + f"HostCertificate {certificate}\nLogLevel VERBOSE"
    return sshd, keys, authority


def _fingerprint(line: str) -> str:
    return asyncssh.import_public_key(line).get_fingerprint()


async def test_a_scan_shows_what_the_host_has_and_logs_in_nowhere(several):
    sshd, keys, authority = several
    with sshd:
        for _ in range(5):  # sshd hangs up on each last look in its own time
            shown = await scan_host(sshd.as_host(), None)
            assert [one.fingerprint for one in shown] == [_fingerprint(public_line(key)) for key in (*keys, authority)]
            assert [one.is_authority for one in shown] == [False, False, False, True]
        log = (sshd.folder / "log").read_text()
    assert all(one.fingerprint in fingerprint(key) for one, key in zip(shown, (*keys, authority), strict=True))
    assert "Connection from" in log
    assert not [line for line in log.splitlines() if "publickey" in line or "Accepted" in line or "Failed" in line]
    compared = compare(shown, trust(sshd.as_host()))
    assert [pin for _, pin in compared.rows] == [Pin.PINNED, Pin.UNPINNED, Pin.UNPINNED, Pin.UNPINNED]


@pytest.mark.skipif(not can_make_accounts(), reason="needs root and mount namespaces")
async def test_a_check_of_several_hosts(start_sshd, open_transport, tmp_path):
    good, closed = start_sshd(), start_sshd(authorized=public_line(keygen(tmp_path / "other")))
    shell = shutil.which("nologin", path="/usr/sbin:/sbin")
    hosts: list[Host] = [
        good.as_host("good"),
        good.as_host("behind", via="good"),
        good.as_host("changed", host_keys=(public_line(closed.host_key),)),
        closed.as_host("closed"),
        start_sshd("MaxSessions 0").as_host("full"),
        start_sshd(account="sshfacts-test", login_shell=shell).as_host("no-shell"),
    ]
    checks = await check_hosts(open_transport(*hosts), hosts)
    assert {one.host.alias: None if one.refusal is None else one.refusal.detail for one in checks} == {
        "good": None,
        "behind": None,
        "changed": "ssh.host_key",
        "closed": "ssh.login",
        "full": "busy.host",
        "no-shell": "command.exit_status",
    }
    assert [one.logged_in for one in checks] == [True, True, False, False, True, True]
    assert all(one.host_key is not None for one in checks)
