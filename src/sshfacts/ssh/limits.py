"""Bounds of a pool; the defaults are measured against OpenSSH's defaults."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BackoffLimits:
    """Seconds of the first pause and of the longest; each failure doubles the pause, with 25 % of jitter."""

    first: float = 0.5
    longest: float = 30.0
    first_mistaken: float = 30.0
    """After a refused login or host key: sshd 9.8 and fail2ban block a source that goes on trying."""
    longest_mistaken: float = 300.0


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """How much one pool may hold."""

    connections: int = 3
    """Throughput of one host is flat from here on."""
    sessions: int = 4
    """Per connection. sshd frees a slot only after it acknowledged the close, so a pool that uses all of
    MaxSessions (10) fails in 11 % to 18 % of opens; with 4 to 6 none failed."""
    waiting: int = 500
    """Calls that wait for a session; one more is refused as `busy.host`."""
    idle_seconds: float = 300.0
    """A connection is closed after carrying nothing for so long; this and the age get 10 % of jitter."""
    age_seconds: float = 3600.0
    """A connection this old takes no new session, so that a changed key or account is noticed."""
    connect_seconds: float = 5.0
    """TCP, key exchange and login together."""
    backoff: BackoffLimits = field(default_factory=BackoffLimits)
