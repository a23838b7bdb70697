"""What operators read from the record: the list of requests, and the story of one.

All functions block; a service calls them in a thread. They take an engine opened for reading.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from types import MappingProxyType

import sqlalchemy as sa

from sshfacts.storage.canonical import CanonicalError, leaf_hash, loads_strict, timestamp
from sshfacts.storage.engine import transaction
from sshfacts.storage.tables import ENTRY
from sshfacts.storage.unavailable import RecordAltered
from sshfacts.values import JsonObject

MAY_HAVE_RUN = "may have run"
"""The result of an allowed request whose outcome is not recorded: still running, or cut off by a crash."""

_AT_ONCE = 1_000  # rows in memory while all are read

_INTENT = ENTRY.alias("intent")
_OUTCOME = ENTRY.alias("outcome")
_CLOSING = ENTRY.alias("closing")

_FROM_OUTCOME: Mapping[str, sa.ColumnElement[object]] = MappingProxyType(
    {
        "code": sa.func.coalesce(_OUTCOME.c.code, _INTENT.c.code),
        "stage": sa.func.coalesce(_OUTCOME.c.stage, _INTENT.c.stage),
        "detail": sa.func.coalesce(_OUTCOME.c.detail, _INTENT.c.detail),
        "finished_at": _OUTCOME.c.at,
        "exit_status": _OUTCOME.c.exit_status,
        "attempts": _OUTCOME.c.attempts,
        "duration_us": _OUTCOME.c.duration_us,
        "stdout_bytes": _OUTCOME.c.stdout_bytes,
        "stdout_sha256": _OUTCOME.c.stdout_sha256,
        "facts_sha256": _OUTCOME.c.facts_sha256,
    }
)
"""The fields of a row that its outcome decides; a refused request has none, and says its code in the intent."""


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request: its intent, with what its outcome says if there is one."""

    request_id: str
    at: datetime
    caller: str
    principal: str | None
    operation: str
    host: str | None
    effect: str | None
    decision: str
    reason: str | None
    approver: str | None
    command: str | None
    code: str | None
    stage: str | None
    detail: str | None
    finished_at: datetime | None
    exit_status: int | None
    attempts: int | None
    duration_us: int | None
    stdout_bytes: int | None
    stdout_sha256: str | None
    facts_sha256: str | None

    @property
    def state(self) -> str:
        """The code of the request, or `may have run`."""
        return MAY_HAVE_RUN if self.code is None else self.code

    def as_json(self) -> JsonObject:
        """Return the row with `state`; instants are RFC 3339 text in UTC."""
        texts = {"at": _text(self.at), "finished_at": None if self.finished_at is None else _text(self.finished_at)}
        return {**asdict(self), **texts, "state": self.state}


@dataclass(frozen=True, slots=True)
class Filters:
    """Which requests are listed; `None` means any.

    `code` is a code of the envelope, `success` or `CANCELLED`; `since` is inclusive and `until` is not.
    """

    caller: str | None = None
    principal: str | None = None
    operation: str | None = None
    host: str | None = None
    decision: str | None = None
    code: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    only_open: bool = False


NO_FILTERS = Filters()


@dataclass(frozen=True, slots=True)
class OpenIntent:
    """An allowed request without an outcome."""

    request_id: str
    at: datetime
    leaf_hash: bytes
    deadline_at: datetime | None


def requests(engine: sa.Engine, limit: int = 50, filters: Filters = NO_FILTERS) -> list[RequestRow]:
    """Return the newest requests first, at most `limit`.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    statement = _requests(filters).order_by(_INTENT.c.at.desc(), _INTENT.c.id.desc()).limit(limit)
    with transaction(engine) as connection:
        return [RequestRow(**row) for row in connection.execute(statement).mappings()]


def each_request(engine: sa.Engine, filters: Filters = NO_FILTERS) -> Iterator[RequestRow]:
    """Yield the oldest requests first, however many there are; the database is read while the rows are taken.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    statement = _requests(filters).order_by(_INTENT.c.at, _INTENT.c.id)
    with transaction(engine) as connection:
        for row in connection.execution_options(yield_per=_AT_ONCE).execute(statement).mappings():
            yield RequestRow(**row)


def story(engine: sa.Engine, request_id: str) -> list[JsonObject]:
    """Return every record of one request, in the order in which they were written; empty if there is none.

    Raises:
        RecordUnavailable: the database cannot be read.
        RecordAltered: a body is not what its hash says.
    """
    statement = (
        sa.select(ENTRY.c.id, ENTRY.c.body, ENTRY.c.leaf_hash)
        .where(ENTRY.c.request_id == request_id)
        .order_by(ENTRY.c.id)
    )
    with transaction(engine) as connection:
        return [_body(*row) for row in connection.execute(statement)]


