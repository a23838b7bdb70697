"""The callbacks of one channel, called in orders that a host may choose."""

import asyncio
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.ssh.evidence import EMPTY_SHA256, Evidence
from sshfacts.ssh.session import CommandSession
from tests.support.fake_ssh import FakeChannel
from tests.support.runs import Collector

STDERR = 1
BOUND = 20


def _session(limit: int = 100, sink: Collector | None = None) -> tuple[CommandSession, FakeChannel]:
    session, channel = CommandSession(sink or Collector(), limit, limit), FakeChannel()
    session.connection_made(channel)
    return session, channel


def _evidence(session: CommandSession) -> Evidence:
    evidence = Evidence()
    session.report(evidence)
    return evidence


@given(chunks=st.lists(st.tuples(st.binary(max_size=40), st.sampled_from([None, STDERR])), max_size=12))
async def test_whatever_the_cut_both_streams_are_counted_and_hashed_up_to_the_bound(chunks):
    sink = Collector()
    session, channel = _session(limit=BOUND, sink=sink)
    counted = {None: b"", STDERR: b""}
    for chunk, stream in chunks:
        if all(len(seen) <= BOUND for seen in counted.values()):
            counted[stream] += chunk
        session.data_received(chunk, stream)
    evidence = _evidence(session)
    assert sink.content == counted[None]
    assert evidence.stdout_sha256 == hashlib.sha256(counted[None]).hexdigest()
    assert evidence.stderr_sha256 == hashlib.sha256(counted[STDERR]).hexdigest()
    assert (evidence.stdout_bytes, evidence.stderr_bytes) == (len(counted[None]), len(counted[STDERR]))
    is_over = any(len(seen) > BOUND for seen in counted.values())
    assert channel.asked == (["signal KILL", "abort"] if is_over else [])
    assert session.ended.done() == is_over


async def test_no_output_is_hashed_too():
    session, _ = _session()
    session.exit_status_received(0)
    session.connection_lost(None)
    evidence = _evidence(session)
    assert (evidence.stdout_sha256, evidence.stderr_sha256) == (EMPTY_SHA256, EMPTY_SHA256)
    assert not evidence.end_unconfirmed


@pytest.mark.parametrize(("stream", "detail"), [(None, "output.too_large"), (STDERR, "command.stderr")])
async def test_the_bound_that_broke_first_counts(stream, detail):
    session, channel = _session()
    session.data_received(b"x" * 101, stream)
    session.data_received(b"x" * 101, None)
    session.data_received(b"x" * 101, STDERR)
    assert (session.broken_bound.detail, session.broken_bound.where) == (detail, "more than 100 bytes")
    assert channel.asked == ["signal KILL", "abort"]
    assert not session.closed.done()


async def test_a_late_channel_is_aborted_before_exec():
    session, channel = CommandSession(Collector(), 1, 1), FakeChannel()
    session.abandon()
    session.connection_made(channel)
    assert channel.asked == ["abort"]
    assert not session.may_have_started


async def test_abandoning_kills_once_and_not_after_the_end():
    session, channel = _session()
    session.connection_lost(None)
    session.abandon()
    assert channel.asked == []


async def test_what_is_received_after_the_end_changes_nothing():
    session, _ = _session()
    session.connection_lost(ConnectionResetError())
    session.data_received(b"late", None)
    session.connection_lost(None)
    assert isinstance(session.lost_by, ConnectionResetError)
    assert _evidence(session).stdout_bytes == 0


async def test_input_of_a_session_without_channel_needs_no_end():
    CommandSession(Collector(), 1, 1).end_input()
    session, channel = _session()
    session.end_input()
    assert channel.asked == ["eof"]
    assert session.eof_received()


@pytest.mark.parametrize(("sent", "kept"), [("KILL", "KILL"), ("kill", "other"), ("", "other"), ("\x1b[2J", "other")])
async def test_only_known_signals_are_named(sent, kept):
    session, _ = _session()
    session.exit_signal_received(sent, False, "remote text", "")
    assert (session.exit_signal, session.has_end) == (kept, True)


async def test_a_refused_exec_is_no_start():
    session, _ = _session()
    session.exec_refused = True
    evidence = Evidence(started_at=None, exit_status=7)
    session.report(evidence)
    assert (evidence.started_at, evidence.stdout_sha256, evidence.end_unconfirmed) == (None, None, False)


async def test_a_sink_that_breaks_ends_the_session():
    class Broken(Collector):
        def write(self, chunk: bytes) -> None:  # noqa: ARG002 - the sink's signature
            raise ZeroDivisionError

    session, channel = _session(sink=Broken())
    session.data_received(b"x", None)
    await asyncio.wait_for(session.ended, 1)
    assert isinstance(session.sink_fault, ZeroDivisionError)
    assert channel.asked[-1] == "abort"
