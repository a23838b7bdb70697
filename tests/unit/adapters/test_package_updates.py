"""The built-in adapter on outputs that are too long for a case, or too many."""

from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from sshfacts.builtin import builtin_site
from sshfacts.commands.captured import Captured, facts_of
from sshfacts.commands.operation import Operation
from sshfacts.commands.site import load_site
from sshfacts.errors import Refusal
from sshfacts.limits import KIB
from sshfacts.values import JsonObject

CASE = builtin_site() / "schemas" / "package_updates" / "cases" / "debian12.out"


@cache
def operation(root: Path) -> Operation:
    return load_site(root, need_settings=False).operations["package_updates"]


def facts(stdout: str) -> JsonObject:
    at = datetime(2026, 12, 1, tzinfo=UTC)
    return facts_of(operation(builtin_site()), Captured(stdout.encode(), 0, {}, "web-1", at))


def refusal(stdout: str) -> str:
    with pytest.raises(Refusal) as caught:
        facts(stdout)
    return caught.value.detail


def lines(count: int, form: str) -> str:
    return "".join(form.format(number=number) for number in range(count))


PLAIN = "Inst p{number} [1] (2 D:12/s [all])\nConf p{number} (2 D:12/s [all])\n"
SECURITY = PLAIN.replace("p{", "s{").replace("12/s", "12/s-security")
NEW = "Inst n{number} (2 D:12/s [all])\nConf n{number} (2 D:12/s [all])\n"
GONE = "Remv r{number} [1]\n"


def test_many_upgrades_are_counted_and_the_first_are_listed():
    found = facts(lines(300, PLAIN) + lines(100, SECURITY) + lines(20, NEW) + lines(10, GONE))

    counts = {name: value for name, value in found.items() if name != "upgrades"}
    assert counts == {
        "upgrade_count": 400,
        "security_count": 100,
        "new_count": 20,
        "removed_count": 10,
        "all_listed": False,
    }
    listed = found["upgrades"]
    assert isinstance(listed, list)
    names = [row["name"] for row in listed if isinstance(row, dict)]
    assert names == [f"s{number}" for number in range(100)] + [f"p{number}" for number in range(156)]


@pytest.mark.parametrize(("count", "all_listed"), [(256, True), (257, False)])
def test_the_list_is_whole_up_to_its_length(count: int, all_listed: bool):
    found = facts(lines(count, PLAIN))
    assert (found["upgrade_count"], found["all_listed"]) == (count, all_listed)


def test_four_thousand_upgrades_are_counted_and_no_more():
    assert facts(lines(4000, PLAIN))["upgrade_count"] == 4000
    assert refusal(lines(4001, PLAIN)) == "contract.document"
    assert refusal(lines(12_000, PLAIN)) == "output.too_large"


def test_an_answer_that_ends_while_a_package_is_open_is_refused():
    whole = CASE.read_text().splitlines(keepends=True)
    accepted = []
    for end in range(1, len(whole) + 1):
        try:
            accepted.append((end, facts("".join(whole[:end]))["upgrade_count"]))
        except Refusal as refused:
            assert refused.detail == "adapter.failed"  # noqa: PT017 - some ends are refused, others are not
    # The form cannot show it where every package is configured; there the exit status has to.
    assert accepted == [(2, 1), (4, 2), (len(whole), 9)]


@pytest.mark.parametrize(
    "stdout",
    [
        "Inst " + "a" * 500 * KIB + "\n",
        "Inst a " + "[" * 500 * KIB + "\n",
        "Inst a (1 " + "D, " * 170 * KIB + "\n",
        "Inst a (1 D [all])" + " [a on a]" * 50 * KIB + "x\n",
        "Inst a (1 D [all]) [" + "a " * 250 * KIB + "\n",
        "Inst a (1 " + "(1 D [all]) " * 40 * KIB + "\n",
        "Conf a (1 " + "-security, " * 45 * KIB + "x [all]\n",
        "Remv a [" + "1-" * 250 * KIB + "\n",
        "\n" * 500 * KIB,
    ],
)
def test_no_line_takes_more_than_linear_time(stdout: str):
    # Otherwise it would be `adapter.limit`.
    assert refusal(stdout) == "adapter.failed"
