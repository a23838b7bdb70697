"""Every code of the registry: a site that has the fault, and the message that its author reads."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sshfacts.commands.findings import REGISTRY, Findings, Place, nearest, suggestion
from sshfacts.commands.site import load_site
from sshfacts.errors import SiteError
from sshfacts.limits import COMMAND_FILE_BYTES
from sshfacts.schemas.problems import PROBLEMS, Problem
from tests.support.sites import SiteFiles

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
"""The file that each fault changes; a copy of its own, because the findings name its lines and columns."""

COMMAND = "commands/unit.yaml"
DOCUMENT = "schemas/unit/document.v1.json"
SETTINGS = "sshfacts.toml"
MARKER = "commands/site.toml"
ADAPTER = "adapters/units.py"
READ = "def read(stdout):\n    return []\n"


@dataclass(frozen=True)
class Fault:
    """One change to a site that is in order, and the one finding that it must give."""

    code: str
    file: str
    change: tuple[str, str] | Callable[[Path], None]
    message: str
    fix: str = ""


def replaced(file: str, text: str | bytes) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / file).write_bytes(text if isinstance(text, bytes) else text.encode())

    return change


def linked_outside(root: Path) -> None:
    outside = root.parent / "outside.yaml"
    outside.write_text(UNIT)
    (root / COMMAND).unlink()
    (root / COMMAND).symlink_to(outside)


def renamed(root: Path) -> None:
    (root / COMMAND).rename(root / "commands" / "Unit-1.yaml")


def adapter_fault(code: str, text: str, message: str) -> Fault:
    def change(root: Path) -> None:
        (root / COMMAND).write_text(UNIT.replace('{key_value: {separator: "="}}', "{adapter: units}"))
        (root / "adapters").mkdir()
        (root / ADAPTER).write_text(text)

    return Fault(code, ADAPTER, change, message)


RULE = "rule: document.Id == arguments.unit"
PATTERN = "pattern: '^[a-z][a-z0-9-]{0,30}$'"
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"

FAULTS = [
    # any file
    Fault(
        "source.missing",
        COMMAND,
        ("document: unit/document.v1", "document: unit/document.v2"),
        "21:13: there is no file",
    ),
    Fault(
        "source.unreadable",
        SETTINGS,
        lambda root: ((root / SETTINGS).unlink(), (root / SETTINGS).mkdir()),
        "this is not a regular file",
    ),  # type: ignore[arg-type, return-value]
    Fault("source.outside", COMMAND, linked_outside, "this is a link to a file outside the site's folder"),
    Fault(
        "source.size", COMMAND, replaced(COMMAND, "#" * (COMMAND_FILE_BYTES + 1)), "the file has more than 65536 bytes"
    ),
    Fault("source.encoding", COMMAND, replaced(COMMAND, b"version: 1\ntitle: \xff\n"), "2:1: the file is not UTF-8"),
    Fault(
        "source.hidden_character", COMMAND, ("one unit", "one\u200b unit"), "2:20: the character U+200B is not visible"
    ),
    # YAML
    Fault("yaml.syntax", COMMAND, ("hosts: [linux]", "hosts: [linux"), "8:10: expected ',' or ']', but got ':'"),
    Fault("yaml.documents", COMMAND, ("owner:", "---\nowner:"), "4:1: a second document starts here"),
    Fault("yaml.directive", COMMAND, ("version: 1", "%YAML 1.1\n---\nversion: 1"), "2:1: the file has a directive"),
    Fault("yaml.anchor", COMMAND, ("owner: platform-team", "owner: &team platform-team"), "4:8: '&team' is an anchor"),
    Fault("yaml.tag", COMMAND, ("owner: platform-team", "owner: !!str platform-team"), "4:8: the value has a tag"),
    Fault(
        "yaml.merge", COMMAND, ("owner: platform-team", "owner: platform-team\n<<: {a: b}"), "5:1: '<<' is a merge key"
    ),
    Fault(
        "yaml.duplicate_key",
        COMMAND,
        ("effect: read", "effect: read\neffect: change"),
        "6:1: 'effect' stands here a second time",
        "remove one of the two",
    ),
    Fault("yaml.key", COMMAND, ("owner:", "null: x\nowner:"), "4:1: 'null' is no name"),
    Fault(
        "yaml.ambiguous",
        COMMAND,
        ("owner: platform-team", "owner: off"),
        "4:8: 'off' can be read in two ways",
        "quote it if it is meant as text",
    ),
    Fault("yaml.empty", COMMAND, ("owner: platform-team", "owner:"), "4:1: a value is missing"),
    Fault("yaml.depth", COMMAND, ("checks:", f"x: {'[' * 25}{']' * 25}\nchecks:"), "22:27: more than 24 levels"),
    # JSON, TOML
    Fault(
        "json.syntax",
        DOCUMENT,
        replaced(DOCUMENT, "{\n'a': 1}"),
        "2:1: expecting property name enclosed in double quotes",
    ),
    Fault(
        "json.duplicate_name",
        DOCUMENT,
        replaced(DOCUMENT, '{"type": "object",\n "type": "array"}'),
        "2:2: 'type' stands here a second time",
    ),
    Fault("toml.syntax", SETTINGS, ("port = 1", "port = one"), "8:8: the text is not TOML here"),
    Fault("toml.date", SETTINGS, ("port = 1", "port = 2026-11-30"), "8:8: a date stands here"),
    # fields
    Fault(
        "field.unknown",
        COMMAND,
        ("seconds: 5", "secnods: 5\n  seconds: 5"),
        "16:3: 'run.secnods' is no field",
        "did you mean 'seconds'?",
    ),
    Fault(
        "field.missing", COMMAND, ("  seconds: 5\n", ""), "13:1: run has no 'seconds'", "add it: Deadline on the host."
    ),
    Fault(
        "field.type", COMMAND, ("seconds: 5", "seconds: '5'"), "16:12: run.seconds is a text", "write a whole number"
    ),
    Fault(
        "field.choice",
        COMMAND,
        ("effect: read", "effect: raed"),
        "5:9: effect is none of read, change",
        "did you mean 'read'?",
    ),
    Fault(
        "field.pattern",
        COMMAND,
        ("grants: [unit.read]", "grants: [Unit]"),
        "6:10: grants.0 does not have the form due here",
        "write lower-case words joined by dots, such as systemd.read",
    ),
    Fault("field.range", COMMAND, ("seconds: 5", "seconds: 301"), "16:12: run.seconds is 301", "use 1 to 300"),
    Fault(
        "field.length",
        COMMAND,
        ("title: State of one unit", f"title: {'x' * 81}"),
        "2:8: title has 81 characters",
        "use 1 to 80 characters",
    ),
    Fault("field.repeated", COMMAND, ("hosts: [linux]", "hosts: [linux, linux]"), "7:16: hosts.1 stands there already"),
    # site
    Fault(
        "site.stray_file",
        "commands/other.yml",
        replaced("commands/other.yml", UNIT),
        "this is no command file",
        "name it NAME.yaml, or move it out of `commands/`",
    ),
    Fault(
        "site.name_clash",
        MARKER,
        replaced(MARKER, 'name = "x"\nformat = 1\nbuiltin = ["unit"]\n'),
        "3:12: 'unit' is both built in and the site's own",
    ),
    Fault(
        "site.unknown_builtin",
        MARKER,
        replaced(MARKER, 'name = "x"\nformat = 1\nbuiltin = [\n"hots_os"]\n'),
        "4:1: there is no built-in operation 'hots_os'",
        "did you mean 'host_os'?",
    ),
    Fault("name.pattern", "commands/Unit-1.yaml", renamed, "'Unit-1' is no name of an operation"),
    # the operation
    Fault(
        "status.use_instead",
        COMMAND,
        ("effect: read", "status: deprecated\neffect: read"),
        "5:9: a deprecated operation names no other",
    ),
    Fault("arguments.unused", COMMAND, ('"{unit}"', "nginx"), '9:3: no word of run.argv is "{unit}"'),
    Fault(
        "arguments.good_example",
        COMMAND,
        ("good: [nginx]", "good: [nginx, Nginx]"),
        "12:30: the schema refuses 'Nginx'",
    ),
    Fault("arguments.bad_example", COMMAND, ('"a b"', "ab"), "12:46: the schema accepts 'ab'"),
    Fault("arguments.hostile", COMMAND, (PATTERN, "pattern: '^[a-z]{0,30}$'"), "11:13: the schema accepts ''"),
    Fault(
        "arguments.charset",
        COMMAND,
        (PATTERN, "pattern: '^[a-z][a-z0-9$-]{0,30}$'"),
        "11:52: the pattern of 'unit' holds the character '$'",
    ),
    Fault(
        "arguments.dash",
        COMMAND,
        (PATTERN, "pattern: '^(?:-[a-z]|[a-z]{1,9})$'"),
        "11:52: the pattern of 'unit' can match a leading dash",
    ),
    Fault(
        "argv.program",
        COMMAND,
        ("argv: [print-unit,", 'argv: ["print unit",'),
        "14:10: the first word names no program",
    ),
    Fault(
        "argv.shell",
        COMMAND,
        ("argv: [print-unit,", "argv: [/bin/sh, -c,"),
        "14:10: '/bin/sh' runs what other words say",
    ),
    Fault(
        "argv.shell",
        COMMAND,
        ('"{unit}"]', '"{unit}", "|", head]'),
        "14:32: '|' means something to a shell only",
    ),
    Fault("argv.glued", COMMAND, ('"{unit}"]', '"{unit}", "--unit={unit}"]'), "14:32: '{unit}' is glued to other text"),
    Fault(
        "argv.undeclared",
        COMMAND,
        ('"{unit}"]', '"{unit}", "{unti}"]'),
        "14:32: there is no argument 'unti'",
        "did you mean 'unit'?",
    ),
    Fault(
        "argv.length",
        COMMAND,
        ('"{unit}"]', '"{unit}"' + f", {'x' * 1_000}" * 9 + "]"),
        "14:3: the command can have more than 8192 bytes",
    ),
    Fault(
        "env.reserved",
        COMMAND,
        ("seconds: 5", "seconds: 5\n  env: {LC_ALL: C.UTF-8}"),
        "17:9: LC_ALL is set by the engine",
    ),
    Fault(
        "exit.no_document",
        COMMAND,
        ("exit: {0: document, 4: not_found}", "exit: {4: not_found}"),
        "15:3: no exit status means `document`",
    ),
    Fault(
        "exit.reserved", COMMAND, ("4: not_found", "127: not_found"), "15:23: status 127 belongs to env and the shell"
    ),
    Fault(
        "exit.sudo",
        COMMAND,
        ("4: not_found}", "1: not_found}\n  privilege: sudo"),
        "15:23: status 1 under sudo means not_found here",
    ),
    Fault(
        "limits.ceiling",
        COMMAND,
        ("bytes: 1KiB", "bytes: 512KiB"),
        "19:10: output.bytes is 524288, over the site's ceiling",
        "use at most 262144",
    ),
    Fault(
        "output.empty_document",
        COMMAND,
        ("empty: reject", "empty: {Id: a}"),
        '20:10: the document contract refuses it: required "State" at #',
    ),
    Fault("output.adapter", COMMAND, ('{key_value: {separator: "="}}', "{adapter: units}"), "18:21: there is no file"),
    adapter_fault("adapter.syntax", "def read(stdout):\n    return [\n", "2:12: this is no well-formed Python"),
    adapter_fault("adapter.signature", "def reads(stdout):\n    return []\n", "there is no function `read`"),
    adapter_fault("adapter.import", "import socket\n\n" + READ, "1:1: the adapter imports 'socket'"),
    adapter_fault("adapter.builtin", READ + "    open('x')\n", "3:5: the adapter uses 'open'"),
    Fault(
        "checks.repeated",
        COMMAND,
        ("name: known_state", "name: asked_unit"),
        "24:12: 'asked_unit' stands there already",
    ),
    Fault(
        "checks.unbound",
        COMMAND,
        ("kind: binding", "kind: consistency"),
        "22:1: no check ties the answer to the request or the clock",
    ),
    Fault(
        "facts.names",
        COMMAND,
        ("state: document.State}'", "stat: document.State}'"),
        "28:11: the contract has 'state', the selection has not",
    ),
    Fault(
        "retry.effect",
        COMMAND,
        ("effect: read", "effect: change\nretry: {attempts: 2, seconds: 9, codes: [TIMEOUT]}"),
        "6:1: an operation that changes something has `retry`",
    ),
    Fault(
        "decision.redundant",
        COMMAND,
        ("effect: read", 'effect: change\nask_when: host == "web-1"'),
        "6:1: every call of this operation asks already",
    ),
    # problems of the room `schemas` find their place in the command file and in the contract
    Fault("contract.pattern_unanchored", COMMAND, (PATTERN, "pattern: '[a-z]+'"), "11:52: "),
    Fault("contract.unbounded", COMMAND, (f"maxLength: 40, {PATTERN}", f"{PATTERN}"), "11:13: "),
    Fault(
        "contract.reserved_name",
        "schemas/unit/facts.v1.json",
        ('["unit", "state"], "properties": {"unit"', '["host", "state"], "properties": {"host"'),
        "1:164: 'host' is the engine's own member",
    ),
    Fault(
        "contract.open_object", DOCUMENT, ('"additionalProperties": false, ', ""), "1:1: the object may have any member"
    ),
    Fault("check.unknown_name", COMMAND, ("not_found: document.State", "not_found: documnet.State"), "25:12: "),
    Fault("check.untied", COMMAND, (RULE, 'rule: document.Id == "a"'), "23:45: "),
    Fault(
        "select.reserved_name", COMMAND, ("state: document.State}'", "state: document.State, host: host}'"), "28:11: "
    ),
    # sshfacts.toml
    Fault(
        "settings.unknown_name",
        SETTINGS,
        ('credential = "key"', 'credential = "kex"'),
        "10:14: there is no credential 'kex'",
        "did you mean 'key'?",
    ),
    Fault(
        "settings.via",
        SETTINGS,
        ('groups = ["network"]', 'groups = ["network"]\nvia = "router-1"'),
        "20:7: the way of 'router-1' by `via` has no end",
    ),
    Fault(
        "settings.database_url",
        SETTINGS,
        ("[service]", '[database]\nurl = "mysql://db/audit"\n[service]'),
        "3:7: the database URL names no database that can hold a record",
    ),
    Fault(
        "settings.password",
        SETTINGS,
        ("[service]", '[database]\nurl = "postgresql://me:hunter2@db/audit"\n[service]'),
        "3:7: database.url holds a password",
    ),
    Fault(
        "settings.host_keys",
        SETTINGS,
        (f'host_keys = ["ssh-ed25519 {KEY}"]\ngroups = ["network"]', 'groups = ["network"]'),
        "13:8: no key of 'router-1' is pinned",
    ),
    Fault(
        "settings.credential",
        SETTINGS,
        ('key_file = "key"', 'key_file = "key"\nagent_socket = "s"'),
        "4:14: 'key' has not exactly one source",
    ),
    Fault(
        "settings.listen",
        SETTINGS,
        ("[service]\n", '[service]\nlisten = "localhost:8080"\n'),
        "3:10: service.listen is 'localhost:8080'",
    ),
    Fault(
        "settings.allowed_hosts",
        SETTINGS,
        ("[service]\n", '[service]\nlisten = "192.0.2.1:8080"\n'),
        "3:10: service.listen is 192.0.2.1:8080, and service.allowed_hosts is empty",
    ),
    Fault(
        "settings.allowed_origins",
        SETTINGS,
        ("[service]\n", '[service]\nallowed_origins = ["null"]\n'),
        "3:19: 'null' is no origin",
    ),
    Fault(
        "settings.oidc",
        SETTINGS,
        ("[callers.agent]\n", '[callers.agent]\noidc = "one"\n'),
        "21:8: caller 'agent' has JWTs of nobody",
    ),
]


def site_with(fault: Fault, root: Path) -> Path:
    files = SiteFiles(root, operations={"unit": UNIT})
    files.write()
    (root / SETTINGS).write_text(files.settings + '[limits]\nbytes = "256KiB"\n')
    if isinstance(fault.change, tuple):
        path, (old, new) = root / fault.file, fault.change
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
    else:
        fault.change(root)
    return root


def test_the_site_without_a_fault_is_in_order(tmp_path: Path):
    (tmp_path / "x").write_text("x")
    root = site_with(Fault("", "x", ("x", "x"), ""), tmp_path)
    assert set(load_site(root, need_settings=True).operations) == {"unit"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.code)
def test_each_fault_gives_its_finding_and_no_other_code(fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    if fault.code == "site.name_clash":
        builtin = SiteFiles(tmp_path / "builtin", operations={"unit": UNIT}).write()
        monkeypatch.setattr("sshfacts.commands.site.builtin_site", lambda: builtin)
    root = site_with(fault, tmp_path / "site")
    with pytest.raises(SiteError) as refusal:
        load_site(root, need_settings=True)
    found = refusal.value.findings
    assert {finding.code for finding in found} == {fault.code}
    first = str(found[0]).splitlines()
    # Without a place the finding is about the file as a whole.
    place, text = fault.message.split(": ", 1) if fault.message[0].isdigit() else ("", fault.message)
    assert first[0].startswith(f"{root}/{fault.file}{place and ':'}{place}: error[{fault.code}]: {text}")
    assert first[1] == f"  why: {REGISTRY[fault.code]}"
    assert fault.fix in first[2]


def test_every_code_has_a_fault():
    # Cases are another module's, and have their own tests; problems are tested where they are found.
    own = {code for code in REGISTRY if code not in PROBLEMS and not code.startswith("case.")}
    assert own - {fault.code for fault in FAULTS} == set()


def test_codes_are_stable_words():
    assert all(code.count(".") == 1 and code.replace("_", "").replace(".", "").isalpha() for code in REGISTRY)
    assert all(why.endswith(".") for why in REGISTRY.values())


def test_an_unknown_code_is_a_fault_of_the_program():
    with pytest.raises(KeyError):
        Findings().add("no.such_code", Place("f"), "", "")


def test_findings_are_sorted_and_stand_once():
    findings = Findings()
    findings.add("field.type", Place("b", 1, 1), "x", "y")
    findings.add("field.type", Place("a", 10, 1), "x", "y")
    findings.add("field.type", Place("a", 9, 1), "x", "y")
    findings.add_problem(Problem("contract.schema", "", "x", "y"), Place("a", 9, 1))
    findings.add("field.type", Place("a", 9, 1), "x", "y")
    assert [(one.path, one.line, one.code) for one in findings.sorted()] == [
        ("a", 9, "contract.schema"),
        ("a", 9, "field.type"),
        ("a", 10, "field.type"),
        ("b", 1, "field.type"),
    ]
    assert len(findings) == 4


@pytest.mark.parametrize(("word", "near"), [("secnods", "seconds"), ("Bytes", "bytes"), ("zzz", None), ("", None)])
def test_nearest(word: str, near: str | None):
    assert nearest(word, {"seconds", "bytes", "argv"}) == near
    assert suggestion(word, {"seconds", "bytes"}, "look it up") == (f"did you mean {near!r}?" if near else "look it up")
