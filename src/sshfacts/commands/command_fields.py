"""The fields of a command file: shape and meaning of each.

This one definition checks every file, and is what `schemas/command.schema.json` is generated from.
"""

from sshfacts.adapters.formats import Fields, Format, Json, JsonLines, KeyValue, PythonAdapter
from sshfacts.commands import names
from sshfacts.commands.command_file import (
    ArgumentFile,
    ArgumentType,
    CheckFile,
    CommandFile,
    Decision,
    Examples,
    FactsFile,
    Ignored,
    OutputFile,
    Privilege,
    RunFile,
    Separator,
)
from sshfacts.commands.findings import Findings
from sshfacts.commands.operation import RETRIED, Effect, ExitMeaning, Needs, Raw, Retry, Status
from sshfacts.commands.records import AsWritten, Built, Field, ListOf, MapOf, Record, Tagged
from sshfacts.commands.shapes import Anything, Choice, Flag, FormatVersion, Integer, Quantity, Shape, Text, wrong_type
from sshfacts.commands.source import Node
from sshfacts.errors import Code
from sshfacts.limits import CEILINGS, KIB, MIB, SECONDS
from sshfacts.schemas.checks import CheckKind
from sshfacts.values import JsonObject, JsonValue

REJECT = "reject"
"""`output.empty` when empty output is no answer."""

_LINE = "one line without control characters; start a folded YAML text with '>-'"
_RULE = Text(1_000)
_DAYS = Quantity({"d": 1}, 0, 3_650, bare=False)
_BYTES = Quantity({"KiB": KIB, "MiB": MIB}, 1, CEILINGS.bytes, bare=True)

EXAMPLES = Record(
    Examples,
    {
        "good": Field(ListOf(Anything(), 1, 20), "Values that the schema must accept.", must=True),
        "bad": Field(ListOf(Anything(), 1, 20), "Values that the schema must refuse.", must=True),
    },
)

ARGUMENT_SCHEMA = Record(
    dict[str, JsonValue],
    {
        "type": Field(Choice(ArgumentType), "`string`, `integer` or `boolean`.", must=True),
        "pattern": Field(Text(512), "Anchored regular expression; it means the same everywhere and runs on RE2."),
        "enum": Field(ListOf(Anything(), 1, 200), "The values, when they can be listed."),
        "minLength": Field(Integer(0, 4_096), "Characters at least."),
        "maxLength": Field(Integer(1, 4_096), "Characters at most."),
        "minimum": Field(Integer(0, 2**53 - 1), "Smallest number; never negative, since a dash starts an option."),
        "maximum": Field(Integer(0, 2**53 - 1), "Largest number."),
    },
)

ARGUMENT = Record(
    ArgumentFile,
    {
        "description": Field(Text(200, names.PLAIN, _LINE), "What the agent puts here, in one sentence.", must=True),
        "schema": Field(
            AsWritten(ARGUMENT_SCHEMA), "A small JSON Schema: type, and pattern, enum or bounds.", must=True
        ),
        "examples": Field(EXAMPLES, "Values that must be accepted and refused; tried at every load.", must=True),
    },
)

RUN = Record(
    RunFile,
    {
        "argv": Field(
            ListOf(Text(1_024, names.PRINTABLE, "printable ASCII on one line"), 1, 128, unique=False),
            'Literal words and whole-word placeholders such as "{unit}"; no shell reads them.',
            must=True,
        ),
        "exit": Field(
            MapOf(r"^(0|[1-9][0-9]{0,2})$", "an exit status from 0 to 255", Choice(ExitMeaning), 32, least=1),
            "What each exit status means; any other status is a failure.",
            must=True,
        ),
        "seconds": Field(Integer(1, SECONDS), "Deadline on the host.", must=True),
        "privilege": Field(Choice(Privilege), "`sudo` runs the command by `sudo -n`."),
        "env": Field(
            MapOf(
                names.ENVIRONMENT.pattern,
                names.ENVIRONMENT.form,
                Text(256, names.PRINTABLE, "printable ASCII on one line"),
                16,
            ),
            "Constants in the command's environment, which is otherwise empty.",
        ),
    },
)

KEY_VALUE = Record[Format](
    KeyValue,
    {
        "separator": Field(
            Text(4, r"^[\t -~]+$", "1 to 4 printable characters, or a tab"), "What ends the key.", must=True
        ),
        "trim": Field(Flag(), "Remove blanks around key and value."),
        "quoted": Field(Flag(), "Values may stand in shell quotes, as in /etc/os-release."),
        "ignore": Field(
            Built(frozenset[Ignored], ListOf(Choice(Ignored), 1, 2)), "Lines that are passed over: `blank`, `comment`."
        ),
    },
)

FIELDS = Record[Format](
    Fields,
    {
        "separator": Field(Choice(Separator), "What stands between two fields.", must=True),
        "names": Field(ListOf(names.MEMBER.text(), 1, 64), "The fields' names, in order.", must=True),
    },
)

FORMAT = Tagged[Format](
    {"json": Json(), "json_lines": JsonLines()},
    {
        "key_value": (KEY_VALUE, "One key and its value per line; gives an object of texts."),
        "fields": (FIELDS, "One record per line; gives a list of objects of texts."),
        "adapter": (
            Built[Format](PythonAdapter, names.ADAPTER.text()),
            "`adapters/NAME.py`, for what no format reads.",
        ),
    },
)


