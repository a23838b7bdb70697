"""The list of hosts, for callers that may use more of them than a schema can hold. It runs nothing."""

from collections.abc import Mapping

from sshfacts.errors import Refusal
from sshfacts.schemas.contract import Contract
from sshfacts.schemas.envelope_schema import HOST_ALIAS, TOOL_NAME
from sshfacts.schemas.profile import Kind
from sshfacts.service.offers import Offer
from sshfacts.values import JsonObject, JsonValue

PAGE = 100
"""Hosts of one answer; with their groups about 10 KB, which no client cuts."""

TITLE = "Hosts that an operation may run on"
DESCRIPTION = (
    "Lists by alias the hosts that you may call one operation on. Use it when the operation's schema does not list "
    "them. When `next` is not null there are more: repeat the call with `after` set to it."
)

_ALIAS: JsonObject = {"type": "string", "maxLength": 63, "pattern": HOST_ALIAS}
_COUNT: JsonObject = {"type": "integer", "minimum": 0, "maximum": 1_000_000}

INPUT_SCHEMA: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "required": ["operation"],
    "properties": {
        "operation": {
            "type": "string",
            "maxLength": 40,
            "pattern": TOOL_NAME,
            "description": "Name of the operation.",
        },
        "group": {**_ALIAS, "description": "Only hosts of this group."},
        "after": {**_ALIAS, "description": "Only hosts that come after this alias."},
    },
}

OUTPUT_SCHEMA: JsonObject = {
    "type": "object",
    "additionalProperties": False,
    "required": ["operation", "total", "hosts", "next"],
    "properties": {
        "operation": {"type": "string", "maxLength": 40, "pattern": TOOL_NAME},
        "total": {**_COUNT, "description": "Hosts of the operation and the group, on all pages."},
        "hosts": {
            "type": "array",
            "maxItems": PAGE,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["host", "groups"],
                "properties": {
                    "host": _ALIAS,
                    "groups": {"type": "array", "maxItems": 64, "items": _ALIAS},
                },
            },
        },
        "next": {"anyOf": [_ALIAS, {"type": "null"}], "description": "What `after` must be for the next page."},
    },
}

_ARGUMENTS = Contract(INPUT_SCHEMA, Kind.ARGUMENTS)


def needed(offers: Mapping[str, Offer]) -> bool:
    """Tell whether a caller has more hosts than the schemas of its operations list."""
    return not all(offer.lists_hosts for offer in offers.values())


def page(offers: Mapping[str, Offer], host_groups: frozenset[str], given: JsonObject) -> JsonObject:
    """Return one page of the hosts of an operation; there are none of one that the caller may not use.

    Args:
        host_groups: the caller's; of others it learns nothing.

    Raises:
        Refusal: `arguments_invalid`.
    """
    violation = _ARGUMENTS.violation(given)
    if violation is not None:
        raise Refusal("arguments_invalid", violation)
    operation, group, after = (str(given.get(name, "")) for name in ("operation", "group", "after"))
    offer = offers.get(operation)
    found = [
        host for host in (offer.hosts if offer is not None else ()) if not group or group in host.groups & host_groups
    ]
    rest = [host for host in found if host.alias > after]
    shown: list[JsonValue] = [
        {"host": host.alias, "groups": [*sorted(host.groups & host_groups)]} for host in rest[:PAGE]
    ]
    last = rest[PAGE - 1].alias if len(rest) > PAGE else None
    return {"operation": operation, "total": len(found), "hosts": shown, "next": last}
