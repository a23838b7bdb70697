"""Runs the command line as its users do, as a process of its own, or in this one where many are run."""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from sshfacts.cli.main import main
from sshfacts.values import JsonObject

RUN = [sys.executable, "-c", "from sshfacts.cli.main import main; main()"]
SECONDS = 60


def sshfacts(*words: str, token: str | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run one command to its end."""
    environment = dict(os.environ)
    if token is not None:
        environment["SSHFACTS_TOKEN"] = token
    return subprocess.run(
        [*RUN, *words], env=environment, cwd=cwd, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def inside(*words: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run one command in this process, which takes a tenth of the time. Bytes that are no UTF-8 are surrogates."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape") for _ in range(2)]
    environment = {} if token is None else {"SSHFACTS_TOKEN": token}
    code: object = 0
    with (
        patch.dict(os.environ, environment),
        patch.object(sys, "argv", ["sshfacts", *words]),
        redirect_stdout(streams[0]),
        redirect_stderr(streams[1]),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    for stream in streams:
        stream.seek(0)
    assert isinstance(code, int)
    return subprocess.CompletedProcess([*words], code, *(stream.read() for stream in streams))


def envelope_of(done: subprocess.CompletedProcess[str]) -> JsonObject:
    """Return the envelope, which is all of stdout."""
    [line] = done.stdout.splitlines()
    envelope: JsonObject = json.loads(line)
    return envelope
