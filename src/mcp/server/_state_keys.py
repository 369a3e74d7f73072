"""Keys of request state that come from the environment, or from a file that may change while the server runs."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import Final, TypeAlias

from mcp.server._sealing import AESGCMRequestStateCodec

logger = logging.getLogger("mcp.server.request_state")

LOOK_INTERVAL: Final = 1.0
"""How many seconds pass between two looks at a file, at least."""

_FRESH: Final = 2.0
"""A file changed so few seconds before it was read may change again without looking different: it is read once more."""
_MAX_FILE_BYTES: Final = 64 * 1024

_Signature: TypeAlias = tuple[int, int, int, int]


def read_keys(text: str) -> list[str]:
    """Read the keys out of a text: separated by white space or commas, without lines that begin with `#`."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return [key for line in lines for key in line.replace(",", " ").split()]


def codec_from_environment(name: str) -> AESGCMRequestStateCodec:
    """Make a codec under the keys in an environment variable.

    Raises:
        ValueError: The variable is not set, or its keys cannot be used. The text quotes none of them.
    """
    text = os.environ.get(name, "")
    keys = read_keys(text)
    if not keys:
        state = "has no key in it" if text else "is not set"
        raise ValueError(
            f"the environment variable {name} {state}: give every instance the same keys, separated by commas"
        )
    try:
        return AESGCMRequestStateCodec(keys)
    except ValueError as error:
        raise ValueError(f"the environment variable {name}: {error}") from None


class FileCodec:
    """The built-in codec under the keys in a file, which is looked at again while the codec is used.

    A file that cannot be used leaves the keys that were read before in force.

    Args:
        path: The file.

    Raises:
        ValueError: The file cannot be read, or its keys cannot be used. The text quotes none of them.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._clock: Callable[[], float] = time.monotonic
        self._lock = threading.Lock()
        self._complaint: tuple[_Signature | None, str] | None = None
        self._next_look = self._clock() + LOOK_INTERVAL
        self._signature, self._is_fresh, self._text = _read(self._path)
        self._codec = _make_codec(self._path, self._text)

    def seal(self, payload: bytes) -> str:
        """Return a token for the payload."""
        self._look()
        return self._codec.seal(payload)

    def unseal(self, token: str) -> bytes:
        """Return the payload of a token that `seal` made with one of the keys.

        Raises:
            InvalidRequestState: It did not.
        """
        self._look()
        return self._codec.unseal(token)

    def _look(self) -> None:
        now = self._clock()
        if now < self._next_look or not self._lock.acquire(blocking=False):
            return
        try:
            self._next_look = now + LOOK_INTERVAL
            self._read_again()
        finally:
            self._lock.release()

    def _read_again(self) -> None:
        signature = None
        try:
            signature = _sign(os.stat(self._path))
            if signature == self._signature and not self._is_fresh:
                return
            self._signature, self._is_fresh, text = _read(self._path)
            if text == self._text:
                self._complaint = None
                return
            codec = _make_codec(self._path, text)
        except (OSError, ValueError) as error:
            self._complain(signature, f"{self._path}: {error.strerror}" if isinstance(error, OSError) else str(error))
            return
        self._text, self._codec, self._complaint = text, codec, None
        sealing, *others = (key_id.hex() for key_id in codec.key_ids)
        logger.info(
            "Read the request-state keys in %s again: %s seals, %s only opens",
            self._path,
            sealing,
            ", ".join(others) or "none",
        )

    def _complain(self, signature: _Signature | None, reason: str) -> None:
        if self._complaint != (signature, reason):
            self._complaint = signature, reason
            logger.error("Keeping the request-state keys that were read before: %s", reason)


def read_key_file(path: str | os.PathLike[str]) -> str:
    """Return the text of a file of keys.

    Raises:
        ValueError: It cannot be read.
    """
    return _read(os.fspath(path))[2]


def _read(path: str) -> tuple[_Signature, bool, str]:
    """Return what a file looked like when it was read, whether it had only just changed, and its text."""
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(_MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    if len(data) > _MAX_FILE_BYTES:
        raise ValueError(f"{path}: it has more than {_MAX_FILE_BYTES} bytes, which is no list of keys")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: it is no UTF-8 text") from None
    return _sign(status), abs(time.time() - status.st_mtime) < _FRESH, text


def _sign(status: os.stat_result) -> _Signature:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _make_codec(path: str, text: str) -> AESGCMRequestStateCodec:
    keys = read_keys(text)
    if not keys:
        raise ValueError(f"{path}: there is no key in it; write one key a line")
    try:
        return AESGCMRequestStateCodec(keys)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
