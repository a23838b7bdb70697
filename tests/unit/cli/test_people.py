"""People at the command line: who they are is told by tokens, and what they decide acts at once."""

import asyncio
import json
import subprocess
from functools import partial
from pathlib import Path

import pytest

from sshfacts.ssh.embedded import EmbeddedHost, new_key
from sshfacts.storage import tokens
from sshfacts.storage.engine import open_for_writing, prepare
from tests.support.command_line import envelope_of, sshfacts
from tests.support.records import stored
from tests.support.sites import SiteFiles

PINNED = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
RUNNING = b"Id=nginx\nState=active\n"
RESTART = ("restart", "unit=nginx", "--host", "web-1")


class Shell:
    """One site, and the tokens of those who work with it."""

    def __init__(self, root: Path, *people: str) -> None:
        self.root = root
        engine = open_for_writing(f"sqlite:///{root}/audit.db")
        prepare(engine)
        self.tokens = {name: tokens.add_for_person(engine, name) for name in people}
        self.tokens["agent"] = tokens.add(engine, "agent")

    def run(self, *words: str, as_: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run one command with somebody's token, or with none."""
        return sshfacts(*words, "--site", str(self.root), token=self.tokens[as_] if as_ is not None else None)

    def ids(self) -> dict[str, str]:
        return {name: text.split("_")[1] for name, text in self.tokens.items()}

    def records(self, kind: str) -> list[dict[str, object]]:
        return [body for body in stored(self.root / "audit.db") if body["kind"] == kind]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    written = SiteFiles(tmp_path / "site").write()
    new_key(written / "key")
    return written


async def test_two_persons_and_one_call(tmp_path: Path):
    files = SiteFiles(tmp_path)
    async with EmbeddedHost(new_key(tmp_path / "key"), answer=lambda _: RUNNING) as host:
        files.settings = files.settings.replace("port = 1", f"port = {host.port}").replace(PINNED, host.host_key, 1)
        shell = Shell(files.write(), "anna", "grace")

        async def run(*words: str, as_: str) -> subprocess.CompletedProcess[str]:
            return await asyncio.to_thread(partial(shell.run, *words, as_=as_))

        first = envelope_of(await run("call", *RESTART, as_="agent"))
        assert first["error"]["code"] == "APPROVAL_REQUIRED"
        approval = first["error"]["approval_id"]

        shown = await run("approvals", "show", approval, as_="grace")
        lines = dict(line.split(": ", 1) for line in shown.stdout.splitlines())
        assert lines["operation"] == "restart"
        assert lines["title"] == "Restart one unit"
        assert lines["host"] == "web-1"
        assert lines["arguments"] == "unit='nginx'"
        assert lines["command"].endswith("timeout -k 1 5 print-unit nginx")
        assert (lines["caller"], lines["principal"]) == ("agent", "anna")
        assert lines["effect"].startswith("change. It changes the host.")
        assert len(lines["catalogue"]) == 64
        assert lines["grace may approve it"] == "yes"
        assert approval in (await run("approvals", "list", as_="grace")).stdout

        for person, why in [("agent", "the token is not valid"), ("anna", "the caller works for anna")]:
            refused = await run("approvals", "approve", approval, "--yes", as_=person)
            assert refused.returncode == 2
            assert why in refused.stderr
        assert envelope_of(await run("call", *RESTART, as_="agent"))["error"]["approval_id"] == approval

        approved = await run("approvals", "approve", approval, "--yes", as_="grace")
        assert approved.returncode == 0
        assert "exec /usr/bin/env" in approved.stdout

        ran = await run("call", *RESTART, as_="agent")
        assert (ran.returncode, envelope_of(ran)["data"]["unit"]) == (0, "nginx")
        again = envelope_of(await run("call", *RESTART, as_="agent"))
        assert again["error"]["code"] == "APPROVAL_REQUIRED"

    steps = [(body["reason"], body["approver"]) for body in shell.records("approval")]
    assert steps == [("asked", None), ("granted", "grace"), ("consumed", "grace"), ("asked", None)]
    [granted] = [body for body in shell.records("approval") if body["reason"] == "granted"]
    assert granted["os_user"]
    assert approval not in (await run("approvals", "list", as_="grace")).stdout
    assert approval in (await run("approvals", "list", "--all", as_="grace")).stdout


def test_a_refusal_reaches_the_agent_as_denied(root: Path):
    shell = Shell(root, "grace")
    approval = envelope_of(shell.run("call", *RESTART, as_="agent"))["error"]["approval_id"]

    assert shell.run("approvals", "refuse", approval, "--reason", "not on a Friday", as_="grace").returncode == 0

    assert envelope_of(shell.run("call", *RESTART, as_="agent"))["error"]["code"] == "DENIED"
    [refused] = [body for body in shell.records("approval") if body["reason"] == "refused"]
    assert refused["because"] == "not on a Friday"


def test_an_approval_is_not_given_without_being_looked_at(root: Path):
    shell = Shell(root, "grace")
    approval = envelope_of(shell.run("call", *RESTART, as_="agent"))["error"]["approval_id"]

    unasked = shell.run("approvals", "approve", approval, as_="grace")  # stdin is at its end, so nobody answers

    assert unasked.returncode == 1
    assert [body["reason"] for body in shell.records("approval")] == ["asked"]


@pytest.mark.parametrize("words", [("approvals", "list"), ("approvals", "approve", "apr.x"), ("pause", "--all")])
def test_nobody_decides_without_a_token(root: Path, words: tuple[str, ...]):
    done = Shell(root).run(*words, "--reason", "x") if words[0] == "pause" else Shell(root).run(*words)

    assert (done.returncode, done.stdout) == (2, "")
    assert "no identity" in done.stderr


def test_the_first_tokens_are_made_by_the_owner_and_then_by_an_operator(root: Path):
    def add(*words: str, token: str | None = None) -> subprocess.CompletedProcess[str]:
        return sshfacts("tokens", "add", *words, "--site", str(root), token=token)

    olga = add("olga", "--person").stdout.strip()
    without = add("agent")
    assert without.returncode == 2
    assert "no identity" in without.stderr

    agent = add("agent", token=olga).stdout.strip()
    by_agent, grace = add("agent", token=agent), add("grace", "--person", token=olga).stdout.strip()
    by_grace = add("agent", token=grace)

    assert "the token is not valid" in by_agent.stderr
    assert "grace has not the role operator" in by_grace.stderr
    assert {by_agent.returncode, by_grace.returncode} == {2}
    made = [body for body in stored(root / "audit.db") if body["kind"] == "token"]
    assert [(body["holder"], body["caller"], body["person"]) for body in made] == [
        ("olga", None, None),
        ("agent", "agent", "olga"),
        ("grace", None, "olga"),
    ]
    assert all(body["os_user"] for body in made)


def test_people_rotate_their_own_token_and_operators_any(root: Path):
    shell = Shell(root, "olga", "grace")
    ids = shell.ids()

    own = shell.run("tokens", "rotate", ids["grace"], as_="grace")
    others = shell.run("tokens", "rotate", ids["agent"], as_="olga")
    assert (own.returncode, others.returncode) == (0, 0)
    assert own.stdout.startswith("sf_")

    old = shell.run("approvals", "list", as_="grace")
    assert (old.returncode, "the token is not valid" in old.stderr) == (2, True)
    shell.tokens["grace"] = own.stdout.strip()
    assert shell.run("approvals", "list", as_="grace").returncode == 0
    not_hers = shell.run("tokens", "rotate", ids["olga"], as_="grace")
    assert (not_hers.returncode, "has not the role operator" in not_hers.stderr) == (2, True)
    revoked = shell.run("tokens", "revoke", shell.ids()["grace"], as_="olga")
    assert revoked.returncode == 0
    assert shell.run("approvals", "list", as_="grace").returncode == 2


def test_a_name_among_the_other_kind_is_hinted_at(root: Path):
    for words, hint in [(("grace",), "pass --person"), (("agent", "--person"), "leave out --person")]:
        done = sshfacts("tokens", "add", *words, "--site", str(root))
        assert done.returncode == 2
        assert hint in done.stderr


def test_a_pause_and_its_end(root: Path):
    shell = Shell(root, "olga", "grace")
    disk = ("call", "disk", "--host", "web-1")

    assert shell.run("pause", "--operation", "disk", "--reason", "incident 7", as_="grace").returncode == 2
    paused = shell.run("pause", "--operation", "disk", "--reason", "incident 7", as_="olga")
    assert paused.returncode == 0
    assert envelope_of(shell.run(*disk, as_="agent"))["error"] == {"code": "DENIED", "retryable": False}
    assert "incident 7" in shell.run("pause", "--list").stdout

    other = shell.run("resume", "--all", "--reason", "over", as_="olga")
    assert (other.returncode, "everything is not paused" in other.stderr) == (2, True)
    assert shell.run("resume", "--operation", "disk", "--reason", "over", as_="olga").returncode == 0
    # Nothing listens on port 1, so this is as far as a call gets.
    assert envelope_of(shell.run(*disk, as_="agent"))["error"]["code"] == "UPSTREAM_UNAVAILABLE"
    assert [(body["reason"], body["person"]) for body in shell.records("pause")] == [
        ("paused", "olga"),
        ("resumed", "olga"),
    ]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "give --operation"),
        (("--all", "--host", "web-1"), "give --operation"),
        (("--operation", "dsk", "--reason", "x"), "no operation 'dsk'"),
        (("--host", "web-9", "--reason", "x"), "no host 'web-9'"),
        (("--caller", "nobody", "--reason", "x"), "no caller 'nobody'"),
        (("--all",), "give --reason"),
        (("--all", "--reason", "  "), "give --reason"),
    ],
)
def test_a_pause_that_would_stop_nothing_is_refused(root: Path, words: tuple[str, ...], why: str):
    done = Shell(root, "olga").run("pause", *words, as_="olga")

    assert done.returncode == 2
    assert why in done.stderr


