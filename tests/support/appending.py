"""A service that does nothing but record calls, to be killed: `python -m tests.support.appending URL`.

Writes the leaf hash of each record as soon as it is acknowledged.
"""

import asyncio
import sys
from itertools import count

from sshfacts.storage.recorder import Recorder, open_recorder
from tests.support.records import intent, outcome

CALLERS = 8
PATIENCE = 60.0
"""Seconds for which a commit is tried again: a server may take longer to come back than a caller would wait."""
HANGING = "req.hanging"
"""The request of a call whose command never ends."""


async def _call_forever(recorder: Recorder, caller: int) -> None:
    for number in count():
        request_id = f"req.{caller}.{number:08}"
        leaf = await recorder.append(intent(request_id))
        _acknowledge(leaf)
        _acknowledge(await recorder.append(outcome(leaf, request_id)))


def _acknowledge(leaf: bytes) -> None:
    sys.stdout.write(f"{leaf.hex()}\n")
    sys.stdout.flush()


async def _main(url: str) -> None:
    async with open_recorder(url, patience=PATIENCE) as recorder:
        _acknowledge(await recorder.append(intent(HANGING)))
        await asyncio.gather(*(_call_forever(recorder, caller) for caller in range(CALLERS)))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
