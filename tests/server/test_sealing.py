from __future__ import annotations

import base64
import copy
import enum
import hashlib
import json
import math
import pickle
import random
import string
import subprocess
import sys
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from mcp._protocol.base64url import decode_base64url, encode_base64url
from mcp._protocol.canonical import canonical_json
from mcp.server._claims import digest_arguments
from mcp.server._sealing import (
    XAES256GCM,
    AESGCMRequestStateCodec,
    EphemeralRequestStateCodec,
    InvalidRequestState,
    derive_key,
)

KEY = "k" * 32
NONCE = b"ABCDEFGHIJKLMNOPQRSTUVWX"


def unseal_reason(codec: AESGCMRequestStateCodec, token: str) -> str:
    with pytest.raises(InvalidRequestState) as caught:
        codec.unseal(token)
    return str(caught.value)


# The cipher, against the vectors of https://c2sp.org/XAES-256-GCM


@pytest.mark.parametrize(
    ("key", "plaintext", "associated_data", "ciphertext"),
    [
        (b"\x01" * 32, b"XAES-256-GCM", b"", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
        (
            b"\x03" * 32,
            b"XAES-256-GCM",
            b"c2sp.org/XAES-256-GCM",
            "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d",
        ),
    ],
)
def test_the_cipher_meets_its_published_vectors(
    key: bytes, plaintext: bytes, associated_data: bytes, ciphertext: str
) -> None:
    cipher = XAES256GCM(key)
    sealed = cipher.encrypt(NONCE, plaintext, associated_data)
    assert sealed.hex() == ciphertext
    assert cipher.decrypt(NONCE, sealed, associated_data) == plaintext


def test_the_cipher_meets_its_published_accumulated_vector() -> None:
    # 10,000 rounds of a random key, nonce, plain text and associated data, each text with a length byte before it
    source = hashlib.shake_128().digest(10_000 * (32 + 24 + 2 * 256))
    assert source.hex().startswith("7f9c2ba4e88f827d616045507605853e")
    position = 0

    def take(count: int) -> bytes:
        nonlocal position
        position += count
        return source[position - count : position]

    sealed = hashlib.shake_128()
    for _ in range(10_000):
        key, nonce = take(32), take(24)
        plaintext = take(take(1)[0])
        associated_data = take(take(1)[0])
        cipher = XAES256GCM(key)
        ciphertext = cipher.encrypt(nonce, plaintext, associated_data)
        assert cipher.decrypt(nonce, ciphertext, associated_data) == plaintext
        sealed.update(ciphertext)
    assert sealed.hexdigest(32) == "e6b9edf2df6cec60c8cbd864e2211b597fb69a529160cd040d56c0c210081939"


def test_the_cipher_refuses_what_was_altered() -> None:
    cipher = XAES256GCM(b"\x01" * 32)
    sealed = cipher.encrypt(NONCE, b"text", b"data")
    for nonce, text, data in (
        (NONCE[::-1], sealed, b"data"),
        (NONCE, sealed[::-1], b"data"),
        (NONCE, sealed, b"date"),
        (NONCE, sealed[:-1], b"data"),
    ):
        assert cipher.decrypt(nonce, text, data) is None


def test_the_cipher_insists_on_its_lengths() -> None:
    with pytest.raises(ValueError, match="key has 32 bytes, not 16"):
        XAES256GCM(bytes(16))
    with pytest.raises(ValueError, match="nonce has 24 bytes, not 12"):
        XAES256GCM(bytes(32)).encrypt(bytes(12), b"", b"")


def test_threads_share_a_cipher() -> None:
    codec = AESGCMRequestStateCodec([KEY])
    threads = 8
    start = threading.Barrier(threads)

    def work(number: int) -> bool:
        start.wait(5)
        payloads = [f"{number}-{index}".encode() * 20 for index in range(300)]
        return all(codec.unseal(codec.seal(payload)) == payload for payload in payloads)

    with ThreadPoolExecutor(threads) as pool:
        assert all(pool.map(work, range(threads)))


# Keys


def test_a_key_and_its_id_come_from_one_hkdf() -> None:
    for secret in (KEY.encode(), bytes(range(100))):
        derived = HKDF(SHA256(), length=36, salt=None, info=b"mcp-request-state/1").derive(secret)
        assert derive_key(secret) == (derived[:32], derived[32:])


@pytest.mark.rule("MRTR-26", "MRTR-44")
def test_the_first_key_seals_and_every_key_verifies() -> None:
    old, new = "o" * 32, b"n" * 40
    first, second, third = (AESGCMRequestStateCodec(keys) for keys in ([old, new], [new, old], [new]))
    by_old, by_new = first.seal(b"old"), second.seal(b"new")
    assert [codec.unseal(by_old) for codec in (first, second)] == [b"old", b"old"]
    assert [codec.unseal(by_new) for codec in (first, second, third)] == [b"new"] * 3
    assert unseal_reason(third, by_old) == "unknown key"


@pytest.mark.rule("MRTR-26")
def test_text_and_bytes_of_a_key_are_the_same_key() -> None:
    text = "é" * 16  # 32 bytes
    token = AESGCMRequestStateCodec([text]).seal(b"x")
    for key in (text.encode(), bytearray(text.encode())):
        assert AESGCMRequestStateCodec([key]).unseal(token) == b"x"


@pytest.mark.rule("MRTR-26")
def test_key_material_is_copied() -> None:
    key = bytearray(KEY.encode())
    codec = AESGCMRequestStateCodec([key])
    key[:] = bytes(32)
    assert AESGCMRequestStateCodec([KEY]).unseal(codec.seal(b"x")) == b"x"


GENERATE = 'Generate one with: python -c "import secrets; print(secrets.token_hex(32))"'


@pytest.mark.rule("MRTR-26", "MRTR-D5", "TROUBLE-24")
@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        ([], ValueError, f"AESGCMRequestStateCodec requires at least one key, and keys=[] has none. {GENERATE}"),
        (
            ["k" * 31],
            ValueError,
            f"request-state keys must be at least 32 bytes of secret randomness; keys[0] is 31 bytes. {GENERATE}",
        ),
        (
            [KEY, b"short"],
            ValueError,
            f"request-state keys must be at least 32 bytes of secret randomness; keys[1] is 5 bytes. {GENERATE}",
        ),
        ([KEY, KEY.encode()], ValueError, "keys[1] duplicates an earlier ring key"),
        ([5], TypeError, "request-state keys must be bytes, bytearray, or str; keys[0] is int"),
        (
            [memoryview(b"k" * 32)],
            TypeError,
            "request-state keys must be bytes, bytearray, or str; keys[0] is memoryview",
        ),
        (KEY, TypeError, "request-state keys must be a list of keys, got a single str; write keys=[key]"),
        (KEY.encode(), TypeError, "request-state keys must be a list of keys, got a single bytes; write keys=[key]"),
    ],
)
def test_bad_keys_are_named(keys: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        AESGCMRequestStateCodec(keys)
    assert str(caught.value) == message
    assert KEY not in message


# Tokens


def test_a_token_is_key_id_nonce_and_ciphertext_in_base64url() -> None:
    token = AESGCMRequestStateCodec([KEY]).seal(b"payload")
    key, key_id = derive_key(KEY.encode())
    assert token.startswith("r1.")
    assert set(token[3:]) <= set(string.ascii_letters + string.digits + "-_")
    raw = base64.urlsafe_b64decode(token[3:] + "=" * (-len(token[3:]) % 4))
    assert raw[:4] == key_id
    assert XAES256GCM(key).decrypt(raw[4:28], raw[28:], b"r1." + key_id) == b"payload"


def test_no_two_tokens_are_alike() -> None:
    codec = AESGCMRequestStateCodec([KEY])
    assert len({codec.seal(b"payload") for _ in range(200)}) == 200


@pytest.mark.parametrize("size", range(4))
def test_only_the_minted_spelling_verifies(size: int) -> None:
    codec = AESGCMRequestStateCodec([KEY])
    token = codec.seal(b"x" * size)
    prefix, body = token[:3], token[3:]
    last = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    spellings = {
        body + "=",
        body + "==",
        body + "\n",
        " " + body,
        body[:10] + "\n" + body[10:],
        body[:10] + "!" + body[10:],
        body.replace("-", "+").replace("_", "/") + "\r\n",
        # The last character's unused bits
        *(body[:-1] + character for character in last if character != body[-1]),
    }
    for spelling in spellings:
        assert unseal_reason(codec, prefix + spelling) in ("malformed", "seal")
    for other in ("R1." + body, "v1." + body, "r2." + body, body, "r1" + body, "r1.", "r1.AAAA", "", "é", "\ud800"):
        assert unseal_reason(codec, other) == "malformed"
    assert codec.unseal(token) == b"x" * size


def test_the_key_id_picks_the_key_and_is_bound_to_the_token() -> None:
    codec = AESGCMRequestStateCodec([KEY, "o" * 32])
    _, other_id = derive_key(b"o" * 32)
    raw = decode_base64url(codec.seal(b"x").encode()[3:])
    assert unseal_reason(codec, "r1." + encode_base64url(other_id + raw[4:]).decode()) == "seal"
    assert unseal_reason(codec, "r1." + encode_base64url(b"none" + raw[4:]).decode()) == "unknown key"
    assert unseal_reason(codec, "r1." + encode_base64url(raw[:44]).decode()) == "seal"
    assert unseal_reason(codec, "r1." + encode_base64url(raw[:43]).decode()) == "malformed"


@given(st.binary(max_size=80))
def test_base64url_reads_what_it_writes_and_nothing_else(data: bytes) -> None:
    text = encode_base64url(data)
    assert text == base64.urlsafe_b64encode(data).rstrip(b"=")
    assert decode_base64url(text) == data
    for other in (text + b"=", text + b"A", b" " + text):
        try:
            decoded = decode_base64url(other)
        except ValueError:
            continue
        assert encode_base64url(decoded) == other


# The ephemeral key


@pytest.mark.rule("MRTR-25")
def test_an_ephemeral_key_is_known_to_nobody_else() -> None:
    first, second = EphemeralRequestStateCodec(), EphemeralRequestStateCodec()
    token = first.seal(b"x")
    assert first.unseal(token) == b"x"
    assert unseal_reason(second, token) == "unknown key"


def test_an_ephemeral_key_is_made_once_whatever_comes_first() -> None:
    codec = EphemeralRequestStateCodec()
    assert unseal_reason(codec, "r1.AAAA") == "malformed"
    start = threading.Barrier(8)

    def seal(_: int) -> str:
        start.wait(5)
        return fresh.seal(b"x")

    fresh = EphemeralRequestStateCodec()
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(seal, range(8)))
    assert [fresh.unseal(token) for token in tokens] == [b"x"] * 8


