"""Where a host is, as a person writes it: `web-1.example`, `192.0.2.1:2222`, `::1`, `[::1]:2222`."""

import ipaddress
import re
from contextlib import suppress

SSH_PORT = 22
_LAST_PORT = 65_535
_PLACE = re.compile(
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*))(?::(?P<port>[1-9][0-9]{0,4}))?"
)


def parse_address(text: str) -> tuple[str, int]:
    """Return address and port.

    Raises:
        ValueError: it is neither a name nor an IP address, or the port is none.
    """
    with suppress(ValueError):
        return str(ipaddress.ip_address(text)), SSH_PORT
    match = _PLACE.fullmatch(text)
    port = int(match["port"] or SSH_PORT) if match is not None else 0
    if match is None or port > _LAST_PORT:
        raise ValueError("neither a name nor an IP address, with or without a port")
    return match["name"] or str(ipaddress.IPv6Address(match["six"])), port
