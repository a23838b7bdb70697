"""A transport without a network: it answers with bytes, or fails as it is told."""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sshfacts.commands.settings import Host
from sshfacts.ssh.evidence import Attempt, Evidence
from sshfacts.ssh.transport import Command, Sink


@dataclass
class CannedTransport:
    """Writes `stdout` to the sink and returns `status`, or raises `error` after the start."""

    stdout: bytes = b""
    status: int = 0
    error: BaseException | None = None
    on_run: Callable[[], Awaitable[None]] | None = None
    commands: list[str] = field(default_factory=list)

    async def run(
        self,
        host: Host,  # noqa: ARG002 - the protocol names it
        command: Command,
        sink: Sink,
        evidence: Evidence,
        *,
        before_exec: Callable[[], Awaitable[None]] | None = None,
    ) -> int:
        """Behave as a host would."""
        if before_exec is not None:
            await before_exec()
        self.commands.append(command.text)
        now = datetime.now(UTC)
        evidence.started_at = now
        evidence.attempts.append(Attempt(1, now, 10, None))
        if self.on_run is not None:
            await self.on_run()
        sink.restart()
        sink.write(self.stdout)
        evidence.stdout_bytes = len(self.stdout)
        evidence.stdout_sha256 = hashlib.sha256(self.stdout).hexdigest()
        evidence.stderr_sha256 = hashlib.sha256().hexdigest()
        if self.error is not None:
            raise self.error
        evidence.exit_status = self.status
        return self.status
