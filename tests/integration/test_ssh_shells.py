"""What arrives at a tool, byte for byte, whatever the login shell of the account is.

sshd hands the command as one string to the login shell, and each shell reads it by its own rules.
"""

import asyncio
import random
import shutil
import string
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from sshfacts.commands.operation import Operation
from sshfacts.commands.render import command_text, render
from sshfacts.commands.settings import Credential, Host, Settings
from sshfacts.commands.words import ALLOWED, HOSTILE
from sshfacts.errors import Refusal
from sshfacts.limits import COMMAND_BYTES
from sshfacts.ssh.transport import SshTransport
from tests.support.runs import command, run
from tests.support.sites import DISK, SiteFiles
from tests.support.sshd import Sshd, can_make_accounts, keygen, needs_sshd, public_line

pytestmark = [
    needs_sshd,
    pytest.mark.skipif(not can_make_accounts(), reason="a login with another shell needs root and mount namespaces"),
]

SHELLS = ("sh", "bash", "dash", "zsh", "fish", "tcsh")
WORDS_AT_ONCE = 16
SPECIAL = "_./:@%+=,"
"""Characters of arguments that are neither letters nor digits, without the dash, which comes first in none."""
TOOL = "#!/bin/sh\nprintf '%s\\0' \"$@\"\n"


def _accepted() -> list[str]:
    """Return values that the argument rules let through, those first that some shell reads as more than text."""
    readings = ["=ls", "=cat", "=1", "=-", "%self", "%last", "%1", "@", "a:=b", "...", "//", "end", "exec", "if", "0"]
    alone = sorted(ALLOWED - {"-"})
    beside = [form.format(one) for one in sorted(ALLOWED - {"-"}) for form in ("{0}{0}", "a{0}", "{0}a", "{0}-")]
    pairs = [f"{first}{second}{rest}" for first in SPECIAL for second in SPECIAL + "-" for rest in ("", "ls", "self")]
    draw = random.Random(4)  # noqa: S311 - the same words each time
    letters = sorted(ALLOWED)
    drawn = ["".join(draw.choices(letters, k=draw.randint(1, 40))).lstrip("-") or "a" for _ in range(200)]
    return [*readings, *alone, *beside, *pairs, *drawn]


def _literal() -> list[str]:
    """Return words that an author may write into `run.argv`: printable, and each character at each place."""
    printable = string.printable.rstrip(string.whitespace) + " "
    placed = [form.format(one) for one in printable for form in ("{0}", "a{0}", "{0}a", "a{0}{0}b{0}")]
    draw = random.Random(5)  # noqa: S311 - the same words each time
    drawn = ["".join(draw.choices("\\!'\"$`=% {}*~", k=draw.randint(1, 8))) for _ in range(100)]
    return ["", r"%p\0", "{{json .}}", "$(touch hit)", "`touch hit`", "; touch hit", *placed, *drawn]


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that other accounts can read; pytest's own are closed to them."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name)
        path.chmod(0o755)
        (path / "show").write_text(TOOL)
        (path / "show").chmod(0o755)
        yield path


@pytest.fixture(scope="module")
def operation(folder: Path) -> Operation:
    """An operation with as many arguments as fit, each of all characters that an argument can have."""
    pattern = "^[A-Za-z0-9_./:@%+=,][A-Za-z0-9_./:@%+=,-]{0,199}$"
    names = [f"a{number}" for number in range(WORDS_AT_ONCE)]
    argument = f"{{description: Word, schema: {{type: string, maxLength: 200, pattern: '{pattern}'}}, "
    argument += "examples: {good: [a], bad: ['-a']}}"
    arguments = "arguments:\n" + "".join(f"  {name}: {argument}\n" for name in names)
    argv = ", ".join([f"{folder}/show", *(f'"{{{name}}}"' for name in names)])
    text = DISK.replace("run:\n", f"{arguments}run:\n").replace("[print-disks]", f"[{argv}]")
    return SiteFiles(folder / "site", operations={"show": text}).load().operations["show"]


@pytest.fixture(scope="module", params=SHELLS)
def account(request: pytest.FixtureRequest, folder: Path) -> Iterator[tuple[Host, Path]]:
    """An account with one of the shells, and the key that opens it."""
    shell = shutil.which(request.param)
    if shell is None:
        pytest.skip(f"{request.param} is not installed")
    place = folder / request.param
    place.mkdir()
    key = keygen(place / "id")
    (place / "sshd").mkdir()
    with Sshd(place / "sshd", public_line(key), account="sshfacts-test", login_shell=shell) as sshd:
        yield sshd.as_host(), key


@pytest.fixture
async def transport(account: tuple[Host, Path]) -> AsyncIterator[SshTransport]:
    host, key = account
    settings = Settings(key, "test", "sqlite://", hosts={host.alias: host}, credentials={"key": Credential("key", key)})
    transport = SshTransport(settings)
    yield transport
    await transport.close()


async def _shown(transport: SshTransport, host: Host, texts: list[str]) -> list[str]:
    """Run commands that show their words, and return all of those."""
    several = await asyncio.gather(*(run(transport, host, command(text, seconds=30)) for text in texts))
    assert {ran.status for ran in several} == {0}
    return [word for ran in several for word in ran.stdout.decode("ascii").split("\0")[:-1]]


def _in_rows(words: list[str]) -> list[list[str]]:
    """Return the words in rows of equal length; the last one is filled up."""
    filled = [*words, *["a"] * (-len(words) % WORDS_AT_ONCE)]
    return [filled[start : start + WORDS_AT_ONCE] for start in range(0, len(filled), WORDS_AT_ONCE)]


async def test_every_accepted_argument_arrives_as_it_is(account, transport, operation):
    rows = _in_rows(_accepted())
    calls = [dict(zip(operation.arguments, row, strict=True)) for row in rows]
    assert [operation.arguments_contract.violation(call) for call in calls] == [None] * len(calls)
    shown = await _shown(transport, account[0], [render(operation, call) for call in calls])
    assert shown == [word for row in rows for word in row]


async def test_every_literal_word_arrives_as_it_is(account, transport, operation):
    program = operation.run.argv[0]
    rows = _in_rows(_literal())
    shown = await _shown(transport, account[0], [command_text(operation.run, [program, *row]) for row in rows])
    assert shown == [word for row in rows for word in row]


async def test_the_longest_command_arrives(account, transport, operation):
    program = operation.run.argv[0]
    room = COMMAND_BYTES - len(command_text(operation.run, [program, "a"]))
    words = ["a" * (room + 1)]
    text = command_text(operation.run, [program, *words])
    assert len(text) == COMMAND_BYTES
    assert await _shown(transport, account[0], [text]) == words


async def test_the_environment_is_ours_alone(account, transport, operation):
    text = command_text(operation.run, ["env"])
    ran = await run(transport, account[0], text)
    assert sorted(ran.stdout.decode().split()) == ["LC_ALL=C", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"]


# Of the engine's own hostile values, the last is only too long: that is for the contract alone to refuse.
@pytest.mark.parametrize("hostile", [*HOSTILE[:-1], "a\ntouch hit\nb", "\\'$(touch hit)\"\\'", "!!", "=(touch hit)"])
def test_a_hostile_argument_never_becomes_part_of_a_command(operation, hostile):
    arguments = {**dict.fromkeys(operation.arguments, "a"), "a3": hostile}
    assert operation.arguments_contract.violation(arguments) is not None
    with pytest.raises(Refusal, match="arguments_invalid"):
        render(operation, arguments)
