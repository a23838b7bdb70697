"""What was seen of a call's runs: filled while it happens, and readable after a failure."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime

EMPTY_SHA256 = hashlib.sha256().hexdigest()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try to run the command."""

    n: int
    """Counts from 1 within the call."""
    started_at: datetime
    """When the try began, with its wait for a connection."""
    duration_us: int
    detail: str | None
    """How it was refused, a name of `errors.DETAILS`; `cancelled`; or `None` for an exit status."""


@dataclass(slots=True)
class Evidence:
    """What the record says about the runs of one call. All but `attempts` is about the last of them."""

    attempts: list[Attempt] = field(default_factory=list)
    started_at: datetime | None = None
    """The instant before exec, UTC: no fact is older. `None` if the command provably never started."""
    exit_status: int | None = None
    exit_signal: str | None = None
    """A name of RFC 4254 §6.10 such as `KILL`, or `other`: the host's own text is not kept."""
    host_key: str | None = None
    """Fingerprint of the key the host showed, `SHA256:...`, whether it was accepted or not."""
    key_fingerprint: str | None = None
    """Fingerprint of the key we logged in with, or would have."""
    stdout_bytes: int = 0
    stdout_sha256: str | None = None
    """Over all counted bytes as they were received; `None` if the command never started."""
    stderr_bytes: int = 0
    stderr_sha256: str | None = None
    stderr_head: bytes = b""
    """The first `limits.STDERR_KEPT` bytes."""
    end_unconfirmed: bool = False
    """The command was started and no end of it was seen: it may still run on the host."""

    def begin_attempt(self) -> None:
        """Forget the run before, so that nothing of it is taken for a part of the next."""
        self.started_at = None
        self.exit_status = None
        self.exit_signal = None
        self.host_key = None
        self.stdout_bytes = 0
        self.stdout_sha256 = None
        self.stderr_bytes = 0
        self.stderr_sha256 = None
        self.stderr_head = b""
        self.end_unconfirmed = False
