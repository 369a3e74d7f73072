"""Run the seed's programs as they stand."""

from __future__ import annotations

import types
from typing import Any

from tests.programs import ROOT

SEED = ROOT.parent / "shared" / "seed"

SERVE = """
import runpy, sys, uvicorn
module = runpy.run_path(sys.argv[1], run_name="seed")
server = module.get("server") or module["mcp"]
uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(sys.argv[2]), log_level="warning")
"""

RUN_MAIN = """
import asyncio, runpy, sys
asyncio.run(runpy.run_path(sys.argv[1], run_name="seed")["main"]())
"""


def load(name: str, **scope: Any) -> dict[str, Any]:
    """Execute a program with these names in scope and return its names."""
    path = SEED / name
    module = types.ModuleType(path.stem)
    module.__dict__.update(scope)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True), module.__dict__)
    return module.__dict__
