"""Formats are data that cannot name something impossible."""

import pytest

from sshfacts.adapters.formats import Fields, KeyValue


@pytest.mark.parametrize("separator", ["", "\n", "=\n", "\r", "\0"])
def test_a_separator_can_stand_in_a_line(separator):
    with pytest.raises(ValueError, match="separator"):
        KeyValue(separator)


@pytest.mark.parametrize("names", [(), ("a", "a")])
def test_names_of_fields_are_unique(names):
    with pytest.raises(ValueError, match="names"):
        Fields("tab", names)


def test_formats_compare_by_content():
    assert KeyValue("=", ignore=frozenset({"blank"})) == KeyValue("=", ignore=frozenset({"blank"}))
    assert hash(Fields("tab", ("a",))) == hash(Fields("tab", ("a",)))
