"""The spans that a server makes for an application that traces."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.tracing.report import SPAN_ID, TRACE_ID

ROOT = Path(__file__).parents[3]
BASE = {"mcp.protocol.version": "2026-07-28", "jsonrpc.request.id": "7"}

Span = dict[str, Any]


@pytest.fixture(scope="module")
def spans() -> dict[str, list[Span]]:
    """The spans of each scenario, in the order in which they ended."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.server.tracing.program"],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def only(spans: list[Span]) -> Span:
    (span,) = spans
    return span


@pytest.mark.rule("OTEL-1", "OTEL-2", "OTEL-3")
@pytest.mark.parametrize(
    ("scenario", "name", "attributes"),
    [
        ("list", "tools/list", {"mcp.method.name": "tools/list"}),
        ("read", "resources/read", {"mcp.method.name": "resources/read", "mcp.resource.uri": "x://a"}),
        ("prompt", "prompts/get greet", {"mcp.method.name": "prompts/get", "gen_ai.prompt.name": "greet"}),
        (
            "call",
            "tools/call own_span",
            {
                "mcp.method.name": "tools/call",
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "own_span",
            },
        ),
    ],
)
def test_each_request_has_a_span(
    spans: dict[str, list[Span]], scenario: str, name: str, attributes: dict[str, str]
) -> None:
    span = spans[scenario][-1]
    assert (span["tracer"], span["name"], span["kind"]) == ("mcp-python-sdk", name, "SERVER")
    assert span["attributes"] == BASE | attributes
    assert (span["status"], span["description"], span["events"]) == ("UNSET", None, [])


@pytest.mark.rule("OTEL-4")
def test_an_error_result_marks_the_span(spans: dict[str, list[Span]]) -> None:
    span = only(spans["tool error"])
    assert (span["status"], span["description"], span["events"]) == ("ERROR", None, [])
    assert span["attributes"]["error.type"] == "tool_error"


@pytest.mark.rule("OTEL-5")
def test_a_protocol_error_marks_the_span_with_its_code(spans: dict[str, list[Span]]) -> None:
    span = only(spans["protocol error"])
    assert (span["status"], span["description"], span["events"]) == ("ERROR", "quota used up", [])
    assert span["attributes"]["error.type"] == span["attributes"]["rpc.response.status_code"] == "-32050"


@pytest.mark.rule("OTEL-6")
def test_the_trace_holds_the_text_that_the_wire_masks(spans: dict[str, list[Span]]) -> None:
    span = only(spans["crash"])
    assert (span["status"], span["description"]) == ("ERROR", "dsn=secret")
    assert span["attributes"]["error.type"] == "RuntimeError"
    assert span["events"] == [["exception", "dsn=secret"]]


@pytest.mark.rule("OTEL-7")
@pytest.mark.parametrize("scenario", ["call", "call in a thread"])
def test_spans_of_the_handler_are_children(spans: dict[str, list[Span]], scenario: str) -> None:
    own, server = spans[scenario]
    assert own["name"] == "own"
    assert (own["parent"], own["trace_id"]) == (server["id"], server["trace_id"])


@pytest.mark.rule("OTEL-8", "OTEL-2")
def test_a_notification_has_a_span_without_an_id(spans: dict[str, list[Span]]) -> None:
    span = only(spans["notification"])
    assert span["name"] == "com.example/noted"
    assert span["attributes"] == {
        "mcp.method.name": "com.example/noted",
        "mcp.protocol.version": "2026-07-28",
    }


@pytest.mark.rule("OTEL-13")
def test_the_senders_span_is_the_parent(spans: dict[str, list[Span]]) -> None:
    for scenario in ("remote parent", "remote and ambient parent"):
        span = spans[scenario][0]
        assert (span["trace_id"], span["parent"]) == (TRACE_ID, SPAN_ID)


@pytest.mark.rule("OTEL-13", "OTEL-15")
@pytest.mark.parametrize("scenario", ["ambient parent", "malformed and ambient"])
def test_without_one_the_ambient_span_is_the_parent(spans: dict[str, list[Span]], scenario: str) -> None:
    server, ambient = spans[scenario]
    assert ambient["name"] == "ambient"
    assert (server["parent"], server["trace_id"]) == (ambient["id"], ambient["trace_id"])


@pytest.mark.rule("OTEL-15")
@pytest.mark.parametrize("scenario", ["list", "malformed", "no text"])
def test_without_either_the_span_is_a_root(spans: dict[str, list[Span]], scenario: str) -> None:
    assert only(spans[scenario])["parent"] is None


@pytest.mark.rule("MW-19")
def test_removing_the_middleware_turns_tracing_off(spans: dict[str, list[Span]]) -> None:
    assert spans["removed"] == []
