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

from mcp._protocol.era import LEGACY, MODERN, Era
from mcp._protocol.named import names_of

Exclusion: TypeAlias = dict[str, Any]

# By the names of the types, so that these rows load none.
_DROPPED: Final[dict[Era, dict[str, frozenset[str]]]] = {
    MODERN: {
        "CallToolRequestParams": frozenset({"task"}),
        "CreateMessageRequestParams": frozenset({"task", "meta"}),
        "ElicitRequestFormParams": frozenset({"task", "meta"}),
        "ElicitRequestURLParams": frozenset({"task", "meta", "elicitation_id"}),
        "ElicitResult": frozenset({"meta"}),
        "ListRootsResult": frozenset({"meta"}),
        "Tool": frozenset({"execution"}),
        "ClientCapabilities": frozenset({"tasks"}),
        "ServerCapabilities": frozenset({"tasks"}),
        "InputRequiredResult": frozenset({"input_requests"}),  # the codec adds them, each written by its own class
    },
    LEGACY: {
        "CallToolRequestParams": frozenset({"input_responses", "request_state"}),
        "GetPromptRequestParams": frozenset({"input_responses", "request_state"}),
        "ReadResourceRequestParams": frozenset({"input_responses", "request_state"}),
        "ClientCapabilities": frozenset({"extensions"}),
        "ServerCapabilities": frozenset({"extensions"}),
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
    rows = _DROPPED[era]
    for name in names_of(model, rows):
        dropped.update(dict.fromkeys(rows[name], True))
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
