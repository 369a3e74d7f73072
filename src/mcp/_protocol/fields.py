"""Which fields exist in which era: the differences between the published schemas that no model can express.

One set of models spans all revisions. The rows below name the fields that one era does not know; what is systematic
(result stamps, request metadata) is handled where results and requests are written.
"""

from __future__ import annotations

import json
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, cast, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

import mcp_types as types
from mcp._protocol.era import LEGACY, MODERN, Era

Exclusion: TypeAlias = dict[str, Any]

_DROPPED: Final[dict[Era, dict[type[BaseModel], frozenset[str]]]] = {
    MODERN: {
        types.CallToolRequestParams: frozenset({"task"}),
        types.CreateMessageRequestParams: frozenset({"task", "meta"}),
        types.ElicitRequestFormParams: frozenset({"task", "meta"}),
        types.ElicitRequestURLParams: frozenset({"task", "meta", "elicitation_id"}),
        types.ElicitResult: frozenset({"meta"}),
        types.ListRootsResult: frozenset({"meta"}),
        types.Tool: frozenset({"execution"}),
        types.ClientCapabilities: frozenset({"tasks"}),
        types.ServerCapabilities: frozenset({"tasks"}),
        types.InputRequiredResult: frozenset({"input_requests"}),  # the codec adds them, each written by its own class
    },
    LEGACY: {
        types.CallToolRequestParams: frozenset({"input_responses", "request_state"}),
        types.GetPromptRequestParams: frozenset({"input_responses", "request_state"}),
        types.ReadResourceRequestParams: frozenset({"input_responses", "request_state"}),
        types.ClientCapabilities: frozenset({"extensions"}),
        types.ServerCapabilities: frozenset({"extensions"}),
    },
}

# Their values are of several kinds with different rows, so each value is written by its own class.
_WRITTEN_ONE_BY_ONE: Final = frozenset({"input_requests", "input_responses"})


@cache
def exclusions(model: type[BaseModel], era: Era) -> Exclusion | None:
    """The `exclude` argument of `model_dump` that removes, at any depth, the fields the era does not know."""
    found = _walk(model, era, ())
    return found or None


def _walk(model: type[BaseModel], era: Era, above: tuple[type[BaseModel], ...]) -> Exclusion:
    if model in above:
        return {}
    dropped: Exclusion = {}
    for row, names in _DROPPED[era].items():
        if issubclass(model, row):
            dropped.update(dict.fromkeys(names, True))
    for name, field in model.model_fields.items():
        if name in dropped or name in _WRITTEN_ONE_BY_ONE:
            continue
        if inner := _walk_type(field.annotation, era, (*above, model)):
            dropped[name] = inner
    return dropped


def _walk_type(annotation: Any, era: Era, above: tuple[type[BaseModel], ...]) -> Exclusion:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _walk(annotation, era, above)
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if origin is Annotated:
        return _walk_type(arguments[0], era, above)
    if origin in (Union, UnionType):
        merged: Exclusion = {}
        for argument in arguments:
            merged.update(_walk_type(argument, era, above))
        return merged
    if origin in (list, dict):
        inner = _walk_type(arguments[-1], era, above)
        return {"__all__": inner} if inner else {}
    return {}


def dump(model: BaseModel, era: Era) -> dict[str, Any]:
    """Write a model in wire form, without what the era does not know and without unset members."""
    exclude = cast("Any", exclusions(type(model), era))
    try:
        return model.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=exclude)
    except UnicodeEncodeError:
        # A lone surrogate in the key of a free-form member, which pydantic writes in values only.
        plain = model.model_dump(by_alias=True, exclude_none=True, exclude=exclude)
        return json.loads(json.dumps(plain, default=to_jsonable_python))