def open_intents(engine: sa.Engine, since: datetime, until: datetime) -> list[OpenIntent]:
    """Return the allowed requests from `since` to before `until` that have neither an outcome nor an orphan record.

    No body is read: the service's role may not, and whether columns say what bodies say is for who verifies.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    # A column, since `*` would ask for the right to read all of them.
    closing = sa.exists(_CLOSING.c.id).where(
        _CLOSING.c.request_id == _INTENT.c.request_id, _CLOSING.c.kind.in_(["outcome", "orphan"])
    )
    statement = (
        sa.select(_INTENT.c.request_id, _INTENT.c.at, _INTENT.c.leaf_hash, _INTENT.c.deadline_at)
        .where(_is_intent(), _was_to_run(), _INTENT.c.at >= since, _INTENT.c.at < until, ~closing)
        .order_by(_INTENT.c.id)
    )
    with transaction(engine) as connection:
        return [OpenIntent(*row) for row in connection.execute(statement)]


def configured(engine: sa.Engine) -> tuple[str | None, str | None] | None:
    """Return the digests of catalogue and policy that were recorded last; `None` if none were.

    No body is read, as in `open_intents`.

    Raises:
        RecordUnavailable: the database cannot be read.
    """
    digests = sa.select(ENTRY.c.catalogue_digest, ENTRY.c.policy_digest).where(ENTRY.c.kind == "config")
    with transaction(engine) as connection:
        row = connection.execute(digests.order_by(ENTRY.c.at.desc(), ENTRY.c.id.desc()).limit(1)).one_or_none()
    return None if row is None else (row.catalogue_digest, row.policy_digest)


def configuration(engine: sa.Engine, at: datetime | None = None) -> JsonObject | None:
    """Return the last `config` record, or the last one at a time; `None` if there is none.

    Raises:
        RecordUnavailable: the database cannot be read.
        RecordAltered: the body is not what its hash says.
    """
    statement = sa.select(ENTRY.c.id, ENTRY.c.body, ENTRY.c.leaf_hash).where(ENTRY.c.kind == "config")
    if at is not None:
        statement = statement.where(ENTRY.c.at <= at)
    newest = statement.order_by(ENTRY.c.at.desc(), ENTRY.c.id.desc()).limit(1)
    with transaction(engine) as connection:
        row = connection.execute(newest).one_or_none()
    return None if row is None else _body(*row)


def _requests(filters: Filters) -> sa.Select[*tuple[object, ...]]:
    names = [field.name for field in fields(RequestRow)]
    return (
        sa.select(*(_column(name).label(name) for name in names))
        .select_from(_INTENT.outerjoin(_OUTCOME, _OUTCOME.c.id == _first_outcome()))
        .where(_is_intent(), *_conditions(filters))
    )


def _column(name: str) -> sa.ColumnElement[object]:
    return _FROM_OUTCOME[name] if name in _FROM_OUTCOME else _INTENT.c[name]


def _text(instant: datetime) -> str:
    return timestamp(round(instant.timestamp() * 1_000_000))


def _is_intent() -> sa.ColumnElement[bool]:
    return _INTENT.c.kind == "intent"


def _was_to_run() -> sa.ColumnElement[bool]:
    # An intent with a code was refused after its decision, for instance because its command cannot be rendered.
    return sa.and_(_INTENT.c.decision == "allow", _INTENT.c.code.is_(None))


def _first_outcome() -> sa.ScalarSelect[int]:
    """Return the id of the request's outcome; a late one may stand beside one whose commit was in doubt."""
    return (
        sa.select(sa.func.min(_CLOSING.c.id))
        .where(_CLOSING.c.request_id == _INTENT.c.request_id, _CLOSING.c.kind == "outcome")
        .correlate(_INTENT)
        .scalar_subquery()
    )


def _conditions(filters: Filters) -> list[sa.ColumnElement[bool]]:
    names = ("caller", "principal", "operation", "host", "decision")
    wanted = [(name, getattr(filters, name)) for name in names]
    conditions = [_INTENT.c[name] == value for name, value in wanted if value is not None]
    if filters.code is not None:
        conditions.append(_FROM_OUTCOME["code"] == filters.code)
    if filters.since is not None:
        conditions.append(_INTENT.c.at >= filters.since)
    if filters.until is not None:
        conditions.append(_INTENT.c.at < filters.until)
    if filters.only_open:
        conditions += [_was_to_run(), _OUTCOME.c.id.is_(None)]
    return conditions


def _body(entry_id: int, text: str, leaf: bytes) -> JsonObject:
    data = text.encode("utf-8", "surrogatepass")
    try:
        body = loads_strict(data)
    except CanonicalError as error:
        raise RecordAltered(f"the body of entry {entry_id} is {error}") from None
    if leaf_hash(data) != leaf:
        raise RecordAltered(f"the body of entry {entry_id} is not what its hash says")
    return body
