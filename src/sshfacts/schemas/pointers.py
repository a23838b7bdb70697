"""RFC 6901 pointers, as far as they are written here."""


def escaped(name: str) -> str:
    """Return a member's name as one step of a pointer."""
    return name.replace("~", "~0").replace("/", "~1")
