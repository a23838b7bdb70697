"""Bodies of records as the pipeline makes them, and what every stored chain must keep."""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sshfacts.storage.canonical import leaf_hash, loads_strict
from sshfacts.values import JsonObject, JsonValue

COMMAND = "exec /usr/bin/env -i LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin timeout -k 1 10 df --output=source,size"
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


def intent(request_id: str = "req.J7q94MkP", **changes: JsonValue) -> JsonObject:
    """Return the first record of an allowed call."""
    decision: JsonObject = {
        "tool": "disk_usage",
        "argumentsValid": True,
        "toolAllowed": True,
        "hostAllowed": True,
        "grant": {"needed": ["disk.read"], "missing": []},
        "decision": "allow",
        "reason": "ok",
        "approval": None,
    }
    body: JsonObject = {
        "kind": "intent",
        "at": "2026-11-30T10:00:00.000000Z",
        "request_id": request_id,
        "caller": "helper",
        "principal": "anna",
        "operation": "disk_usage",
        "host": "web-1",
        "effect": "read",
        "arguments": {"mount": "/srv/größe", "limit": 5},
        "decision": decision,
        "reason": "ok",
        "approver": None,
        "command": COMMAND,
        "deadline_at": "2026-11-30T10:00:11.000000Z",
        "catalogue_digest": SHA256,
        "operation_digest": SHA256,
        "service_version": "0.1.0",
        "code": None,
        "stage": None,
        "detail": None,
        "where": None,
    }
    return {**body, **changes}


def refused(request_id: str = "req.J7q94MkQ", **changes: JsonValue) -> JsonObject:
    """Return the only record of a call that was denied."""
    body = intent(request_id, reason="grant_missing", code="DENIED", stage="decide", detail="grant_missing")
    decision: JsonObject = {"decision": "deny", "reason": "grant_missing"}
    return {**body, "command": None, "deadline_at": None, "decision": decision, **changes}


def outcome(leaf: bytes, request_id: str = "req.J7q94MkP", **changes: JsonValue) -> JsonObject:
    """Return the second record of a call that ended with facts."""
    body: JsonObject = {
        "kind": "outcome",
        "at": "2026-11-30T10:00:01.500000Z",
        "request_id": request_id,
        "intent": leaf.hex(),
        "code": "success",
        "stage": None,
        "detail": None,
        "where": None,
        "attempts": [{"n": 1, "started_at": "2026-11-30T10:00:00.100000Z", "duration_us": 1_300_000, "detail": None}],
        "collected_at": "2026-11-30T10:00:00.100000Z",
        "exit_status": 0,
        "exit_signal": None,
        "duration_us": 1_500_000,
        "host_key": "SHA256:iXK2s3rUJ1eSbzUvd3jBWVpZ0GmcfkYDd3kPvL8cbFA",
        "key_fingerprint": "SHA256:p2QAMXNIC1TJYWeIOttrVc98/R1BUFWu3/LiyKgUfQM",
        "stdout": {"bytes": 812, "sha256": SHA256},
        "stderr": {"bytes": 0, "sha256": SHA256, "text": ""},
        "facts_sha256": SHA256,
    }
    return {**body, **changes}


def url_of(path: Path) -> str:
    """Return the database URL of a file."""
    return f"sqlite:///{path}"


def stored(path: Path) -> list[JsonObject]:
    """Return the bodies of all records in the file, after checking that every chain in it is whole.

    Read with nothing but the standard library: what the package says about its own rows proves little.
    """
    connection = sqlite3.connect(path.as_uri() + "?mode=ro", uri=True)
    try:
        rows = connection.execute("SELECT writer_id, seq, leaf_hash, body FROM audit_entry ORDER BY id").fetchall()
    finally:
        connection.close()
    return whole_chains(rows)


def whole_chains(rows: Iterable[Sequence[Any]]) -> list[JsonObject]:
    """Return the bodies of `rows` of writer, number, hash and body, after checking every chain in them."""
    last: dict[str, tuple[int, bytes]] = {}
    bodies = []
    for writer, seq, leaf, text in rows:
        body = loads_strict(text.encode())
        expected, previous = last.get(writer, (0, bytes(32)))
        assert (body["writer"], body["seq"], seq) == (writer, expected, expected), "the chain is not dense"
        assert body["prev"] == previous.hex(), "the chain is not linked"
        assert leaf_hash(text.encode()) == leaf, "a body is not what its hash says"
        last[writer] = (seq + 1, leaf)
        bodies.append(body)
    return bodies


def kinds(path: Path) -> list[JsonValue]:
    """Return the kind of each record in the file, in order."""
    return [body["kind"] for body in stored(path)]
