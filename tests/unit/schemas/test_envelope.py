import json
import re
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256

import jsonschema_rs
import pytest

from sshfacts.errors import Code, Refusal
from sshfacts.schemas import envelope_schema as schemas
from sshfacts.schemas.envelope import (
    UNKNOWN_TOOL,
    EnvelopeContract,
    facts_digest,
    failure,
    is_tool_name,
    new_approval_id,
    new_request_id,
    success,
)
from tests.support.contracts import ROOT, closed, contract

FACTS = contract(
    closed(
        {"unit": {"$ref": "#/$defs/unit"}, "restarts": {"type": "integer", "minimum": 0, "maximum": 99}},
        **{"$defs": {"unit": {"type": "string", "maxLength": 64, "pattern": "^[a-z.]{1,64}$"}}},
    )
)
AT = datetime(2026, 11, 30, 10, 0, 0, 999_999, tzinfo=UTC)
ID = "req.J7q94MkPabc"


def _success(**changes):
    facts = {"unit": "nginx.service", "restarts": 0} | changes
    return success("service_status", ID, "web-1", AT, facts)


def _generic():
    return jsonschema_rs.Draft202012Validator(schemas.envelope_schema(), validate_formats=True)


def _failures():
    for code in Code:
        approval = "apr.8s2Kd03L" if code is Code.APPROVAL_REQUIRED else None
        yield failure("service_status", ID, code, approval_id=approval)


# -- the forms --------------------------------------------------------------------------------------------------------


def test_success_is_the_facts_and_what_the_engine_knows():
    assert _success() == {
        "tool": "service_status",
        "request_id": ID,
        "outcome": "success",
        "data": {"host": "web-1", "collected_at": "2026-11-30T10:00:00Z", "unit": "nginx.service", "restarts": 0},
    }


def test_collected_at_is_in_utc():
    elsewhere = AT.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert success("a_tool", ID, "web-1", elsewhere, {})["data"]["collected_at"] == "2026-11-30T10:00:00Z"


@pytest.mark.parametrize("name", ["host", "collected_at"])
def test_facts_cannot_overwrite_what_the_engine_knows(name):
    with pytest.raises(ValueError, match="engine"):
        success("a_tool", ID, "web-1", AT, {name: "web-2"})


def test_failure_has_a_code_and_whether_to_try_again():
    assert failure("service_status", ID, Code.TIMEOUT) == {
        "tool": "service_status",
        "request_id": ID,
        "outcome": "failure",
        "error": {"code": "TIMEOUT", "retryable": True},
    }
    assert failure("a_tool", ID, Code.TIMEOUT, retryable=False)["error"]["retryable"] is False
    assert failure("a_tool", ID, Code.INVALID_RESPONSE, retryable=True)["error"]["retryable"] is False


def test_an_approval_id_belongs_to_the_one_code_that_asks():
    asking = failure("a_tool", ID, Code.APPROVAL_REQUIRED, approval_id="apr.8s2Kd03L")
    assert asking["error"] == {"code": "APPROVAL_REQUIRED", "retryable": True, "approval_id": "apr.8s2Kd03L"}
    with pytest.raises(ValueError, match="approval"):
        failure("a_tool", ID, Code.APPROVAL_REQUIRED)
    with pytest.raises(ValueError, match="approval"):
        failure("a_tool", ID, Code.DENIED, approval_id="apr.8s2Kd03L")


@pytest.mark.parametrize("name", ["", "ab", "Abc", "9abc", "a" * 41, "abc\n", "a b c", "<script>", "abc-d", "é" * 4])
def test_a_name_that_no_operation_can_have_is_not_echoed(name):
    assert not is_tool_name(name)
    assert failure(name, ID, Code.DENIED)["tool"] == UNKNOWN_TOOL


def test_a_name_that_an_operation_could_have_is_echoed():
    assert failure("no_such_tool", ID, Code.DENIED)["tool"] == "no_such_tool"


def test_ids_are_fresh_and_of_their_form():
    requests = {new_request_id() for _ in range(100)}
    assert len(requests) == 100
    assert all(re.fullmatch(r"req\.[A-Za-z0-9]{20}", one) for one in requests)
    assert all(re.search(schemas.REQUEST_ID, one) for one in requests)
    assert re.search(schemas.APPROVAL_ID, new_approval_id())


def test_the_digest_of_the_facts_does_not_depend_on_their_order():
    data = b'{"collected_at":"2026-11-30T10:00:00Z","host":"web-1","restarts":0,"unit":"nginx.service"}'
    assert facts_digest(_success()) == sha256(data).hexdigest()
    assert facts_digest({"data": dict(reversed(_success()["data"].items()))}) == sha256(data).hexdigest()
    with pytest.raises(KeyError):
        facts_digest(failure("a_tool", ID, Code.DENIED))


# -- the contract of one operation ------------------------------------------------------------------------------------


def test_an_operation_accepts_its_own_answers():
    judged = EnvelopeContract("service_status", FACTS)
    judged.validate(_success())
    for answer in _failures():
        judged.validate(answer)


BROKEN = {
    "one fact more": lambda answer: answer["data"].update(more=1),
    "a fact out of bounds": lambda answer: answer["data"].update(restarts=100),
    "no host": lambda answer: answer["data"].pop("host"),
    "a host that is no alias": lambda answer: answer["data"].update(host="web 1"),
    "no time": lambda answer: answer["data"].pop("collected_at"),
    "a time that is none": lambda answer: answer["data"].update(collected_at="now"),
    "another tool": lambda answer: answer.update(tool="disk_usage"),
    "a failure beside facts": lambda answer: answer.update(error={"code": "DENIED", "retryable": False}),
    "an outcome of neither kind": lambda answer: answer.update(outcome="partial"),
    "a failure with facts": lambda answer: answer.update(outcome="failure"),
    "no facts": lambda answer: answer.pop("data"),
    "no request id": lambda answer: answer.pop("request_id"),
    "a short request id": lambda answer: answer.update(request_id="req.1"),
    "a hidden character": lambda answer: answer["data"].update(unit="nginx\u202e"),
}


