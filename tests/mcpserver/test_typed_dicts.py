"""Output schemas of the standard library's typed dictionaries, which pydantic does not read before Python 3.12."""

from __future__ import annotations

import sys
import typing
from typing import Annotated, Any, Optional, Union

import pytest
import typing_extensions
from pydantic import ConfigDict, Field

from mcp.server.mcpserver._output import Output
from mcp.server.mcpserver._typed_dicts import with_readable_typed_dicts


class Town(typing.TypedDict):
    """Where people live."""

    name: str
    mayor: typing_extensions.NotRequired[str]


class Country(typing.TypedDict, total=False):
    towns: list[Town]
    capital: typing_extensions.Required[Town]


class Loop(typing.TypedDict):
    inner: Loop


class Unknown(typing.TypedDict):
    what: Nowhere  # pyright: ignore[reportUndefinedVariable]  # noqa: F821


class Camel(typing.TypedDict):
    __pydantic_config__ = ConfigDict(alias_generator=str.upper)  # pyright: ignore  # noqa: PGH003
    name: str


def schema_of(annotation: Any) -> dict[str, Any]:
    schema = Output("f", annotation, None).schema
    assert schema is not None
    return schema


@pytest.mark.rule("OUT-2", "OUT-13")
def test_one_gives_its_own_object_with_its_description_and_required_keys() -> None:
    assert schema_of(Town) == {
        "description": "Where people live.",
        "properties": {
            "name": {"title": "Name", "type": "string"},
            "mayor": {"title": "Mayor", "type": "string"},
        },
        "required": ["name"],
        "title": "Town",
        "type": "object",
    }


@pytest.mark.rule("OUT-2")
def test_one_inside_another_is_a_definition() -> None:
    schema = schema_of(Country)
    assert schema["required"] == ["capital"]
    assert schema["properties"]["towns"]["items"] == {"$ref": "#/$defs/Town"}
    assert schema["$defs"]["Town"]["required"] == ["name"]


@pytest.mark.parametrize(
    "annotation",
    [
        list[Town],
        dict[str, Town],
        tuple[Town, int],
        Optional[Town],  # noqa: UP045
        Union[Town, int],  # noqa: UP007
        Town | None,
        Annotated[list[Town], Field(description="all")],
    ],
)
def test_one_inside_other_types_is_found(annotation: Any) -> None:
    assert "Town" in schema_of(annotation)["$defs"]


def test_values_are_checked_and_passed_on() -> None:
    result = Output("f", list[Town], None).to_result([{"name": "Ulm"}])
    assert isinstance(result, dict)
    assert result["structuredContent"] == {"result": [{"name": "Ulm"}]}


def test_only_those_that_pydantic_cannot_read_are_made_anew() -> None:
    readable = sys.version_info >= (3, 12)
    assert (with_readable_typed_dicts(Town) is Town) is readable
    assert (with_readable_typed_dicts(list[Town]) == list[Town]) is readable


def test_what_needs_no_change_or_cannot_have_one_stays_as_it_is() -> None:
    assert with_readable_typed_dicts(Loop) is Loop
    assert with_readable_typed_dicts(Unknown) is Unknown
    for annotation in (int, list[int], str | None, Any, None, typing.Literal["a"]):
        assert with_readable_typed_dicts(annotation) is annotation


def test_pydantic_settings_are_kept() -> None:
    assert list(schema_of(Camel)["properties"]) == ["NAME"]
