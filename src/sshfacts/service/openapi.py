"""The OpenAPI 3.1 document of what one caller may use; its schemas are JSON Schema 2020-12 as they stand."""

from collections.abc import Iterable, Mapping
from importlib.metadata import version

from sshfacts.errors import Code
from sshfacts.schemas.envelope_schema import envelope_schema
from sshfacts.service import hosts
from sshfacts.service.offers import Offer
from sshfacts.service.problems import Problem
from sshfacts.values import JsonObject, JsonValue

_ELSEWHERE = frozenset({Problem.BODY_NOT_MESSAGE, Problem.METHOD_REFUSED, Problem.NO_SUCH_PATH})
_OF_A_CALL = frozenset(Problem) - _ELSEWHERE - {Problem.QUERY_REFUSED}
_OF_A_LIST = frozenset(Problem) - _ELSEWHERE - {problem for problem in Problem if problem.name.startswith("BODY_")}
_DESCRIPTION = "Vetted questions to hosts, and checked facts as answers. A failure holds a code and no text."
_FAILURE: JsonObject = {"$ref": "#/components/schemas/Failure"}
_PROBLEM: JsonObject = {"$ref": "#/components/schemas/Problem"}


def document(name: str, offers: Mapping[str, Offer]) -> JsonObject:
    """Return the document for a caller with these offers."""
    paths: JsonObject = {f"/v1/operations/{offer.name}": {"post": _operation(offer)} for offer in offers.values()}
    if hosts.needed(offers):
        paths["/v1/hosts"] = {"get": _hosts()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": name,
            "version": version("sshfacts"),
            "description": _DESCRIPTION,
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Failure": _failure_schema(), "Problem": _problem_schema()},
        },
    }


def _operation(offer: Offer) -> JsonObject:
    return {
        "operationId": offer.name,
        "summary": offer.title,
        "description": offer.description,
        "requestBody": {"required": True, "content": {"application/json": {"schema": offer.input_schema}}},
        "responses": {"200": _answer("Facts.", offer.output_schema), **_failures(Code, _OF_A_CALL)},
    }


def _hosts() -> JsonObject:
    properties = hosts.INPUT_SCHEMA["properties"]
    parameters: list[JsonValue] = [
        {"name": name, "in": "query", "required": name == "operation", "schema": schema}
        for name, schema in (properties.items() if isinstance(properties, dict) else ())
    ]
    return {
        "operationId": "hosts",
        "summary": hosts.TITLE,
        "description": hosts.DESCRIPTION,
        "parameters": parameters,
        "responses": {"200": _answer("Hosts.", hosts.OUTPUT_SCHEMA), **_failures((), _OF_A_LIST)},
    }


def _failures(codes: Iterable[Code], problems: Iterable[Problem]) -> JsonObject:
    """Return the answers that are no success, by status: an envelope, or what a door says before there is one."""
    by_status: dict[int, tuple[list[Code], list[Problem]]] = {}
    for code in codes:
        by_status.setdefault(code.http_status, ([], []))[0].append(code)
    for problem in sorted(problems):
        by_status.setdefault(problem.status, ([], []))[1].append(problem)
    found: JsonObject = {}
    for status, (own_codes, own_problems) in sorted(by_status.items()):
        words = ", ".join([*map(str, own_codes), *map(str, own_problems)])
        forms: list[JsonValue] = [*([_FAILURE] if own_codes else []), *([_PROBLEM] if own_problems else [])]
        found[str(status)] = _answer(words, forms[0] if len(forms) == 1 else {"anyOf": forms})
    return found


def _answer(words: str, schema: JsonValue) -> JsonObject:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _failure_schema() -> JsonObject:
    forms = envelope_schema()["oneOf"]
    return {"oneOf": forms[1:]} if isinstance(forms, list) else {}


def _problem_schema() -> JsonObject:
    codes: list[JsonValue] = [problem.value for problem in Problem]
    members: JsonObject = {"code": {"enum": codes}, "retryable": {"type": "boolean"}, "message": {"type": "string"}}
    error: JsonObject = {
        "type": "object",
        "additionalProperties": False,
        "required": [*members],
        "properties": members,
    }
    return {"type": "object", "additionalProperties": False, "required": ["error"], "properties": {"error": error}}
