"""What all readers do alike: count bytes, refuse once and for ever, tell an empty answer from a short one."""

from abc import ABC, abstractmethod

from sshfacts.errors import Refusal
from sshfacts.limits import ReadLimits
from sshfacts.values import JsonValue


class BoundedReader(ABC):
    """The frame of a reader: subclasses get only bytes inside the budget, and none after a refusal.

    After a refusal each later call raises it again, so that a caller that missed the first one
    cannot get a document from half an answer. Only detail and place are kept: a kept exception
    would hold the frames, and with them the remote bytes, alive.
    """

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._received = 0
        self._refused: tuple[str, str | None] | None = None
        self._closed = False
        self._document: JsonValue = None

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of stdout; any size, also none.

        Raises:
            Refusal: a detail of stage `read`.
            RuntimeError: the reader was closed.
        """
        self._check_open()
        if self._closed:
            raise RuntimeError("the reader was closed")
        if not chunk:
            return
        try:
            self._count(len(chunk))
            self._take(chunk)
        except BaseException as error:
            self._refuse(error)
            raise

    def close(self) -> JsonValue:
        """Say that stdout has ended, and return the document; a second call returns it again.

        Raises:
            Refusal: a detail of stage `read`; `output.empty` if there was not one byte.
        """
        self._check_open()
        if not self._closed:
            try:
                self._check_received()
                self._document = self._finish()
            except BaseException as error:
                self._refuse(error)
                raise
            self._closed = True
        return self._document

    @abstractmethod
    def _take(self, chunk: bytes) -> None:
        """Read bytes that are inside the budget; never empty."""

    @abstractmethod
    def _finish(self) -> JsonValue:
        """Return the document after the last byte."""

    def _count(self, size: int) -> None:
        self._received += size
        if self._received > self._limits.bytes:
            raise Refusal("output.too_large", f"more than {self._limits.bytes} bytes")

    def _check_received(self) -> None:
        if not self._received:
            raise Refusal("output.empty")

    def _check_open(self) -> None:
        if self._refused is not None:
            raise Refusal(*self._refused)

    def _refuse(self, error: BaseException) -> None:
        # Whatever went wrong, half a state must never become a document.
        self._refused = (error.detail, error.where) if isinstance(error, Refusal) else ("internal", None)
