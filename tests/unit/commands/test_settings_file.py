"""`sshfacts.toml`: what it gives, and what it must not hold."""

import re
from pathlib import Path

import pytest

from sshfacts.commands.findings import Findings
from sshfacts.commands.settings import ApprovalSettings, CallerSettings, Host, Person, RawSettings, Role, Settings
from sshfacts.commands.settings_fields import APPROVALS, CALLER
from sshfacts.commands.settings_file import FILE, read_settings
from sshfacts.limits import CEILINGS

ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
FULL = f"""
version = 1
[service]
name = "ops"
[database]
url = "sqlite:///records/audit.db"
[limits]
bytes = "256KiB"
depth = 8
[hosts.web-1]
address = "192.0.2.10"
port = 2222
user = "facts"
credential = "main"
host_keys = ["{ED25519} web-1"]
host_cas = ["{ED25519}"]
revoked_keys = ["{ED25519}"]
groups = ["linux", "web"]
via = "gate"
[hosts.gate]
address = "2001:db8::1"
user = "jump"
credential = "agent"
host_keys = ["{ED25519}"]
[credentials.main]
key_file = "keys/main"
passphrase_file = "/run/secrets/passphrase"
certificate_file = "keys/main-cert.pub"
[credentials.agent]
agent_socket = "/run/agent.sock"
[callers.helper]
grants = ["disk.read"]
host_groups = ["linux"]
principal = "ada@example.org"
[people."ada@example.org"]
roles = ["operator", "approver"]
"""


def read(folder: Path, text: str) -> tuple[Settings | None, list[str]]:
    (folder / FILE).write_text(text)
    findings = Findings()
    settings = read_settings(folder, findings)
    return settings, [str(one).splitlines()[0].removeprefix(f"{folder}/{FILE}:") for one in findings.sorted()]


def settings_of(folder: Path, text: str) -> Settings:
    settings, messages = read(folder, text)
    assert messages == []
    assert settings is not None
    return settings


def test_a_full_file(tmp_path: Path):
    settings = settings_of(tmp_path, FULL)
    assert settings.path == tmp_path / FILE
    assert settings.service_name == "ops"
    assert settings.database_url == f"sqlite:///{tmp_path}/records/audit.db"
    assert (settings.ceilings.bytes, settings.ceilings.depth) == (256 * 1024, 8)
    assert settings.ceilings.items == CEILINGS.items
    assert settings.hosts["web-1"] == Host(
        alias="web-1",
        address="192.0.2.10",
        user="facts",
        credential="main",
        port=2222,
        host_keys=(f"{ED25519} web-1",),
        host_cas=(ED25519,),
        revoked_keys=(ED25519,),
        groups=frozenset({"linux", "web"}),
        via="gate",
    )
    assert settings.hosts["gate"].port == 22
    assert settings.credentials["main"].key_file == tmp_path / "keys" / "main"
    assert settings.credentials["main"].passphrase_file == Path("/run/secrets/passphrase")
    assert settings.credentials["agent"].agent_socket == Path("/run/agent.sock")
    assert settings.credentials["agent"].key_file is None
    caller = settings.callers["helper"]
    assert (caller.name, caller.grants, caller.host_groups) == ("helper", {"disk.read"}, {"linux"})
    assert caller.principal == "ada@example.org"
    assert settings.people == {"ada@example.org": Person("ada@example.org", frozenset({Role.OPERATOR, Role.APPROVER}))}


def test_the_shortest_file(tmp_path: Path):
    settings = settings_of(tmp_path, "version = 1\n")
    assert settings.service_name == "sshfacts"
    assert settings.database_url == f"sqlite:///{tmp_path}/audit.db"
    assert settings.ceilings == CEILINGS
    assert [dict(one) for one in (settings.hosts, settings.credentials, settings.callers, settings.people)] == [{}] * 4


def test_an_absolute_database_stays_where_it_is(tmp_path: Path):
    text = 'version = 1\n[database]\nurl = "sqlite:////var/lib/sshfacts/audit.db"\n'
    assert settings_of(tmp_path, text).database_url == "sqlite:////var/lib/sshfacts/audit.db"


def test_paths_do_not_depend_on_where_the_service_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / FILE).write_text("version = 1\n")
    monkeypatch.chdir(tmp_path)
    settings = read_settings(Path(), Findings())
    assert settings is not None
    assert settings.database_url == f"sqlite:///{tmp_path}/audit.db"


