"""Run every test over every way between client and server, and compare what crossed."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.interaction.transports import WAYS, Connector

_seen: dict[str, tuple[str, list[str]]] = {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test in every way; one that is about the modern era alone is marked so."""
    if "connect" in metafunc.fixturenames:
        modern = metafunc.definition.get_closest_marker("modern") is not None
        metafunc.parametrize("connect", WAYS if modern else (*WAYS, "legacy"), indirect=True)


@pytest.fixture
def connect(request: pytest.FixtureRequest) -> Generator[Connector]:
    """Connect a client to a server; at the end, what crossed must be what crossed in the other ways."""
    connector = Connector(request.param)
    yield connector
    if connector.way == "legacy":
        return  # the eras write the same things differently
    node: pytest.Function = request.node
    others = {name: value for name, value in node.callspec.params.items() if name not in ("connect", "anyio_backend")}
    body = f"{node.path}::{node.originalname}{sorted(others.items(), key=str)}"
    way, lines = _seen.setdefault(body, (node.name, connector.record.lines))
    assert connector.record.lines == lines, f"not what {way} saw"
