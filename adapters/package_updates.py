"""What `apt-get -qq -s dist-upgrade` would do.

The lines are those of `pkgSimulate` in apt's apt-pkg/algorithms.cc:

    Inst NAME [INSTALLED] (CANDIDATE ORIGIN, ORIGIN [ARCHITECTURE]) [NAME on NAME] [NAME NAME ]
    Conf NAME (CANDIDATE ORIGIN, ORIGIN [ARCHITECTURE]) [NAME ]
    Remv NAME [INSTALLED] [NAME ]
    Purg NAME [INSTALLED] [NAME ]

A package that is new has no INSTALLED. The last brackets name packages that are broken until a later line mends them;
they say nothing about the end, and are read and left out. Every other line is refused, `Conf NAME broken` among them.
"""

import re
from collections.abc import Container

# Groups repeat without giving back what they took, so that no line takes more than linear time and memory. They are
# atomic and not possessive, because Python before 3.11.5 matches possessive groups wrongly (gh-106052).
_NAME = r"[a-z0-9][a-z0-9+.-]*+(?>(?::[a-z0-9-]++)?)"
_VERSION = r"[A-Za-z0-9][A-Za-z0-9.+~:-]*"
_CANDIDATE = rf"\((?P<candidate>{_VERSION}) (?P<origins>[^\x00-\x1f\x7f-\x9f\[\]]+) \[[a-z0-9-]+\]\)"
_BROKEN = rf"(?: \[(?>(?:{_NAME} )*)\])?"
_INSTALL = re.compile(
    rf"Inst (?P<name>{_NAME})(?: \[(?P<installed>{_VERSION})\])? {_CANDIDATE}(?>(?: \[{_NAME} on {_NAME}\])*){_BROKEN}"
)
_CONFIGURE = re.compile(rf"Conf (?P<name>{_NAME}) {_CANDIDATE}{_BROKEN}")
_REMOVE = re.compile(rf"(?:Remv|Purg) (?P<name>{_NAME})(?: \[{_VERSION}\])?{_BROKEN}")


def read(stdout: bytes) -> dict[str, object]:
    """Return the upgrades, and the names of what would be new and what would be gone."""
    installs: dict[str, re.Match[str]] = {}
    configured: dict[str, str] = {}
    removed: dict[str, None] = {}
    for line in _lines(stdout):
        if install := _INSTALL.fullmatch(line):
            installs[_once(install["name"], installs)] = install
        elif configure := _CONFIGURE.fullmatch(line):
            configured[_once(configure["name"], configured)] = configure["candidate"]
        elif remove := _REMOVE.fullmatch(line):
            removed[_once(remove["name"], removed)] = None
        else:
            raise ValueError("no rule reads this line")
    for name, install in installs.items():
        # apt configures all that it installs. Most answers that were cut between two lines end before it has.
        if configured.get(name) != install["candidate"]:
            raise ValueError("a package is installed and not configured, or in another version")
    return {
        "upgrades": [_upgrade(install) for install in installs.values() if install["installed"] is not None],
        "new": [name for name, install in installs.items() if install["installed"] is None],
        # What is only out of the way for a moment is installed again by a later line.
        "removed": [name for name in removed if name not in installs],
    }


def _lines(stdout: bytes) -> list[str]:
    *lines, rest = stdout.decode("utf-8").split("\n")
    if rest:
        raise ValueError("the last line has no end")
    return lines


def _once(name: str, known: Container[str]) -> str:
    if name in known:
        raise ValueError("the same is done to a package twice")
    return name


def _upgrade(install: re.Match[str]) -> dict[str, object]:
    return {
        "name": install["name"],
        "installed": install["installed"],
        "candidate": install["candidate"],
        "security": any(map(_is_security, install["origins"].split(", "))),
    }


def _is_security(origin: str) -> bool:
    """Return whether an origin, LABEL:VERSION/ARCHIVE, is a distribution's archive of security updates.

    Debian has the label since 2002 and the archive since version 11; Ubuntu has the archive only.
    """
    return origin.startswith("Debian-Security:") or origin.endswith("-security")
