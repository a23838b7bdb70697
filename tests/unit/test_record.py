"""A record of every kind, as the product writes it: sealed, verified, and described in docs/reference/record.md."""

import asyncio
import io
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sshfacts.call import Pipeline
from sshfacts.commands.site import Site
from sshfacts.permission.request import Request
from sshfacts.storage import key_changes, pauses, raw_copies, tokens
from sshfacts.storage.canonical import leaf_hash, loads_strict, rfc3339
from sshfacts.storage.checkpoint import open_checkpoint
from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare
from sshfacts.storage.ledger import Actor
from sshfacts.storage.note import PublicKey
from sshfacts.storage.orphans import record_orphans
from sshfacts.storage.pauses import Scope
from sshfacts.storage.projection import KINDS
from sshfacts.storage.raw_keys import make_key, read_keys
from sshfacts.storage.recorder import Recorder, open_recorder
from sshfacts.storage.sealer import Log, Sealer
from sshfacts.storage.signing_keys import KeyFile
from sshfacts.storage.verify_database import verify_database
from sshfacts.storage.verify_file import verify_file
from sshfacts.values import JsonObject
from tests.support.people import Clock, Office
from tests.support.records import intent, stored
from tests.support.sites import DISK, RESTART, SETTINGS, SiteFiles
from tests.support.transports import CannedTransport

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "record.md").read_text(encoding="utf-8")
ORIGIN = "sshfacts.example/every-kind"
BY = Actor("grace", "test", "someone")
OPERATIONS = {"disk": f"{DISK}raw: {{keep: 30d}}\n", "restart": RESTART}
RAW = '[raw]\nkey_files = ["keys/raw-1.key", "keys/raw-2.key"]\n'
MOUNTS = b'{"mounts": [{"path": "/", "free_bytes": 1000}]}\n'
RUNNING = b"Id=nginx\nState=active\n"


class Everything:
    """One database in which everything happens that is recorded."""

    def __init__(self, folder: Path) -> None:
        (folder / "keys").mkdir()
        for name in ("raw-1", "raw-2"):
            make_key(folder / "keys" / f"{name}.key")
        self.site: Site = SiteFiles(folder, operations=OPERATIONS, settings=SETTINGS + RAW).load()
        self.database = folder / "audit.db"
        self.url = f"sqlite:///{self.database}"
        self.log = Log(self.url, ORIGIN, folder / "seal" / "key", folder / "seal" / "state")
        # Long enough ago that the time of the raw copy is over: the database does not let it go before.
        self.clock = Clock(datetime.now(UTC) - timedelta(days=40))

    async def happen(self) -> None:
        async with open_recorder(self.url) as recorder:
            await self._calls(recorder)
            await self._people(recorder)
        self._keys_of_copies()

    async def _calls(self, recorder: Recorder) -> None:
        agent = self.site.require_settings().callers["agent"]
        pipeline = Pipeline(self.site, CannedTransport(MOUNTS), recorder, self.clock)
        self.kept = str((await pipeline.call(agent, Request("disk", "web-1", {}), "test"))["request_id"])
        await pipeline.call(agent, Request("disk", "router-1", {}), "test")
        pipeline.count_unauthenticated()
        await pipeline.close()
        begun = self.clock.now - timedelta(hours=2)
        deadline = rfc3339(begun + timedelta(seconds=10))
        cut_off = intent(
            "req.cutoff00", at=rfc3339(begun), deadline_at=deadline, door="test", os_user=None, session=None
        )
        await recorder.append(cut_off)
        await record_orphans(open_for_reading(self.url), recorder, self.clock.now)

    async def _people(self, recorder: Recorder) -> None:
        agent = replace(self.site.require_settings().callers["agent"], principal=None)
        request = Request("restart", "web-1", {"unit": "nginx"})
        pipeline = Pipeline(self.site, CannedTransport(RUNNING), recorder, self.clock)
        office = Office(self.site, recorder, self.clock)
        for answer in (office.approve, office.refuse):
            asked = await pipeline.call(agent, request, "test")
            error = asked["error"]
            assert isinstance(error, dict)
            answer(error["approval_id"])
            await pipeline.call(agent, request, "test")
        await pipeline.close()
        engine = recorder.engine
        pauses.pause(engine, Scope(host="web-1"), "maintenance", "grace", BY)
        pauses.resume(engine, Scope(host="web-1"), "done", "grace", BY)
        tokens.rotate(engine, tokens.add(engine, "agent", BY).split("_")[1], BY)
        tokens.add_for_person(engine, "grace", BY)

    def _keys_of_copies(self) -> None:
        engine = open_for_writing(self.url)
        keys = read_keys(self.site.require_settings().raw.key_files)
        raw_copies.open_copy(engine, self.kept, keys, BY, "read")
        second = {name: keys[name] for name in sorted(keys, reverse=True)}
        assert list(raw_copies.rewrap_all(engine, second, BY)) == [1]
        assert [len(copies) for copies in raw_copies.purge(engine, datetime.now(UTC), BY)] == [1]
        prepare(engine)
        key_changes.add_key(engine, KeyFile(self.log.key_file), ORIGIN, BY)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Everything:
    made = Everything(tmp_path_factory.mktemp("everything"))
    asyncio.run(made.happen())
    return made