def test_looking_at_an_ephemeral_key_makes_none_and_nothing_writes_it_down() -> None:
    codec = EphemeralRequestStateCodec()

    assert not hasattr(codec, "keys")
    assert not hasattr(EphemeralRequestStateCodec.__new__(EphemeralRequestStateCodec), "_ring")
    assert "EphemeralRequestStateCodec" in repr(codec)
    assert "_ring" not in vars(codec)
    token = codec.seal(b"x")
    assert copy.copy(codec).unseal(token) == b"x"
    for write in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError):
            write(codec)


def test_cryptography_loads_with_the_first_token() -> None:
    program = """
import sys
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
security = RequestStateSecurity(keys=["k" * 32])
RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="a")
heavy = [name for name in ("cryptography", "starlette") if name in sys.modules]
assert not heavy, heavy
security.codec.seal(b"x")
assert "cryptography" in sys.modules
"""
    environment = {"PYTHONPATH": ":".join(path for path in sys.path if path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=60)


# The digest of arguments


@pytest.mark.rule("MRTR-31")
def test_the_order_of_keys_does_not_matter_at_any_depth() -> None:
    one = {"a": 1, "b": {"c": [{"x": 1, "y": 2}], "d": None}}
    other = {"b": {"d": None, "c": [{"y": 2, "x": 1}]}, "a": 1}
    assert digest_arguments(one) == digest_arguments(other)


@pytest.mark.rule("MRTR-31")
def test_missing_arguments_equal_none_at_all() -> None:
    assert digest_arguments(None) == digest_arguments({})
    assert digest_arguments({}) != digest_arguments({"a": None})


@pytest.mark.rule("MRTR-31", "MRTR-D4")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (0, False),
        (0, None),
        (1, "1"),
        (1.5, 1),
        (1.5, "1.5"),
        ("\u00e9", "e\u0301"),
        ("a", "A"),
        ("", None),
        ([], {}),
        ([1, 2], [2, 1]),
        ([[1], 2], [1, [2]]),
        ("1.0", "1"),
        (9007199254740993, 9007199254740992.0),
        (math.nan, None),
        (math.inf, "Infinity"),
    ],
)
def test_different_values_digest_differently(one: object, other: object) -> None:
    assert digest_arguments({"a": one}) != digest_arguments({"a": other})
    assert digest_arguments({"a": [one]}) != digest_arguments({"a": [other]})


