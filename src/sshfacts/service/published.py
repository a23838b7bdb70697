"""Contracts as agents see them: in the keywords that every client knows, with untrusted text labelled."""

from sshfacts.values import JsonObject, JsonValue

UNTRUSTED = "Untrusted display text from the host."
"""Begins the description of a fact that the host may have filled with any text."""
_LEFT_OUT = frozenset({"$schema", "x-open-because", "x-untrusted-text"})
"""Keywords of the profile alone, and the dialect: 2020-12 is what MCP and OpenAPI 3.1 take a schema for."""
_DESCRIBES = frozenset({"default", "deprecated", "description", "examples", "title"})
_OF_EVERY_TYPE = frozenset({"allOf", "anyOf", "const", "enum", "if", "not", "oneOf"})
"""Keywords that say something about null as well; the others leave a value of another type alone."""


def published(schema: JsonObject) -> JsonObject:
    """Return a schema in standard keywords; `x-untrusted-text` becomes words of the description."""
    written = _written(schema)
    if not isinstance(written, dict):
        raise TypeError("an object was written as something else")
    return written


def has_untrusted_text(schema: JsonValue) -> bool:
    """Tell whether a published schema labels a text as untrusted."""
    if isinstance(schema, dict):
        described = schema.get("description")
        return (isinstance(described, str) and described.startswith(UNTRUSTED)) or any(
            map(has_untrusted_text, schema.values())
        )
    return isinstance(schema, list) and any(map(has_untrusted_text, schema))


def _written(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_written(part) for part in value]
    if not isinstance(value, dict):
        return value
    written: JsonObject = {name: _written(part) for name, part in value.items() if name not in _LEFT_OUT}
    if value.get("x-untrusted-text") is True:
        described = value.get("description")
        written["description"] = f"{UNTRUSTED} {described}" if isinstance(described, str) else UNTRUSTED
    return _with_one_type(written)


def _with_one_type(written: JsonObject) -> JsonObject:
    """Return the same schema with a branch for null, since readers of less than JSON Schema know one type at a time."""
    match written.get("type"):
        case [str() as kind, "null"] if written.keys().isdisjoint(_OF_EVERY_TYPE):
            described = {name: part for name, part in written.items() if name in _DESCRIBES}
            asserted = {name: part for name, part in written.items() if name not in _DESCRIBES}
            return {**described, "anyOf": [{**asserted, "type": kind}, {"type": "null"}]}
    return written
