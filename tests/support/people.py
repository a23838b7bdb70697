"""What people do beside the pipeline: deciding about approvals, on a clock that tests move."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from sshfacts.commands.site import Site
from sshfacts.permission import approving
from sshfacts.storage.approvals import Approval
from sshfacts.storage.ledger import Actor
from sshfacts.storage.recorder import Recorder


@dataclass
class Clock:
    """A clock that stands still until it is moved."""

    now: datetime = field(default_factory=lambda: datetime(2026, 11, 30, 10, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def move(self, **by: float) -> None:
        """Let time pass."""
        self.now += timedelta(**by)


@dataclass
class Office:
    """People at one site's command line."""

    site: Site
    recorder: Recorder
    clock: Clock

    def approve(self, approval_id: object, person: str = "grace") -> Approval:
        """Approve as `person`."""
        return approving.grant(self.recorder.engine, self.site, str(approval_id), _by(person), self.clock.now)

    def refuse(self, approval_id: object, person: str = "grace") -> Approval:
        """Refuse as `person`."""
        return approving.refuse(
            self.recorder.engine, self.site, str(approval_id), "not now", _by(person), self.clock.now
        )


def _by(person: str) -> Actor:
    return Actor(person, "test", "someone")
