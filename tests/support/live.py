"""A site whose one host is a real sshd, served by `sshfacts serve`, with a token of each caller."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare
from sshfacts.storage.queries import RequestRow, requests
from sshfacts.storage.tokens import add
from tests.support.command_line import RUN
from tests.support.serving import LISTEN_ON_A_FREE_PORT, Serving
from tests.support.sites import CONTRACTS, DISK
from tests.support.sshd import Sshd, keygen, public_line

ROOT = Path(__file__).parents[2]

_SETTINGS = """\
version = 1
[service]
name = "live"
{listen}
[credentials.key]
key_file = "key"
[hosts.web-1]
address = "127.0.0.1"
port = {port}
user = "{user}"
credential = "key"
host_keys = ["{host_key}"]
groups = ["linux", "near"]
[hosts.gone]
address = "{gone}"
port = 9
user = "nobody"
credential = "key"
host_keys = ["{host_key}"]
groups = ["linux", "far"]
[callers.agent]
grants = ["host.read", "disk.read", "systemd.read"]
host_groups = ["near"]
calls_per_minute = 6_000
[callers.guest]
grants = ["host.read"]
host_groups = ["near"]
[callers.traveller]
grants = ["host.read"]
host_groups = ["far"]
"""


@dataclass(frozen=True)
class LiveDoors:
    """A site that is served, and what its clients need."""

    root: Path
    database_url: str
    tokens: dict[str, str]
    serving: Serving
    gone_address: str = "127.77.41.9"
    """Where the host `gone` is said to be, and nobody is."""

    @property
    def mcp_url(self) -> str:
        return f"{self.serving.url}/mcp"

    def stdio(self) -> list[str]:
        """Return the command that an MCP client starts."""
        return [*RUN, "mcp", "--site", str(self.root)]

    def environment(self, caller: str) -> dict[str, str]:
        """Return the environment that it starts the command in."""
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        return {"SSHFACTS_TOKEN": self.tokens[caller], "PATH": os.environ["PATH"], "PYTHONPATH": path}

    def rows(self) -> list[RequestRow]:
        """Return what is on record, newest first."""
        return requests(open_for_reading(self.database_url))


@contextmanager
def live_doors(folder: Path, *, verbose: bool = False) -> Iterator[LiveDoors]:
    """Start sshd and the service; the operations `nap` and `hang` take two and thirty seconds."""
    root = folder / "site"
    (root / "commands").mkdir(parents=True)
    (folder / "sshd").mkdir()
    key = keygen(root / "key")
    with Sshd(folder / "sshd", public_line(key) + "\n") as sshd:
        settings = _SETTINGS.format(
            listen=LISTEN_ON_A_FREE_PORT,
            port=sshd.port,
            user=sshd.user,
            host_key=public_line(sshd.host_key),
            gone=LiveDoors.gone_address,
        )
        (root / "sshfacts.toml").write_text(settings)
        (root / "commands" / "site.toml").write_text('name = "live"\nformat = 1\nbuiltin = "all"\n')
        for name, seconds in (("nap", 2), ("hang", 30)):
            waits = DISK.replace("[print-disks]", f'[sleep, "{seconds}"]').replace("seconds: 5", "seconds: 60")
            (root / "commands" / f"{name}.yaml").write_text(waits)
        for name in ("disk/document.v1", "disk/facts.v1"):
            path = root / "schemas" / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(CONTRACTS[name]))
        url = f"sqlite:///{root}/audit.db"
        engine = open_for_writing(url)
        prepare(engine)
        tokens = {name: add(engine, name) for name in ("agent", "guest", "traveller")}
        with Serving(root, verbose=verbose) as serving:
            yield LiveDoors(root, url, tokens, serving)