@pytest.fixture(scope="module")
def bodies(everything: Everything) -> list[JsonObject]:
    return stored(everything.database)


def test_every_kind_is_written_and_verifies(everything: Everything, bodies: list[JsonObject]):
    assert {body["kind"] for body in bodies} == KINDS
    sealed = Sealer(everything.log).seal()
    assert sealed is not None
    keys = [key.public for key in KeyFile(everything.log.key_file).read()]
    report = verify_database(open_for_reading(everything.url), keys, sealed.checkpoint)
    assert report.violations.shown == []
    assert report.ok
    assert (report.open_calls, report.orphaned_calls, report.unsealed) == (1, 1, 0)


def table(heading: str) -> dict[str, str]:
    """The rows of the table below a heading, by the names in their first cells."""
    section = re.split(rf"^#+ {re.escape(heading)}$", PAGE, flags=re.MULTILINE)[1]
    section = re.split(r"^#+ ", section, flags=re.MULTILINE)[0]
    rows = [line.strip("| ").split(" | ", 1) for line in section.splitlines() if line.startswith("| `")]
    assert all(len(row) == 2 for row in rows)
    return {name: meaning for names, meaning in rows for name in re.findall(r"`(\w+)`", names)}


COMMON = table("What every record has")
OPTIONAL = "Only "
"""How the meaning of a field begins that not every record of its kind has."""


def test_the_page_names_every_kind():
    assert table("Kinds").keys() == KINDS


def test_the_page_names_what_every_record_has(bodies: list[JsonObject]):
    assert [name for name, meaning in COMMON.items() if meaning.startswith(OPTIONAL)] == []
    for body in bodies:
        assert COMMON.keys() <= body.keys()


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_page_names_every_field(bodies: list[JsonObject], kind: str):
    described: Mapping[str, str] = table(kind)
    always = {name for name, meaning in described.items() if not meaning.startswith(OPTIONAL)}
    found = [body.keys() - COMMON.keys() for body in bodies if body["kind"] == kind]
    assert found
    for fields in found:
        assert always <= fields <= described.keys()


def example(heading: str, language: str) -> str:
    section = re.split(rf"^#+ {re.escape(heading)}$", PAGE, flags=re.MULTILINE)[1]
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_example_of_a_record_has_the_hash_that_the_page_says():
    body, hashed = example("How a record is hashed", "text").splitlines()
    loads_strict(body.encode())
    assert leaf_hash(body.encode()).hex() == hashed


def test_the_examples_of_a_key_a_checkpoint_and_an_export_verify():
    key = PublicKey.parse(example("Keys", "text").strip())
    note = example("Checkpoints", "text")
    body, hashed = example("How a record is hashed", "text").splitlines()
    export = example("Exports", "text").encode()
    checkpoint = open_checkpoint(note, [key])
    assert (checkpoint.size, checkpoint.root.hex()) == (1, hashed)
    assert body.encode() in export
    assert verify_file(io.BytesIO(export), [key], checkpoint).ok


def test_the_page_names_every_field_of_the_head_of_an_export():
    section = PAGE.split("| field of the head |")[1].split("\n\n")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = {name for names in rows for name in re.findall(r"`(\w+)`", names)}
    assert named == json.loads(example("Exports", "text").splitlines()[0]).keys()
