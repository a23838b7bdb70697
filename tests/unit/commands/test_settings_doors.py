"""`[service]` and `[oidc]`: where agents come in, and whose JWTs are believed."""

from pathlib import Path

import pytest

from sshfacts.commands.findings import Findings
from sshfacts.commands.settings import Algorithm, Doors, Oidc
from sshfacts.commands.settings_file import FILE, read_settings

LOOPBACK = {"127.0.0.1", "localhost", "[::1]"}
OIDC = """
[oidc]
issuer = "https://idp.example.com/realm"
resource = "https://facts.example.com/mcp"
jwks = "https://idp.example.com/realm/keys?v=1"
"""


def read(folder: Path, text: str) -> tuple[Doors, list[str]]:
    (folder / FILE).write_text("version = 1\n" + text)
    findings = Findings()
    settings = read_settings(folder, findings)
    messages = [str(one).splitlines()[0].removeprefix(f"{folder}/{FILE}:") for one in findings.sorted()]
    return settings.doors if settings is not None else Doors(), messages


def test_without_a_word_it_listens_to_this_machine_alone(tmp_path: Path):
    doors, messages = read(tmp_path, "")
    assert messages == []
    assert doors == Doors("127.0.0.1", 8722, frozenset(LOOPBACK), frozenset(), None)


def test_all_that_can_be_said(tmp_path: Path):
    doors, messages = read(
        tmp_path,
        '[service]\nlisten = "192.0.2.1:443"\nallowed_hosts = ["facts.example.com", "[2001:db8::1]"]\n'
        'allowed_origins = ["https://facts.example.com", "http://localhost:3000"]\n'
        + OIDC
        + 'audience = "api://facts"\n'
        'algorithms = ["ES384"]\nrequired_scopes = ["facts"]\ncaller_claim = "client_id"\nprincipal_claim = "sub"\n'
        'grants_claim = "grants"\nhost_groups_claim = "groups"\n[callers.helper]\noidc = "client 1"\n',
    )
    assert messages == []
    assert doors.hosts == {"facts.example.com", "[2001:db8::1]"}
    assert doors.origins == {"https://facts.example.com", "http://localhost:3000"}
    assert (doors.address, doors.port) == ("192.0.2.1", 443)
    assert doors.oidc == Oidc(
        issuer="https://idp.example.com/realm",
        resource="https://facts.example.com/mcp",
        audience="api://facts",
        jwks="https://idp.example.com/realm/keys?v=1",
        algorithms=frozenset({Algorithm.ES384}),
        required_scopes=frozenset({"facts"}),
        caller_claim="client_id",
        principal_claim="sub",
        grants_claim="grants",
        host_groups_claim="groups",
    )


def test_what_is_left_out_of_oidc_is_the_safe_choice(tmp_path: Path):
    doors, messages = read(tmp_path, OIDC)
    assert messages == []
    assert doors.oidc is not None
    assert doors.oidc.audience == doors.oidc.resource
    assert doors.oidc.algorithms == {Algorithm.ES256, Algorithm.RS256, Algorithm.EDDSA}
    assert doors.oidc.caller_claim == "sub"


@pytest.mark.parametrize("listen", ["127.0.0.1:0", "127.8.9.10:80", "[::1]:8722"])
def test_the_whole_loopback_range_is_this_machine(tmp_path: Path, listen: str):
    doors, messages = read(tmp_path, f'[service]\nlisten = "{listen}"\n')
    assert messages == []
    assert doors.hosts == LOOPBACK


@pytest.mark.parametrize("listen", ["0.0.0.0:8722", "192.0.2.1:8722", "[::]:8722"])
def test_others_must_be_told_by_what_name_it_is_reached(tmp_path: Path, listen: str):
    _, messages = read(tmp_path, f'[service]\nlisten = "{listen}"\n')
    assert messages == [
        f"3:10: error[settings.allowed_hosts]: service.listen is {listen}, and service.allowed_hosts is empty"
    ]


@pytest.mark.parametrize(
    "listen", ["localhost:8722", "127.0.0.1", "127.0.0.1:65536", ":8722", "::1:8722", "300.0.0.1:1"]
)
def test_an_address_is_written_in_numbers_with_its_port(tmp_path: Path, listen: str):
    _, messages = read(tmp_path, f'[service]\nlisten = "{listen}"\n')
    assert messages == [f"3:10: error[settings.listen]: service.listen is '{listen}'"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[service]\nallowed_hosts = ["Facts.example.com"]\n',
            "3:18: error[field.pattern]: service.allowed_hosts.0 does",
        ),
        ('[service]\nallowed_hosts = ["facts.example.com:443"]\n', "3:18: error[field.pattern]"),
        ('[service]\nallowed_hosts = ["*"]\n', "3:18: error[field.pattern]"),
        (
            '[service]\nallowed_origins = ["facts.example.com"]\n',
            "3:19: error[settings.allowed_origins]: 'facts.example.com'",
        ),
        ('[service]\nallowed_origins = ["https://facts.example.com/"]\n', "3:19: error[settings.allowed_origins]"),
        ('[service]\nallowed_origins = ["null"]\n', "3:19: error[settings.allowed_origins]: 'null' is no origin"),
        (
            OIDC.replace("https://idp.example.com/realm/keys", "http://idp.example.com/keys"),
            "6:8: error[field.pattern]",
        ),
        (OIDC.replace("https://idp", "https://user:secret@idp"), "4:10: error[field.pattern]"),
        (OIDC + 'algorithms = ["HS256"]\n', "7:15: error[field.choice]: oidc.algorithms.0 is none of ES256,"),
        (OIDC + 'algorithms = ["none"]\n', "7:15: error[field.choice]"),
        (OIDC + "algorithms = []\n", "7:14: error[field.length]"),
        (OIDC + 'required_scopes = ["a b"]\n', "7:20: error[field.pattern]"),
        ('[oidc]\nissuer = "https://a.example"\n', "2:2: error[field.missing]: oidc has no 'jwks'"),
        ('[callers.helper]\noidc = "one"\n', "3:8: error[settings.oidc]: caller 'helper' has JWTs of nobody"),
        (
            OIDC + '[callers.a]\noidc = "one"\n[callers.b]\noidc = "one"\n',
            "10:8: error[settings.oidc]: callers 'a' and 'b' have the same JWTs",
        ),
    ],
)
def test_what_does_not_fit_is_found(tmp_path: Path, text: str, message: str):
    _, messages = read(tmp_path, text)
    assert messages
    assert messages[0].startswith(message)


def test_no_message_shows_a_secret(tmp_path: Path):
    _, messages = read(tmp_path, OIDC.replace("https://idp", "https://user:SECRET@idp"))
    assert "SECRET" not in "".join(messages)
