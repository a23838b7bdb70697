import pytest

from sshfacts.ssh.backoff import Backoff
from sshfacts.ssh.faults import Unconnected
from sshfacts.ssh.limits import BackoffLimits

OUTAGE = Unconnected("ssh.unreachable")
LIMITS = BackoffLimits()


def _pauses(refusal: Unconnected, count: int) -> list[float]:
    backoff, now, pauses = Backoff(LIMITS), 0.0, []
    for _ in range(count):
        backoff.failed(refusal, now)
        pauses.append(backoff.remaining(now))
        now += pauses[-1]
    return pauses


def test_pauses_double_up_to_the_longest():
    for pause, expected in zip(_pauses(OUTAGE, 9), [0.5, 1, 2, 4, 8, 16, 30, 30, 30], strict=True):
        assert expected * 0.75 <= pause <= expected * 1.25


@pytest.mark.parametrize("detail", ["ssh.login", "ssh.host_key"])
def test_a_refused_login_or_key_is_left_alone_for_long(detail):
    for pause, expected in zip(_pauses(Unconnected(detail), 6), [30, 60, 120, 240, 300, 300], strict=True):
        assert expected * 0.75 <= pause <= expected * 1.25


def test_failures_of_one_wave_count_once():
    backoff = Backoff(LIMITS)
    for _ in range(10):
        backoff.failed(OUTAGE, 0.0)
    assert backoff.remaining(0.0) <= 0.5 * 1.25


def test_a_thousand_failures_do_not_overflow():
    assert _pauses(OUTAGE, 1000)[-1] <= 30 * 1.25


def test_a_success_forgets_all():
    backoff = Backoff(LIMITS)
    backoff.failed(OUTAGE, 0.0)
    assert backoff.refusal is OUTAGE
    backoff.succeeded()
    assert (backoff.remaining(0.0), backoff.refusal) == (0.0, None)


def test_pauses_are_spread():
    firsts = {_pauses(OUTAGE, 1)[0] for _ in range(50)}
    assert len(firsts) == 50
