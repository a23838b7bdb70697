import http.server
import threading

import pytest

from sshfacts.schemas.contract import Contract
from sshfacts.schemas.profile import Kind
from tests.support.contracts import closed, codes, contract, of_one

NAME = {"type": "string", "maxLength": 8, "pattern": "^[a-z]{1,8}$"}


def test_a_reference_to_a_definition_is_followed():
    schema = of_one({"$ref": "#/$defs/name"}, **{"$defs": {"name": NAME}})
    assert codes(schema) == []
    assert Contract(schema, Kind.FACTS).violation({"a": "B"}) == ('pattern "^[a-z]{1,8}$" at #/$defs/name (in /a)')


@pytest.mark.parametrize(
    "reference",
    [
        "#",
        "#/properties/a",
        "#/$defs/name/not",
        "#name",
        "name",
        "http://127.0.0.1/schema",
        "file:///etc/hostname",
        "urn:x",
        "https://json-schema.org/draft/2020-12/schema",
        "#/$defs/na%6de",
        "#/$defs/",
        "#/$defs/nam",
    ],
)
def test_any_other_reference_is_a_problem(reference):
    schema = of_one({"$ref": reference}, **{"$defs": {"name": NAME}})
    assert codes(schema) == [("contract.reference", "/properties/a/$ref")]


def test_a_remote_reference_is_never_fetched():
    asked = []

    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        schema = of_one({"$ref": f"http://127.0.0.1:{server.server_port}/schema.json"})
        with pytest.raises(ValueError, match="only references"):
            Contract(schema, Kind.FACTS)
        server.shutdown()
        thread.join()
    assert asked == []


def test_a_definition_that_refers_to_itself_is_a_problem():
    tree = closed({"children": {"type": "array", "maxItems": 9, "items": {"$ref": "#/$defs/tree"}}})
    schema = of_one({"$ref": "#/$defs/tree"}, **{"$defs": {"tree": tree}})
    assert codes(schema) == [("contract.reference", "/$defs/tree/properties/children/items/$ref")]


def test_every_circle_is_found_in_one_run():
    definitions = {
        "a": {"$ref": "#/$defs/b"},
        "b": {"$ref": "#/$defs/a"},
        "c": {"anyOf": [{"$ref": "#/$defs/c"}, {"$ref": "#/$defs/name"}]},
        "name": NAME,
    }
    assert codes(of_one({"$ref": "#/$defs/a"}, **{"$defs": definitions})) == [
        ("contract.reference", "/$defs/a/$ref"),
        ("contract.reference", "/$defs/b/$ref"),
        ("contract.reference", "/$defs/c/anyOf/0/$ref"),
    ]


def test_a_long_chain_of_definitions_is_neither_slow_nor_too_deep():
    definitions = {f"d{index}": {"$ref": f"#/$defs/d{index + 1}"} for index in range(63)} | {"d63": NAME}
    schema = of_one({"$ref": "#/$defs/d0"}, **{"$defs": definitions})
    assert codes(schema) == []
    assert Contract(schema, Kind.FACTS).violation({"a": "b"}) is None


def test_shared_definitions_are_linted_and_built_once():
    # Each level refers to the next one twice: 2^40 paths.
    twice = {
        f"d{index}": {"allOf": [{"$ref": f"#/$defs/d{index + 1}"}, {"$ref": f"#/$defs/d{index + 1}"}]}
        for index in range(40)
    }
    schema = contract(
        {
            "type": "object",
            "properties": {"a": NAME},
            "unevaluatedProperties": False,
            "allOf": [{"$ref": "#/$defs/d0"}],
            "$defs": twice | {"d40": {"required": ["a"]}},
        }
    )
    assert codes(schema) == []
    assert Contract(schema, Kind.FACTS).kind is Kind.FACTS


def test_definitions_stand_at_the_root():
    assert codes(of_one({**NAME, "$defs": {"x": NAME}})) == [("contract.reference", "/properties/a/$defs")]
