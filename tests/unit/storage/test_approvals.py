from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from sshfacts.storage import approvals
from sshfacts.storage.approvals import Approval, State, Subject
from sshfacts.storage.engine import open_for_reading, open_for_writing, prepare, transaction
from tests.support.records import COMMAND, SHA256, url_of

NOW = datetime(2026, 11, 30, 10, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


@pytest.fixture
def connection(database: Path) -> Iterator[sa.Connection]:
    engine = open_for_writing(url_of(database))
    prepare(engine)
    with transaction(engine) as opened:
        yield opened


def asked(approval_id: str = "apr.first000", binding: str = SHA256, caller: str = "helper") -> Approval:
    subject = Subject(
        binding=binding,
        caller=caller,
        principal="anna",
        operation="service_restart",
        host="web-1",
        arguments={"unit": "nginx.service", "count": 3, "force": False},
        command=COMMAND,
        effect="change",
        catalogue_digest=SHA256,
        operation_digest=SHA256,
    )
    return Approval(approval_id, State.ASKED, subject, "req.asked000", NOW, LATER)


def test_what_is_asked_is_kept_as_it_is(connection: sa.Connection):
    assert approvals.ask(connection, asked())
    assert approvals.get(connection, "apr.first000") == approvals.latest(connection, SHA256) == asked()


def test_one_approval_of_a_binding_is_open(connection: sa.Connection):
    assert approvals.ask(connection, asked())
    assert not approvals.ask(connection, asked("apr.second00"))
    # The transaction goes on, on every database.
    assert approvals.ask(connection, asked("apr.third000", binding="0" * 64))
    assert approvals.expire(connection, asked())
    assert approvals.ask(connection, asked("apr.second00"))


def test_a_grant_is_used_once(connection: sa.Connection):
    approvals.ask(connection, asked())
    assert approvals.grant(connection, asked(), "grace", NOW, LATER)
    granted = approvals.get(connection, "apr.first000")
    assert granted is not None
    assert (granted.state, granted.approver, granted.expires_at) == (State.GRANTED, "grace", LATER)
    assert approvals.consume(connection, granted, "req.ran00000", NOW)
    assert not approvals.consume(connection, granted, "req.again000", NOW)
    used = approvals.get(connection, "apr.first000")
    assert used is not None
    assert (used.state, used.consumed_by) == (State.CONSUMED, "req.ran00000")


@pytest.mark.parametrize("moment", [LATER, LATER + timedelta(days=1)])
def test_what_is_over_is_neither_decided_nor_used(connection: sa.Connection, moment: datetime):
    approvals.ask(connection, asked())
    assert not approvals.grant(connection, asked(), "grace", moment, moment + timedelta(minutes=1))
    assert not approvals.refuse(connection, asked(), "grace", moment)
    approvals.grant(connection, asked(), "grace", NOW, LATER)
    granted = approvals.get(connection, "apr.first000")
    assert granted is not None
    assert not approvals.consume(connection, granted, "req.late0000", moment)


def test_what_is_decided_is_not_decided_again(connection: sa.Connection):
    approvals.ask(connection, asked())
    assert approvals.refuse(connection, asked(), "grace", NOW)
    assert not approvals.grant(connection, asked(), "grace", NOW, LATER)
    assert not approvals.refuse(connection, asked(), "grace", NOW)
    assert not approvals.expire(connection, asked())


def test_only_what_waits_is_counted(connection: sa.Connection):
    for number, binding in enumerate("abcd"):
        approvals.ask(connection, asked(f"apr.number{number}0", binding))
    approvals.ask(connection, asked("apr.other000", "e", caller="other"))
    approvals.refuse(connection, asked("apr.number00", "a"), "grace", NOW)
    approvals.grant(connection, asked("apr.number10", "b"), "grace", NOW, LATER)
    assert approvals.waiting(connection, "helper", NOW) == 2
    assert approvals.waiting(connection, "helper", LATER) == 0


def test_the_open_one_counts_then_the_newest(connection: sa.Connection):
    approvals.ask(connection, asked())
    approvals.refuse(connection, asked(), "grace", NOW)
    approvals.ask(connection, asked("apr.second00"))
    found = approvals.latest(connection, SHA256)
    assert found is not None
    assert found.id == "apr.second00"
    approvals.expire(connection, asked("apr.second00"))
    found = approvals.latest(connection, SHA256)
    assert found is not None
    assert found.state is State.REFUSED


def test_the_list_is_of_the_states_that_are_asked_for(database: Path):
    writing = open_for_writing(url_of(database))
    prepare(writing)
    with transaction(writing) as connection:
        approvals.ask(connection, asked())
        approvals.ask(connection, asked("apr.second00", "0" * 64))
        approvals.refuse(connection, asked(), "grace", NOW)
    engine = open_for_reading(url_of(database))
    assert [one.id for one in approvals.newest(engine, 10, [State.ASKED])] == ["apr.second00"]
    assert [one.id for one in approvals.newest(engine, 10, [*State])] == ["apr.first000", "apr.second00"]
    assert len(approvals.newest(engine, 1, [*State])) == 1
