import pytest

from sshfacts.schemas.text_formats import FORMATS

GOOD = [
    ("date", "2026-11-30"),
    ("date", "2024-02-29"),
    ("date-time", "2026-11-30T10:00:00Z"),
    ("date-time", "2026-11-30t10:00:00.123456789z"),
    ("date-time", "2026-11-30T10:00:00+05:30"),
    ("date-time", "1998-12-31T23:59:60Z"),
    ("date-time", "1998-12-31T15:59:60.5-08:00"),
    ("date-time", "1999-01-01T00:29:60+00:30"),
    ("hostname", "web-1.example.com"),
    ("hostname", "a" * 63),
    ("ipv4", "10.0.0.1"),
    ("ipv6", "2001:db8::1"),
    ("ipv6", "::ffff:10.0.0.1"),
    ("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380"),
]
BAD = [
    ("date", "2026-02-30"),
    ("date", "2025-02-29"),
    ("date", "2026-1-01"),
    ("date", "20261130"),
    ("date", "0000-01-01"),
    ("date", "2026-11-30\n"),
    ("date", "२०२६-११-३०"),
    ("date-time", "2026-11-30T10:00:00Z\n"),
    ("date-time", "2026-11-30 10:00:00Z"),
    ("date-time", "2026-11-30T10:00:00"),
    ("date-time", "2026-13-30T10:00:00Z"),
    ("date-time", "2026-11-31T10:00:00Z"),
    ("date-time", "2026-11-30T24:00:00Z"),
    ("date-time", "2026-11-30T10:00:60Z"),
    ("date-time", "1998-12-31T23:59:60-01:00"),
    ("date-time", "2026-11-30T10:00:00.Z"),
    ("date-time", "2026-11-30T10:00:00." + "1" * 19 + "Z"),
    ("date-time", "2026-11-30T10:00:00+24:00"),
    ("hostname", ""),
    ("hostname", "a."),
    ("hostname", "-a"),
    ("hostname", "a-"),
    ("hostname", "a_b"),
    ("hostname", "a\n"),
    ("hostname", "a" * 64),
    ("hostname", "10.0.0.1"),
    ("hostname", "é.example"),
    ("hostname", ".".join(["a" * 63] * 4)),
    ("ipv4", "010.0.0.1"),
    ("ipv4", "10.0.0"),
    ("ipv4", "10.0.0.256"),
    ("ipv4", "10.0.0.1\n"),
    ("ipv4", "1\u0660.0.0.1"),
    ("ipv6", "fe80::1%eth0"),
    ("ipv6", "::1\n"),
    ("ipv6", "12345::"),
    ("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d1638\u0660"),
    ("uuid", "2eb8aa08aa9811eab4aa73b441d16380"),
    ("uuid", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}"),
    ("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380\n"),
]


@pytest.mark.parametrize(("name", "text"), GOOD)
def test_a_good_text_is_accepted(name, text):
    assert FORMATS[name](text)


@pytest.mark.parametrize(("name", "text"), BAD)
def test_a_bad_text_is_refused(name, text):
    assert not FORMATS[name](text)


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_bounds_the_length_of_its_text(name):
    good = next(text for of, text in GOOD if of == name)
    assert not FORMATS[name](good + "1" * 254)
    assert not FORMATS[name]("1" * 254 + good)
