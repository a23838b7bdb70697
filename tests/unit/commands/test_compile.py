"""What a command file becomes, and what it must not say."""

from pathlib import Path
from types import MappingProxyType

import pytest

from sshfacts.adapters.formats import Fields, Json, JsonLines, KeyValue
from sshfacts.commands.operation import Effect, ExitMeaning, Needs, Operation, Raw, Retry, Status
from sshfacts.commands.site import load_site
from sshfacts.errors import Code, SiteError
from sshfacts.limits import DEFAULTS
from sshfacts.schemas.checks import CheckKind
from tests.support.sites import DISK, RESTART, UNIT, SiteFiles

ARGUMENT = """\
    schema: {type: string, maxLength: 40, pattern: '^[a-z][a-z0-9-]{0,30}$'}
    examples: {good: [nginx], bad: ["--all", "a b"]}
"""


def compiled(folder: Path, text: str, name: str = "unit") -> Operation:
    return SiteFiles(folder, operations={name: text}).load().operations[name]


def messages(folder: Path, text: str) -> list[str]:
    with pytest.raises(SiteError) as refusal:
        SiteFiles(folder, operations={"unit": text}).load()
    prefix = f"{folder}/commands/unit.yaml:"
    return [str(finding).splitlines()[0].removeprefix(prefix) for finding in refusal.value.findings]


def with_argument(schema: str, good: str, bad: str) -> str:
    return UNIT.replace(ARGUMENT, f"    schema: {schema}\n    examples: {{good: {good}, bad: {bad}}}\n").replace(
        "document.Id == arguments.unit", "document.Id == string(arguments.unit)"
    )


def test_every_field_of_a_full_file(tmp_path: Path):
    operation = compiled(
        tmp_path,
        UNIT.replace("effect: read", "status: stable\neffect: read\ndecision: allow\nask_when: host == 'web-1'")
        .replace("hosts: [linux]", "hosts: [linux, bsd]\nneeds: {os: linux, program: print-unit, at_least: '2.0'}")
        .replace("seconds: 5", "seconds: 5\n  privilege: sudo\n  env: {TZ: UTC}")
        .replace('{separator: "="}', "{separator: ':', trim: true, quoted: true, ignore: [blank, comment]}")
        .replace("empty: reject", "depth: 2\n  empty: {Id: none, State: none}")
        + "retry: {attempts: 3, seconds: 20, codes: [TIMEOUT, BUSY]}\nraw: {keep: 30d, keep_refused: 14d}\n",
    )
    assert (operation.name, operation.title, operation.owner) == ("unit", "State of one unit", "platform-team")
    assert operation.use_when == "You must know whether a unit runs."
    assert (operation.status, operation.use_instead, operation.effect) == (Status.STABLE, None, Effect.READ)
    assert (operation.grants, operation.host_groups) == ({"unit.read"}, {"linux", "bsd"})
    assert operation.needs == Needs("linux", "print-unit", "2.0")
    assert (operation.asks, operation.ask_when is None) == (False, False)
    assert operation.run.argv == ("print-unit", "{unit}")
    assert operation.run.exit == {0: ExitMeaning.DOCUMENT, 4: ExitMeaning.NOT_FOUND}
    assert (operation.run.seconds, operation.run.sudo, operation.run.env) == (5, True, {"TZ": "UTC"})
    assert operation.output.format == KeyValue(":", trim=True, quoted=True, ignore=frozenset({"blank", "comment"}))
    assert (operation.output.limits.bytes, operation.output.limits.depth) == (1024, 2)
    assert operation.output.limits.items == DEFAULTS.items
    assert (operation.output.rejects_empty, operation.output.empty) == (False, {"Id": "none", "State": "none"})
    assert operation.output.contract_name == "unit/document.v1"
    assert [(check.name, check.kind) for check in operation.checks] == [
        ("asked_unit", CheckKind.BINDING),
        ("known_state", CheckKind.CONSISTENCY),
    ]
    assert operation.facts_contract_name == "unit/facts.v1"
    assert operation.selection.names == {"unit", "state"}
    assert operation.retry == Retry(3, 20, frozenset({Code.TIMEOUT, Code.BUSY}))
    assert operation.raw == Raw(30, 14)
    assert operation.path == tmp_path / "commands" / "unit.yaml"
    assert len(operation.digest) == 64


