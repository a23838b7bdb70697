"""Digests cover what was vetted, and nothing else."""

from hashlib import sha256
from pathlib import Path

import pytest

from sshfacts.commands.digest import catalogue_digest, operation_digest
from tests.support.sites import CONTRACTS, UNIT, SiteFiles


def digest_of(folder: Path, text: str = UNIT, **contracts: dict[str, object]) -> str:
    files = SiteFiles(folder, operations={"unit": text}, contracts={**CONTRACTS, **contracts})
    return files.load().operations["unit"].digest


def test_the_form_is_fixed():
    adapter = sha256(b"x").hexdigest()
    text = f'{{"adapter":"{adapter}","command":{{"a":"é","b":1}},"document":[],"facts":{{}},"format":1}}'
    assert operation_digest({"b": 1, "a": "é"}, [], {}, b"x") == sha256(text.encode()).hexdigest()


def test_the_catalogue_does_not_depend_on_the_order_of_loading():
    assert catalogue_digest([("b", "2"), ("a", "1")]) == catalogue_digest([("a", "1"), ("b", "2")])


def test_comments_order_and_place_do_not_count(tmp_path: Path):
    lines = UNIT.splitlines(keepends=True)
    other = "# a comment\n" + "".join([*lines[1:7], lines[0], *lines[7:]])
    assert other != UNIT
    assert digest_of(tmp_path / "one") == digest_of(tmp_path / "two", other)


@pytest.mark.parametrize(
    "change",
    [
        ("seconds: 5", "seconds: 6"),
        ("print-unit", "print-units"),
        ("maxLength: 40", "maxLength: 41"),
        ("title: S", "title: s"),
    ],
)
def test_every_change_of_the_command_file_counts(tmp_path: Path, change: tuple[str, str]):
    assert digest_of(tmp_path / "one") != digest_of(tmp_path / "two", UNIT.replace(*change))


@pytest.mark.parametrize("name", ["unit/document.v1", "unit/facts.v1"])
def test_every_change_of_a_contract_counts(tmp_path: Path, name: str):
    changed = {**CONTRACTS[name], "title": "another"}
    assert digest_of(tmp_path / "one") != digest_of(tmp_path / "two", **{name: changed})


def test_every_change_of_an_adapter_counts():
    digests = {operation_digest({}, {}, {}, adapter) for adapter in (None, b"", b"a", b"b")}
    assert len(digests) == 4


def test_the_catalogue_covers_names_and_digests():
    assert len({catalogue_digest(pairs) for pairs in ([], [("a", "1")], [("a", "2")], [("b", "1")])}) == 4


def test_the_catalogue_of_a_site_is_what_it_serves(tmp_path: Path):
    files = SiteFiles(tmp_path / "one", operations={"unit": UNIT})
    draft = SiteFiles(
        tmp_path / "two", operations={"unit": UNIT, "later": UNIT.replace("effect:", "status: draft\neffect:")}
    )
    assert files.load().digest == draft.load().digest
