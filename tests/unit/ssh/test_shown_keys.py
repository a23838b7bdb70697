"""How the keys that a host shows stand to the pinned ones."""

import asyncssh
import pytest

from sshfacts.ssh.host_keys import Trust
from sshfacts.ssh.shown_keys import Pin, ShownKey, compare


def _public(kind: str = "ssh-ed25519") -> asyncssh.SSHKey:
    return asyncssh.generate_private_key(kind).convert_to_public()


OURS, STRANGE, CURVE = _public(), _public(), _public("ecdsa-sha2-nistp256")
AUTHORITY, STRANGER = _public(), _public()


@pytest.mark.parametrize(
    ("shown", "trust", "rows", "usable", "alarming"),
    [
        ([OURS], Trust((), (), ()), [(OURS, Pin.UNPINNED)], False, False),
        ([OURS, CURVE], Trust((OURS,), (), ()), [(OURS, Pin.PINNED), (CURVE, Pin.UNPINNED)], True, False),
        (
            [STRANGE, CURVE],
            Trust((OURS,), (), ()),
            [(STRANGE, Pin.DIFFERS), (CURVE, Pin.UNPINNED), (OURS, Pin.NOT_SHOWN)],
            False,
            True,
        ),
        ([CURVE], Trust((OURS,), (), ()), [(CURVE, Pin.UNPINNED), (OURS, Pin.NOT_SHOWN)], False, False),
        ([STRANGE], Trust((OURS, STRANGE), (), ()), [(STRANGE, Pin.PINNED), (OURS, Pin.NOT_SHOWN)], True, False),
        ([OURS, CURVE], Trust((OURS,), (), (CURVE,)), [(OURS, Pin.PINNED), (CURVE, Pin.REVOKED)], False, True),
        ([OURS], Trust((OURS,), (), (OURS,)), [(OURS, Pin.REVOKED)], False, True),
    ],
    ids=["no pins", "pinned", "another key", "another type", "after a change", "revoked", "pinned and revoked"],
)
def test_own_keys(shown, trust, rows, usable, alarming):
    compared = compare([ShownKey(key, is_authority=False) for key in shown], trust)
    assert [(one.key, pin) for one, pin in compared.rows] == rows
    assert (compared.is_usable, compared.is_alarming) == (usable, alarming)


@pytest.mark.parametrize(
    ("signed_by", "trust", "rows", "usable"),
    [
        (AUTHORITY, Trust((), (AUTHORITY,), ()), [Pin.UNPINNED, Pin.PINNED], True),
        (AUTHORITY, Trust((OURS,), (), ()), [Pin.PINNED, Pin.UNPINNED], True),
        (STRANGER, Trust((), (AUTHORITY,), ()), [Pin.UNPINNED, Pin.DIFFERS, Pin.NOT_SHOWN], False),
        (AUTHORITY, Trust((OURS,), (AUTHORITY,), (AUTHORITY,)), [Pin.PINNED, Pin.REVOKED], False),
        (AUTHORITY, Trust((AUTHORITY,), (), ()), [Pin.DIFFERS, Pin.UNPINNED, Pin.NOT_SHOWN], False),
    ],
    ids=["pinned authority", "pinned key", "another authority", "revoked authority", "an authority is no host key"],
)
def test_authorities(signed_by, trust, rows, usable):
    shown = [ShownKey(OURS, is_authority=False), ShownKey(signed_by, is_authority=True)]
    compared = compare(shown, trust)
    assert [pin for _, pin in compared.rows] == rows
    assert compared.is_usable == usable


def test_what_can_be_pinned():
    shown = [ShownKey(OURS, is_authority=False), ShownKey(CURVE, is_authority=False)]
    compared = compare(shown, Trust((OURS,), (), ()))
    assert ([one.key for one in compared.unpinned], [one.key for one in compared.pinnable]) == ([CURVE], [OURS, CURVE])
    assert shown[0].line == OURS.export_public_key("openssh").decode().strip()
