"""Nothing that a host sends, and no text of a library that quotes it, reaches an agent, a log or the record.

Every kind of hostile output carries a marker, in values, names, errors and banners; then everything that is told
anywhere is searched for it. What stderr held is kept in one field of the record, for operators. `sshfacts try` shows
its operator what a stage has accepted, and nothing of what one has refused.
"""

import json
import logging
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import asyncssh
import cel
import ijson
import jmespath
import jsonschema
import pytest
from jmespath.exceptions import JMESPathError
from jsonschema.exceptions import ValidationError

from sshfacts.call import Pipeline
from sshfacts.cli.trying import Story
from sshfacts.commands.captured import Captured, envelope_of
from sshfacts.commands.cases import check_cases
from sshfacts.commands.render import render
from sshfacts.commands.site import Site
from sshfacts.errors import Stage
from sshfacts.permission.request import Request
from sshfacts.ssh.transport import SshTransport, Transport
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.queries import story
from sshfacts.storage.recorder import open_recorder
from sshfacts.values import JsonObject
from tests.support.contracts import closed, contract
from tests.support.fault_host import FaultHost, Script, write_key
from tests.support.sites import BACKUP, CONTRACTS, DISK, SETTINGS, UNIT, SiteFiles
from tests.support.transports import CannedTransport

MARKER = "zzMARKERzz"
M = MARKER.encode()
AT = datetime(2026, 11, 30, 10, tzinfo=UTC)
BACKUP_OUT = (Path(__file__).parents[1] / "layers" / "good.out").read_bytes()

WORD = {"type": "string", "maxLength": 60}
TEXTS: JsonObject = {"type": "array", "maxItems": 9, "items": WORD}
COUNT = {"type": "integer", "minimum": 0, "maximum": 9}


def variant(name: str, check: str, select: str) -> str:
    """Return an operation on texts that its check or its selection cannot take."""
    text = DISK.replace("disk/", "texts/").replace("'{mounts: document.mounts}'", json.dumps(select))
    return text.replace("checks: []", f"checks:\n  - {{name: {name}, kind: consistency, rule: {json.dumps(check)}}}")


OPERATIONS = {
    "disk": DISK,
    "unit": UNIT,
    "backup": BACKUP,
    "cel_conversion": variant("counted", "int(document.texts[0]) < 9", "{count: length(document.texts)}"),
    "cel_types": variant("compared", "document.texts[0] < 9", "{count: length(document.texts)}"),
    "cel_time": variant("timed", 'duration(document.texts[0]) < duration("1s")', "{count: `1`}"),
    "cel_key": variant("named", "document.object[document.texts[0]] == 1", "{count: `1`}"),
    "cel_index": variant("indexed", "document.texts[7] == document.texts[0]", "{count: `1`}"),
    "jmespath_types": variant("any", "size(document.texts) > 0", "{count: sum(document.texts)}"),
    "jmespath_strict": variant("any", "size(document.texts) > 0", "{count: integer(document.texts[0])}"),
    "jmespath_rows": variant("any", "size(document.texts) > 0", "{count: one(document.texts, 'name', 'x')}"),
}
ARGUMENTS: dict[str, JsonObject] = {"unit": {"unit": "nginx"}, "backup": {"job": "nightly"}}
CONTRACTS_OF_TEXTS = {
    "texts/document.v1": contract(closed({"texts": TEXTS, "object": closed({"a": COUNT})})),
    "texts/facts.v1": contract(closed({"count": COUNT})),
}