def test_what_is_left_out(tmp_path: Path):
    operation = compiled(tmp_path, DISK, "disk")
    assert (operation.status, operation.retry, operation.ask_when, operation.not_found) == (
        Status.STABLE,
        None,
        None,
        None,
    )
    assert (operation.needs, operation.raw) == (Needs(), Raw(keep=0, keep_refused=7))
    assert operation.output.rejects_empty
    assert operation.output.format == Json()
    assert operation.arguments == {}
    assert operation.arguments_contract.violation({}) is None
    assert operation.arguments_contract.violation({"x": 1}) is not None
    assert operation.unbound_because == "The test needs no tie."


def test_the_agents_contract_of_the_arguments(tmp_path: Path):
    operation = compiled(tmp_path, UNIT)
    assert operation.arguments_contract.schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["unit"],
        "properties": {
            "unit": {
                "type": "string",
                "maxLength": 40,
                "pattern": "^[a-z][a-z0-9-]{0,30}$",
                "description": "Name of the unit",
            }
        },
    }
    argument = operation.arguments["unit"]
    assert (argument.name, argument.description, argument.good, argument.bad) == (
        "unit",
        "Name of the unit",
        ("nginx",),
        ("--all", "a b"),
    )


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        (UNIT, False),
        (RESTART, True),
        (UNIT.replace("effect: read", "effect: read\ndecision: ask"), True),
        (RESTART.replace("effect: change", "effect: change\ndecision: allow"), False),
    ],
)
def test_a_change_asks_unless_its_file_says_otherwise(tmp_path: Path, text: str, asks: bool):
    assert compiled(tmp_path, text).asks is asks


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("json", Json()),
        ("json_lines", JsonLines()),
        ("{fields: {separator: nul, names: [name, size]}}", Fields("nul", ("name", "size"))),
        ("{key_value: {separator: ': '}}", KeyValue(": ")),
    ],
)
def test_formats(tmp_path: Path, written: str, read: object):
    assert compiled(tmp_path, DISK.replace("format: json", f"format: {written}"), "disk").output.format == read


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ("{type: string, enum: [a, b]}", "[a]", "[c]"),
        ("{type: string, maxLength: 9, pattern: '^/[a-z/]{1,8}$'}", "[/var]", "[var]"),
        ("{type: integer, minimum: 0, maximum: 9}", "[0, 9]", "[-1, 10, 1.0, '1']"),
        ("{type: integer, enum: [1, 2], minimum: 1, maximum: 2}", "[1]", "[3]"),
        ("{type: boolean}", "[true]", "['true', 1]"),
    ],
)
def test_arguments_of_every_type(tmp_path: Path, schema: str, good: str, bad: str):
    assert list(compiled(tmp_path, with_argument(schema, good, bad)).arguments) == ["unit"]


