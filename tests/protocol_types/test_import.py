"""Importing the types is cheap: it builds no validator and loads nothing but pydantic and the standard library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROBE = """
import json, sys
import typing_extensions
from pydantic import (
    AfterValidator, BaseModel, ConfigDict, Discriminator, Field, SerializerFunctionWrapHandler, Strict, Tag,
    TypeAdapter, model_serializer, model_validator,
)
from pydantic.alias_generators import to_camel

class Deferred(BaseModel):
    model_config = ConfigDict(defer_build=True)

before = set(sys.modules)
import mcp_types
from mcp_types import *  # some modules load late
import mcp_types.methods

def models(base):
    for model in base.__subclasses__():
        yield model
        yield from models(model)

ours = {model for model in models(BaseModel) if model.__module__.startswith("mcp_types")}
adapters = [getattr(mcp_types, name) for name in mcp_types.__all__ if name.endswith("_adapter")]
print(json.dumps({
    "models": len(ours),
    "built": sorted(model.__name__ for model in ours if model.__pydantic_complete__),
    "adapters": len(adapters),
    "built adapters": sum(adapter.pydantic_complete for adapter in adapters),
    "loaded": sorted(name for name in set(sys.modules) - before if name.partition(".")[0] != "mcp_types"),
}))
"""


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    run = subprocess.run([sys.executable, "-c", PROBE], env=environment, capture_output=True, timeout=60, check=True)
    return json.loads(run.stdout)


def test_no_model_is_built_at_import(seen: dict[str, Any]) -> None:
    assert seen["models"] >= 150
    assert seen["built"] == []


def test_no_adapter_is_built_at_import(seen: dict[str, Any]) -> None:
    assert seen["adapters"] == 7
    assert seen["built adapters"] == 0


def test_nothing_is_loaded_that_pydantic_has_not_loaded(seen: dict[str, Any]) -> None:
    assert seen["loaded"] == []
