"""A tool whose missing values are filled in by resolvers: functions that ask only if they have to.

The tool itself is plain code. It runs once, when everything is known.
"""

import sys
from typing import Annotated, Literal

from pydantic import BaseModel

from mcp.server.mcpserver import AcceptedElicitation, Elicit, ElicitationResult, MCPServer, Resolve

server = MCPServer("Bike rental", log_level="WARNING")

PRICES = {"city bike": 20, "race bike": 90}


class Size(BaseModel):
    size: Literal["S", "M", "L"]


class Insurance(BaseModel):
    insured: bool


async def ask_size(bike: str) -> Elicit[Size]:
    """Every bike needs a size: always ask."""
    return Elicit(f"Which size of {bike} do you need?", Size)


async def ask_insurance(bike: str, size: Annotated[Size, Resolve(ask_size)]) -> Insurance | Elicit[Insurance]:
    """Ask about insurance for expensive bikes only; the question depends on the answer before it."""
    if PRICES.get(bike, 0) < 50:
        return Insurance(insured=False)
    return Elicit(f"Do you want insurance for the {bike}, size {size.size}?", Insurance)


@server.tool()
async def rent_bike(
    bike: str,
    size: Annotated[Size, Resolve(ask_size)],
    insurance: Annotated[ElicitationResult[Insurance], Resolve(ask_insurance)],
) -> str:
    """Rent a bike."""
    insured = isinstance(insurance, AcceptedElicitation) and insurance.data.insured
    return f"Rented: {bike}, size {size.size}, {'with' if insured else 'without'} insurance."


if __name__ == "__main__":
    server.run("streamable-http", port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
