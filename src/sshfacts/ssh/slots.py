"""How many sessions a connection carries, and how many its host is willing to carry."""

LEAKS_ALLOWED = 3
"""Runs per connection whose end was not seen. sshd keeps the slot of a process that lives on; four leaks
and four sessions stay below its default MaxSessions of 10."""
LONE_REFUSALS_ALLOWED = 3
"""Opens refused in a row with nothing of ours in flight. Then all slots are leaked, and come back in no
other way than with the connection."""


class Slots:
    """The account of one connection's sessions.

    sshd does not tell its MaxSessions, so the number that it takes is learnt from its refusals.

    Args:
        most: sessions at once, as long as the host refuses none.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0
        self.has_opened = False
        """Whether the host has ever opened a session or a tunnel."""
        self.has_refused = False
        """Whether the host has ever refused one, so that its slots are scarce."""
        self._lone_refusals = 0
        self._leaks = 0

    @property
    def is_free(self) -> bool:
        """Whether one more session fits."""
        return self.taken < self.most

    @property
    def is_used_up(self) -> bool:
        """Whether the slots of this connection are lost, to others' processes or to ours."""
        return self._leaks > LEAKS_ALLOWED or self._lone_refusals >= LONE_REFUSALS_ALLOWED

    def opened(self) -> None:
        """Take note that the host opened a session."""
        self.has_opened = True
        self._lone_refusals = 0

    def refused(self) -> None:
        """Take note that the host refused a session, which is counted as taken still."""
        self.has_refused = True
        if self.taken > 1:
            self.most = min(self.most, self.taken - 1)
        else:
            self._lone_refusals += 1

    def leaked(self) -> None:
        """Take note that a command was given up on, and may run on."""
        self._leaks += 1