@pytest.mark.parametrize("change", BROKEN.values(), ids=BROKEN)
def test_an_answer_that_was_never_promised_is_refused_as_a_fault_of_the_engine(change):
    answer = _success()
    change(answer)
    with pytest.raises(Refusal) as refused:
        EnvelopeContract("service_status", FACTS).validate(answer)
    assert refused.value.detail == "internal"


@pytest.mark.parametrize(
    "error",
    [
        {"code": "DENIED"},
        {"code": "NO_SUCH_CODE", "retryable": False},
        {"code": "DENIED", "retryable": "no"},
        {"code": "DENIED", "retryable": False, "approval_id": "apr.8s2Kd03L"},
        {"code": "APPROVAL_REQUIRED", "retryable": True},
        {"code": "APPROVAL_REQUIRED", "retryable": False, "approval_id": "apr.8s2Kd03L"},
        {"code": "APPROVAL_REQUIRED", "retryable": True, "approval_id": "8s2Kd03L"},
        {"code": "DENIED", "retryable": False, "message": "x"},
        {},
    ],
)
def test_a_failure_of_another_form_is_refused_by_both_contracts(error):
    answer = {"tool": "service_status", "request_id": ID, "outcome": "failure", "error": error}
    with pytest.raises(Refusal):
        EnvelopeContract("service_status", FACTS).validate(answer)
    assert not _generic().is_valid(answer)


def test_the_published_schema_is_flat_closed_and_without_references():
    schema = EnvelopeContract("service_status", FACTS).success_schema
    text = json.dumps(schema)
    assert "$ref" not in text
    assert "$defs" not in text
    assert schema["type"] == "object"
    assert schema["properties"]["tool"] == {"const": "service_status"}
    assert schema["properties"]["data"]["required"] == ["host", "collected_at", "unit", "restarts"]
    assert schema["properties"]["data"]["additionalProperties"] is False
    judged = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    assert judged.is_valid(_success())
    assert not judged.is_valid(_success(more=1))


def test_composed_facts_make_an_envelope_as_well():
    composed = contract(
        {
            "type": "object",
            "allOf": [{"$ref": "#/$defs/base"}],
            "properties": {"b": {"type": "boolean"}},
            "unevaluatedProperties": False,
            "$defs": {"base": {"properties": {"a": {"type": "boolean"}}, "required": ["a"]}},
        }
    )
    judged = EnvelopeContract("a_tool", composed)
    judged.validate(success("a_tool", ID, "web-1", AT, {"a": True, "b": False}))
    with pytest.raises(Refusal):
        judged.validate(success("a_tool", ID, "web-1", AT, {"a": True, "c": False}))


# -- the files --------------------------------------------------------------------------------------------------------


def test_the_file_holds_what_the_code_says():
    text = (ROOT / "schemas" / "envelope.schema.json").read_text(encoding="utf-8")
    assert json.loads(text) == schemas.envelope_schema(), "run: python -m sshfacts.schemas.envelope_schema"


def test_every_answer_has_exactly_one_of_the_three_forms():
    judged = _generic()
    assert judged.is_valid(_success())
    assert judged.is_valid(_success(more=[{}]))  # the operation's own contract closes the facts
    assert all(map(judged.is_valid, _failures()))
    assert not judged.is_valid(_success() | {"error": {"code": "DENIED", "retryable": False}})


DECISION = {
    "tool": "service_status",
    "argumentsValid": True,
    "toolAllowed": True,
    "hostAllowed": True,
    "grant": {"needed": ["systemd.read"], "missing": []},
    "decision": "allow",
    "reason": "ok",
    "approval": None,
}


def _decisions():
    schema = json.loads((ROOT / "schemas" / "decision.schema.json").read_text(encoding="utf-8"))
    return jsonschema_rs.Draft202012Validator(schema)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"approval": "apr.8s2Kd03L"},
        {"decision": "deny", "reason": "tool_not_allowlisted", "tool": "unknown", "toolAllowed": False},
        {"decision": "deny", "reason": "grant_missing", "grant": {"needed": ["a.b", "c"], "missing": ["c"]}},
        {"decision": "ask", "reason": "approval_required", "approval": "apr.8s2Kd03L"},
    ],
)
def test_a_decision_that_can_be_made_keeps_to_its_schema(changes):
    assert _decisions().is_valid(DECISION | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"more": 1},
        {"tool": "<script>"},
        {"decision": "maybe"},
        {"reason": "because"},
        {"reason": "grant_missing"},
        {"argumentsValid": False},
        {"toolAllowed": False},
        {"hostAllowed": False},
        {"grant": {"needed": ["a"], "missing": ["a"]}},
        {"grant": {"needed": ["A b"], "missing": []}},
        {"decision": "deny"},
        {"decision": "deny", "reason": "approval_required"},
        {"decision": "ask", "reason": "approval_required"},
        {"decision": "ask", "reason": "ok", "approval": "apr.8s2Kd03L"},
        {"approval": "yes"},
    ],
)
def test_a_decision_that_contradicts_itself_does_not(changes):
    assert not _decisions().is_valid(DECISION | changes)


@pytest.mark.parametrize("name", DECISION)
def test_a_decision_says_everything(name):
    assert not _decisions().is_valid({key: value for key, value in DECISION.items() if key != name})
