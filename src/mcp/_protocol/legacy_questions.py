"""What a server asks in a legacy session, and what it is answered, in the form that the session's revision knows.

Models have the shape of 2025-11-25, whose additions older peers mostly ignore. Forms and conversations with a model are
shown to people and models, so there an older peer gets what its revision says, or the question is not asked.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn, cast

from pydantic import BaseModel

from mcp._protocol.era import LEGACY, knows_audio, knows_rich_questions
from mcp._protocol.fields import dump
from mcp.shared.exceptions import MCPError
from mcp_types.jsonrpc import INTERNAL_ERROR

_ELICIT: Final = "elicitation/create"
_SAMPLE: Final = "sampling/createMessage"


def write_question(method: str, params: BaseModel | None, version: str) -> dict[str, Any] | None:
    """Write the params of a server's request as the client's revision knows them.

    Args:
        method: The request's method.
        params: Its params.
        version: The legacy revision that the client speaks.

    Raises:
        MCPError: The revision has no way to put this question.
    """
    if params is None:
        return None
    written = dump(params, LEGACY)
    if knows_rich_questions(version):
        return written
    if method == _ELICIT:
        return _older_form(written, version)
    return _older_conversation(written, version) if method == _SAMPLE else written


def write_answer(method: str, answer: BaseModel, version: str) -> dict[str, Any]:
    """Write a client's answer as the server's revision knows it.

    Args:
        method: The method of the request that it answers.
        answer: The answer.
        version: The legacy revision that the server speaks.

    Raises:
        MCPError: The revision has no way to give this answer.
    """
    written = dump(answer, LEGACY)
    if method != _SAMPLE or knows_rich_questions(version):
        return written
    pieces = _pieces(written, version)
    if len(pieces) != 1:
        _refuse(version, f"a model's answer in {len(pieces)} pieces")
    return {**written, "content": pieces[0]}


def _older_conversation(params: dict[str, Any], version: str) -> dict[str, Any]:
    """Give each piece of content a message of its own: before 2025-11-25 a message has one, and there are no tools."""
    for member in ("tools", "toolChoice"):
        if member in params:
            _refuse(version, "sampling with tools")
    messages = [{**message, "content": piece} for message in params["messages"] for piece in _pieces(message, version)]
    return {**params, "messages": messages}


def _pieces(message: dict[str, Any], version: str) -> list[dict[str, Any]]:
    content: Any = message["content"]
    pieces = cast("list[dict[str, Any]]", content if isinstance(content, list) else [content])
    for piece in pieces:
        if piece["type"] in ("tool_use", "tool_result") or (piece["type"] == "audio" and not knows_audio(version)):
            _refuse(version, f"content of type {piece['type']!r} in sampling")
    return pieces


def _older_form(params: dict[str, Any], version: str) -> dict[str, Any]:
    """Write a form as 2025-06-18 does, which has no modes, no choice of several values, and few defaults."""
    if params.get("mode") == "url":
        _refuse(version, "elicitation by URL")
    schema: dict[str, Any] = params["requestedSchema"]
    if isinstance(schema.get("properties"), dict):
        fields = cast("dict[str, Any]", schema["properties"])
        schema = {**schema, "properties": {name: _older_field(name, field, version) for name, field in fields.items()}}
    return {**{member: value for member, value in params.items() if member != "mode"}, "requestedSchema": schema}


def _older_field(name: str, field: Any, version: str) -> Any:
    if not isinstance(field, dict):
        return field
    older = dict(cast("dict[str, Any]", field))
    if older.get("type") == "array":
        _refuse(version, f"choices of several values, as in the form's field {name!r}")
    if older.get("type") != "boolean":
        older.pop("default", None)
    choices: Any = older.get("oneOf")
    if isinstance(choices, list) and all(isinstance(choice, dict) for choice in cast("list[Any]", choices)):
        del older["oneOf"]
        older.update(_named_choices(cast("list[dict[str, Any]]", choices)))
    return older


def _named_choices(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "enum": [choice.get("const") for choice in choices],
        "enumNames": [choice.get("title", choice.get("const")) for choice in choices],
    }


def _refuse(version: str, what: str) -> NoReturn:
    raise MCPError(INTERNAL_ERROR, f"Revision {version}, which this session speaks, does not know {what}")