TEXT_OUT = b'{"texts": ["%s"], "object": {"a": 1}}\n' % M
HOSTILE: dict[str, tuple[str, bytes]] = {
    "banner in front": ("disk", M + b'\n{"mounts": []}\n'),
    "text behind": ("disk", b'{"mounts": []}\n' + M),
    "word": ("disk", b'{"mounts": ' + M + b"}"),
    "word that begins like a literal": ("disk", b'{"mounts": true' + M + b"}"),
    "number with letters": ("disk", b'{"mounts": [1' + M + b"]}"),
    "number beyond doubles": ("disk", b'{"%s": 1e999}' % M),
    "bad escape": ("disk", rb'{"mounts": ["\x' + M + b'"]}'),
    "half of a surrogate pair": ("disk", b'{"mounts": ["%s\\ud800"]}' % M),
    "control character": ("disk", b'{"mounts": ["%s\x1b[31m"]}' % M),
    "not UTF-8": ("disk", b'{"mounts": ["%s\xff"]}' % M),
    "cut text": ("disk", b'{"mounts": ["' + M),
    "missing colon": ("disk", b'{"%s" "%s"}' % (M, M)),
    "name twice": ("disk", b'{"%s": 1, "%s": 2}' % (M, M)),
    "long name": ("disk", b'{"%s": 1}' % (M * 30)),
    "long text": ("disk", b'{"mounts": ["%s"]}' % (M * 700)),
    "too large": ("disk", b'{"mounts": ["%s"]}' % (M * 1_000)),
    "one more property": ("disk", b'{"mounts": [], "%s": 1}' % M),
    "one more property in a row": ("disk", b'{"mounts": [{"path": "/", "free_bytes": 1, "%s": 1}]}' % M),
    "other type": ("disk", b'{"mounts": "%s"}' % M),
    "object for a text": ("disk", b'{"mounts": [{"path": {"%s": "%s"}, "free_bytes": 1}]}' % (M, M)),
    "text for a number": ("disk", b'{"mounts": [{"path": "/", "free_bytes": "%s"}]}' % M),
    "broken pattern": ("disk", b'{"mounts": [{"path": "%s %s", "free_bytes": 1}]}' % (M, M)),
    "broken format": ("backup", BACKUP_OUT.replace(b"2026-11-30T09:59:00Z", M)),
    "line without a separator": ("unit", b"Id=nginx\n%s\n" % M),
    "key twice": ("unit", b"%s=1\n%s=2\n" % (M, M)),
    "unknown key": ("unit", b"Id=nginx\nState=active\n%s=%s\n" % (M, M)),
    "cut line": ("unit", b"Id=nginx\nState=" + M),
    "carriage return": ("unit", b"Id=nginx\nState=%s\r\n" % M),
    "broken pattern of a line": ("unit", b"Id=nginx\nState=%s %s\n" % (M, M)),
    "another unit": ("unit", b"Id=%s\nState=active\n" % M),
    "another unit that does not exist": ("unit", b"Id=%s\nState=not-found\n" % M),
    "unit that does not exist": ("backup", BACKUP_OUT.replace(b"done", b"unknown").replace(b"all volumes", M)),
    "another host": ("backup", BACKUP_OUT.replace(b"web-1", M)),
    "old": ("backup", BACKUP_OUT.replace(b"2026-", b"2020-").replace(b"all volumes", M)),
    "no row": ("backup", BACKUP_OUT.replace(b'"name": "backup"', b'"name": "%s"' % M)),
    "hidden characters": ("backup", BACKUP_OUT.replace(b"all volumes", M + "\u202e".encode())),
    "too long for facts": ("backup", BACKUP_OUT.replace(b"all volumes", M * 10)),
    **{name: (name, TEXT_OUT) for name in OPERATIONS if name.startswith(("cel", "jmespath"))},
}
"""What a host may send, by what is wrong with it: the operation, and its output."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    contracts = {**CONTRACTS, **CONTRACTS_OF_TEXTS}
    return SiteFiles(tmp_path_factory.mktemp("site"), OPERATIONS, contracts).load()


@pytest.fixture
def folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Path:
    """Return where the record is kept; from now on everything is logged."""
    caplog.set_level(logging.DEBUG)
    path = tmp_path / "record"
    path.mkdir()
    return path


async def call(site: Site, transport: Transport, folder: Path, name: str) -> JsonObject:
    async with open_recorder(url_of(folder)) as recorder:
        pipeline = Pipeline(site, transport, recorder, now=lambda: AT)
        request = Request(name, "web-1", ARGUMENTS.get(name, {}))
        envelope = await pipeline.call(site.require_settings().callers["agent"], request, "test")
        await pipeline.close()
    return envelope


def url_of(folder: Path) -> str:
    return f"sqlite:///{folder}/audit.db"


def told(envelope: JsonObject, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> list[str]:
    """Return all that an agent gets, all that is logged, and all that is printed."""
    formatted = [caplog.text, *(str(record.__dict__) for record in caplog.records)]
    return [json.dumps(envelope), *formatted, *capfd.readouterr()]


def stored(folder: Path) -> bytes:
    """Return every byte of the record."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