@pytest.mark.rule("MRTR-31")
def test_an_extra_argument_changes_the_digest() -> None:
    assert digest_arguments({"a": 1}) != digest_arguments({"a": 1, "b": None})


@pytest.mark.rule("MRTR-D4")
@pytest.mark.parametrize(
    ("whole", "number"),
    [(1.0, 1), (-2.0, -2), (0.0, 0), (-0.0, 0), (1e16, 10**16), (1e300, int(1e300)), (9007199254740992.0, 2**53)],
)
def test_equal_numbers_digest_alike_however_they_are_written(whole: float, number: int) -> None:
    assert digest_arguments({"a": whole}) == digest_arguments({"a": number})
    assert digest_arguments({"a": [{"b": whole}, "v1.0", "e+1"]}) == digest_arguments(
        {"a": [{"b": number}, "v1.0", "e+1"]}
    )


@pytest.mark.rule("MRTR-D4")
def test_a_client_that_stores_arguments_as_json_may_respell_numbers() -> None:
    assert digest_arguments(json.loads('{"a": 1, "b": [2e1]}')) == digest_arguments(json.loads('{"a":1.0,"b":[20]}'))


@pytest.mark.rule("MRTR-49")
def test_lone_surrogates_are_text_like_any_other() -> None:
    assert digest_arguments({"a": "\ud800"}) == digest_arguments({"a": "\ud800"})
    assert len({digest_arguments({"a": text}) for text in ("\ud800", "\udfff", "?", "\ufffd")}) == 4
    assert digest_arguments({"\ud800": 1.0}) == digest_arguments({"\ud800": 1})


