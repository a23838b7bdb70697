"""Runs the command line as its users do: as a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

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


def envelope_of(done: subprocess.CompletedProcess[str]) -> JsonObject:
    """Return the envelope, which is all of stdout."""
    [line] = done.stdout.splitlines()
    envelope: JsonObject = json.loads(line)
    return envelope
