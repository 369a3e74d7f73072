"""Our types against the recorded names, fields, aliases and defaults of the public API."""

from __future__ import annotations

import ast
import importlib
import json
import re
from typing import Any, Final, get_args

import pytest
from pydantic import BaseModel, TypeAdapter

import mcp_types as types
from tests.protocol_types.schemas import DATA

Record = dict[str, Any]

SURFACE: Final[dict[str, dict[str, Record]]] = json.loads((DATA / "surface" / "types.json").read_text(encoding="utf-8"))
CLASSES: Final = sorted(
    name for name, record in SURFACE["mcp.types"].items() if record["kind"] == "class" and "fields" in record
)

SPELLED_OTHERWISE: Final = {
    ("Root", "uri"): "FileUrl is imported when it is needed",
    ("ToolResultContent", "content"): "recorded as an unresolved reference",
}


# Reading a deprecated name warns.
DEPRECATED_NAMES: Final = pytest.mark.filterwarnings("ignore::mcp_types.version.MCPDeprecationWarning")


@DEPRECATED_NAMES
def test_every_public_name_is_there() -> None:
    missing = {
        module: [
            name for name in names if not hasattr(importlib.import_module(module.replace("mcp.", "mcp_", 1)), name)
        ]
        for module, names in SURFACE.items()
    }
    assert missing == {module: [] for module in SURFACE}


def test_all_lists_the_exported_names() -> None:
    exported = {name for name, record in SURFACE["mcp.types"].items() if "exported" in record["wanted_by"]}
    assert set(types.__all__) == exported
    assert len(types.__all__) == len(exported)


@DEPRECATED_NAMES
def test_every_constant_has_its_value() -> None:
    for module, names in SURFACE.items():
        ours = importlib.import_module(module.replace("mcp.", "mcp_", 1))
        for name, record in names.items():
            if record["kind"] == "value":
                value = ast.literal_eval(re.sub(r"frozenset\((.*)\)", r"\1", record["value"]))
                assert getattr(ours, name) == value, name


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_its_fields_aliases_and_defaults(name: str) -> None:
    model = getattr(types, name)
    assert issubclass(model, BaseModel)
    model.model_rebuild()
    recorded: dict[str, Record] = SURFACE["mcp.types"][name]["fields"]
    assert set(model.model_fields) == set(recorded)
    for field_name, record in recorded.items():
        field = model.model_fields[field_name]
        assert (field.alias or field_name) == record.get("alias", field_name)
        assert field.is_required() is record.get("required", False), field_name
        if not field.is_required():
            assert repr(field.get_default(call_default_factory=True)) == record.get("default", "None"), field_name


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_its_field_types(name: str) -> None:
    recorded: dict[str, Record] = SURFACE["mcp.types"][name]["fields"]
    for field_name, field in getattr(types, name).model_fields.items():
        if (name, field_name) not in SPELLED_OTHERWISE:
            assert _names(field.annotation) == _names(recorded[field_name]["type"]), field_name


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_has_its_bases(name: str) -> None:
    bases = {re.sub(r"\[.*", "", base) for base in SURFACE["mcp.types"][name].get("bases", [])}
    ours = {base.__name__ for base in getattr(types, name).__mro__}
    assert bases - ours == set()


ALIASES: Final = [name for name, record in SURFACE["mcp.types"].items() if record["kind"] == "alias"]


@pytest.mark.parametrize("name", [name for name in ALIASES if not name.endswith("_adapter")])
def test_an_alias_is_what_it_was(name: str) -> None:
    assert _names(getattr(types, name)) == _names(SURFACE["mcp.types"][name]["is"])


def test_adapters_are_adapters() -> None:
    adapters = [name for name in ALIASES if name.endswith("_adapter")]
    assert len(adapters) == 7
    assert all(isinstance(getattr(types, name), TypeAdapter) for name in adapters)


CALL: Final = re.compile(r"\w+\((?:[^()]|\([^()]*\))*\)")
NAME: Final = re.compile(r"'[^']*'|[\w.]+")
FORM: Final = frozenset({"Annotated", "Literal", "None", "NoneType", "Optional", "Union"})


def _names(type_: object) -> frozenset[str]:
    """Return the names in a type, whatever order and form they are written in."""
    if isinstance(type_, type) and not get_args(type_):
        return frozenset({type_.__name__} - FORM)
    # What is called there is metadata: constraints, discriminators and tags.
    text = CALL.sub("", type_ if isinstance(type_, str) else repr(type_))
    return frozenset({name if "'" in name else name.rpartition(".")[2] for name in NAME.findall(text)} - FORM)
