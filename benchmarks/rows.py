"""The rows of the table: what is measured, in which unit, and how one round of it goes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchmarks.environments import Environment
from benchmarks.servers import requests_per_second, running_server

Measure = Callable[[Environment, float], float]
"""Measure once in an environment, for about so many seconds."""

MEMORY_CALLS = 1_000


@dataclass(frozen=True)
class Row:
    name: str
    title: str
    unit: str
    better: Literal["lower", "higher"]
    measure: Measure


def call(target: str, tool: str, *, mode: str = "auto", in_flight: int = 1) -> Measure:
    """Measure the client's calls; `http` starts a server in the same environment for this client alone."""

    def measure(environment: Environment, seconds: float) -> float:
        options = ("--mode", mode, "--in-flight", str(in_flight), "--seconds", str(seconds))
        if target != "http":
            return float(json.loads(environment.run("bench_client.py", target, tool, *options)))
        with running_server(environment) as server:
            return float(json.loads(environment.run("bench_client.py", server.url, tool, *options)))

    return measure


def served_requests(environment: Environment, seconds: float) -> float:
    with running_server(environment) as server:
        requests_per_second(server, 1)  # warm up
        return requests_per_second(server, seconds)


def import_time(statement: str) -> Measure:
    """Measure a statement in a fresh interpreter, its own start left out: the best of three, in milliseconds."""
    program = f"import time\nstart = time.perf_counter()\n{statement}\nprint((time.perf_counter() - start) * 1000)"

    def measure(environment: Environment, seconds: float) -> float:
        return min(float(environment.run("-c", program)) for _ in range(3))

    return measure


def many_tools(figure: Literal["register", "list", "call"]) -> Measure:
    """Measure what 500 tools cost, in milliseconds: the best of three."""

    def measure(environment: Environment, seconds: float) -> float:
        return min(float(json.loads(environment.run("bench_tools.py"))[figure]) for _ in range(3))

    return measure


def memory_at_start(environment: Environment, seconds: float) -> float:
    with running_server(environment) as server:
        return server.memory()


def memory_after_calls(environment: Environment, seconds: float) -> float:
    with running_server(environment) as server:
        for _ in range(MEMORY_CALLS):
            server.call()
        return server.memory()


ROWS = [
    Row("memory-call", "Client(server), one call in memory", "µs", "lower", call("memory", "add")),
    Row("memory-rounds", "the same, a tool that asks first (two rounds)", "µs", "lower", call("memory", "order")),
    Row("http-server", "HTTP server, 16 connections", "requests/s", "higher", served_requests),
    Row("http-call", "HTTP client and server, one call after another", "µs", "lower", call("http", "add")),
    Row("http-call-16", "the same, 16 calls in flight", "µs", "lower", call("http", "add", in_flight=16)),
    Row("http-rounds", "HTTP, a tool that asks first (two rounds)", "µs", "lower", call("http", "order")),
    Row(
        "http-legacy",
        "HTTP in the handshake era, one call after another",
        "µs",
        "lower",
        call("http", "add", mode="legacy"),
    ),
    Row("stdio-call", "stdio client and server, one call after another", "µs", "lower", call("stdio", "add")),
    Row("stdio-legacy", "the same in the handshake era", "µs", "lower", call("stdio", "add", mode="legacy")),
    Row("import-client", "import mcp; mcp.Client", "ms", "lower", import_time("import mcp; mcp.Client")),
    Row(
        "import-server",
        "from mcp.server.mcpserver import MCPServer",
        "ms",
        "lower",
        import_time("from mcp.server.mcpserver import MCPServer"),
    ),
    Row(
        "tools-register",
        "register 500 tools, two thirds of them with models or constraints",
        "ms",
        "lower",
        many_tools("register"),
    ),
    Row("tools-list", "list 500 tools in memory", "ms", "lower", many_tools("list")),
    Row("tools-call", "call one of 500 tools in memory", "ms", "lower", many_tools("call")),
    Row("memory-start", "HTTP server's resident memory when it listens", "MiB", "lower", memory_at_start),
    Row("memory-1000", "the same after 1,000 calls", "MiB", "lower", memory_after_calls),
]