@pytest.mark.parametrize(
    ("schema", "good", "bad", "found"),
    [
        ("{type: string, maxLength: 9}", "[a]", "['']", ["11:13: error[contract.argument]: the text may be anything"]),
        (
            "{type: integer, maximum: 9}",
            "[1]",
            "[x]",
            ["11:13: error[contract.unbounded]: the number has no 'minimum'"],
        ),
        (
            "{type: integer, minimum: -1, maximum: 9}",
            "[1]",
            "[x]",
            ["11:38: error[field.range]: arguments.unit.schema.minimum is -1"],
        ),
        (
            "{type: number}",
            "[1]",
            "[x]",
            ["11:20: error[field.choice]: arguments.unit.schema.type is none of string, integer, boolean"],
        ),
        (
            "{type: string, patern: '^a$'}",
            "[a]",
            "[b]",
            [
                "11:28: error[field.unknown]: 'arguments.unit.schema.patern' is no field",
                "11:13: error[contract.argument]: the text may be anything",
            ],
        ),
        (
            "{type: string, enum: [a, -b, 'c d']}",
            "[a]",
            "[b]",
            [
                "11:38: error[arguments.charset]: '-b' cannot be passed as a word",
                "11:42: error[arguments.charset]: 'c d' cannot be passed as a word",
            ],
        ),
        (
            "{type: string, maxLength: 9, pattern: '^[^-].$'}",
            "[ab]",
            "['']",
            ["11:51: error[contract.pattern]: the pattern has '.', which skips other line ends in each language"],
        ),
        (
            "{type: string, maxLength: 9, pattern: '^[^-]{1,9}$'}",
            "[a]",
            "['']",
            ["11:51: error[arguments.charset]: the pattern of 'unit' holds a class that starts with '^'"],
        ),
        ("{type: string, maxLength: 4096, pattern: '^[a-z]{1,9}[a-z-]*$'}", "[a]", "['']", []),
    ],
)
def test_arguments_that_could_harm(tmp_path: Path, schema: str, good: str, bad: str, found: list[str]):
    text = with_argument(schema, good, bad)
    if not found:
        compiled(tmp_path, text)
        return
    assert {*found} <= {*messages(tmp_path, text)}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("[print-unit, ", "[/usr/bin/print-unit, "), None),
        (('"{unit}"]', '"{unit}", "--format={{json .}}", "%{NAME}", "{}"]'), None),
        (("[print-unit, ", "[../print-unit, "), ["14:10: error[argv.program]: the first word names no program"]),
        (("[print-unit, ", "[/usr/../sh, "), ["14:10: error[argv.program]: the first word names no program"]),
        (("[print-unit, ", "[-x, "), ["14:10: error[argv.program]: the first word names no program"]),
        (("[print-unit, ", "['print$unit', "), ["14:10: error[argv.program]: the first word names no program"]),
        (('[print-unit, "{unit}"]', '["{unit}"]'), ["14:10: error[argv.program]: the first word names no program"]),
        (
            ("[print-unit, ", "[/usr/bin/sudo, print-unit, "),
            ["14:10: error[argv.shell]: '/usr/bin/sudo' runs what other words say"],
        ),
        (("[print-unit, ", "[env, print-unit, "), ["14:10: error[argv.shell]: 'env' runs what other words say"]),
        (
            ('"{unit}"]', '"{unit}", "a\\nb"]'),
            ["14:32: error[field.pattern]: run.argv.2 does not have the form due here"],
        ),
        (('"{unit}"]', '"{unit}", "é"]'), ["14:32: error[field.pattern]: run.argv.2 does not have the form due here"]),
        (('"{unit}"]', '"{unit}", 5]'), ["14:32: error[field.type]: run.argv.2 is a number"]),
        (('["--all"', "['--all'"), None),
        (
            ("exit: {0: document, 4: not_found}", "exit: {}"),
            [
                "15:9: error[field.length]: run.exit has 0 entries",
                "15:3: error[exit.no_document]: no exit status means `document`",
            ],
        ),
        (("4: not_found", "256: not_found"), ["15:23: error[field.range]: the exit status 256 does not exist"]),
        (("4: not_found", "04: not_found"), ["15:23: error[yaml.ambiguous]: '04' can be read in two ways"]),
        (
            ("4: not_found", "'04': not_found"),
            ["15:23: error[field.pattern]: the name '04' does not have the form due here"],
        ),
        (
            ("4: not_found", f"? '{'9' * 5_000}' : not_found"),
            [f"15:25: error[field.pattern]: the name '{'9' * 64}' does not have the form due here"],
        ),
        (
            ("4: not_found", "137: document"),
            ["15:23: error[exit.reserved]: status 137 belongs to a command that was killed"],
        ),
        (
            ("seconds: 5", "seconds: 5\n  env: {PATH: /x, LD_PRELOAD: x.so}"),
            ["17:9: error[env.reserved]: PATH is set by the engine"],
        ),
        (
            ("seconds: 5", "seconds: 5\n  env: {lower: x}"),
            ["17:9: error[field.pattern]: the name 'lower' does not have the form due here"],
        ),
        (
            ("seconds: 5", 'seconds: 5\n  env: {X: "a\\0"}'),
            ["17:12: error[field.pattern]: run.env.X does not have the form due here"],
        ),
    ],
)
def test_the_command(tmp_path: Path, change: tuple[str, str], found: list[str] | None):
    assert change[0] in UNIT
    text = UNIT.replace(*change)
    if found is None:
        compiled(tmp_path, text)
    else:
        assert sorted(messages(tmp_path, text)) == sorted(found)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (
            ("unit/document.v1", "unit/facts.v1"),
            ["21:13: error[field.pattern]: output.document does not have the form due here"],
        ),
        (
            ("unit/document.v1", "../document.v1"),
            ["21:13: error[field.pattern]: output.document does not have the form due here"],
        ),
        (("empty: reject", "empty: rejct"), ["20:10: error[field.type]: output.empty is a text"]),
        (
            ("empty: reject", "empty: []"),
            ['20:10: error[output.empty_document]: the document contract refuses it: type "object" at #'],
        ),
        (("bytes: 1KiB", "bytes: 2MiB"), ["19:10: error[field.range]: output.bytes is 2097152"]),
        (("bytes: 1KiB", "bytes: 1KiB\n  depth: 33"), ["20:10: error[field.range]: output.depth is 33"]),
        (
            ("document.Id == arguments.unit", "document.Id =="),
            ["23:45: error[check.syntax]: the rule is not well-formed CEL at line 1, column 15"],
        ),
        (
            ("not_found: document.State", "not_found: now == now && document.State"),
            ["25:12: error[check.unknown_name]: the rule mentions 'now', which is not there"],
        ),
        (
            ("state: document.State}", "state: document.State, other: host}"),
            ["28:11: error[facts.names]: the selection has 'other', the contract has not"],
        ),
        (
            ("'{unit: document.Id", "'{unit: documnt.Id"),
            ["28:11: error[select.unknown_name]: the selection mentions 'documnt', which is not there"],
        ),
        (
            ("not_found:", "unbound_because: Because.\nnot_found:"),
            ["25:1: error[checks.unbound]: there is a binding or freshness check"],
        ),
        (
            ("effect: read", "effect: read\nask_when: document.Id == 'a'"),
            ["6:11: error[check.unknown_name]: the rule mentions 'document', which is not there"],
        ),
        (
            ("effect: read", "effect: read\nretry: {attempts: 2, seconds: 9, codes: [INVALID_RESPONSE]}"),
            ["6:42: error[field.choice]: retry.codes.0 is none of UPSTREAM_UNAVAILABLE, COMMAND_FAILED, TIMEOUT, BUSY"],
        ),
        (
            ("effect: read", "effect: read\nretry: {attempts: 1, seconds: 9, codes: [BUSY]}"),
            ["6:19: error[field.range]: retry.attempts is 1"],
        ),
        (
            ("title: State of one unit", "title: >\n  State of one unit"),
            ["2:8: error[field.pattern]: title does not have the form due here"],
        ),
        (
            ("title: State of one unit", 'title: "a\\u202eb"'),
            ["2:8: error[field.pattern]: title does not have the form due here"],
        ),
    ],
)
def test_the_answer_and_the_rest(tmp_path: Path, change: tuple[str, str], found: list[str]):
    assert change[0] in UNIT
    shown = messages(tmp_path, UNIT.replace(*change))
    assert len(shown) == len(found)
    assert all(message.startswith(start) for message, start in zip(shown, found, strict=True)), shown


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("{key_value: {separator: ''}}", "field.length"),
        ('{key_value: {separator: "\\n"}}', "field.pattern"),
        ("{fields: {separator: tab, names: [a, a]}}", "field.repeated"),
        ("{fields: {separator: comma, names: [a]}}", "field.choice"),
        ("{adapter: ../disks}", "field.pattern"),
        ("{json: {}}", "field.unknown"),
        ("yaml", "field.choice"),
    ],
)
def test_formats_that_cannot_be(tmp_path: Path, written: str, code: str):
    [message] = messages(tmp_path, UNIT.replace('{key_value: {separator: "="}}', written))
    assert message.startswith("18:")
    assert f"error[{code}]" in message


