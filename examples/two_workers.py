"""One call, two server processes: the first asks, the second gets the answer and finishes.

Nothing but a key is shared.
"""

import asyncio
import os
import secrets
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from two_processes import free_port, wait_for

from mcp import Client
from mcp.types import ElicitResult, InputRequiredResult, TextContent

SERVER = Path(__file__).with_name("shared_keys.py")


@contextmanager
def worker(key: str) -> Generator[str]:
    """Run one instance and give its URL."""
    port = free_port()
    process = subprocess.Popen([sys.executable, str(SERVER), str(port)], env={**os.environ, "BOX_OFFICE_KEY": key})
    try:
        wait_for(port, process)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


async def book(first_url: str, second_url: str) -> str:
    arguments = {"show": "Hamlet"}
    async with Client(first_url) as first:
        asked = await first.session.call_tool("book", arguments, allow_input_required=True)
    assert isinstance(asked, InputRequiredResult)
    print(f"{first_url} asks: {', '.join(asked.input_requests or {})}")

    async with Client(second_url) as second:
        result = await second.session.call_tool(
            "book",
            arguments,
            input_responses={"seat": ElicitResult(action="accept", content={"seat": "7B"})},
            request_state=asked.request_state,
        )
    text = "".join(block.text for block in result.content if isinstance(block, TextContent))
    print(f"{second_url} answers: {text}")
    return text


def main() -> None:
    key = secrets.token_hex(32)
    with worker(key) as first, worker(key) as second:
        asyncio.run(book(first, second))


if __name__ == "__main__":
    main()
