"""Turn a request's state into a token that only this server's keys can read, and back.

Two layers, each usable alone: XAES-256-GCM (https://c2sp.org/XAES-256-GCM), and a ring of keys with the token's text
form. What a token says about its request is in `_claims`; `mcp.server.request_state` puts both around the handlers.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias, cast

from mcp._protocol.base64url import decode_base64url, encode_base64url

Secret: TypeAlias = bytes | bytearray | str

MALFORMED: Final = "malformed"
UNKNOWN_KEY: Final = "unknown key"
SEAL: Final = "seal"

_MIN_SECRET_BYTES: Final = 32
_GENERATE: Final = 'Generate one with: python -c "import secrets; print(secrets.token_hex(32))"'
_KEY_BYTES: Final = 32
_KEY_ID_BYTES: Final = 4
_NONCE_BYTES: Final = 24
_TAG_BYTES: Final = 16
_INFO: Final = b"mcp-request-state/1"
_PREFIX: Final = b"r1."
_MIN_TOKEN_BYTES: Final = _KEY_ID_BYTES + _NONCE_BYTES + _TAG_BYTES


class InvalidRequestState(Exception):
    """A codec raises this for a token that it did not mint.

    The client gets the same answer for every token that fails; the text is for the log and must not quote the token.
    """


class _KeySchedule(threading.local):
    """AES-256 under one key, for one thread: the encryptor keeps a buffer and must not be shared between threads."""

    def __init__(self, key: bytes) -> None:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        # The block function of AES, which is all that CMAC over a single block needs.
        self.encrypt_blocks = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update
        self.gcm = AESGCM
        self.invalid_tag = InvalidTag
        # CMAC's subkey (NIST SP 800-38B, section 6.1): the encrypted zero block, doubled in GF(2^128).
        doubled = int.from_bytes(self.encrypt_blocks(bytes(16)), "big") << 1
        subkey = doubled ^ (1 << 128 | 0x87) if doubled >> 128 else doubled
        # Two single-block messages, counters 1 and 2, label "X"; the nonce's first half is still to be filled in.
        messages = int.from_bytes(b"\x00\x01X\x00" + bytes(12) + b"\x00\x02X\x00" + bytes(12), "big")
        self.masked_messages = messages ^ (subkey << 128 | subkey)


class XAES256GCM:
    """The AEAD with 192-bit nonces, safe to draw at random for as long as a key lives.

    Args:
        key: 32 bytes.
    """

    __slots__ = ("_key", "_schedule")

    def __init__(self, key: bytes) -> None:
        if len(key) != _KEY_BYTES:
            raise ValueError(f"an XAES-256-GCM key has {_KEY_BYTES} bytes, not {len(key)}")
        self._key = key
        self._schedule: _KeySchedule | None = None

    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes) -> bytes:
        """Return the ciphertext with its tag."""
        schedule = self._get_schedule()
        return schedule.gcm(_derive(schedule, nonce)).encrypt(nonce[12:], data, associated_data)

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes) -> bytes | None:
        """Return the plain text; `None` if anything was altered or the key is another one."""
        schedule = self._get_schedule()
        try:
            return schedule.gcm(_derive(schedule, nonce)).decrypt(nonce[12:], data, associated_data)
        except schedule.invalid_tag:
            return None

    def _get_schedule(self) -> _KeySchedule:
        if self._schedule is None:
            # Two threads may both come here; their schedules are equal, and one of them stays.
            self._schedule = _KeySchedule(self._key)
        return self._schedule


def _derive(schedule: _KeySchedule, nonce: bytes) -> bytes:
    """Derive the key for one nonce (XAES-256-GCM, steps 3 to 5)."""
    if len(nonce) != _NONCE_BYTES:
        raise ValueError(f"an XAES-256-GCM nonce has {_NONCE_BYTES} bytes, not {len(nonce)}")
    half = int.from_bytes(nonce[:12], "big")
    return schedule.encrypt_blocks((schedule.masked_messages ^ (half << 128 | half)).to_bytes(32, "big"))


def derive_key(secret: bytes) -> tuple[bytes, bytes]:
    """Derive a sealing key and its public id from a secret: HKDF-SHA256 (RFC 5869) without salt."""
    pseudorandom = hmac.digest(bytes(hashlib.sha256().digest_size), secret, "sha256")
    first = hmac.digest(pseudorandom, _INFO + b"\x01", "sha256")
    second = hmac.digest(pseudorandom, first + _INFO + b"\x02", "sha256")
    return first, second[:_KEY_ID_BYTES]


class AESGCMRequestStateCodec:
    """The built-in codec: XAES-256-GCM under a ring of keys.

    A token is `r1.` and base64url text of key id, nonce and ciphertext. The id picks the key, so a token costs one
    decryption however many keys there are. Any instance with the same secrets reads the token.

    Args:
        keys: Secrets of at least 32 random bytes. The first one seals, all of them verify.

    Raises:
        TypeError: `keys` is one secret instead of a sequence, or a secret is neither bytes nor text.
        ValueError: There is no key, or one is too short or there twice.
    """

    def __init__(self, keys: Sequence[Secret]) -> None:
        self._ring = build_ring(keys)
        self._sealing_id = next(iter(self._ring))

    @property
    def key_ids(self) -> tuple[bytes, ...]:
        """The ids of the keys, which each token shows; the first one seals."""
        return tuple(self._ring)

    def seal(self, payload: bytes) -> str:
        """Return a token for the payload; every call returns another one."""
        key_id = self._sealing_id
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ring[key_id].encrypt(nonce, payload, _PREFIX + key_id)
        return (_PREFIX + encode_base64url(key_id + nonce + sealed)).decode("ascii")

    def unseal(self, token: str) -> bytes:
        """Return the payload of a token that `seal` made with one of the keys.

        Raises:
            InvalidRequestState: It did not; for tampering, other keys, and any other spelling of a good token.
        """
        raw = _decode_token(token)
        if raw is None:
            raise InvalidRequestState(MALFORMED)
        key_id = raw[:_KEY_ID_BYTES]
        cipher = self._ring.get(key_id)
        if cipher is None:
            raise InvalidRequestState(UNKNOWN_KEY)
        body = _KEY_ID_BYTES + _NONCE_BYTES
        payload = cipher.decrypt(raw[_KEY_ID_BYTES:body], raw[body:], _PREFIX + key_id)
        if payload is None:
            raise InvalidRequestState(SEAL)
        return payload


class EphemeralRequestStateCodec(AESGCMRequestStateCodec):
    """The built-in codec under a random key that is made when it is first needed and ends with the process.

    Attributes:
        is_shared: Whether the key was made for several processes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.is_shared = False

    def share(self) -> None:
        """Make the key now, before this process forks into several that need the same."""
        assert self._sealing_id
        self.is_shared = True

    def __getattr__(self, name: str) -> Any:
        """Make the key: what is looked for here is not there yet."""
        if name not in ("_ring", "_sealing_id"):
            raise AttributeError(name)
        with self._lock:
            if "_sealing_id" not in self.__dict__:
                super().__init__([os.urandom(_MIN_SECRET_BYTES)])
        return self.__dict__[name]


