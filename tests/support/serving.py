"""`sshfacts serve` as a process of its own, on a free port."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Self

from tests.support.command_line import RUN

START_SECONDS = 60.0
LISTEN_ON_A_FREE_PORT = 'listen = "127.0.0.1:0"\n'
"""Belongs into the table `[service]`."""

# A handler and the level are there before the service sets its own, which then has no effect.
_LOUD = """
import logging
logging.basicConfig(level=logging.DEBUG)
logging.Logger.setLevel = lambda *_: None
from sshfacts.cli.main import main
main()
"""
_URL = re.compile(r" at (http://\S+)$")


class Serving:
    """One process; `log` holds what it has written on stderr so far, `url` where it listens.

    Args:
        verbose: every logger of every package says all it can.
    """

    def __init__(self, root: Path, *, verbose: bool = False) -> None:
        self._argv = [*([sys.executable, "-c", _LOUD] if verbose else RUN), "serve", "--site", str(root)]
        self.log: list[str] = []
        self.url = ""

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            self._argv, env=dict(os.environ), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self._reading = Thread(target=self._read)
        self._reading.start()
        end = time.monotonic() + START_SECONDS
        while not self.url:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, "it does not listen"
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reading.join()

    def end(self, seconds: float = 60.0) -> int:
        """Send SIGTERM, wait for the end, and return the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as stream:
            for line in stream:
                self.log.append(line)
                if found := _URL.search(line):
                    self.url = found[1]
