"""The spans that a client makes for an application that traces, and what tells the server of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.tracing.report import REMOTE, SPAN_ID, TRACE_ID

ROOT = Path(__file__).parents[3]
WAYS = ["memory auto", "memory legacy", "http auto", "http legacy"]

Span = dict[str, Any]


def run(kind: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.client.tracing.program", kind],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def traced() -> dict[str, Any]:
    """What happens in an application that has configured OpenTelemetry."""
    return run("sdk")


@pytest.fixture(scope="module")
def unconfigured() -> dict[str, Any]:
    """What happens in one that has merely loaded it."""
    return run("api")


def spans(scenario: dict[str, Any], kind: str) -> list[Span]:
    """The spans of requests, of one kind."""
    return [span for span in scenario["spans"] if span["kind"] == kind and "notifications/" not in span["name"]]


def only(scenario: dict[str, Any], kind: str) -> Span:
    (span,) = spans(scenario, kind)
    return span


@pytest.mark.rule("OTEL-9", "OTEL-12", "OTEL-13", "OTEL-D1", "OTEL-D2")
@pytest.mark.parametrize("way", WAYS)
def test_each_request_has_a_span_that_the_servers_span_belongs_to(traced: dict[str, Any], way: str) -> None:
    client, server = only(traced[way], "CLIENT"), only(traced[way], "SERVER")
    assert (client["tracer"], client["name"]) == ("mcp-python-sdk", "MCP send tools/call greet")
    assert (client["status"], client["parent"], client["events"]) == ("UNSET", None, [])
    assert (server["trace_id"], server["parent"]) == (client["trace_id"], client["id"])
    assert client["attributes"] == server["attributes"]
    assert client["attributes"]["mcp.method.name"] == "tools/call"
    assert client["attributes"]["gen_ai.operation.name"] == "execute_tool"
    assert client["attributes"]["gen_ai.tool.name"] == "greet"
    assert client["attributes"]["mcp.protocol.version"] == ("2026-07-28" if way.endswith("auto") else "2025-11-25")
    (meta,) = (meta for meta in traced[way]["metas"] if meta["method"] == "tools/call")
    assert meta["traceparent"].startswith(f"00-{client['trace_id']}-{client['id']}-")


@pytest.mark.rule("OTEL-D5")
@pytest.mark.parametrize(
    ("way", "network", "has_session"),
    [
        ("memory auto", None, False),
        ("memory legacy", "pipe", False),
        ("http auto", "tcp", False),
        ("http legacy", "tcp", True),
    ],
)
def test_a_span_says_what_carries_the_message(
    traced: dict[str, Any], way: str, network: str | None, has_session: bool
) -> None:
    server = only(traced[way], "SERVER")["attributes"]
    assert server.get("network.transport") == network
    assert ("mcp.session.id" in server) is has_session
    assert only(traced[way], "CLIENT")["attributes"].get("mcp.session.id") == server.get("mcp.session.id")


@pytest.mark.rule("OTEL-9", "OTEL-12")
@pytest.mark.parametrize("way", WAYS)
def test_the_current_span_is_the_parent(traced: dict[str, Any], way: str) -> None:
    scenario = traced[f"{way} inside"]
    client, ambient = only(scenario, "CLIENT"), only(scenario, "INTERNAL")
    assert (client["parent"], client["trace_id"]) == (ambient["id"], ambient["trace_id"])


@pytest.mark.rule("OTEL-12")
@pytest.mark.parametrize("way", WAYS)
def test_notifications_carry_no_trace_context(traced: dict[str, Any], way: str) -> None:
    for meta in traced[f"{way} inside"]["metas"]:
        assert ("traceparent" in meta) is not meta["method"].startswith("notifications/")


@pytest.mark.rule("OTEL-9", "OTEL-D2")
@pytest.mark.parametrize(
    ("scenario", "name"), [("prompt", "MCP send prompts/get verse"), ("list", "MCP send prompts/list")]
)
def test_the_name_says_the_target(traced: dict[str, Any], scenario: str, name: str) -> None:
    span = only(traced[scenario], "CLIENT")
    assert span["name"] == name
    assert span["attributes"].get("gen_ai.prompt.name") == ("verse" if scenario == "prompt" else None)


@pytest.mark.rule("OTEL-9", "OTEL-5")
def test_a_protocol_error_marks_the_span_with_its_code(traced: dict[str, Any]) -> None:
    span = only(traced["protocol error"], "CLIENT")
    assert (span["status"], span["description"], span["events"]) == ("ERROR", "quota used up", [])
    assert span["attributes"]["error.type"] == span["attributes"]["rpc.response.status_code"] == "-32050"


@pytest.mark.rule("OTEL-D2")
def test_an_error_result_marks_the_span(traced: dict[str, Any]) -> None:
    span = only(traced["tool error"], "CLIENT")
    assert (span["status"], span["description"]) == ("ERROR", None)
    assert span["attributes"]["error.type"] == "tool_error"


@pytest.mark.rule("OTEL-D3")
def test_the_callers_own_context_is_the_parent_of_the_clients_span(traced: dict[str, Any]) -> None:
    scenario = traced["own parent"]
    client, server = only(scenario, "CLIENT"), only(scenario, "SERVER")
    assert (client["trace_id"], client["parent"]) == (TRACE_ID, SPAN_ID)
    assert (server["trace_id"], server["parent"]) == (TRACE_ID, client["id"])


@pytest.mark.rule("OTEL-D4")
def test_each_side_can_be_told_not_to_trace(traced: dict[str, Any]) -> None:
    assert spans(traced["silent client"], "CLIENT") == []
    assert only(traced["silent client"], "SERVER")["parent"] is None
    meta = traced["silent client with own"]["metas"][0]
    assert meta["traceparent"] == REMOTE
    assert spans(traced["silent server"], "SERVER") == []
    assert only(traced["silent server"], "CLIENT")["name"] == "MCP send tools/call greet"


@pytest.mark.rule("OTEL-16")
def test_nothing_is_added_where_nobody_has_configured_tracing(unconfigured: dict[str, Any]) -> None:
    for name, scenario in unconfigured.items():
        assert scenario["spans"] == []
        sent = [meta for meta in scenario["metas"] if len(meta) > 1]
        own = {"method": "tools/call", "traceparent": REMOTE}
        assert sent == ([own] if "own" in name else []), name


@pytest.mark.rule("OTEL-18")
def test_there_are_spans_only_and_neither_metrics_nor_logs() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "mcp").rglob("*.py"))
    assert "opentelemetry.trace" in source
    assert "opentelemetry.metrics" not in source
    assert "opentelemetry._logs" not in source
