"""`RequestStateSecurity.from_env` and `.from_file`: keys from the environment, or from a file that may change."""

from __future__ import annotations

import logging
import os
import secrets
import threading
from pathlib import Path

import pytest

from mcp.server._sealing import AESGCMRequestStateCodec
from mcp.server._state_keys import LOOK_INTERVAL, FileCodec
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.stores.memory import MemoryStore
from tests.server.boundaries import LOGGER, accept, call_context, mint, tallied_log
from tests.server.test_request_state import boundary, reject

OLD, NEW, THIRD = (secrets.token_hex(32) for _ in range(3))
VARIABLE = "MCP_REQUEST_STATE_KEYS"
KEPT = "ERROR Keeping the request-state keys that were read before: "


def shared(*keys: str) -> RequestStateBoundary:
    return boundary(security=RequestStateSecurity(keys=keys))


class KeyFile:
    """A file of keys and a server that reads it. Its files have another age each, and none of them is new."""

    def __init__(self, path: Path, text: str = OLD) -> None:
        self.path = path
        self.changes = 0
        self.now = 0.0
        self.write(text)
        self.security = RequestStateSecurity.from_file(path)
        codec = self.security.codec
        assert isinstance(codec, FileCodec)
        codec._clock = lambda: self.now
        codec._next_look = LOOK_INTERVAL
        self.boundary = boundary(security=self.security)

    def write(self, text: str | bytes) -> None:
        """Put a file in the place of the one before, as it should be done."""
        self.changes += 1
        beside = self.path.with_suffix(".new")
        beside.write_bytes(text if isinstance(text, bytes) else text.encode())
        age = 1_700_000_000 + self.changes
        os.utime(beside, (age, age))
        beside.replace(self.path)

    def later(self) -> KeyFile:
        self.now += LOOK_INTERVAL
        return self

    def opens(self, key: str) -> bool:
        token = mint(shared(key), call_context(), "S")
        with tallied_log() as lines:
            try:
                return accept(self.boundary, call_context(requestState=token)) == "S"
            except Exception:
                assert any("unknown key" in line for line in lines)
                return False

    def seals_with(self, key: str) -> bool:
        token = mint(self.boundary, call_context(), "S")
        with tallied_log():
            try:
                return accept(shared(key), call_context(requestState=token)) == "S"
            except Exception:
                return False


@pytest.fixture
def file(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys")


# The environment


@pytest.mark.parametrize("separator", [",", " ", "\n", " , ", ",\n\n"])
def test_keys_in_a_variable_are_those_that_are_given_as_a_list(monkeypatch: pytest.MonkeyPatch, separator: str) -> None:
    monkeypatch.setenv(VARIABLE, f"{NEW}{separator}{OLD}{separator}")
    side = boundary(security=RequestStateSecurity.from_env())
    assert accept(shared(NEW), call_context(requestState=mint(side, call_context(), "S"))) == "S"
    assert accept(side, call_context(requestState=mint(shared(OLD), call_context(), "S"))) == "S"


def test_another_variable_and_the_other_options_of_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("SHOP_KEYS", OLD)
    store = MemoryStore()
    security = RequestStateSecurity.from_env(
        "SHOP_KEYS", ttl=5.0, audience="shop", single_use=store, bind_principal=None
    )
    assert (security.ttl, security.audience, security.single_use, security.bind_principal) == (5.0, "shop", store, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            None,
            "the environment variable MCP_REQUEST_STATE_KEYS is not set: give every instance the same keys, "
            "separated by commas",
        ),
        (" ,\n", "the environment variable MCP_REQUEST_STATE_KEYS has no key in it: .*"),
        (f"{OLD},short", r"the environment variable MCP_REQUEST_STATE_KEYS: .* keys\[1\] is 5 bytes\. .*"),
        (f"{OLD},{OLD}", r"the environment variable MCP_REQUEST_STATE_KEYS: keys\[1\] duplicates an earlier ring key"),
    ],
)
def test_a_variable_that_will_not_do_is_named_and_its_keys_are_not_quoted(
    monkeypatch: pytest.MonkeyPatch, text: str | None, message: str
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if text is not None:
        monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ValueError, match=f"^{message}$") as caught:
        RequestStateSecurity.from_env()
    assert OLD not in str(caught.value)
    assert "short" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


# A file


@pytest.mark.parametrize(
    "text",
    [
        f"{NEW}\n{OLD}\n",
        f"\ufeff# the newer one\r\n{NEW}\r\n\r\n  # the older one\r\n{OLD}",
        f"{NEW},{OLD}",
    ],
)
def test_keys_in_a_file_are_those_that_are_given_as_a_list(tmp_path: Path, text: str) -> None:
    file = KeyFile(tmp_path / "keys", text)
    assert file.seals_with(NEW)
    assert file.opens(NEW)
    assert file.opens(OLD)
    assert not file.opens(THIRD)