@pytest.mark.parametrize(
    "url",
    [
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///file:audit.db",
        "sqlite:///audit.db?mode=ro",
        "sqlite+aiosqlite:///audit.db",
        "postgresql+asyncpg://db/audit",
        "postgresql://db",
        "postgresql://db/",
        "postgresql://db/audit?options=-csynchronous_commit=off",
        "postgresql://db/audit#part",
        "mysql://db/audit",
        "audit.db",
    ],
)
def test_the_record_is_one_named_database(tmp_path: Path, url: str):
    _, messages = read(tmp_path, f'version = 1\n[database]\nurl = "{url}"\n')
    assert len(messages) == 1
    assert messages[0].startswith("3:7: error[settings.database_url]: the database URL ")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('url = "postgresql://facts@db/audit"', "postgresql://facts@db/audit"),
        (
            'url = "postgresql://facts@db/audit"\npassword_file = "keys/database"',
            "postgresql://facts@db/audit?password_file={root}/keys/database",
        ),
        (
            'url = "postgresql://facts@db/audit?sslmode=verify-full"\npassword_file = "/run/secrets/a b"',
            "postgresql://facts@db/audit?sslmode=verify-full&password_file=/run/secrets/a%20b",
        ),
        (
            'url = "postgresql://facts@/audit?host=/run/postgresql&password_file=/p"',
            "postgresql://facts@/audit?host=/run/postgresql&password_file=/p",
        ),
    ],
)
def test_a_server_with_its_password_in_a_file(tmp_path: Path, lines: str, expected: str):
    settings = settings_of(tmp_path, f"version = 1\n[database]\n{lines}\n")
    assert settings.database_url == expected.format(root=tmp_path)


@pytest.mark.parametrize(
    "url", ["sqlite:///audit.db", "postgresql://db/audit?password_file=/run/secrets/database"], ids=["file", "twice"]
)
def test_a_password_file_that_does_not_fit(tmp_path: Path, url: str):
    _, messages = read(tmp_path, f'version = 1\n[database]\nurl = "{url}"\npassword_file = "p"\n')
    assert messages == [
        "4:17: error[settings.database_url]: database.password_file does not fit database.url",
    ]


@pytest.mark.parametrize(("text", "expected"), [('"1GiB"', 1024**3), ('"8MiB"', 8 * 1024**2), ("1", 1)])
def test_how_much_of_the_disk_stays_free(tmp_path: Path, text: str, expected: int):
    assert settings_of(tmp_path, f"version = 1\n[database]\nkeep_free = {text}\n").database_keep_free == expected


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@db/audit",
        "postgresql://db/audit?password=hunter2",
        "sqlite:///a.db?PWD=hunter2",
        "postgresql://[hunter2/x",
    ],
)
def test_a_password_in_the_url_is_refused_and_not_shown(tmp_path: Path, url: str):
    _, messages = read(tmp_path, f'version = 1\n[database]\nurl = "{url}"\n')
    assert messages == ["3:7: error[settings.password]: database.url holds a password"]


LIMITED = """version = 1
[approvals]
wait = "2h"
use = "10m"
[callers.a]
calls_per_minute = 30
concurrent = 2
queue = 0
pending_approvals = 1
[callers.b]
"""


def test_limits_of_callers_and_the_times_of_approvals(tmp_path: Path):
    settings = settings_of(tmp_path, LIMITED)
    limited = settings.callers["a"]
    assert (limited.calls_per_minute, limited.concurrent, limited.queue, limited.pending_approvals) == (30, 2, 0, 1)
    assert settings.callers["b"] == CallerSettings("b")
    assert settings.approvals == ApprovalSettings(wait=7_200, use=600)
    assert settings_of(tmp_path, "version = 1\n").approvals == ApprovalSettings()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("= 30", "= 0"), "6:20: error[field.range]: callers.a.calls_per_minute is 0"),
        (("= 2\n", "= 257\n"), "7:14: error[field.range]: callers.a.concurrent is 257"),
        (("queue = 0", "queue = -1"), "8:9: error[field.range]: callers.a.queue is -1"),
        (("= 1\n[callers.b]", "= 0\n[callers.b]"), "9:21: error[field.range]: callers.a.pending_approvals is 0"),
        (('"2h"', '"8d"'), "3:8: error[field.range]: approvals.wait is 691200"),
        (('"10m"', "600"), "4:7: error[field.type]: approvals.use is a number"),
    ],
)
def test_no_limit_can_be_switched_off(tmp_path: Path, change: tuple[str, str], message: str):
    assert change[0] in LIMITED
    assert read(tmp_path, LIMITED.replace(*change))[1] == [message]


@pytest.mark.parametrize(
    ("record", "defaults", "unit"),
    [(CALLER, CallerSettings("x"), {"": 1}), (APPROVALS, ApprovalSettings(), {"m": 60, "h": 3_600})],
    ids=["callers", "approvals"],
)
def test_a_default_that_a_field_tells_is_the_one_that_holds(record, defaults, unit):
    told = {name: re.search(r"default (\d+)([mh]?)\.$", field.meaning) for name, field in record.members.items()}
    found = {name: int(match[1]) * unit[match[2]] for name, match in told.items() if match is not None}
    assert found
    assert found == {name: getattr(defaults, name) for name in found}


