"""The OpenAPI document of a caller, held against the answers of the door."""

import pytest
import schemathesis
from jsonschema import Draft202012Validator

from sshfacts.errors import Code
from sshfacts.service.problems import Problem
from tests.support.doors import Served

JSON = "application/json"


async def document_of(doors: Served, caller: str = "agent"):
    async with doors.client(caller) as client:
        answer = await client.get("/v1/openapi.json")
    assert answer.status_code == 200
    return answer.json()


async def test_each_caller_sees_its_own_operations(doors: Served):
    assert set((await document_of(doors))["paths"]) == {
        "/v1/operations/disk",
        "/v1/operations/restart",
        "/v1/operations/unit",
    }
    assert (await document_of(doors, "guest"))["paths"] == {}


async def test_every_answer_that_can_come_is_described(doors: Served):
    responses = (await document_of(doors))["paths"]["/v1/operations/unit"]["post"]["responses"]
    for code in Code:
        assert code.value in responses[str(code.http_status)]["description"]
    elsewhere = {"BODY_NOT_MESSAGE", "METHOD_REFUSED", "NO_SUCH_PATH", "QUERY_REFUSED"}
    for problem in set(Problem) - elsewhere:
        assert problem.value in responses[str(problem.status)]["description"]


@pytest.mark.parametrize(
    ("path", "given", "token"),
    [
        ("disk", {"host": "web-1"}, True),
        ("disk", {"host": "nowhere"}, True),
        ("unit", {"host": "web-1", "unit": "-"}, True),
        ("restart", {"host": "web-1", "unit": "nginx"}, True),
        ("disk", {"host": "web-1"}, False),
        ("disk", [], True),
    ],
)
async def test_an_answer_keeps_to_its_schema(doors: Served, path, given, token):
    document = await document_of(doors)
    async with doors.client("agent" if token else None) as client:
        answer = await client.post(f"/v1/operations/{path}", json=given)

    described = document["paths"][f"/v1/operations/{path}"]["post"]["responses"][str(answer.status_code)]
    schema = {**described["content"][JSON]["schema"], "components": document["components"]}
    Draft202012Validator(schema).validate(answer.json())
    assert answer.headers["Content-Type"] == JSON


async def test_the_document_is_openapi(doors: Served):
    schema = schemathesis.openapi.from_dict(await document_of(doors))
    assert schema.specification.version == "3.1.0"
    assert [operation.ok().path for operation in schema.get_all_operations()] == [
        "/v1/operations/disk",
        "/v1/operations/restart",
        "/v1/operations/unit",
    ]
