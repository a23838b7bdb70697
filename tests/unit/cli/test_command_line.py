"""What each command prints, and the exit code it ends with."""

import json
import re
from importlib.metadata import version
from pathlib import Path

import pytest

from sshfacts.adapters.protections import Protected
from sshfacts.builtin import builtin_site
from sshfacts.cli.diagnosis import doctor
from tests.support.command_line import sshfacts
from tests.support.sites import SiteFiles

CASES = builtin_site() / "schemas" / "service_status" / "cases"
GOOD = b'{"mounts": [{"path": "/", "free_bytes": 1000}]}\n'
EXTRA = b'{"mounts": [{"path": "/", "free_bytes": 1000, "zz_note": "delete it"}]}\n'


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return SiteFiles(tmp_path_factory.mktemp("site")).write()


def test_the_version_is_the_packages():
    assert sshfacts("--version").stdout == version("sshfacts") + "\n"


def test_operations_lists_the_built_in_site():
    done = sshfacts("operations")

    assert done.returncode == 0
    for path in (builtin_site() / "commands").glob("*.yaml"):
        assert path.stem in done.stdout


def test_try_tells_each_answer_in_one_json_object(root: Path, tmp_path: Path):
    (tmp_path / "good.out").write_bytes(GOOD)
    (tmp_path / "extra.out").write_bytes(EXTRA)
    files = [str(tmp_path / "good.out"), str(tmp_path / "extra.out")]

    done = sshfacts("try", "disk", "--site", str(root), "--json", "--stdout", *files, "--as-host", "web-9")

    good, extra = map(json.loads, done.stdout.splitlines())
    assert done.returncode == 1
    assert list(good) == ["operation", "verdict", "stage", "detail", "where", "envelope"]
    assert (good["verdict"], good["stage"], good["detail"]) == ("accepted", None, None)
    assert good["envelope"]["data"]["host"] == "web-9"
    assert (extra["verdict"], extra["stage"], extra["detail"]) == ("refused", "document", "contract.document")
    assert extra["envelope"]["error"] == {"code": "INVALID_RESPONSE", "retryable": False}
    assert "zz_note" not in done.stdout + done.stderr


def test_try_takes_the_option_several_times(root: Path, tmp_path: Path):
    file = tmp_path / "good.out"
    file.write_bytes(GOOD)

    done = sshfacts("try", "disk", "--site", str(root), "--json", "--stdout", str(file), "--stdout", str(file))

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "verdict", "detail"),
    [
        (("--exit", "1"), "refused", "command.exit_status"),
        (("--at", "2026-11-30T10:00:00Z"), "accepted", None),
    ],
)
def test_try_takes_exit_status_and_time(root: Path, tmp_path: Path, words, verdict, detail):
    (tmp_path / "good.out").write_bytes(GOOD)

    done = sshfacts("try", "disk", "--site", str(root), "--json", "--stdout", str(tmp_path / "good.out"), *words)

    told = json.loads(done.stdout)
    assert (told["verdict"], told["detail"]) == (verdict, detail)
    if "--at" in words:
        assert told["envelope"]["data"]["collected_at"] == "2026-11-30T10:00:00Z"


def test_try_binds_the_answer_to_the_arguments():
    file = next(path for path in sorted(CASES.glob("*.yaml")) if "facts:" in path.read_text()).with_suffix(".out")

    done = sshfacts("try", "service_status", "unit=quite-another.service", "--stdout", str(file))

    assert done.returncode == 1
    assert "check.binding" in done.stdout
    assert done.stdout.splitlines()[-1].startswith('{"tool":"service_status"')