HOST = f"""version = 1
[credentials.key]
key_file = "k"
[hosts.a]
address = "192.0.2.1"
user = "u"
credential = "key"
host_keys = ["{ED25519}"]
"""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('credential = "key"', 'credential = "kee"'),
            "7:14: error[settings.unknown_name]: there is no credential 'kee'",
        ),
        (('user = "u"', 'user = "u"\nvia = "b"'), "7:7: error[settings.unknown_name]: there is no host 'b'"),
        (('user = "u"', 'user = "u"\nvia = "a"'), "7:7: error[settings.via]: the way of 'a' by `via` has no end"),
        (("[hosts.a]", "[hosts.A]"), "4:8: error[field.pattern]: the name 'A' does not have the form due here"),
        (('user = "u"', 'user = "-u"'), "6:8: error[field.pattern]: hosts.a.user does not have the form due here"),
        (
            ('"192.0.2.1"', '"-oProxyCommand=x"'),
            "5:11: error[field.pattern]: hosts.a.address does not have the form due here",
        ),
        (('user = "u"', 'user = "u"\nport = 0'), "7:8: error[field.range]: hosts.a.port is 0"),
        (('user = "u"', 'user = "u"\nprot = 22'), "7:1: error[field.unknown]: 'hosts.a.prot' is no field"),
        (('user = "u"\n', ""), "4:8: error[field.missing]: hosts.a has no 'user'"),
        (
            ('key_file = "k"', 'agent_socket = "s"\npassphrase_file = "p"'),
            "2:14: error[settings.credential]: 'key' has a file that belongs to a key file",
        ),
        (
            ('key_file = "k"', 'agent_socket = "s"\npassphrase_credential = "p"'),
            "2:14: error[settings.credential]: 'key' has a file that belongs to a key file",
        ),
        (
            ('key_file = "k"', 'key_file = "k"\npassphrase_file = "p"\npassphrase_credential = "p"'),
            "2:14: error[settings.credential]: 'key' has two passphrases",
        ),
        (
            ('key_file = "k"', 'key_file = "k"\npassphrase_credential = "../p"'),
            "4:25: error[field.pattern]: credentials.key.passphrase_credential does not have the form due here",
        ),
        (('key_file = "k"', ""), "2:14: error[settings.credential]: 'key' has not exactly one source"),
        ((f'"{ED25519}"', '"AAAA"'), "8:14: error[field.pattern]: hosts.a.host_keys.0 does not have the form due here"),
        ((ED25519, "ssh-ed25519 AAAA"), "8:14: error[settings.host_keys]: hosts.a.host_keys.0 is no ssh-ed25519 key"),
        (
            (ED25519, ED25519.replace("ssh-ed25519", "ssh-rsa")),
            "8:14: error[settings.host_keys]: hosts.a.host_keys.0 is no ssh-rsa key",
        ),
        ((ED25519, ED25519[:-1]), "8:14: error[settings.host_keys]: hosts.a.host_keys.0 is no ssh-ed25519 key"),
        (("version = 1", "version = 2"), "1:11: error[field.choice]: version is not 1"),
        (("version = 1\n", ""), "1:1: error[field.missing]: the file has no 'version'"),
    ],
)
def test_what_does_not_fit_together(tmp_path: Path, change: tuple[str, str], message: str):
    assert change[0] in HOST
    assert read(tmp_path, HOST.replace(*change))[1] == [message]


def test_a_way_that_leads_round_in_a_circle(tmp_path: Path):
    hosts = "".join(
        f'[hosts.{name}]\naddress = "h"\nuser = "u"\ncredential = "key"\nhost_keys = ["{ED25519}"]\nvia = "{via}"\n'
        for name, via in (("a", "b"), ("b", "c"), ("c", "b"))
    )
    _, messages = read(tmp_path, f'version = 1\n[credentials.key]\nkey_file = "k"\n{hosts}')
    assert [message.split(": ", 1)[1] for message in messages] == [
        f"error[settings.via]: the way of '{name}' by `via` has no end" for name in "abc"
    ]


def test_a_private_key_in_the_wrong_place_is_not_shown(tmp_path: Path):
    pasted = "-----BEGIN OPENSSH PRIVATE KEY----- b3BlbnNzaC1rZXktdjE"
    _, messages = read(tmp_path, HOST.replace(ED25519, pasted))
    assert messages == ["8:14: error[field.pattern]: hosts.a.host_keys.0 does not have the form due here"]
    _, messages = read(tmp_path, HOST.replace('key_file = "k"', f'key = "{pasted}"'))
    assert len(messages) == 2
    assert "b3BlbnNz" not in "".join(messages)


def test_keys_of_raw_copies_are_named_by_file_and_in_order(tmp_path: Path):
    settings, findings = read(
        tmp_path, 'version = 1\n[raw]\nkey_files = ["keys/new.key", "/etc/old.key"]\nper_day = "1GiB"\n'
    )
    assert findings == []
    assert settings is not None
    assert settings.raw == RawSettings((tmp_path / "keys/new.key", Path("/etc/old.key")), 1024**3)


def test_without_a_table_there_are_no_keys_of_raw_copies(tmp_path: Path):
    settings, _ = read(tmp_path, "version = 1\n")
    assert settings is not None
    assert settings.raw.key_files == ()


@pytest.mark.parametrize("table", ["[raw]", "[raw]\nkey_files = []", '[raw]\nkey_files = ["a.key", "a.key"]'])
def test_a_table_of_raw_copies_names_a_key_and_each_once(tmp_path: Path, table: str):
    assert read(tmp_path, f"version = 1\n{table}\n")[1]
