"""Watch one call travel in rounds between two processes: this one is the client, the other one the server.

The server keeps nothing between the rounds: what it needs to go on travels with its question, sealed.
"""

import asyncio
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    InputResponse,
    TextContent,
)

SERVER = Path(__file__).with_name("resolver_tool.py")
ANSWERS: dict[str, Any] = {"size": "M", "insured": True}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port: int, process: subprocess.Popen[bytes], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit("the server did not start")


def answer(request: InputRequest) -> InputResponse:
    """Answer a form from `ANSWERS`; a real client would show it to a person."""
    assert isinstance(request, ElicitRequest)
    assert isinstance(request.params, ElicitRequestFormParams)
    content = {name: ANSWERS[name] for name in request.params.requested_schema["properties"]}
    print(f"  server: {request.params.message}\n  client: {content}")
    return ElicitResult(action="accept", content=content)


async def rent(url: str) -> str:
    arguments = {"bike": "race bike"}
    async with Client(url) as client:
        print(f"connected to {url}, protocol {client.protocol_version}")
        print("round 1: call rent_bike", arguments)
        result = await client.session.call_tool("rent_bike", arguments, allow_input_required=True)
        rounds = 1
        while isinstance(result, InputRequiredResult):
            responses = {key: answer(request) for key, request in (result.input_requests or {}).items()}
            rounds += 1
            state = result.request_state
            print(f"round {rounds}: the same call, the answer, and {len(state or '')} characters of sealed state")
            result = await client.session.call_tool(
                "rent_bike", arguments, input_responses=responses, request_state=state, allow_input_required=True
            )
    text = "".join(block.text for block in result.content if isinstance(block, TextContent))
    print(f"result after {rounds} rounds: {text}")
    return text


def main() -> None:
    port = free_port()
    server = subprocess.Popen([sys.executable, str(SERVER), str(port)])
    print(f"server: process {server.pid}; client: process {os.getpid()}")
    try:
        wait_for(port, server)
        asyncio.run(rent(f"http://127.0.0.1:{port}/mcp"))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
