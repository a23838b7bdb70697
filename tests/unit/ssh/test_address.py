import pytest

from sshfacts.ssh.address import parse_address


@pytest.mark.parametrize(
    ("text", "address", "port"),
    [
        ("web-1.example", "web-1.example", 22),
        ("web_1:2222", "web_1", 2222),
        ("192.0.2.1", "192.0.2.1", 22),
        ("192.0.2.1:65535", "192.0.2.1", 65_535),
        ("2001:db8::1", "2001:db8::1", 22),
        ("[2001:db8::1]", "2001:db8::1", 22),
        ("[::1]:2222", "::1", 2222),
    ],
)
def test_what_a_person_writes(text, address, port):
    assert parse_address(text) == (address, port)


@pytest.mark.parametrize(
    "text",
    [
        *("", ":22", "web:", "web:0", "web:022", "web:65536", "web:x", "web:22:22"),
        *("[::1", "[web]", "[1:2]", "::1:22x", "a b", "user@web", "web/x", "web?x", "-oX", "w\u00e9b", "web\n"),
    ],
)
def test_what_is_no_address(text):
    with pytest.raises(ValueError, match=r"neither a name nor|parts expected"):
        parse_address(text)