def build_ring(keys: Sequence[Secret]) -> dict[bytes, XAES256GCM]:
    """Read secrets into ciphers by key id, in the order given."""
    if isinstance(keys, (str, bytes, bytearray, memoryview)):
        kind = type(keys).__name__
        raise TypeError(f"request-state keys must be a list of keys, got a single {kind}; write keys=[key]")
    ring: dict[bytes, XAES256GCM] = {}
    for index, secret in enumerate(cast("Iterable[object]", keys)):
        key, key_id = derive_key(_read_secret(index, secret))
        # Ids are four bytes of the derivation: two secrets that share one could not be told apart.
        if key_id in ring:
            raise ValueError(f"keys[{index}] duplicates an earlier ring key")
        ring[key_id] = XAES256GCM(key)
    if not ring:
        raise ValueError(f"AESGCMRequestStateCodec requires at least one key, and keys=[] has none. {_GENERATE}")
    return ring


def _read_secret(index: int, secret: object) -> bytes:
    if isinstance(secret, str):
        secret = secret.encode()
    elif not isinstance(secret, (bytes, bytearray)):
        raise TypeError(
            f"request-state keys must be bytes, bytearray, or str; keys[{index}] is {type(secret).__name__}"
        )
    if len(secret) < _MIN_SECRET_BYTES:
        raise ValueError(
            f"request-state keys must be at least {_MIN_SECRET_BYTES} bytes of secret randomness; "
            f"keys[{index}] is {len(secret)} bytes. {_GENERATE}"
        )
    return bytes(secret)


def _decode_token(token: str) -> bytes | None:
    try:
        text = token.encode("ascii")
        if not text.startswith(_PREFIX):
            return None
        raw = decode_base64url(text[len(_PREFIX) :])
    except ValueError:  # UnicodeEncodeError and binascii.Error are
        return None
    return raw if len(raw) >= _MIN_TOKEN_BYTES else None
