"""A contract written out flat: every reference replaced by what it refers to, for readers that follow none."""

from sshfacts.schemas.references import References
from sshfacts.schemas.tree import Node, read_tree
from sshfacts.values import JsonObject, JsonValue

_DESCRIBES = frozenset({"$comment", "default", "deprecated", "description", "examples", "title"})
_OF_THE_FILE = frozenset({"$id", "$ref", "$schema"})


def inlined(schema: JsonObject) -> JsonObject:
    """Return the same contract without `$ref`, `$defs`, `$schema` and `$id`; `schema` itself is left as it is.

    Raises:
        ValueError: the root is no schema object.
    """
    root, _ = read_tree(schema)
    if root is None:
        raise ValueError("not a schema object")
    flat = _written(root, References(root))
    if not isinstance(flat, dict):
        raise TypeError("an object was read as a boolean schema")
    return flat


def _written(node: Node, references: References) -> JsonValue:
    if node.boolean is not None:
        return node.boolean
    own: JsonObject = {name: value for name, value in node.keywords.items() if name not in _OF_THE_FILE}
    own |= {name: _written(part, references) for name, part in node.one.items()}
    own |= {name: [_written(part, references) for part in parts] for name, parts in node.several.items()}
    own |= {
        name: {member: _written(part, references) for member, part in parts.items()}
        for name, parts in node.named.items()
        if name != "$defs"
    }
    target = references.target(node)
    if target is None:
        return own
    referred = _written(target, references)
    if isinstance(referred, dict) and own.keys() <= _DESCRIBES:
        return {**referred, **own}
    branches = own.get("allOf", [])
    own["allOf"] = [*(branches if isinstance(branches, list) else []), referred]
    return own
