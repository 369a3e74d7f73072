"""Several instances of one server: with a key in common, any of them finishes what another one began.

export BOX_OFFICE_KEY=$(.venv/bin/python -c "import secrets; print(secrets.token_hex(32))")
.venv/bin/python examples/shared_keys.py 8001 &
.venv/bin/python examples/shared_keys.py 8002 &
"""

import os
import sys

from pydantic import BaseModel

from mcp.server.mcpserver import Context, MCPServer, RequestStateSecurity
from mcp.types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult


class Seat(BaseModel):
    seat: str


def make_server(security: RequestStateSecurity) -> MCPServer:
    """Build one instance. The name is part of what a token is bound to: instances share it."""
    server = MCPServer("Box office", request_state_security=security, log_level="WARNING")

    @server.tool()
    async def book(show: str, ctx: Context) -> str | InputRequiredResult:
        """Book a seat that the user picks."""
        answer = (ctx.input_responses or {}).get("seat")
        if not isinstance(answer, ElicitResult) or answer.content is None:
            question = ElicitRequest(
                params=ElicitRequestFormParams(message="Which seat?", requested_schema=Seat.model_json_schema())
            )
            # Written as plain text here, sealed on the wire, plain text again in whichever instance gets the answer.
            return InputRequiredResult(input_requests={"seat": question}, request_state=f"offered by {os.getpid()}")
        return f"Seat {answer.content['seat']} for {show}: {ctx.request_state}, booked by {os.getpid()}."

    return server


if __name__ == "__main__":
    # Instances that were given no key, or not the same one, could not finish each other's calls.
    security = RequestStateSecurity.from_env("BOX_OFFICE_KEY")
    make_server(security).run("streamable-http", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
