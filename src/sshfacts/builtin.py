"""Where the built-in site stands: in the wheel, or in the checkout beside `src/`."""

from functools import cache
from pathlib import Path

MARKER = Path("commands") / "site.toml"
"""A folder is a site if, and only if, it holds this file."""


@cache
def builtin_site() -> Path:
    """Return the root folder of the built-in site.

    A wheel carries it as `sshfacts/_site`; an editable install runs from `src/`, so there it is the
    nearest parent with the marker. `sys.path` is never searched: a folder of the same name that
    happens to lie on it must not become what is vetted.

    Raises:
        FileNotFoundError: the package was installed without its content folders.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "_site", *package.parents):
        if (folder / MARKER).is_file():
            return folder
    raise FileNotFoundError(f"no {MARKER} in {package / '_site'} or above {package}")