class _EmptyMeaning(Shape[JsonValue]):
    """What zero bytes of output mean: no answer, or the document they stand for."""

    def read(self, node: Node, findings: Findings) -> JsonValue:
        if node.value != REJECT and not isinstance(node.value, list | dict):
            raise wrong_type(node, "reject, or the document that empty output stands for, such as []", findings)
        return node.value

    def schema(self) -> JsonObject:
        return {"anyOf": [{"const": REJECT}, {"type": ["array", "object"]}]}


def _limit(most: int, meaning: str) -> Field:
    return Field(Integer(1, most), meaning)


OUTPUT = Record(
    OutputFile,
    {
        "format": Field(FORMAT, "How stdout becomes one document.", must=True),
        "bytes": Field(_BYTES, "Bytes of stdout at most, such as 8KiB.", must=True),
        "depth": _limit(CEILINGS.depth, "Containers open at once."),
        "values": _limit(CEILINGS.values, "Values in the whole document."),
        "items": _limit(CEILINGS.items, "Elements of one array, or lines."),
        "members": _limit(CEILINGS.members, "Members of one object."),
        "name": _limit(CEILINGS.name, "Characters of one member's name."),
        "string": _limit(CEILINGS.string, "Characters of one string."),
        "number": _limit(CEILINGS.number, "Bytes of one number."),
        "empty": Field(_EmptyMeaning(), "`reject`, or the document that empty output stands for.", must=True),
        "document": Field(names.DOCUMENT_CONTRACT.text(), "Contract of the document.", must=True),
    },
)

CHECK = Record(
    CheckFile,
    {
        "name": Field(names.CHECK.text(), "What the record calls the check when it fails.", must=True),
        "kind": Field(
            Choice(CheckKind),
            "`binding`: about what was asked; `freshness`: about now; `consistency`: one part fits another.",
            must=True,
        ),
        "rule": Field(_RULE, "CEL over document, arguments, host, collected_at and now; must give true.", must=True),
    },
)

FACTS = Record(
    FactsFile,
    {
        "contract": Field(names.FACTS_CONTRACT.text(), "Contract of the facts.", must=True),
        "select": Field(Text(4_000), "JMESPath over document, arguments and host; gives an object.", must=True),
    },
)

NEEDS = Record(
    Needs,
    {
        "os": Field(names.LABEL.text(), "Operating system, such as linux."),
        "program": Field(Text(128, names.PRINTABLE, "printable ASCII"), "Program that must be installed."),
        "at_least": Field(Text(64, names.PRINTABLE, "printable ASCII"), "Oldest version that serves, as text."),
    },
)

RETRY = Record(
    Retry,
    {
        "attempts": Field(Integer(2, 5), "Runs in total.", must=True),
        "seconds": Field(Integer(1, SECONDS), "Time over all runs together.", must=True),
        "codes": Field(
            Built(frozenset[Code], ListOf(Choice(Code, RETRIED), 1, len(RETRIED))),
            "After which failures to run again.",
            must=True,
        ),
    },
)

RAW = Record(
    Raw,
    {
        "keep": Field(_DAYS, "How long accepted output is kept, encrypted, such as 30d; default 0d, not at all."),
        "keep_refused": Field(_DAYS, "How long refused output is kept, encrypted; default 7d, and 0d is not at all."),
    },
)

_GROUPS = Built(frozenset[str], ListOf(names.LABEL.text(), 1, 32))

COMMAND = Record(
    CommandFile,
    {
        "version": Field(FormatVersion(), "Version of this format.", must=True),
        "title": Field(Text(80, names.PLAIN, _LINE), "What it is, for the agent.", must=True),
        "use_when": Field(Text(300, names.PLAIN, _LINE), "When to call it, for the agent.", must=True),
        "owner": Field(names.LABEL.text(), "Team that is asked when it breaks.", must=True),
        "status": Field(Choice(Status), "A `draft` is never served; `deprecated` needs `use_instead`."),
        "use_instead": Field(names.OPERATION.text(), "Operation that replaces a deprecated one."),
        "effect": Field(Choice(Effect), "`read`, or `change` when the host is not the same afterwards.", must=True),
        "grants": Field(
            Built(frozenset[str], ListOf(names.GRANT.text(), 1, 16)),
            "What a caller must hold; all are needed.",
            must=True,
        ),
        "decision": Field(
            Choice(Decision), "`ask`: a person approves every call. Default: allow for read, ask for change."
        ),
        "ask_when": Field(_RULE, "CEL over arguments and host: calls that a person must approve."),
        "hosts": Field(_GROUPS, "Host groups that it may run on.", must=True),
        "needs": Field(NEEDS, "What must be on the host; for documentation and preflight."),
        "arguments": Field(
            MapOf(names.ARGUMENT.pattern, names.ARGUMENT.form, ARGUMENT, 16), "What the agent passes; all are required."
        ),
        "run": Field(RUN, "The vetted command.", must=True),
        "output": Field(OUTPUT, "How its stdout is read.", must=True),
        "not_found": Field(_RULE, "CEL over document, arguments and host: the thing asked for does not exist."),
        "checks": Field(
            ListOf(CHECK, 0, 32), "Rules that tie the document to the request, the host and the clock.", must=True
        ),
        "unbound_because": Field(Text(300, names.PLAIN, _LINE), "Why no binding or freshness check is possible."),
        "facts": Field(FACTS, "What the agent gets.", must=True),
        "retry": Field(RETRY, "When the service runs a reading command again."),
        "raw": Field(RAW, "How long captured output is kept."),
    },
)
"""The whole file."""