def test_the_brake_works_while_the_site_is_broken(root: Path):
    shell = Shell(root, "olga")
    (root / "commands" / "broken.yaml").write_text("version: 7\n")
    assert shell.run("policy", "matrix").returncode == 2

    assert shell.run("pause", "--all", "--reason", "incident", as_="olga").returncode == 0


def test_a_decision_is_explained_and_nothing_is_recorded(root: Path):
    words = ("policy", "explain", "unit", "unit=nginx", "--host", "web-1", "--site", str(root))

    denied = sshfacts(*words, "--as", "guest")
    decision = json.loads(sshfacts(*words, "--as", "guest", "--json").stdout)
    unknown = sshfacts(*words, "--as", "nobody")

    assert denied.returncode == 0
    assert "deny (grant_missing)" in denied.stdout
    assert "guest lacks unit.read" in denied.stdout
    assert "an operator (anna, olga) can add unit.read" in denied.stdout
    assert (decision["decision"], decision["grant"]["missing"]) == ("deny", ["unit.read"])
    assert unknown.returncode == 2
    assert not (root / "audit.db").exists()


def test_the_matrix_of_now_and_of_a_past_day(root: Path):
    shell = Shell(root)
    shell.run("call", "disk", "--host", "web-1", as_="agent")
    settings = root / "sshfacts.toml"
    settings.write_text(settings.read_text().replace("grants = []", 'grants = ["disk.read"]'))

    now = [json.loads(line) for line in shell.run("policy", "matrix", "--json").stdout.splitlines()]
    then = [
        json.loads(line) for line in shell.run("policy", "matrix", "--json", "--at", "2100-01-01").stdout.splitlines()
    ]
    before = shell.run("policy", "matrix", "--at", "2000-01-01T00:00:00Z")
    shown = shell.run("policy", "matrix").stdout

    assert {rule["caller"] for rule in now} == {"agent", "guest"}
    assert {rule["caller"] for rule in then} == {"agent"}
    assert {"caller": "agent", "operation": "restart", "decision": "ask", "hosts": ["web-1"]} in then
    assert before.returncode == 2
    assert "no policy was recorded by then" in before.stderr
    assert "host router-1 may be reached by nobody" in shown
