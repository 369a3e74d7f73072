"""The benchmarks run, and their arithmetic is right. How fast anything is, is no test."""

from __future__ import annotations

import json

import pytest

from benchmarks.environments import WORKLOADS, Environment
from benchmarks.rows import ROWS, Row
from benchmarks.run import format_row, measure_row, parse_arguments, summarise
from benchmarks.servers import BODY, HEADERS, RunningServer, requests_per_second
from tests.programs import free_port, run_program, serving

SIDES = [Environment(name, WORKLOADS / "nowhere") for name in ("project", "reference")]


@pytest.mark.parametrize("tool", ["add", "order"])
def test_the_client_workload_measures_calls_in_memory(tool: str) -> None:
    printed = run_program(WORKLOADS / "bench_client.py", "memory", tool, "--seconds", "0.05", cwd=WORKLOADS)
    assert float(json.loads(printed)) > 0


def test_the_workload_of_many_tools_measures_registering_listing_and_calling() -> None:
    printed = json.loads(run_program(WORKLOADS / "bench_tools.py", "6", cwd=WORKLOADS))
    assert printed.keys() == {"register", "list", "call"}
    assert all(milliseconds > 0 for milliseconds in printed.values())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_workload_measures_calls_over_stdio(mode: str) -> None:
    printed = run_program(
        WORKLOADS / "bench_client.py", "stdio", "add", "--mode", mode, "--seconds", "0.05", cwd=WORKLOADS
    )
    assert float(json.loads(printed)) > 0


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("in_flight", ["1", "16"])
def test_the_client_workload_measures_calls_over_http(in_flight: str, mode: str) -> None:
    port = free_port()
    options = ("--seconds", "0.05", "--in-flight", in_flight, "--mode", mode)
    with serving([WORKLOADS / "bench_server.py", "http", str(port)], port) as url:
        printed = run_program(WORKLOADS / "bench_client.py", url, "add", *options, cwd=WORKLOADS)
    assert float(json.loads(printed)) > 0


def test_the_load_generator_counts_answered_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")  # no wrk: use our own
    port = free_port()
    with serving([WORKLOADS / "bench_server.py", "http", str(port)], port):
        assert requests_per_second(RunningServer(port, pid=0), 0.05) > 0


def test_the_load_generators_request_states_the_same_in_headers_and_body() -> None:
    message = json.loads(BODY)
    assert HEADERS["Mcp-Method"] == message["method"]
    assert HEADERS["Mcp-Name"] == message["params"]["name"]
    assert HEADERS["MCP-Protocol-Version"] == message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]


def test_sides_take_turns_and_the_order_changes_from_round_to_round() -> None:
    order: list[str] = []

    def measure(environment: Environment, seconds: float) -> float:
        order.append(environment.name)
        return float(len(order))

    figures = measure_row(Row("r", "a row", "µs", "lower", measure), SIDES, rounds=2, seconds=0)
    assert order == ["project", "reference", "reference", "project"]
    assert figures == {"project": [1, 4], "reference": [2, 3]}


@pytest.mark.parametrize(("better", "ratio"), [("lower", 5.0), ("higher", 0.2)])
def test_a_ratio_above_one_is_in_the_projects_favour(better: str, ratio: float) -> None:
    row = Row("r", "a row", "µs", "lower" if better == "lower" else "higher", lambda environment, seconds: 0.0)
    summary = summarise(row, {"project": [9, 10, 11], "reference": [50, 1, 99]})
    assert summary["median"] == {"project": 10, "reference": 50}
    assert summary["ratio"] == pytest.approx(ratio)
    assert f"{ratio:.1f}×" in format_row("r", summary)


def test_one_side_alone_has_no_ratio() -> None:
    row = Row("r", "a row", "µs", "lower", lambda environment, seconds: 0.0)
    assert "ratio" not in summarise(row, {"reference": [1.0]})


def test_every_row_can_be_chosen_by_its_name() -> None:
    names = [row.name for row in ROWS]
    assert len(set(names)) == len(names)
    assert parse_arguments([option for name in names for option in ("--only", name)]).only == names
