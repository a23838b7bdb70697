"""A small site in a folder, to be changed by tests."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from sshfacts.commands.site import Site, load_site

DISK = """\
version: 1
title: Space on the file systems
use_when: You must know whether a host runs out of disk space.
owner: storage-team
effect: read
grants: [disk.read]
hosts: [linux]
run:
  argv: [print-disks]
  exit: {0: document}
  seconds: 5
output:
  format: json
  bytes: 8KiB
  empty: reject
  document: disk/document.v1
checks: []
unbound_because: The test needs no tie.
facts:
  contract: disk/facts.v1
  select: '{mounts: document.mounts}'
"""

UNIT = """\
version: 1
title: State of one unit
use_when: You must know whether a unit runs.
owner: platform-team
effect: read
grants: [unit.read]
hosts: [linux]
arguments:
  unit:
    description: Name of the unit
    schema: {type: string, maxLength: 40, pattern: '^[a-z][a-z0-9-]{0,30}$'}
    examples: {good: [nginx], bad: ["--all", "a b"]}
run:
  argv: [print-unit, "{unit}"]
  exit: {0: document, 4: not_found}
  seconds: 5
output:
  format: {key_value: {separator: "="}}
  bytes: 1KiB
  empty: reject
  document: unit/document.v1
checks:
  - {name: asked_unit, kind: binding, rule: document.Id == arguments.unit}
  - {name: known_state, kind: consistency, rule: document.State != "maintenance"}
not_found: document.State == "not-found"
facts:
  contract: unit/facts.v1
  select: '{unit: document.Id, state: document.State}'
"""

RESTART = UNIT.replace("State of one unit", "Restart one unit").replace("effect: read", "effect: change")
"""The same as a change; so a person must approve it."""

BACKUP = """\
version: 1
title: State of one backup job
use_when: You must know whether a backup has just been made.
owner: platform-team
effect: read
grants: [unit.read]
hosts: [linux]
arguments:
  job:
    description: Name of the job
    schema: {type: string, maxLength: 40, pattern: '^[a-z][a-z0-9-]{0,30}$'}
    examples: {good: [nightly], bad: ["--all", "a b"]}
run:
  argv: [print-backup, "{job}"]
  exit: {0: document, 4: not_found}
  seconds: 5
output:
  format: json
  bytes: 4KiB
  empty: reject
  document: backup/document.v1
checks:
  - {name: asked_job, kind: binding, rule: document.job == arguments.job}
  - {name: asked_host, kind: binding, rule: document.host == host}
  - {name: not_too_old, kind: freshness, rule: 'now - timestamp(document.at) <= duration("300s")'}
  - {name: clocks_agree, kind: freshness, rule: 'timestamp(document.at) - now <= duration("5s")'}
  - {name: copied_within_files, kind: consistency, rule: document.copied <= document.files}
not_found: document.state == "unknown"
facts:
  contract: backup/facts.v1
  select: >-
    {job: document.job, state: document.state, made_at: document.at, note: document.note,
     free_bytes: one(document.volumes, 'name', 'backup').free_bytes}
"""
"""Tied to the question by two bindings, and to the clock from both sides: a window, and a bound on its skew."""

_NAME = {"type": "string", "maxLength": 60, "pattern": "^[A-Za-z0-9/._-]{1,60}$"}
_SIZE = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
_TIME = {"type": "string", "format": "date-time"}


def _object(**properties: object) -> dict[str, object]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def _closed(**properties: object) -> dict[str, object]:
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_object(**properties)}


_MOUNTS = {"type": "array", "maxItems": 100, "items": _object(path=_NAME, free_bytes=_SIZE)}


CONTRACTS: dict[str, dict[str, object]] = {
    "disk/document.v1": _closed(mounts=_MOUNTS),
    "disk/facts.v1": _closed(mounts=_MOUNTS),
    "unit/document.v1": _closed(Id=_NAME, State=_NAME),
    "unit/facts.v1": _closed(unit=_NAME, state=_NAME),
    "backup/document.v1": _closed(
        host=_NAME,
        job=_NAME,
        at=_TIME,
        state=_NAME,
        files=_SIZE,
        copied=_SIZE,
        note={"type": "string", "maxLength": 200},
        volumes={"type": "array", "maxItems": 8, "uniqueItems": True, "items": _object(name=_NAME, free_bytes=_SIZE)},
    ),
    "backup/facts.v1": _closed(
        job=_NAME,
        state=_NAME,
        made_at=_TIME,
        note={"type": "string", "maxLength": 80, "x-untrusted-text": True},
        free_bytes=_SIZE,
    ),
}

SETTINGS = """\
version = 1
[service]
name = "test"
[credentials.key]
key_file = "key"
[hosts.web-1]
address = "127.0.0.1"
port = 1
user = "test"
credential = "key"
host_keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"]
groups = ["linux"]
[hosts.router-1]
address = "127.0.0.1"
port = 2
user = "test"
credential = "key"
host_keys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"]
groups = ["network"]
[callers.agent]
grants = ["disk.read", "unit.read"]
host_groups = ["linux"]
principal = "anna"
[callers.guest]
grants = []
host_groups = ["linux"]
[people.anna]
roles = ["approver", "operator"]
[people.grace]
roles = ["approver"]
[people.olga]
roles = ["operator"]
"""
"""Anna is the principal of the agent, so she approves nothing of it; Grace does, and Olga may not."""


@dataclass
class SiteFiles:
    """The files of a site; write them with `load`."""

    root: Path
    operations: dict[str, str] = field(default_factory=lambda: {"disk": DISK, "unit": UNIT, "restart": RESTART})
    contracts: dict[str, dict[str, object]] = field(default_factory=lambda: dict(CONTRACTS))
    settings: str = SETTINGS

    def write(self) -> Path:
        """Write all files and return the root."""
        commands = self.root / "commands"
        commands.mkdir(parents=True, exist_ok=True)
        (commands / "site.toml").write_text('name = "test"\nformat = 1\n')
        for name, text in self.operations.items():
            (commands / f"{name}.yaml").write_text(text)
        for name, schema in self.contracts.items():
            path = self.root / "schemas" / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(schema))
        (self.root / "sshfacts.toml").write_text(self.settings)
        return self.root

    def load(self) -> Site:
        """Write all files and load them."""
        return load_site(self.write(), need_settings=True)