@pytest.mark.parametrize("flaw", HOSTILE)
async def test_no_answer_with_a_flaw_leaves_a_word(site, folder, caplog, capfd, flaw: str):
    name, stdout = HOSTILE[flaw]

    envelope = await call(site, CannedTransport(stdout), folder, name)

    assert envelope["outcome"] == "failure"
    assert envelope["error"]["code"] in ("INVALID_RESPONSE", "NOT_FOUND")  # type: ignore[call-overload, index] # an object
    assert not [text for text in told(envelope, caplog, capfd) if MARKER in text]
    assert M not in stored(folder)
    outcome = story(open_for_reading(url_of(folder)), str(envelope["request_id"]))[-1]
    assert (outcome["kind"], outcome["stdout"]["bytes"]) == ("outcome", len(stdout))  # type: ignore[call-overload, index]


@pytest.mark.parametrize("flaw", HOSTILE)
def test_try_shows_its_operator_only_what_a_stage_accepted(site, capfd, flaw: str):
    name, stdout = HOSTILE[flaw]
    captured = Captured(stdout, 0, ARGUMENTS.get(name, {}), "web-1", AT)
    shown = Story(quiet=False)

    shown.end(name, envelope_of(site.operations[name], captured, shown))

    out, err = capfd.readouterr()
    assert shown.refusal is not None
    # The console wraps what is long, so that a stage's result is everything up to the next one.
    document = re.compile(r"^  ok       read .*?(?=^  \S)", re.MULTILINE | re.DOTALL)
    assert MARKER not in document.sub("", out) + err
    assert (MARKER in out) is (shown.refusal.stage is not Stage.READ)


@pytest.mark.parametrize("flaw", HOSTILE)
def test_try_as_json_shows_nothing_of_it(site, capfd, flaw: str):
    name, stdout = HOSTILE[flaw]
    captured = Captured(stdout, 0, ARGUMENTS.get(name, {}), "web-1", AT)
    shown = Story(quiet=True)

    shown.end(name, envelope_of(site.operations[name], captured, shown))

    assert MARKER not in "".join(capfd.readouterr())


def test_findings_of_cases_hold_nothing_of_what_is_refused(tmp_path: Path):
    site = SiteFiles(tmp_path, OPERATIONS, {**CONTRACTS, **CONTRACTS_OF_TEXTS}).load()
    for number, (name, stdout) in enumerate(HOSTILE.values()):
        cases = tmp_path / "schemas" / name / "cases"
        cases.mkdir(exist_ok=True, parents=True)
        (cases / f"case{number}.out").write_bytes(stdout)
        (cases / f"case{number}.yaml").write_text(
            f'host: web-1\nat: "{AT:%Y-%m-%dT%H:%M:%SZ}"\narguments: {json.dumps(ARGUMENTS.get(name, {}))}\nexit: 0\n'
            "from: made by hand\nexpect: {facts: {another: end}}\n"
        )

    findings = [finding for one in site.operations.values() for finding in check_cases(one).findings]

    assert len([finding for finding in findings if finding.code == "case.differs"]) == len(HOSTILE)
    assert not [finding for finding in findings if MARKER in str(finding)]


def test_the_texts_of_the_libraries_would_quote_it(site):
    """The outputs above prove something only if each library really says what it was given."""
    document: JsonObject = {"texts": [MARKER], "object": {"a": 1}}
    context = cel.Context(variables={"document": document})

    with pytest.raises(ijson.JSONError, match=MARKER):
        list(ijson.basic_parse(HOSTILE["word"][1]))
    with pytest.raises(ValidationError, match=MARKER):
        jsonschema.validate(MARKER, COUNT)
    for name in ("cel_time", "cel_key"):
        with pytest.raises((RuntimeError, KeyError), match=MARKER):
            site.operations[name].checks[0].rule.program.execute(context)
    with pytest.raises(JMESPathError, match=MARKER):
        jmespath.search(site.operations["jmespath_types"].selection.source, {"document": document})


