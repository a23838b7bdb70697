from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.storage.canonical import dumps, loads_strict
from sshfacts.storage.projection import BodyError, project
from sshfacts.storage.tables import ENTRY
from sshfacts.values import JsonObject, JsonValue
from tests.support.records import COMMAND, SHA256, intent, outcome, refused

AT = datetime(2026, 11, 30, 10, tzinfo=UTC)
OF_THE_CHAIN = {"id", "writer_id", "seq", "leaf_hash", "body"}


def test_every_other_column_is_a_projection():
    assert project(intent()).keys() == {column.name for column in ENTRY.columns} - OF_THE_CHAIN


def test_an_intent_fills_what_was_known_before_the_run():
    columns = {name: value for name, value in project(intent()).items() if value is not None}
    assert columns == {
        "kind": "intent",
        "at": AT,
        "request_id": "req.J7q94MkP",
        "caller": "helper",
        "principal": "anna",
        "operation": "disk_usage",
        "host": "web-1",
        "effect": "read",
        "decision": "allow",
        "reason": "ok",
        "command": COMMAND,
        "catalogue_digest": SHA256,
        "operation_digest": SHA256,
        "service_version": "0.1.0",
        "deadline_at": AT + timedelta(seconds=11),
    }


def test_an_outcome_fills_what_was_learnt_from_the_run():
    columns = project(outcome(bytes(32), code="INVALID_RESPONSE", stage="read", detail="output.syntax"))
    assert (columns["code"], columns["stage"], columns["detail"]) == ("INVALID_RESPONSE", "read", "output.syntax")
    assert (columns["exit_status"], columns["attempts"], columns["duration_us"]) == (0, 1, 1_500_000)
    assert (columns["stdout_bytes"], columns["stdout_sha256"]) == (812, SHA256)
    assert (columns["stderr_bytes"], columns["stderr_sha256"]) == (0, SHA256)
    assert columns["caller"] is None


def test_a_run_that_never_started_has_no_outputs():
    columns = project(outcome(bytes(32), stdout=None, stderr=None, attempts=[], exit_status=None))
    assert (columns["stdout_bytes"], columns["stderr_sha256"], columns["exit_status"]) == (None, None, None)
    assert columns["attempts"] == 0


@pytest.mark.parametrize("make", [intent, refused, lambda: outcome(bytes(32))])
def test_columns_can_be_derived_again_from_the_stored_text(make: Callable[[], JsonObject]):
    body = make()
    assert project(loads_strict(dumps(body))) == project(body)


@given(st.dictionaries(st.text(st.characters(max_codepoint=127)), st.integers() | st.text() | st.none()))
def test_unknown_fields_change_no_column(more: dict[str, JsonValue]):
    columns = {column.name for column in ENTRY.columns}
    known = {"stdout", "stderr", "v"}
    assert project({**intent(), **{n: v for n, v in more.items() if n not in columns | known}}) == project(intent())


def test_a_member_of_an_enum_is_its_plain_value():
    class Code(StrEnum):
        DENIED = "DENIED"

    assert type(project(refused(code=Code.DENIED))["code"]) is str


@pytest.mark.parametrize(
    "body",
    [
        {"at": "2026-11-30T10:00:00.000000Z"},
        intent(kind="completion"),
        intent(kind=["intent"]),
        intent(request_id=None),
        intent(caller=None),
        intent(operation=None),
        intent(decision=None),
        intent(decision={"decision": "maybe"}),
        intent(decision="allow"),
        intent(at=None),
        intent(at="yesterday, hunter2"),
        intent(at="2026-11-30T10:00:00"),
        intent(command=7),
        intent(deadline_at="2026-11-30"),
        intent(caller="hunter2" * 200),
        intent(host="\u1e9e" * 400),
        outcome(bytes(32), code=None),
        outcome(bytes(32), exit_status="0"),
        outcome(bytes(32), exit_status=True),
        outcome(bytes(32), attempts=1),
        outcome(bytes(32), stdout=812),
        outcome(bytes(32), stdout={"bytes": "812", "sha256": SHA256}),
        {"kind": "orphan", "at": "2026-11-30T10:00:00.000000Z"},
    ],
)
def test_a_body_that_is_no_record_is_refused(body: JsonObject):
    with pytest.raises(BodyError) as caught:
        project(body)
    assert "hunter2" not in str(caught.value)
