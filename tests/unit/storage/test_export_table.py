import csv
import io
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sshfacts.storage.engine import open_for_reading
from sshfacts.storage.export_table import CAVEAT, cell, write_table
from sshfacts.storage.queries import Filters, RequestRow, each_request, requests
from tests.support.exports import call_time
from tests.support.sealed import new_sqlite, rows_of_calls

FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def test_each_request_is_a_row_and_says_that_it_proves_nothing(tmp_path: Path):
    record = new_sqlite(tmp_path)
    record.append(rows_of_calls(40))
    reader = open_for_reading(record.url)
    text = io.StringIO(newline="")

    count = write_table(text, each_request(reader))

    head, *rows = csv.reader(io.StringIO(text.getvalue(), newline=""))
    assert head == ["caveat", *(field.name for field in fields(RequestRow)), "state"]
    assert {row[0] for row in rows} == {CAVEAT}
    assert count == len(rows) == 40
    by_name = [dict(zip(head, row, strict=True)) for row in rows]
    assert [row["request_id"] for row in by_name] == [one.request_id for one in reversed(requests(reader))]
    assert [row["at"] for row in by_name] == sorted(row["at"] for row in by_name)
    assert {row["state"] for row in by_name} == {"success", "DENIED", "TIMEOUT", "may have run"}
    assert by_name[0]["finished_at"] == "2026-11-30T10:00:00.500000Z"
    assert by_name[3]["finished_at"] == ""


def test_a_period_ends_before_its_end(tmp_path: Path):
    record = new_sqlite(tmp_path)
    record.append(rows_of_calls(40))
    filters = Filters(since=call_time(10), until=call_time(20))
    found = [row.request_id for row in each_request(open_for_reading(record.url), filters)]
    assert found == [f"req.{number:08}" for number in range(10, 20)]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", '=HYPERLINK("http://x","y")', "-"]
)
def test_no_cell_is_a_formula(text: str):
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "web-1", "a=b", "1+1", "'=1", "a@b.c"])
def test_other_text_stays_as_it_is(text: str):
    assert cell(text) == text


@given(st.text())
def test_every_text_is_read_back_or_marked(text: str):
    shown = cell(text)
    assert shown in (text, f"'{text}")
    assert not shown.lstrip(" ").startswith(FORMULAS)


def test_numbers_times_and_nothing():
    zone = timezone(timedelta(hours=2))
    assert cell(0) == "0"
    assert cell(None) == ""
    assert cell(datetime(2026, 11, 30, 12, tzinfo=zone)) == cell(datetime(2026, 11, 30, 10, tzinfo=UTC))
    assert cell(datetime(2026, 11, 30, 10, tzinfo=UTC)) == "2026-11-30T10:00:00.000000Z"
