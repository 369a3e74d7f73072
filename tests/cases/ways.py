"""Connect a client to the server of the cases over every transport and in both eras."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from tests.cases import program
from tests.programs import environment
from tests.server.http.serving import serving

PROGRAM = Path(program.__file__)
WAYS = ("memory", "stdio", "http")
MODES = ("auto", "legacy")
every_way = pytest.mark.parametrize("way", WAYS)
both_eras = pytest.mark.parametrize("mode", MODES)


def child(*arguments: str | Path) -> StdioServerParameters:
    """How to start Python with these arguments as a server; by default the server of the cases."""
    env = {"PYTHONPATH": environment()["PYTHONPATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    return StdioServerParameters(
        command=sys.executable, args=[str(argument) for argument in arguments or (PROGRAM,)], env=env
    )


@asynccontextmanager
async def connected(way: str, mode: str, **options: Any) -> AsyncGenerator[Client]:
    """A client of the server of the cases."""
    with anyio.fail_after(30):
        if way == "memory":
            async with Client(program.build(), mode=mode, **options) as client:
                yield client
        elif way == "stdio":
            async with Client(child(), mode=mode, **options) as client:
                yield client
        else:
            with serving(program.build().streamable_http_app()) as port:
                async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode, **options) as client:
                    yield client


async def eventually(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Wait for something that nobody announces: what another process does, or an end that no event tells of."""
    with anyio.fail_after(seconds):
        while True:
            if condition():
                return
            await anyio.sleep(0.01)


def content(path: Path) -> str:
    """What is in a file that may not be there yet."""
    return path.read_text() if path.exists() else ""


async def until(path: Path, text: str, seconds: float = 10) -> None:
    """Wait until a file has this text."""
    await eventually(lambda: content(path) == text, seconds)


@asynccontextmanager
async def plain_client(port: int, **options: Any) -> AsyncGenerator[httpx2.AsyncClient]:
    """An HTTP client that knows nothing of the protocol."""
    client = httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", **options)
    try:
        yield client
    finally:
        await client.aclose()
