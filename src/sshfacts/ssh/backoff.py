"""How long a host is left alone after a failed connect."""

import random

from sshfacts.ssh.faults import MISTAKEN, Unconnected
from sshfacts.ssh.limits import BackoffLimits


class Backoff:
    """Counts failed connects in a row, and says until when none is tried.

    Times are those of the event loop's clock, in seconds.
    """

    def __init__(self, limits: BackoffLimits) -> None:
        self._limits = limits
        self._failures = 0
        self._until = 0.0
        self.refusal: Unconnected | None = None
        """Why the host is left alone."""

    def failed(self, refusal: Unconnected, now: float) -> None:
        """Count one failure. Those of one wave, which end while the pause runs already, count as one."""
        if now < self._until:
            return
        limits = self._limits
        mistaken = refusal.detail in MISTAKEN
        first, longest = (
            (limits.first_mistaken, limits.longest_mistaken) if mistaken else (limits.first, limits.longest)
        )
        pause = min(longest, first * 2.0 ** min(self._failures, 30))
        self._failures += 1
        self._until = now + pause * random.uniform(0.75, 1.25)  # noqa: S311 - spreads reconnects, keeps no secret
        self.refusal = refusal

    def succeeded(self) -> None:
        """Forget all failures."""
        self._failures = 0
        self._until = 0.0
        self.refusal = None

    def remaining(self, now: float) -> float:
        """Return for how many seconds no connect is tried."""
        return max(0.0, self._until - now)
