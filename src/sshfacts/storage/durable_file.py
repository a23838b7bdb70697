"""Small files that are whole and on disk, or unchanged."""

import errno
import os
from pathlib import Path


def write_durably(path: Path, text: str, mode: int) -> None:
    """Put `text` into the file at `path`, new or in place of the old one, so that no crash leaves a part of it.

    Args:
        mode: of the file, whatever the process's mask is.

    Raises:
        OSError: the file is as it was.
    """
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            os.fchmod(descriptor, mode)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def os_reason(error: OSError) -> str:
    """Return why the operating system refused, such as `EACCES`, without the path."""
    return errno.errorcode.get(error.errno or 0, type(error).__name__)


def _sync_folder(folder: Path) -> None:
    """Make durable that a name in `folder` stands for another file now."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
