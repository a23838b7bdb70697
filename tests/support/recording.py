"""A service on a disk that is in trouble: `python -m tests.support.recording FILE [LARGEST_FILE]`.

Records calls until the record is unavailable, then writes one JSON object: how many records were
acknowledged, the text of the error, and how long the last caller waited. `LARGEST_FILE` bounds the bytes of
every file that this process writes.
"""

import asyncio
import json
import resource
import sys
from pathlib import Path
from time import monotonic

from sshfacts.storage.recorder import RecordUnavailable, open_recorder
from tests.support.records import intent, url_of

PATIENCE = 0.3
MOST = 100_000


async def _record_until_refused(path: Path) -> dict[str, object]:
    acknowledged = 0
    begin = monotonic()
    try:
        async with open_recorder(url_of(path), patience=PATIENCE) as recorder:
            while acknowledged < MOST:
                begin = monotonic()
                await recorder.append(intent(f"req.{acknowledged:08}", command="x" * 4_000))
                acknowledged += 1
    except RecordUnavailable as error:
        return {"acknowledged": acknowledged, "error": str(error), "seconds": monotonic() - begin}
    raise AssertionError("the disk never became full")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
    sys.stdout.write(json.dumps(asyncio.run(_record_until_refused(Path(sys.argv[1])))))
