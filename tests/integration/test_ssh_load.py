"""Many calls at once against a real OpenSSH server: what the pool promises of them together."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import sshfacts
from sshfacts.limits import KIB, MIB
from tests.integration.flood_probe import BYTES, FLOODS
from tests.support.pools import leaves_nothing, soon
from tests.support.runs import command, run
from tests.support.sshd import Sshd, name_of, needs_sshd, public_line

pytestmark = needs_sshd

PROBE = Path(__file__).with_name("flood_probe.py")
MOST_GROWTH = FLOODS * (BYTES + 64 * KIB) + 16 * MIB
PACKET = 32 * KIB


def _logins(sshd: Sshd) -> int:
    return (sshd.folder / "log").read_text().count("Accepted publickey")


async def test_a_cold_herd_of_200_calls_logs_in_three_times(start_sshd, open_transport):
    sshd = start_sshd("LogLevel INFO")
    host = sshd.as_host()
    transport = open_transport(host)
    ran = await asyncio.gather(*(run(transport, host, command("printf ok", seconds=60)) for _ in range(200)))
    assert [one.stdout for one in ran] == [b"ok"] * 200
    assert [one.details for one in ran] == [[None]] * 200
    assert _logins(sshd) <= 3
    assert await leaves_nothing(transport)


async def test_four_sessions_that_are_killed_under_load_cost_no_reading_call(start_sshd, open_transport):
    sshd = start_sshd()
    host = sshd.as_host()
    transport = open_transport(host)
    calls = [
        asyncio.ensure_future(run(transport, host, command("sleep 0.02; printf ok", seconds=60))) for _ in range(300)
    ]
    for killed in range(4):
        answered = 50 * (killed + 1)
        assert await soon(lambda answered=answered: sum(call.done() for call in calls) >= answered, seconds=20)
        os.kill(sshd.sessions()[0].pid, signal.SIGKILL)
    ran = await asyncio.gather(*calls)
    assert [one.stdout for one in ran if one.status == 0] == [b"ok"] * 300
    assert {detail for one in ran for detail in one.details} <= {None, "ssh.lost", "ssh.unreachable"}
    assert sum("ssh.lost" in one.details for one in ran) >= 4
    assert await leaves_nothing(transport)


@pytest.mark.parametrize(
    ("text", "detail"),
    [("yes", "output.too_large"), ("cat /dev/zero", "output.too_large"), ("yes >&2", "command.stderr")],
)
def test_fifty_floods_at_once_are_cut_within_their_bytes(plain, key, text, detail):
    words = [str(plain.port), plain.user, public_line(plain.host_key), str(key), text]
    source = Path(sshfacts.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(PROBE.parents[2])])}
    done = subprocess.run(
        [sys.executable, str(PROBE), *words], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    told = json.loads(done.stdout)
    assert told["works"]
    assert (told["details"], told["attempts"]) == ([detail], FLOODS)
    assert told["connections"] == 13
    assert told["most"] <= BYTES + PACKET
    assert told["grown"] <= MOST_GROWTH
    assert told["leaves_nothing"]
    assert not [one for one in plain.children() if name_of(one) in {"cat", "yes"}]