def test_deep_and_long_arguments_are_no_trouble() -> None:
    deep: object = 1.0
    same: object = 1
    for level in range(50_000):
        deep, same = ([deep], [same]) if level % 2 else ({"k": deep}, {"k": same})
    assert digest_arguments({"a": deep}) == digest_arguments({"a": same})
    assert digest_arguments({"a": deep}) != digest_arguments({"a": [deep]})
    assert digest_arguments({"a": 10**5000}) == digest_arguments({"a": 10**5000})
    assert digest_arguments({"a": 10**5000}) != digest_arguments({"a": 10**5000 + 1})


class Text(str):
    pass


class Kind(str, enum.Enum):
    ONE = "one"


class Number(enum.IntEnum):
    TWO = 2


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(1, 9).map(lambda end: end * 10**5000)
    | st.floats()
    | st.text(st.characters())
    | st.text(max_size=3).map(Text)
    | st.sampled_from([Kind.ONE, Number.TWO, Text("x.0]"), -0.0, 1e16, 2**63, -(2**63), 1e300])
)
KEYS = st.text(st.characters(), max_size=5) | st.text(max_size=5).map(Text) | st.just(Kind.ONE)


@pytest.mark.rule("MRTR-31")
@given(st.dictionaries(KEYS, SCALARS, max_size=5))
def test_a_value_is_written_alike_by_itself_inside_another_and_without_recursion(value: dict[str, object]) -> None:
    alone = canonical_json(value)

    assert canonical_json(OrderedDict(reversed(value.items()))) == alone
    assert canonical_json([value]) == b"[%b]" % alone
    assert canonical_json({"k": value, "z": None}) == b'{"k":%b,"z":null}' % alone
    assert canonical_json([value, 1.0]) == b"[%b,1]" % alone  # a whole float takes the long way
    deep: object = value
    for _ in range(5000):
        deep = [deep]
    assert canonical_json(deep) == b"%b%b%b" % (b"[" * 5000, alone, b"]" * 5000)


@given(st.dictionaries(st.integers(), SCALARS, max_size=5) | st.sampled_from([{None: 1}, {True: 1}, {1.5: "a"}]))
def test_a_key_that_is_no_text_is_written_alike_on_every_way(value: dict[object, object]) -> None:
    alone = canonical_json(value)

    assert canonical_json([value, 1.0]) == b"[%b,1]" % alone
    assert canonical_json([value]) == b"[%b]" % alone


def test_what_is_no_json_is_refused() -> None:
    for value in (object(), {"a": object(), "b": 1.0}, {1: 1.0, "a": 2}):
        with pytest.raises(TypeError):
            canonical_json(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=5), children, max_size=4),
    max_leaves=20,
)


def fold(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [fold(item) for item in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: fold(item) for key, item in cast("dict[str, object]", value).items()}
    return value


@pytest.mark.rule("MRTR-31", "MRTR-D4")
@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5), st.randoms())
def test_the_canonical_form_is_sorted_json_with_whole_numbers_as_integers(
    value: dict[str, object], shuffler: random.Random
) -> None:
    plain = json.dumps(fold(value), sort_keys=True, separators=(",", ":")).encode()
    assert canonical_json(value) == plain
    keys = list(value)
    shuffler.shuffle(keys)
    assert canonical_json({key: value[key] for key in keys}) == plain