@pytest.mark.parametrize(
    "fault",
    [
        RuntimeError(MARKER),
        json.JSONDecodeError(MARKER, MARKER, 0),
        ValidationError(MARKER, instance=MARKER),
        asyncssh.DisconnectError(asyncssh.DISC_BY_APPLICATION, MARKER),
        OSError(5, MARKER, MARKER),
    ],
    ids=lambda fault: type(fault).__name__,
)
async def test_a_fault_that_nobody_thought_of_is_told_by_its_class_alone(site, folder, caplog, capfd, fault):
    fault.__cause__ = ValueError(MARKER)

    envelope = await call(site, CannedTransport(b"", error=fault), folder, "disk")

    assert envelope["error"] == {"code": "INTERNAL", "retryable": False}
    assert type(fault).__name__ in caplog.text
    assert not [text for text in told(envelope, caplog, capfd) if MARKER in text]
    assert M not in stored(folder)


@pytest.fixture
async def hostile_host(tmp_path: Path) -> AsyncIterator[tuple[FaultHost, Site]]:
    """Yield a host that shows the marker in its banner, and a site that calls it `web-1`."""
    key = asyncssh.generate_private_key("ssh-ed25519")
    async with FaultHost({}, key) as host:
        host.faults.banner = f"{MARKER}\n"
        settings = SETTINGS.replace("port = 1\n", f"port = {host.port}\n").splitlines()
        pin = next(index for index, line in enumerate(settings) if line.startswith("host_keys"))
        settings[pin] = f'host_keys = ["{host.public_line()}"]'
        site = SiteFiles(tmp_path / "site", OPERATIONS, {**CONTRACTS, **CONTRACTS_OF_TEXTS}, "\n".join(settings)).load()
        write_key(tmp_path / "site", key, "key")
        yield host, site


async def call_over_ssh(site: Site, folder: Path) -> JsonObject:
    transport = SshTransport(site.require_settings())
    try:
        return await call(site, transport, folder, "disk")
    finally:
        await transport.close()


@pytest.mark.parametrize(
    ("script", "code"),
    [
        (Script(out=HOSTILE["one more property"][1], err=M), "INVALID_RESPONSE"),
        (Script(out=M, err=M, status=1), "COMMAND_FAILED"),
        (Script(out=M, err=M, status=127), "COMMAND_FAILED"),
        (Script(out=M, err=M, signal=MARKER), "COMMAND_FAILED"),
        (Script(out=M, err=M, status=None), "UPSTREAM_UNAVAILABLE"),
        (Script(out=M, err=M, drop_connection=True), "UPSTREAM_UNAVAILABLE"),
        (Script(out=M, err=M * 10_000, status=0), "COMMAND_FAILED"),
        (Script(out=M * 10_000, err=M, status=0), "INVALID_RESPONSE"),
    ],
)
async def test_of_a_run_only_the_head_of_stderr_is_kept_and_only_in_its_field(
    hostile_host, folder, caplog, capfd, script: Script, code: str
):
    host, site = hostile_host
    host.scripts[render(site.operations["disk"], {})] = script

    envelope = await call_over_ssh(site, folder)

    assert envelope["error"]["code"] == code  # type: ignore[call-overload, index] # an object
    assert not [text for text in told(envelope, caplog, capfd) if MARKER in text]
    bodies = story(open_for_reading(url_of(folder)), str(envelope["request_id"]))
    stderr = bodies[-1]["stderr"]
    assert isinstance(stderr, dict)
    kept = str(stderr.pop("text"))
    assert MARKER in kept or code != "COMMAND_FAILED"  # other ends may come before stderr does
    assert len(kept) <= 2 * 1024
    assert MARKER not in json.dumps(bodies)


async def test_a_banner_before_a_refused_login_is_told_nowhere(hostile_host, folder, caplog, capfd):
    host, site = hostile_host
    host.faults.deny_login = True

    envelope = await call_over_ssh(site, folder)

    assert envelope["error"] == {"code": "UPSTREAM_REFUSED", "retryable": False}
    assert "ssh.login" in caplog.text
    assert not [text for text in told(envelope, caplog, capfd) if MARKER in text]
    assert M not in stored(folder)
