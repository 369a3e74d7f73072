"""The ladder a client climbs to find the revision it shares with a server."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from mcp._protocol.negotiate import Discover, Effect, Initialize, Negotiated, Outcome, negotiate, newest_shared
from mcp.shared.exceptions import MCPError

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
PROBE = Discover(MODERN)


def discovered(*versions: str, **more: Any) -> dict[str, Any]:
    return {"supportedVersions": list(versions), "capabilities": {}, **more}


def initialized(version: str) -> dict[str, Any]:
    return {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}


def unsupported(*versions: str) -> MCPError:
    return MCPError(-32022, "Unsupported protocol version", {"supported": list(versions), "requested": MODERN})


def climb(*outcomes: Outcome, legacy: bool = False) -> tuple[list[Effect], Negotiated | Exception]:
    """Answer each effect with the next outcome; return the effects and how it ended."""
    ladder = negotiate(legacy=legacy)
    waiting = list(outcomes)
    effects = [next(ladder)]
    try:
        while True:
            effects.append(ladder.send(waiting.pop(0)))
    except StopIteration as end:
        assert not waiting
        return effects, end.value
    except (MCPError, RuntimeError, ValidationError) as error:
        assert not waiting
        return effects, error


def falls_back(*outcomes: Outcome) -> Initialize:
    """Assert that these outcomes lead to `initialize`, and return that step."""
    effects, end = climb(*outcomes, initialized(LEGACY))
    assert isinstance(end, Negotiated)
    assert end.version == LEGACY
    assert end.discover_result is None
    last = effects[-1]
    assert isinstance(last, Initialize)
    assert last.version == LEGACY
    return last


@pytest.mark.rule("CLIENT-18", "CLIENT-22", "VER-N-08", "VER-M-04")
@pytest.mark.parametrize(
    "result",
    [
        discovered(MODERN),
        discovered("2099-01-01", MODERN, LEGACY),
        discovered(MODERN, resultType="complete", ttlMs=5, cacheScope="public", instructions="x"),
    ],
)
def test_a_server_that_shares_a_modern_revision_is_adopted(result: dict[str, Any]) -> None:
    effects, end = climb(result)
    assert effects == [PROBE]
    assert isinstance(end, Negotiated)
    assert end.version == MODERN
    assert end.initialize_result is None
    assert end.discover_result is not None
    assert end.discover_result.supported_versions == result["supportedVersions"]


@pytest.mark.rule("CLIENT-32")
@pytest.mark.parametrize("stamp", [None, 5, {"name": 5}, "x"])
def test_a_malformed_identity_of_the_server_does_no_harm(stamp: Any) -> None:
    result = discovered(MODERN, _meta={"io.modelcontextprotocol/serverInfo": stamp})
    assert isinstance(climb(result)[1], Negotiated)


@pytest.mark.rule("CLIENT-33")
def test_the_raw_result_survives_a_round_trip() -> None:
    _, end = climb(discovered(MODERN, _meta={"io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"}}))
    assert isinstance(end, Negotiated)
    result = end.discover_result
    assert result is not None
    assert type(result).model_validate_json(result.model_dump_json()) == result


@pytest.mark.rule("CLIENT-23", "CLIENT-31", "VER-E-05", "VER-E-08", "SERR-34", "HTTP-B-04", "BASE-E-04")
@pytest.mark.parametrize("code", [-32601, -32602, -32603, -32600, -32700, -32000, -32001, 0, 5])
def test_an_error_that_proves_nothing_leads_to_initialize(code: int) -> None:
    assert falls_back(MCPError(code, "no")).reason == f"it answered server/discover with {code}: no"


@pytest.mark.rule("CLIENT-23")
@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({}, "is not valid"),
        ({"supportedVersions": "x", "capabilities": {}}, "is not valid"),
        ({"tools": []}, "is not valid"),
        (discovered(LEGACY), "names no modern revision this client speaks: '2025-11-25'"),
        (discovered("2099-01-01"), "names no modern revision this client speaks: '2099-01-01'"),
        (discovered(), "names no modern revision this client speaks: none at all"),
    ],
)
def test_a_result_without_a_shared_modern_revision_leads_to_initialize(result: dict[str, Any], reason: str) -> None:
    assert falls_back(result).reason == f"its answer to server/discover {reason}"


@pytest.mark.rule("CLIENT-24", "VER-N-06", "VER-E-07", "HTTP-B-03")
def test_a_refusal_that_names_a_shared_modern_revision_is_probed_once_more() -> None:
    effects, end = climb(unsupported("2099-01-01", MODERN, LEGACY), discovered(MODERN))
    assert effects == [PROBE, Discover(MODERN)]
    assert isinstance(end, Negotiated)
    assert end.version == MODERN


@pytest.mark.rule("CLIENT-24", "VER-E-07")
@pytest.mark.parametrize("second", [unsupported(MODERN), MCPError(-32601, "no"), MCPError(-32001, "timed out")])
def test_the_second_probe_is_the_last(second: MCPError) -> None:
    effects, end = climb(unsupported(MODERN), second)
    assert effects == [PROBE, Discover(MODERN)]
    assert end is second


@pytest.mark.parametrize("second", [{}, discovered(LEGACY)])
def test_a_useless_answer_to_the_second_probe_raises_the_first_error(second: dict[str, Any]) -> None:
    first = unsupported(MODERN)
    assert climb(first, second)[1] is first


@pytest.mark.rule("CLIENT-25", "VER-E-07")
@pytest.mark.parametrize("versions", [[LEGACY], ["2024-11-05"], ["2099-01-01", LEGACY]])
def test_a_refusal_that_names_handshake_revisions_only_leads_to_initialize(versions: list[str]) -> None:
    falls_back(unsupported(*versions))


@pytest.mark.rule("CLIENT-23", "CLIENT-25", "VER-E-07", "VER-N-06", "SERR-34")
@pytest.mark.parametrize(
    "error",
    [
        unsupported("2099-01-01"),
        unsupported(),
        MCPError(-32022, "no"),
        MCPError(-32022, "no", {"supported": LEGACY}),
        MCPError(-32022, "no", {"supported": [5, None]}),
        MCPError(-32020, "header mismatch"),
        MCPError(-32020, "header mismatch", {"supported": [LEGACY]}),
        MCPError(-32021, "missing capability", {"requiredCapabilities": {}}),
    ],
)
def test_a_modern_server_that_shares_nothing_is_not_asked_to_initialize(error: MCPError) -> None:
    effects, end = climb(error)
    assert effects == [PROBE]
    assert end is error


@pytest.mark.rule("CLIENT-27")
def test_a_connection_that_failed_on_this_side_is_not_a_legacy_server() -> None:
    lost = MCPError(-32000, "Connection closed", is_local=True)
    lost.__cause__ = OSError("reset")
    effects, end = climb(lost)
    assert effects == [PROBE]
    assert end is lost


@pytest.mark.rule("CLIENT-26")
def test_a_slow_modern_server_that_refuses_initialize_is_probed_once_more() -> None:
    timed_out = MCPError(-32001, "timed out")
    effects, end = climb(timed_out, unsupported(MODERN), discovered(MODERN))
    assert [type(effect) for effect in effects] == [Discover, Initialize, Discover]
    assert isinstance(end, Negotiated)
    assert end.version == MODERN
    again = unsupported(MODERN)
    assert climb(timed_out, unsupported(MODERN), again)[1] is again


@pytest.mark.rule("CLIENT-26")
@pytest.mark.parametrize("error", [MCPError(-32601, "no"), unsupported("2099-01-01"), MCPError(-32001, "timed out")])
def test_any_other_refusal_of_initialize_is_raised_unchanged(error: MCPError) -> None:
    effects, end = climb(MCPError(-32601, "no"), error)
    assert len(effects) == 2
    assert end is error


@pytest.mark.rule("CLIENT-19", "CLIENT-30")
@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", LEGACY])
def test_the_legacy_way_begins_with_initialize_and_takes_any_handshake_revision(version: str) -> None:
    effects, end = climb(initialized(version), legacy=True)
    assert effects == [Initialize(LEGACY)]
    assert isinstance(end, Negotiated)
    assert end.version == version
    assert end.initialize_result is not None
    assert end.discover_result is None


@pytest.mark.rule("CLIENT-30")
@pytest.mark.parametrize("version", [MODERN, "1999-01-01", ""])
def test_initialize_cannot_agree_on_another_revision(version: str) -> None:
    _, end = climb(initialized(version), legacy=True)
    assert isinstance(end, RuntimeError)
    assert str(end) == f"Unsupported protocol version from the server: {version}"


def test_the_legacy_way_has_no_second_try() -> None:
    error = unsupported(MODERN)
    assert climb(error, legacy=True) == ([Initialize(LEGACY)], error)
    assert isinstance(climb({}, legacy=True)[1], ValidationError)


@pytest.mark.rule("VER-N-06")
def test_the_newest_shared_revision_is_picked_in_any_order() -> None:
    assert newest_shared([LEGACY, MODERN]) == MODERN
    assert newest_shared([LEGACY]) is None


OUTCOMES = st.one_of(
    st.sampled_from([discovered(MODERN), discovered(LEGACY), initialized(LEGACY), initialized(MODERN), {}]),
    st.sampled_from([unsupported(MODERN), unsupported(LEGACY), unsupported()]),
    st.integers(-32800, 0).map(lambda code: MCPError(code, "no")),
)


@given(st.lists(OUTCOMES, min_size=3, max_size=3))
def test_the_ladder_ends_after_three_steps_whatever_the_server_says(outcomes: list[Outcome]) -> None:
    ladder = negotiate()
    assert next(ladder) == PROBE
    ends: list[BaseException] = []
    for outcome in outcomes:
        try:
            ladder.send(outcome)
        except (StopIteration, MCPError, RuntimeError, ValidationError) as end:
            ends.append(end)
            break
    assert ends
