"""Each layer catches on its own what it is there for: without it, all the others let the answer through.

`tests/layers/` holds answers of the test site's `backup` that are good but for the flaw they are named for, as cases:
each says the stage that must refuse it. Here the stages are put together one by one, so that one can be left out.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sshfacts.call import Pipeline
from sshfacts.commands.answer import Intake, Question, answer, require_exit_status
from sshfacts.commands.captured import Captured
from sshfacts.commands.cases import CASE, CaseFile
from sshfacts.commands.findings import Findings
from sshfacts.commands.near_miss_check import Accepted, check_near_misses
from sshfacts.commands.operation import Operation
from sshfacts.commands.site import Site
from sshfacts.commands.yaml_source import read_yaml
from sshfacts.errors import Refusal
from sshfacts.limits import COMMAND_FILE_BYTES
from sshfacts.permission.request import Request
from sshfacts.schemas.checks import CheckKind, Judgement
from sshfacts.schemas.selection import Selection
from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.queries import story
from sshfacts.storage.recorder import open_recorder
from sshfacts.values import JsonObject, JsonValue
from tests.support.sites import BACKUP, SiteFiles
from tests.support.transports import CannedTransport

FOLDER = Path(__file__).parents[1] / "layers"
LAYERS = {
    "command.exit_status": "exit status",
    "not_found.exit": "exit status",
    "output.duplicate_name": "reader",
    "output.encoding": "reader",
    "output.leading_data": "reader",
    "output.trailing_data": "reader",
    "contract.document": "document contract",
    "check.binding": "binding",
    "check.freshness": "freshness",
    "not_found.rule": "not_found",
    "check.consistency": "consistency",
    "select.failed": "selection",
    "contract.facts": "facts contract",
}
"""The layer that refuses with each detail, in the order of the layers."""

CARELESS_SELECTION = Selection(
    "{job: document.job, state: document.state, made_at: document.at, note: document.note,"
    " free_bytes: document.volumes[?name == 'backup'] | [0].free_bytes}"
)
"""The same facts by JMESPath's own means, which take the first of several rows."""


@dataclass(frozen=True)
class Fixture:
    """One answer, and the case that says what must come of it."""

    case: CaseFile
    stdout: bytes

    @property
    def layer(self) -> str:
        return LAYERS[str(self.case.expect.detail)]

    @property
    def question(self) -> Question:
        return Question(self.case.arguments, self.case.host, self.case.at)


def fixture(name: str) -> Fixture:
    findings = Findings()
    case = CASE.read(read_yaml(FOLDER / f"{name}.yaml", COMMAND_FILE_BYTES, findings).root, findings)
    assert findings.sorted() == ()
    return Fixture(case, (FOLDER / f"{name}.out").read_bytes())