def test_an_adapter_of_the_site(tmp_path: Path):
    files = SiteFiles(tmp_path, operations={"disk": DISK.replace("format: json", "format: {adapter: disks}")})
    root = files.write()
    (root / "adapters").mkdir()
    (root / "adapters" / "disks.py").write_text("def read(stdout): ...\n")
    before = files.load().operations["disk"]
    assert before.output.format.name == "disks"
    (root / "adapters" / "disks.py").write_text("def read(stdout): return 1\n")
    assert files.load().operations["disk"].digest != before.digest


def test_contracts_are_found_beside_the_commands_only(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    files = SiteFiles(tmp_path / "site", operations={"unit": UNIT})
    root = files.write()
    moved = outside / "facts.v1.json"
    (root / "schemas" / "unit" / "facts.v1.json").rename(moved)
    (root / "schemas" / "unit" / "facts.v1.json").symlink_to(moved)
    with pytest.raises(SiteError) as refusal:
        load_site(root, need_settings=True)
    assert [finding.code for finding in refusal.value.findings] == ["source.outside"]


def test_what_was_compiled_does_not_change(tmp_path: Path):
    operation = compiled(tmp_path, UNIT)
    with pytest.raises(AttributeError):
        operation.asks = True  # type: ignore[misc]
    for mapping in (operation.arguments, operation.run.exit, operation.run.env):
        assert isinstance(mapping, MappingProxyType)
