"""The rows of a quarter's record: true records of many callers, hosts and operations, as many as asked for.

Two replicas serve 100 callers on 500 hosts and start anew every day. Of the calls 2 % are refused, 3 % fail,
0.1 % have no outcome, 0.1 % have their output read by a person, and 1 % change a host after a person approved.
Each operation gets a new version each month.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from hashlib import sha256
from itertools import count, islice
from math import ceil
from string import ascii_letters, digits

from sshfacts.storage.canonical import rfc3339
from sshfacts.storage.chain import Chain, Row
from sshfacts.values import JsonObject
from tests.support.records import intent, outcome, refused
from tests.support.sealed import BEGIN

DAYS = 90
FIRST_DAY = BEGIN - timedelta(days=DAYS)
OPERATION = "operation_00"
"""The one that is used most, for 18 % of the calls."""

_REPLICAS = 2
_RECORDS_OF_CALL = 2
_CALLERS = 100
_HOSTS = 500
_OPERATIONS = 20
_KEYS = 20
_APPROVERS = 5
_DAYS_OF_VERSION = 30
_DEADLINE = timedelta(seconds=11)
_BASE62 = ascii_letters + digits


def rows_of_quarter(records: int) -> Iterator[Row]:
    """Yield so many rows, in the order of their time; all but the writers' names and hashes is the same each time."""
    return islice(_rows(records), records)


def caller_name(number: int) -> str:
    """Return the name of a caller."""
    return f"caller-{number:03}"


def host_name(number: int) -> str:
    """Return the alias of a host."""
    return f"web-{number:03}"


def approver_name(number: int) -> str:
    """Return the name of a person who approves."""
    return f"person-{number}"


@cache
def key_fingerprint(number: int) -> str:
    """Return what is recorded of one of the keys that enter hosts."""
    return f"SHA256:{_digest('key', number)[:43]}"


@cache
def operation_digest(operation: str, day: int) -> str:
    """Return the digest of the version of an operation that was in use on a day."""
    return _digest(operation, day // _DAYS_OF_VERSION)


def _digest(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()


def _rows(records: int) -> Iterator[Row]:
    choice = random.Random(0)  # noqa: S311 - keeps no secret
    calls = ceil(records / _RECORDS_OF_CALL / DAYS)
    for day in count():
        begin = FIRST_DAY + timedelta(days=day)
        chains = [Chain() for _ in range(_REPLICAS)]
        start: JsonObject = {"kind": "writer_start", "at": rfc3339(begin), "service_version": "0.1.0"}
        yield from (chain.link(start).row for chain in chains)
        for number in range(calls):
            call = _Call(choice.choice(chains), choice, day, timedelta(days=(number + 0.5) / calls))
            yield from call.rows()
        stop: JsonObject = {"kind": "writer_stop", "at": rfc3339(begin + timedelta(days=1))}
        yield from (chain.link(stop).row for chain in chains)


@dataclass(frozen=True, slots=True)
class _Call:
    """One call, in the chain of the replica that serves it."""

    chain: Chain
    choice: random.Random
    day: int
    time: timedelta

    def rows(self) -> Iterator[Row]:
        """Yield its records, from its intent to its outcome."""
        request = "req." + "".join(self.choice.choices(_BASE62, k=20))
        said = self._said()
        fate = self.choice.random()  # each range of it is the share of one kind of call
        if fate < 0.02:
            yield self.chain.link(refused(request, **said)).row
        elif fate < 0.03:
            yield from self._approved(request, said)
        else:
            first = self.chain.link(intent(request, **said, deadline_at=self._at(_DEADLINE)))
            yield first.row
            if fate >= 0.031:
                yield self._outcome(request, first.leaf_hash, said, has_failed=fate < 0.061)
            if fate >= 0.999:
                yield self._reading(request, said)

    def _approved(self, request: str, said: JsonObject) -> Iterator[Row]:
        changes: JsonObject = {**said, "approver": approver_name(self.choice.randrange(_APPROVERS)), "effect": "change"}
        yield self.chain.link({"kind": "approval", "request_id": request, **changes, "reason": "granted"}).row
        first = self.chain.link(intent(request, **changes, deadline_at=self._at(_DEADLINE)))
        yield first.row
        leaf = first.leaf_hash
        yield self.chain.link({"kind": "started", "at": said["at"], "request_id": request, "intent": leaf.hex()}).row
        yield self._outcome(request, leaf, said, has_failed=False)

    def _said(self) -> JsonObject:
        operation = f"operation_{min(int(self.choice.expovariate(0.2)), _OPERATIONS - 1):02}"
        return {
            "at": self._at(timedelta()),
            "caller": caller_name(self.choice.randrange(_CALLERS)),
            "operation": operation,
            "host": host_name(self.choice.randrange(_HOSTS)),
            "operation_digest": operation_digest(operation, self.day),
        }

    def _outcome(self, request: str, leaf: bytes, said: JsonObject, *, has_failed: bool) -> Row:
        failure: JsonObject = {"code": "TIMEOUT", "stage": "run", "detail": "timeout.run"} if has_failed else {}
        output = _digest(said["operation"], said["host"], self.day)
        seen: JsonObject = {
            "at": self._at(timedelta(seconds=0.5)),
            "key_fingerprint": key_fingerprint(int(str(said["host"])[-3:]) % _KEYS),
            "stdout": {"bytes": 812, "sha256": output},
            "facts_sha256": None if has_failed else _digest(output),
        }
        return self.chain.link(outcome(leaf, request, **seen, **failure)).row

    def _reading(self, request: str, said: JsonObject) -> Row:
        body: JsonObject = {
            "kind": "raw_read",
            "at": self._at(_DEADLINE),
            "reason": "read",
            "request_id": request,
            "operation": said["operation"],
            "host": said["host"],
            "person": approver_name(0),
            "stream": "stdout",
        }
        return self.chain.link(body).row

    def _at(self, later: timedelta) -> str:
        return rfc3339(FIRST_DAY + timedelta(days=self.day) + self.time + later)