def test_the_other_options_of_the_policy_go_with_a_file(file: KeyFile) -> None:
    assert RequestStateSecurity.from_file(str(file.path), ttl=5.0).ttl == 5.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file or directory"),
        (b"# nothing yet\n", "there is no key in it; write one key a line"),
        (b"\xff\xfe", "it is no UTF-8 text"),
        (b"#" * 65_537, "it has more than 65536 bytes, which is no list of keys"),
        (f"{OLD}\nshort".encode(), r"request-state keys must be at least 32 bytes .*; keys\[1\] is 5 bytes\. .*"),
    ],
)
def test_a_file_that_will_not_do_is_named_when_the_server_is_built(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "keys"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=f"keys: {message}$") as caught:
        RequestStateSecurity.from_file(path)
    assert OLD not in str(caught.value)
    assert "short" not in str(caught.value)


def test_a_change_is_seen_at_the_next_look_and_looks_are_seconds_apart(file: KeyFile) -> None:
    file.write(f"{NEW}\n{OLD}")
    file.now += LOOK_INTERVAL * 0.99
    assert file.seals_with(OLD)
    assert not file.opens(NEW)
    file.now = LOOK_INTERVAL
    assert file.seals_with(NEW)
    file.write(THIRD)
    assert file.opens(OLD)
    assert file.later().seals_with(THIRD)
    assert not file.opens(OLD)


def test_opening_alone_looks_at_the_file_too(file: KeyFile) -> None:
    file.write(f"{OLD}\n{NEW}")
    assert file.later().opens(NEW)


def test_a_change_within_one_tick_of_the_clock_of_files_is_seen(file: KeyFile) -> None:
    """Same size, same time, same file: it looks as before."""
    file.path.write_text(NEW)
    now = os.stat(file.path).st_mtime_ns
    file.later().seals_with(NEW)
    file.path.write_text(THIRD)
    os.utime(file.path, ns=(now, now))
    assert file.later().seals_with(THIRD)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "No such file or directory"),
        (b"", "there is no key in it; write one key a line"),
        (b"\xff", "it is no UTF-8 text"),
        (f"{NEW}\n{NEW}".encode(), "keys[1] duplicates an earlier ring key"),
    ],
)
def test_a_bad_file_leaves_the_keys_as_they_are_and_the_log_has_one_line(
    file: KeyFile, content: bytes | None, reason: str
) -> None:
    if content is None:
        file.path.unlink()
    else:
        file.write(content)
    with tallied_log() as lines:
        for _ in range(3):
            file.later()
            token = mint(file.boundary, call_context(), "S")
            assert accept(file.boundary, call_context(requestState=token)) == "S"
    assert dict(lines) == {f"{KEPT}{file.path}: {reason}": 1}
    assert file.seals_with(OLD)
    file.write(NEW)
    assert file.later().seals_with(NEW)


def test_the_same_fault_is_worth_a_line_again_when_the_file_was_good_in_between(file: KeyFile) -> None:
    with tallied_log() as lines:
        for _ in range(2):
            file.path.unlink()
            file.later()
            mint(file.boundary, call_context(), "S")
            file.write(OLD)
            file.later()
            mint(file.boundary, call_context(), "S")
    assert list(lines.values()) == [2]


def test_the_log_tells_of_new_keys_by_their_ids_and_never_quotes_a_key(
    file: KeyFile, caplog: pytest.LogCaptureFixture
) -> None:
    short = "do-not-quote-me"
    with caplog.at_level(logging.DEBUG, LOGGER):
        for text in (f"{NEW}\n{OLD}", NEW, f"{NEW}\n{short}", f"{THIRD}\n{THIRD}"):
            file.write(text)
            file.later()
            mint(file.boundary, call_context(), "S")
    first, second, *faults = [record.getMessage() for record in caplog.records]
    old_id, new_id = (AESGCMRequestStateCodec([key]).key_ids[0].hex() for key in (OLD, NEW))
    assert first == f"Read the request-state keys in {file.path} again: {new_id} seals, {old_id} only opens"
    assert second == f"Read the request-state keys in {file.path} again: {new_id} seals, none only opens"
    assert len(faults) == 2
    assert not any(key in caplog.text for key in (OLD, NEW, THIRD, short))


@pytest.mark.rule("MRTR-44")
def test_no_call_fails_while_two_instances_go_through_the_three_phases_one_after_the_other(tmp_path: Path) -> None:
    one, other = KeyFile(tmp_path / "one"), KeyFile(tmp_path / "other")
    for text in (f"{OLD}\n{NEW}", f"{NEW}\n{OLD}", NEW):
        for changing in (one, other):
            under_way = [mint(side.boundary, call_context(), "S") for side in (one, other)]
            if text == NEW:  # a time to live passes before the last phase
                under_way = []
            changing.write(text)
            changing.later()
            under_way += [mint(side.boundary, call_context(), "S") for side in (one, other)]
            for token in under_way:
                assert [accept(side.boundary, call_context(requestState=token)) for side in (one, other)] == ["S"] * 2
    assert not one.opens(OLD)
    stolen = mint(shared(OLD), call_context(), "S")
    assert reject(other.boundary, call_context(requestState=stolen)).startswith("unknown key")


def test_threads_seal_and_open_while_the_file_changes(file: KeyFile) -> None:
    failures: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            while not done.is_set():
                token = file.security.codec.seal(b"payload")
                assert file.security.codec.unseal(token) == b"payload"
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for text in (f"{NEW}\n{OLD}", f"{OLD}\n{NEW}") * 10:
        file.write(text)
        file.later()
        file.security.codec.seal(b"")
    done.set()
    for thread in threads:
        thread.join(10)
    assert failures == []
