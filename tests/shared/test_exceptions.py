from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from mcp.shared.exceptions import (
    MCPDeprecationWarning,
    MCPError,
    NoBackChannelError,
    UrlElicitationRequiredError,
)
from mcp_types import ElicitRequestURLParams
from mcp_types.jsonrpc import ErrorData, JSONRPCError

URL = ElicitRequestURLParams(message="m", url="https://u", elicitation_id="1")
WIRE_URL = {"mode": "url", "message": "m", "url": "https://u", "elicitationId": "1"}


def test_an_error_shows_its_code_message_and_data() -> None:
    error = MCPError(-32602, "quota used up", {"retryAfter": 30})
    assert (error.code, error.message, error.data) == (-32602, "quota used up", {"retryAfter": 30})
    assert error.error == ErrorData(code=-32602, message="quota used up", data={"retryAfter": 30})
    assert str(error) == "quota used up"
    assert error.args == (-32602, "quota used up", {"retryAfter": 30})


def test_data_is_absent_by_default() -> None:
    assert MCPError(code=1, message="m").data is None


@pytest.mark.parametrize(("code", "message"), [("x", "m"), (None, "m"), (1, None), (1, 5)])
def test_an_error_that_no_peer_could_be_told_is_refused_where_it_is_made(code: Any, message: Any) -> None:
    with pytest.raises(ValueError, match="ErrorData"):
        MCPError(code, message)


def test_an_error_comes_back_from_its_wire_forms() -> None:
    data = ErrorData(code=1, message="x", data=[2])
    for error in (
        MCPError.from_error_data(data),
        MCPError.from_jsonrpc_error(JSONRPCError(jsonrpc="2.0", id=7, error=data)),
    ):
        assert type(error) is MCPError
        assert error.error == data


def test_a_subclass_builds_its_own_kind() -> None:
    class Mine(MCPError):
        pass

    assert type(Mine.from_error_data(ErrorData(code=1, message="x"))) is Mine


def test_no_back_channel_names_the_method() -> None:
    error = NoBackChannelError("roots/list")
    assert error.code == -32600
    assert error.method == "roots/list"
    assert error.message == (
        "Cannot send 'roots/list': this transport context has no back-channel for server-initiated requests."
    )


@pytest.mark.parametrize(
    ("count", "message"),
    [(0, "URL elicitation required"), (1, "URL elicitation required"), (2, "URL elicitations required")],
)
def test_url_elicitation_required_carries_the_urls_in_wire_form(count: int, message: str) -> None:
    error = UrlElicitationRequiredError([URL] * count)
    assert error.code == -32042
    assert error.message == message
    assert error.data == {"elicitations": [WIRE_URL] * count}
    assert error.elicitations == [URL] * count


def test_url_elicitation_required_takes_another_message() -> None:
    assert str(UrlElicitationRequiredError([URL], "sign in")) == "sign in"


@pytest.mark.rule("ERR-17")
def test_url_elicitation_required_is_read_back_from_a_plain_error() -> None:
    sent = UrlElicitationRequiredError([URL], "sign in")
    for error in (
        UrlElicitationRequiredError.from_error(sent.error),
        UrlElicitationRequiredError.from_error_data(sent.error),
    ):
        assert error.elicitations == [URL]
        assert error.message == "sign in"


@pytest.mark.rule("ERR-17")
def test_another_code_is_no_url_elicitation() -> None:
    with pytest.raises(ValueError, match=r"^Expected error code -32042, got -1$"):
        UrlElicitationRequiredError.from_error(ErrorData(code=-1, message="x"))


def test_url_elicitation_data_may_be_absent() -> None:
    for error in (ErrorData(code=-32042, message="x"), ErrorData(code=-32042, message="x", data={})):
        assert UrlElicitationRequiredError.from_error(error).elicitations == []


@pytest.mark.parametrize("data", [{"elicitations": 5}, {"elicitations": "abc"}, {"elicitations": [{"mode": "url"}]}])
def test_url_elicitation_data_of_another_form_is_refused(data: object) -> None:
    with pytest.raises(ValueError):
        UrlElicitationRequiredError.from_error(ErrorData(code=-32042, message="x", data=data))


@pytest.mark.parametrize(
    "error",
    [
        MCPError(1, "m", {"a": 1}),
        MCPError(1, "m", is_local=True),
        NoBackChannelError("ping"),
        UrlElicitationRequiredError([URL], "x"),
    ],
    ids=repr,
)
def test_errors_survive_copies_and_other_processes(error: MCPError) -> None:
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(again) is type(error)
        assert again.error == error.error
        assert again.is_local is error.is_local


def test_deprecations_are_shown_by_default() -> None:
    assert issubclass(MCPDeprecationWarning, UserWarning)
    assert not issubclass(MCPDeprecationWarning, DeprecationWarning)
