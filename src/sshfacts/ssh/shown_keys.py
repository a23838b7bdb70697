"""Keys that a host shows, and how they stand to the pinned ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import asyncssh

from sshfacts.ssh.host_keys import Trust
from sshfacts.ssh.public_keys import public_line


class Pin(StrEnum):
    """How a key that a host shows stands to the pinned ones."""

    PINNED = "pinned"
    REVOKED = "REVOKED"
    DIFFERS = "NOT the pinned one of this type"
    UNPINNED = "not pinned"
    NOT_SHOWN = "pinned, and not shown"

    @property
    def is_alarm(self) -> bool:
        """Whether somebody may stand in between."""
        return self in {Pin.REVOKED, Pin.DIFFERS}


@dataclass(frozen=True, slots=True)
class ShownKey:
    """One key that a host showed: its own, or that of the authority which signed its certificate."""

    key: asyncssh.SSHKey
    is_authority: bool

    @property
    def kind(self) -> str:
        """The type as it stands in a public key line, such as `ssh-ed25519`."""
        return self.key.get_algorithm()

    @property
    def fingerprint(self) -> str:
        """The fingerprint, as `ssh-keygen -l` shows it."""
        return self.key.get_fingerprint()

    @property
    def line(self) -> str:
        """The public key line, to be pinned."""
        return public_line(self.key)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a host shows beside what is pinned of it: first all shown keys, then the pinned ones that are missing."""

    rows: tuple[tuple[ShownKey, Pin], ...]

    @property
    def is_alarming(self) -> bool:
        """Whether a key is another one than the pinned, or revoked."""
        return any(pin.is_alarm for _, pin in self.rows)

    @property
    def is_usable(self) -> bool:
        """Whether a login would find a key that it trusts."""
        return not self.is_alarming and any(pin is Pin.PINNED for _, pin in self.rows)

    @property
    def unpinned(self) -> tuple[ShownKey, ...]:
        """Shown keys that no pin speaks of."""
        return tuple(key for key, pin in self.rows if pin is Pin.UNPINNED)

    @property
    def pinnable(self) -> tuple[ShownKey, ...]:
        """Shown keys that are pinned, or could be."""
        return tuple(key for key, pin in self.rows if pin in {Pin.PINNED, Pin.UNPINNED})


def compare(shown: Iterable[ShownKey], trust: Trust) -> Comparison:
    """Hold what a host shows against its pins."""
    rows = [(key, _pin(key, trust)) for key in shown]
    seen = {key for key, _ in rows}
    expected = [ShownKey(key, is_authority=False) for key in trust.keys]
    expected += [ShownKey(key, is_authority=True) for key in trust.authorities]
    return Comparison((*rows, *((key, Pin.NOT_SHOWN) for key in expected if key not in seen)))


def _pin(shown: ShownKey, trust: Trust) -> Pin:
    if shown.key in trust.revoked:
        return Pin.REVOKED
    pinned = trust.authorities if shown.is_authority else trust.keys
    if shown.key in pinned:
        return Pin.PINNED
    same_kind = any(key.get_algorithm() == shown.kind for key in pinned)
    return Pin.DIFFERS if same_kind else Pin.UNPINNED
