"""Contracts for tests: small ones around what a test is about, and the public suites."""

import json
from dataclasses import dataclass
from pathlib import Path

from sshfacts.schemas.assertions import Validator
from sshfacts.schemas.build import build
from sshfacts.schemas.keywords import DIALECT
from sshfacts.schemas.profile import Kind, lint
from sshfacts.schemas.references import References
from sshfacts.schemas.tree import read_tree
from sshfacts.values import JsonObject, JsonValue

ROOT = Path(__file__).parents[2]
SUITE = ROOT.parent / "shared" / "data" / "JSON-Schema-Test-Suite" / "tests" / "draft2020-12"
"""The public test suite of JSON Schema; it is not part of the project and may be absent."""


def closed(properties: JsonObject, **more: JsonValue) -> JsonObject:
    """Return a closed object schema in which every property is required."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [*properties],
        "properties": properties,
        **more,
    }


def contract(schema: JsonObject) -> JsonObject:
    """Return the schema as the content of a contract file."""
    return {"$schema": DIALECT, **schema}


def of_one(value: JsonValue, **more: JsonValue) -> JsonObject:
    """Return a contract of an object with one member `a` of the given schema."""
    return contract(closed({"a": value}, **more))


def codes(schema: JsonValue, kind: Kind = Kind.FACTS) -> list[tuple[str, str]]:
    """Return code and pointer of each problem."""
    return [(problem.code, problem.pointer) for problem in lint(schema, kind)]


def compiled(schema: JsonValue) -> Validator:
    """Compile any well-formed schema, also one that is open or unbounded."""
    root, problems = read_tree(schema)
    assert root is not None
    assert not problems
    return build(root, References(root), exact_integers=False)


@dataclass(frozen=True, slots=True)
class SuiteCase:
    """One case of the public suite."""

    name: str
    schema: JsonValue
    data: JsonValue
    valid: bool


def suite_cases(path: str) -> list[SuiteCase]:
    """Return the cases of one file of the public suite; none if the suite is absent."""
    file = SUITE / path
    groups = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    return [
        SuiteCase(f"{group['description']}: {case['description']}", group["schema"], case["data"], case["valid"])
        for group in groups
        for case in group["tests"]
    ]