NAMES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
FLAWED = [name for name in NAMES if name != "good"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return SiteFiles(tmp_path_factory.mktemp("site"), operations={"backup": BACKUP}).load()


@pytest.fixture(scope="module")
def backup(site: Site) -> Operation:
    return site.operations["backup"]


def read_strictly(operation: Operation, stdout: bytes) -> JsonValue:
    intake = Intake(operation.output)
    intake.write(stdout)
    return intake.document()


def read_carelessly(_: Operation, stdout: bytes) -> JsonValue:
    """Do what is often done: skip to the first bracket, take the last of two names, forget the rest."""
    text = stdout.decode(errors="replace")
    document: JsonValue
    document, _end = json.JSONDecoder(strict=False).raw_decode(text, text.index("{"))
    return document


def facts_of(operation: Operation, given: Fixture, without: str | None = None) -> JsonObject:
    """Put the layers together in their order, and leave one out."""
    case = given.case
    if without != "exit status":
        require_exit_status(operation, case.exit)
    document = (read_carelessly if without == "reader" else read_strictly)(operation, given.stdout)
    if without != "document contract":
        operation.output.contract.validate(document, "contract.document")
    judgement = Judgement(
        document=document, arguments=case.arguments, host=case.host, collected_at=case.at, now=case.at
    )
    judge(operation, judgement, {CheckKind.BINDING, CheckKind.FRESHNESS}, without)
    if without != "not_found" and judgement.holds(operation.not_found):
        raise Refusal("not_found.rule")
    judge(operation, judgement, {CheckKind.CONSISTENCY}, without)
    selection = CARELESS_SELECTION if without == "selection" else operation.selection
    facts = selection.select(document, case.arguments, case.host)
    if without != "facts contract":
        operation.facts_contract.validate(facts, "contract.facts")
    return facts


def judge(operation: Operation, judgement: Judgement, kinds: set[CheckKind], without: str | None) -> None:
    for check in operation.checks:
        if check.kind in kinds and check.kind != without:
            judgement.require(check)


def end_of(operation: Operation, given: Fixture, without: str | None = None) -> str:
    try:
        facts_of(operation, given, without)
    except Refusal as refusal:
        return refusal.detail
    return "facts"


@pytest.mark.parametrize("name", FLAWED)
def test_the_stage_that_a_fixture_names_refuses_it(backup: Operation, name: str):
    given = fixture(name)

    with pytest.raises(Refusal) as caught:
        answer(backup, given.question, given.case.exit, lambda: read_strictly(backup, given.stdout), now=given.case.at)

    assert (caught.value.stage, caught.value.detail) == (given.case.expect.refused, given.case.expect.detail)


@pytest.mark.parametrize("name", NAMES)
def test_the_layers_put_together_here_are_those_of_a_call(backup: Operation, name: str):
    given = fixture(name)

    assert end_of(backup, given) == (given.case.expect.detail or "facts")


@pytest.mark.parametrize("name", FLAWED)
def test_without_its_layer_all_others_let_it_through(backup: Operation, name: str):
    given = fixture(name)

    facts = facts_of(backup, given, without=given.layer)

    assert facts.keys() == fixture("good").case.expect.facts.keys()


@pytest.mark.parametrize("name", FLAWED)
def test_its_layer_needs_none_of_the_others(backup: Operation, name: str):
    given = fixture(name)

    others = {layer for layer in LAYERS.values() if layer != given.layer}

    assert {end_of(backup, given, without=other) for other in others} == {given.case.expect.detail}


def test_every_layer_and_every_check_has_a_fixture(backup: Operation):
    fixtures = [fixture(name) for name in FLAWED]
    assert {given.layer for given in fixtures} == set(LAYERS.values())
    refused_by = set()
    for given in fixtures:
        try:
            facts_of(backup, given)
        except Refusal as refusal:
            refused_by.add(refusal.where)
    assert {check.name for check in backup.checks} <= refused_by


def test_an_answer_of_another_host_is_never_not_found(backup: Operation):
    given = fixture("another_host")
    unknown = Fixture(given.case, given.stdout.replace(b'"done"', b'"unknown"'))

    assert end_of(backup, unknown) == "check.binding"
    assert end_of(backup, unknown, without="binding") == "not_found.rule"


def test_no_near_miss_of_the_good_answer_is_let_through(backup: Operation):
    given = fixture("good")
    case = given.case
    findings = Findings()
    captured = Captured(given.stdout, case.exit, case.arguments, case.host, case.at)

    tried = check_near_misses(backup, [Accepted(FOLDER / "good.yaml", captured)], findings)

    assert findings.sorted() == ()
    assert tried > 500


@pytest.mark.parametrize(
    ("passes", "detail"),
    [
        (timedelta(0), None),
        (timedelta(seconds=299), None),
        (timedelta(seconds=301), "check.freshness"),
        (timedelta(days=1), "check.freshness"),
        (timedelta(seconds=-4), None),
        (timedelta(seconds=-6), "check.freshness"),
    ],
)
async def test_age_is_judged_at_the_moment_of_answering(site: Site, tmp_path: Path, passes: timedelta, detail):
    clock = datetime(2026, 11, 30, 9, 59, tzinfo=UTC)
    url = f"sqlite:///{tmp_path}/audit.db"

    async def wait() -> None:
        nonlocal clock
        clock += passes

    transport = CannedTransport(fixture("good").stdout, on_run=wait)
    async with open_recorder(url) as recorder:
        pipeline = Pipeline(site, transport, recorder, now=lambda: clock)
        caller = site.require_settings().callers["agent"]
        envelope = await pipeline.call(caller, Request("backup", "web-1", {"job": "nightly"}), "test")

    assert envelope["outcome"] == ("success" if detail is None else "failure")
    assert story(open_for_reading(url), str(envelope["request_id"]))[-1]["detail"] == detail
