"""Short ways to run a command over a transport, and to see what came of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from sshfacts.commands.operation import Retry
from sshfacts.commands.settings import Host
from sshfacts.errors import Refusal
from sshfacts.ssh.evidence import Evidence
from sshfacts.ssh.transport import Command, Transport


@dataclass(slots=True)
class Collector:
    """A sink that keeps all it gets."""

    content: bytes = b""
    restarts: int = 0

    def restart(self) -> None:
        self.content = b""
        self.restarts += 1

    def write(self, chunk: bytes) -> None:
        self.content += chunk


@dataclass(slots=True)
class Ran:
    """What came of one run."""

    status: int | None = None
    detail: str | None = None
    where: str | None = None
    sink: Collector = field(default_factory=Collector)
    evidence: Evidence = field(default_factory=Evidence)

    @property
    def stdout(self) -> bytes:
        return self.sink.content

    @property
    def details(self) -> list[str | None]:
        """How each attempt ended."""
        return [attempt.detail for attempt in self.evidence.attempts]


def command(
    text: str,
    seconds: int = 5,
    *,
    stdout_bytes: int = 64 * 1024,
    stderr_bytes: int = 64 * 1024,
    idempotent: bool = True,
    retry: Retry | None = None,
) -> Command:
    """Return a command with bounds that do not matter."""
    return Command(text, seconds, stdout_bytes, stderr_bytes, idempotent, retry)


async def run(
    transport: Transport,
    host: Host,
    what: str | Command,
    *,
    before_exec: Callable[[], Awaitable[None]] | None = None,
) -> Ran:
    """Run a command to its end, refused or not."""
    ran = Ran()
    asked = command(what) if isinstance(what, str) else what
    try:
        ran.status = await transport.run(host, asked, ran.sink, ran.evidence, before_exec=before_exec)
    except Refusal as refusal:
        ran.detail, ran.where = refusal.detail, refusal.where
    return ran