def test_try_names_every_stage_for_people(root: Path, tmp_path: Path):
    (tmp_path / "good.out").write_bytes(GOOD)

    lines = sshfacts("try", "disk", "--site", str(root), "--stdout", str(tmp_path / "good.out")).stdout.splitlines()

    assert [line.split()[1] for line in lines if line.startswith("  ok")] == [
        "run",
        "read",
        "document",
        "checks",
        "facts",
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("try", "disk"),
        ("try", "disk", "--stdout", "/nowhere/at/all"),
        ("try", "nothing", "--stdout", "/dev/null"),
        ("try", "disk", "--stdout", "/dev/null", "--at", "yesterday"),
        ("try", "disk", "--stdout", "/dev/null", "--host", "web-1"),
        ("try", "disk", "--stdout", "/dev/null", "--exit", "256"),
        ("call", "disk"),
        ("call", "disk", "--host", "web-1"),
        ("call", "disk", "--host", "web-1", "no-equals-sign"),
        ("audit", "show", "req.unknown00"),
        ("tokens", "add", "nobody"),
        ("check", "nothing"),
        ("explain", "no.such.code"),
        ("no-such-command",),
    ],
)
def test_a_usage_error_ends_with_2_and_says_why_on_stderr(root: Path, words):
    site = () if words[0] in ("explain", "no-such-command") else ("--site", str(root))

    done = sshfacts(*words, *site)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_site_error_is_told_with_place_reason_and_fix(tmp_path: Path):
    files = SiteFiles(tmp_path, settings="version = 1\n[service]\nname = 'x'\n[hosts.web-1]\nadress = '127.0.0.1'\n")
    root = files.write()

    done = sshfacts("call", "disk", "--host", "web-1", "--site", str(root), token="sf_x")  # noqa: S106 - it is none

    assert (done.returncode, done.stdout) == (2, "")
    assert f"{root}/sshfacts.toml:5:1: error[field.unknown]" in done.stderr
    assert "did you mean 'address'?" in done.stderr


def test_check_is_clean_on_the_built_in_site():
    done = sshfacts("check")

    assert done.returncode == 0
    assert re.fullmatch(
        r"[0-9]+ operations, [0-9]+ cases, [0-9]{1,3},[0-9]{3} near misses, 0 findings", done.stdout.splitlines()[-1]
    )


def test_check_tells_a_case_that_ends_differently(tmp_path: Path):
    site = SiteFiles(tmp_path)
    cases = tmp_path / "schemas" / "disk" / "cases"
    cases.mkdir(parents=True)
    for name, body, expect in [
        ("good", GOOD, '{facts: {mounts: [{path: "/", free_bytes: 999}]}}'),
        ("extra", EXTRA, "{refused: document, detail: contract.document}"),
    ]:
        (cases / f"{name}.out").write_bytes(body)
        text = f'host: web-1\nat: "2026-11-30T10:00:00Z"\nexit: 0\nfrom: made by hand\nexpect: {expect}\n'
        (cases / f"{name}.yaml").write_text(text)

    done = sshfacts("check", "disk", "--site", str(site.write()))

    assert done.returncode == 1
    assert f"{cases}/good.yaml: error[case.differs]" in done.stderr
    assert "999" in done.stderr
    assert "extra.yaml" not in done.stderr


def test_an_operation_without_cases_is_a_finding(root: Path):
    done = sshfacts("check", "unit", "--site", str(root))

    assert done.returncode == 1
    assert "case.none_accepted" in done.stderr
    assert "case.none_refused" in done.stderr


@pytest.mark.parametrize("code", ["INVALID_RESPONSE", "output.duplicate_name", "field.unknown"])
def test_explain_knows_codes_details_and_findings(code: str):
    done = sshfacts("explain", code)

    assert done.returncode == 0
    assert done.stdout.startswith(code)


def test_doctor_measures_what_holds_here():
    done = sshfacts("doctor")

    assert (done.returncode, done.stderr) == (0, "")
    rows = {line.split("│")[0].strip(): line.split("│")[1].strip() for line in done.stdout.splitlines() if "│" in line}
    assert rows["JSON reader"] == rows["patterns"] == "in force"
    for name in ("worker", "limits", "environment", "descriptors", "files", "network"):
        assert rows[f"adapter: {name}"] == "in force"


def test_doctor_ends_with_1_when_a_compulsory_protection_fails(monkeypatch: pytest.MonkeyPatch, capsys):
    lacking = [Protected("network", holds=False, meaning="it could", is_compulsory=True)]
    monkeypatch.setattr("sshfacts.adapters.protections.measure", lambda: lacking)
    with pytest.raises(SystemExit, match=r"^1$"):
        doctor()
    assert "FAILED" in capsys.readouterr().out

    lacking[0] = Protected("signals", holds=False, meaning="it could", is_compulsory=False)
    with pytest.raises(SystemExit, match=r"^0$"):
        doctor()
    assert "missing" in capsys.readouterr().out
