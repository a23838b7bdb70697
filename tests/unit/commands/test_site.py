"""Loading a site: what is served, what is not, and all that is wrong in one run."""

import time
from pathlib import Path

import pytest

from sshfacts.builtin import builtin_site
from sshfacts.commands.operation import Status
from sshfacts.commands.site import command_files, load_site
from sshfacts.errors import SiteError, UsageError
from tests.support.sites import DISK, RESTART, UNIT, SiteFiles


def codes(root: Path, *, need_settings: bool = True) -> list[str]:
    with pytest.raises(SiteError) as refusal:
        load_site(root, need_settings=need_settings)
    return [finding.code for finding in refusal.value.findings]


def test_the_built_in_site_has_no_finding():
    site = load_site(builtin_site(), need_settings=False)
    assert site.name == "builtin"
    assert set(site.operations) | set(site.drafts) == {path.stem for path in command_files(builtin_site())}
    assert len(site.operations) >= 8


def test_a_site_serves_its_own_operations_only(tmp_path: Path):
    site = SiteFiles(tmp_path).load()
    assert (site.root, site.name, list(site.operations), dict(site.drafts)) == (
        tmp_path,
        "test",
        ["disk", "restart", "unit"],
        {},
    )
    with pytest.raises(TypeError):
        site.operations["other"] = site.operations["disk"]  # type: ignore[index]


def test_a_site_can_serve_every_built_in_operation(tmp_path: Path):
    files = SiteFiles(tmp_path, operations={"unit": UNIT})
    root = files.write()
    (root / "commands" / "site.toml").write_text('name = "mine"\nformat = 1\nbuiltin = "all"\n')
    site = load_site(root, need_settings=True)
    assert set(site.operations) == {"unit", *load_site(builtin_site(), need_settings=False).operations}
    assert site.operations["host_os"].path.is_relative_to(builtin_site())


def test_a_site_can_serve_some_of_them(tmp_path: Path):
    root = SiteFiles(tmp_path, operations={}).write()
    (root / "commands" / "site.toml").write_text('name = "mine"\nformat = 1\nbuiltin = ["host_os"]\n')
    assert list(load_site(root, need_settings=True).operations) == ["host_os"]


def test_the_ceilings_of_a_site_bind_the_built_in_operations_too(tmp_path: Path):
    root = SiteFiles(tmp_path, operations={}, settings='version = 1\n[limits]\nbytes = "1KiB"\n').write()
    (root / "commands" / "site.toml").write_text('name = "mine"\nformat = 1\nbuiltin = ["disk_usage"]\n')
    assert codes(root) == ["limits.ceiling"]


def test_an_operation_without_a_limit_stays_under_the_ceiling(tmp_path: Path):
    files = SiteFiles(tmp_path, operations={"disk": DISK}, settings="version = 1\n[limits]\ndepth = 4\n")
    limits = files.load().operations["disk"].output.limits
    assert (limits.bytes, limits.depth, limits.members) == (8192, 4, 256)


def test_drafts_are_loaded_and_not_served(tmp_path: Path):
    draft = UNIT.replace("effect: read", "status: draft\neffect: read")
    site = SiteFiles(tmp_path, operations={"disk": DISK, "unit": draft}).load()
    assert list(site.operations) == ["disk"]
    assert list(site.drafts) == ["unit"]


def test_a_draft_with_a_fault_is_a_finding(tmp_path: Path):
    draft = UNIT.replace("effect: read", "status: draft\neffect: raed")
    assert codes(SiteFiles(tmp_path, operations={"disk": DISK, "unit": draft}).write()) == ["field.choice"]


def test_a_deprecated_operation_is_served_and_names_another(tmp_path: Path):
    old = UNIT.replace("effect: read", "status: deprecated\nuse_instead: disk\neffect: read")
    site = SiteFiles(tmp_path, operations={"disk": DISK, "unit": old}).load()
    assert (site.operations["unit"].status, site.operations["unit"].use_instead) == (Status.DEPRECATED, "disk")


@pytest.mark.parametrize("other", ["nothing", "unit", "draft"])
def test_what_is_named_instead_is_served_and_stable(tmp_path: Path, other: str):
    old = UNIT.replace("effect: read", f"status: deprecated\nuse_instead: {other}\neffect: read")
    draft = DISK.replace("effect: read", "status: draft\neffect: read")
    assert codes(SiteFiles(tmp_path, operations={"draft": draft, "unit": old}).write()) == ["status.use_instead"]


def test_use_instead_belongs_to_deprecated_operations(tmp_path: Path):
    stable = UNIT.replace("effect: read", "use_instead: disk\neffect: read")
    assert codes(SiteFiles(tmp_path, operations={"disk": DISK, "unit": stable}).write()) == ["status.use_instead"]


def test_a_folder_without_a_marker_is_no_site(tmp_path: Path):
    assert codes(tmp_path, need_settings=False) == ["source.missing"]


