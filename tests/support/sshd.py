"""A real OpenSSH server on 127.0.0.1, with its own configuration and nothing of the machine's."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

import psutil
import pytest

from sshfacts.commands.settings import Host

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin:/usr/local/sbin")
START_SECONDS = 5.0

needs_sshd = pytest.mark.skipif(SSHD is None, reason="no sshd is installed")


def keygen(path: Path, *options: str, kind: str = "ed25519", passphrase: str = "") -> Path:
    """Make a key pair, `path` and `path.pub`."""
    argv = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", "", "-f", str(path), *options]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return path


def sign(authority: Path, key: Path, *options: str) -> Path:
    """Make `key`-cert.pub, signed by `authority`; `options` are those of `ssh-keygen -s`."""
    argv = ["ssh-keygen", "-q", "-s", str(authority), "-I", "test", *options, f"{key}.pub"]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return key.with_name(f"{key.name}-cert.pub")


def public_line(key: Path) -> str:
    """Return the public key line of a key pair."""
    return key.with_name(f"{key.name}.pub").read_text().strip()


def fingerprint(key: Path) -> str:
    """Return what ssh-keygen says of a key pair."""
    argv = ["ssh-keygen", "-lf", f"{key}.pub"]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Sshd:
    """One sshd in the foreground, with the current user as the only account.

    Args:
        folder: empty and private to this server.
        authorized: lines of authorized_keys.
        config: further configuration; the first line of a keyword wins over those below.
        account: makes this name an account that only this sshd knows. Needs root and mount namespaces;
            sshd obeys signal requests only for logins other than root.
        login_shell: of that account.
    """

    def __init__(
        self, folder: Path, authorized: str, config: str = "", account: str | None = None, login_shell: str = "/bin/sh"
    ) -> None:
        self.folder = folder
        self.user = account or pwd.getpwuid(os.getuid()).pw_name
        self.port = _free_port()
        self.host_key = keygen(folder / "host_key")
        self._account = account
        self._login_shell = login_shell
        self.config = config
        self._process: subprocess.Popen[bytes] | None = None
        self._sessions: set[psutil.Process] = set()
        (folder / "home").mkdir()
        (folder / "authorized_keys").write_text(authorized)
        # The account of another uid must be able to read it.
        folder.chmod(0o755)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait for its banner; on the same port as before, if it was stopped."""
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd refuses to start as root without it
        (self.folder / "sshd_config").write_text(self._configuration())
        argv = [str(SSHD), "-D", "-e", "-f", str(self.folder / "sshd_config")]
        if self._account is not None:
            argv = self._with_account(self._account, argv)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._wait_for_banner()

    def stop_listening(self) -> None:
        """End the listener only; sessions live on, as with a real restart of sshd."""
        if self._process is not None:
            self._sessions.update(self.children())
            self._process.terminate()
            self._process.wait(START_SECONDS)
            self._process = None

    def stop(self) -> None:
        """End the listener, every session and every command."""
        self._sessions.update(self.children())
        self.stop_listening()
        for process in self._sessions:
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def children(self) -> list[psutil.Process]:
        """Return sessions and commands, without those that have ended and wait to be reaped."""
        if self._process is None:
            return []
        with suppress(psutil.NoSuchProcess):
            every = psutil.Process(self._process.pid).children(recursive=True)
            return [one for one in every if _is_running(one)]
        return []

    def sessions(self) -> list[psutil.Process]:
        """Return the processes that serve connections."""
        return [one for one in self.children() if name_of(one) == "sshd"]

    def signal_sessions(self, number: signal.Signals) -> None:
        """Send a signal to each process that serves a connection."""
        for process in self.sessions():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def as_host(self, alias: str = "web-1", **changes: object) -> Host:
        """Return the settings of this host."""
        host = Host(
            alias=alias,
            address="127.0.0.1",
            port=self.port,
            user=self.user,
            credential="key",
            host_keys=(public_line(self.host_key),),
        )
        return replace(host, **changes)  # type: ignore[arg-type]

    def _configuration(self) -> str:
        return f"""{self.config}
ListenAddress 127.0.0.1:{self.port}
HostKey {self.host_key}
AuthorizedKeysFile {self.folder}/authorized_keys
PidFile none
LogLevel ERROR
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
UseDNS no
PrintMotd no
PermitUserRC no
MaxStartups 1000:30:2000
SetEnv HOME={self.folder}/home
"""

    def _with_account(self, name: str, argv: list[str]) -> list[str]:
        """Return argv that starts sshd where passwd and shadow know one more account."""
        uid = 60_123
        passwd = Path("/etc/passwd").read_text() + f"{name}:x:{uid}:{uid}::{self.folder}/home:{self._login_shell}\n"
        shadow = Path("/etc/shadow").read_text() + f"{name}:*:20000:0:99999:7:::\n"
        (self.folder / "passwd").write_text(passwd)
        (self.folder / "shadow").touch(mode=0o600)
        (self.folder / "shadow").write_text(shadow)
        mounts = " && ".join(f"mount --bind {self.folder}/{file} /etc/{file}" for file in ("passwd", "shadow"))
        return ["unshare", "-m", "sh", "-c", f'{mounts} && exec "$@"', "sh", *argv]

    def _wait_for_banner(self) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self._process is None or self._process.poll() is not None:
                break
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as peer:
                peer.settimeout(1)
                if peer.recv(255).startswith(b"SSH-2.0"):
                    return
            time.sleep(0.01)
        raise RuntimeError(f"sshd does not start: {(self.folder / 'log').read_text()[-500:]}")


def can_make_accounts() -> bool:
    """Return whether `Sshd(account=...)` works here."""
    return (
        os.getuid() == 0 and subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode == 0
    )


def name_of(process: psutil.Process) -> str:
    """Return the name of a process, empty if it has ended meanwhile."""
    with suppress(psutil.NoSuchProcess):
        return process.name()
    return ""


def _is_running(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def running(marker: str) -> list[psutil.Process]:
    """Return the processes that have `marker` as one of their arguments, wherever they hang in the tree."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if marker in process.cmdline() and _is_running(process):
                found.append(process)
    return found