def test_settings_can_be_left_out_where_nothing_is_run(tmp_path: Path):
    root = SiteFiles(tmp_path).write()
    (root / "sshfacts.toml").unlink()
    site = load_site(root, need_settings=False)
    assert site.settings is None
    with pytest.raises(UsageError, match="no hosts and no callers"):
        site.require_settings()
    assert codes(root) == ["source.missing"]


def test_settings_that_are_there_are_always_checked(tmp_path: Path):
    assert codes(SiteFiles(tmp_path, settings="version = 2\n").write(), need_settings=False) == ["field.choice"]


@pytest.mark.parametrize("name", ["notes.txt", "unit.yml", "unit.yaml~", "more"])
def test_what_looks_served_and_is_not_is_refused(tmp_path: Path, name: str):
    root = SiteFiles(tmp_path).write()
    (root / "commands" / name).mkdir() if name == "more" else (root / "commands" / name).write_text(UNIT)
    assert codes(root) == ["site.stray_file"]


@pytest.mark.parametrize("name", ["README.md", ".gitkeep", "..data"])
def test_what_nobody_takes_for_an_operation_may_stand_there(tmp_path: Path, name: str):
    files = SiteFiles(tmp_path)
    (files.write() / "commands" / name).write_text("x")
    assert list(load_site(tmp_path, need_settings=True).operations) == ["disk", "restart", "unit"]


def test_links_that_lead_round_in_a_circle(tmp_path: Path):
    root = SiteFiles(tmp_path).write()
    (root / "commands" / "a.yaml").symlink_to("bcd.yaml")
    (root / "commands" / "bcd.yaml").symlink_to("a.yaml")
    found = codes(root)
    assert found
    assert set(found) <= {"source.unreadable", "source.missing", "name.pattern"}  # Python 3.13 follows them further


def test_one_run_shows_every_fault_of_every_file(tmp_path: Path):
    operations = {
        "disk": DISK.replace("seconds: 5", "secnods: 5").replace("[linux]", "linux"),
        "unit": UNIT.replace("kind: binding", "kind: consistency")
        .replace("print-unit", "sh")
        .replace("4: not", "999: not"),
        "restart": RESTART.replace("unit/facts.v1", "unit/facts.v9"),
    }
    root = SiteFiles(tmp_path, operations=operations, settings="version = 1\nport = 22\n").write()
    with pytest.raises(SiteError) as refusal:
        load_site(root, need_settings=True)
    shown = [f"{finding.path}:{finding.line}:{finding.column}" for finding in refusal.value.findings]
    assert shown == [
        f"{tmp_path}/commands/disk.yaml:7:8",
        f"{tmp_path}/commands/disk.yaml:11:3",
        f"{tmp_path}/commands/restart.yaml:27:13",
        f"{tmp_path}/commands/unit.yaml:14:10",
        f"{tmp_path}/commands/unit.yaml:15:23",
        f"{tmp_path}/commands/unit.yaml:22:1",
        f"{tmp_path}/sshfacts.toml:2:1",
    ]


def test_two_operations_share_a_contract_and_its_findings(tmp_path: Path):
    files = SiteFiles(tmp_path)
    files.contracts["unit/facts.v1"] = {**files.contracts["unit/facts.v1"], "additionalProperties": True}
    with pytest.raises(SiteError) as refusal:
        files.load()
    assert [Path(finding.path).name for finding in refusal.value.findings] == ["facts.v1.json"]


def test_a_hundred_operations_load_in_time(tmp_path: Path):
    operations = {f"unit_{number}": UNIT for number in range(100)}
    files = SiteFiles(tmp_path, operations=operations)
    files.write()
    started = time.process_time()
    assert len(load_site(tmp_path, need_settings=True).operations) == 100
    assert time.process_time() - started < 10  # about 0.8 s on one core; a shared machine is slower


@pytest.mark.parametrize("name", ["unknown", "hosts"])
def test_the_names_that_the_service_itself_uses_are_taken(tmp_path: Path, name: str):
    files = SiteFiles(tmp_path)
    files.operations[name] = files.operations["disk"]

    with pytest.raises(SiteError) as caught:
        files.load()

    assert [finding.code for finding in caught.value.findings] == ["name.pattern"]


def test_the_marker_is_no_link_out_of_the_site(tmp_path: Path):
    root = SiteFiles(tmp_path / "site").write()
    marker = root / "commands" / "site.toml"
    marker.rename(tmp_path / "elsewhere.toml")
    marker.symlink_to(tmp_path / "elsewhere.toml")

    with pytest.raises(SiteError) as caught:
        load_site(root, need_settings=True)

    assert [finding.code for finding in caught.value.findings] == ["source.outside"]


DEEP = "a." * 20_000


@pytest.mark.parametrize("text", [f"{DEEP}a = 1\n", f"[{DEEP}a]\n", "a = " + "[" * 20_000 + "\n"])
def test_settings_that_are_nested_without_end_are_a_finding(tmp_path: Path, text: str):
    files = SiteFiles(tmp_path, settings=text)

    with pytest.raises(SiteError) as caught:
        files.load()

    assert {finding.code for finding in caught.value.findings} == {"toml.syntax"}
