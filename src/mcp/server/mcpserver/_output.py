"""What a tool returns: the schema it promises, and from value to result.

How a value is turned into a result is decided once, when the tool is registered.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Final, NoReturn, TypeAlias, cast

import pydantic_core
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, SchemaSerializer, core_schema

import mcp_types as types
from mcp._protocol.codec import WireResult
from mcp.server.mcpserver._json_schema import JsonSchema
from mcp.server.mcpserver._output_schema import Shape, read_shape
from mcp.server.mcpserver.exceptions import InvalidSignature, ToolError
from mcp.server.mcpserver.utilities.types import Audio, File, Image


@cache
def content_types() -> tuple[type[BaseModel], ...]:
    """The types of content blocks."""
    return (types.TextContent, types.ImageContent, types.AudioContent, types.ResourceLink, types.EmbeddedResource)


_MANY_DIGITS: Final = re.compile(r"\d{4301}")  # Python reads no longer numbers from texts, unless told to
_AS_IT_IS: Final = SchemaSerializer(core_schema.any_schema())

ToolOutput: TypeAlias = "WireResult | types.CallToolResult | types.InputRequiredResult"
"""A result: in wire form, or one that the tool built itself."""


class InvalidOutput(ToolError):
    """What the tool returned is not what it declares. The text names the member, not the value."""


def text_of(value: object) -> str:
    """The JSON text of a value, for a reader: two spaces of indent, non-ASCII kept.

    Raises:
        InvalidOutput: It holds bytes that are no text, itself, or numbers that JSON or its readers do not have.
    """
    if isinstance(value, AsyncIterator):
        raise InvalidOutput("the function returned an async generator; collect what it yields and return that")
    if isinstance(value, Iterator):
        value = list(cast("Iterator[object]", value))  # it can be read only once, and what it raises is the author's
    text = _json_text(value)
    if "NaN" in text or "Infinity" in text or _MANY_DIGITS.search(text):  # perhaps in a string
        json.loads(text, parse_constant=_refuse_constant, parse_int=_refuse_long_number)
    if "null" in text:
        # Untyped members of models: pydantic has put `null` in place of NaN already.
        _refuse_replaced(_AS_IT_IS.to_python(value), pydantic_core.from_json(text))
    return text


def _json_text(value: object) -> str:
    try:
        return pydantic_core.to_json(value, indent=2, fallback=repr, inf_nan_mode="constants").decode()
    except (ValueError, RecursionError):
        if _holds_iterator(value):
            raise  # there is no second try: what was read of it is gone
        return _text_with_surrogates(value)


def _holds_iterator(value: object) -> bool:
    seen: set[int] = set()
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, Iterator):
            return True
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, dict):
            rest += cast("dict[object, object]", item).values()
        elif isinstance(item, (list, tuple, set, frozenset)):
            rest += cast("list[object]", item)
        elif isinstance(item, BaseModel) or is_dataclass(item):
            rest += vars(item).values() if hasattr(item, "__dict__") else ()
    return False


def _text_with_surrogates(value: object) -> str:
    """The same for what pydantic cannot write: lone surrogates have no UTF-8 form, but JSON text may hold them."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, default=_jsonable)
    except (TypeError, ValueError, RecursionError) as error:
        _refuse_unwritable(error)


def _jsonable(value: object) -> object:
    return pydantic_core.to_jsonable_python(value, fallback=repr)


def to_blocks(value: object) -> list[dict[str, Any]]:
    """Turn a returned value into content blocks in wire form."""
    if value is None:
        return []
    blocks: list[dict[str, Any]] = []
    try:
        _add_blocks(blocks, value)
    except RecursionError as error:
        _refuse_unwritable(error)
    return blocks


def _add_blocks(blocks: list[dict[str, Any]], value: object) -> None:
    if not isinstance(value, (list, tuple)):
        blocks.append(to_block(value))
        return
    for item in cast("list[object]", value):
        if item is None:
            # OUT-D7: an item that vanishes would make text and structured value disagree.
            blocks.append(_text("null"))
        else:
            _add_blocks(blocks, item)


def to_block(value: object) -> dict[str, Any]:
    """Turn one value into one content block in wire form."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Image):
        value = value.to_image_content()
    elif isinstance(value, Audio):
        value = value.to_audio_content()
    elif isinstance(value, File):
        value = value.to_embedded_resource()
    if isinstance(value, content_types()):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, Coroutine):
        value.close()  # it is reported here, so it need not warn that nobody awaited it
        raise InvalidOutput("the function returned a coroutine; an 'await' is missing before the call that made it")
    return _text(text_of(value))


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


class Output:
    """A tool's output: its schema, and the function that turns a returned value into a result.

    Args:
        function_name: The function's name, for schema titles and messages.
        annotation: Its evaluated return annotation.
        structured_output: What the author asked for; `None` lets the annotation decide.
        text_copy: Whether the content repeats the structured output as text.

    Raises:
        InvalidSignature: The annotation cannot be what was asked for.
    """

    __slots__ = ("_adapter", "_shape", "_text_copy", "to_result")

    def __init__(
        self, function_name: str, annotation: Any, structured_output: bool | None, *, text_copy: bool = True
    ) -> None:
        self._shape: Shape | None = read_shape(function_name, annotation, structured_output)
        self._text_copy = text_copy
        if not text_copy and self.schema is None:
            raise InvalidSignature(
                f"Function {function_name}: text_copy=False leaves nothing to send, since there is no structured "
                "output; annotate what is returned, or leave text_copy out"
            )
        self._adapter: TypeAdapter[Any] | None = None
        self.to_result: Callable[[Any], ToolOutput] = self._choose()

    @property
    def schema(self) -> JsonSchema | None:
        """The output schema; `None` for tools that only have content."""
        return None if self._shape is None else self._shape.schema

    def _choose(self) -> Callable[[Any], ToolOutput]:
        shape = self._shape
        if shape is None:
            return unstructured
        if shape.hand_built:
            return self._hand_built
        if shape.scalar is not None and self._text_copy:
            return _scalar_conversion(shape.scalar, self._structured)
        if shape.model is not None:
            return self._model
        return self._structured

    def _structured(self, value: Any) -> ToolOutput:
        if isinstance(value, (types.CallToolResult, types.InputRequiredResult)):
            return self._hand_built(value)
        shape = self._shape
        if shape is None or shape.schema is None:  # no JSON schema after all: content only
            return unstructured(value)
        if inspect.iscoroutine(cast("object", value)):
            to_block(value)  # refuses it, by a better text than the schema's
        if isinstance(value, Iterator):
            value = list(cast("Iterator[object]", value))  # the schema reads it, and so does the text
        structured = self._dump(shape, value)  # first, since it can say where something is wrong
        content = to_blocks(value)  # which also finds what JSON cannot express
        return WireResult(content=content if self._text_copy else [], structuredContent=structured, isError=False)

    def _model(self, value: Any) -> ToolOutput:
        """The short way for an instance of the declared model: it was validated when it was made."""
        shape = self._shape
        assert shape is not None
        if shape.model is None or not isinstance(value, shape.model) or shape.schema is None or shape.wrapped:
            return self._structured(value)
        # by the value's own class: a subclass keeps its further fields
        try:
            structured = value.model_dump(mode="json", by_alias=True)
        except (ValueError, RecursionError) as error:
            _refuse_unwritable(error)
        if shape.may_hold_floats:
            _refuse_non_finite(structured)
        text = text_of(value)  # which also finds what JSON cannot express
        return WireResult(content=[_text(text)] if self._text_copy else [], structuredContent=structured, isError=False)

    def _hand_built(self, value: Any) -> ToolOutput:
        """A result that the tool built itself; its structured content has to fit the declared schema."""
        if isinstance(value, types.InputRequiredResult):
            return value
        if not isinstance(value, types.CallToolResult):
            raise InvalidOutput(f"expected a CallToolResult, got {type(value).__name__}")
        shape = self._shape
        if shape is None or value.is_error or shape.schema is None:
            return value
        structured = self._dump(shape, value.structured_content, built=True)
        text_of(structured)
        return value.model_copy(update={"structured_content": structured})

    def _dump(self, shape: Shape, value: object, *, built: bool = False) -> Any:
        if self._adapter is None:
            self._adapter = shape.make_adapter()
        adapter = self._adapter
        try:
            if shape.wrapped and not built:
                value = {"result": value}
            structured = adapter.dump_python(adapter.validate_python(value), mode="json", by_alias=True)
        except ValidationError as error:
            raise InvalidOutput(_explain(error)) from error
        except (ValueError, RecursionError) as error:
            _refuse_unwritable(error)
        if shape.may_hold_floats:
            _refuse_non_finite(structured)
        if shape.may_have_any_keys and _has_replaced_keys(structured):
            try:
                pydantic_core.to_json(value, fallback=repr)
            except PydanticSerializationError as error:
                raise InvalidOutput("the returned value has a key that is no Unicode text") from error
        return structured


def unstructured(value: Any) -> ToolOutput:
    """Convert a returned value to content alone."""
    if isinstance(value, (types.CallToolResult, types.InputRequiredResult)):
        return value
    return WireResult(content=to_blocks(value), isError=False)


def _scalar_conversion(kind: type, otherwise: Callable[[Any], ToolOutput]) -> Callable[[Any], ToolOutput]:
    """Convert exact instances of `str`, `int` or `bool` without pydantic; anything else takes the long way."""
    to_text: Callable[[Any], str] = (lambda value: "true" if value else "false") if kind is bool else str

    def convert(value: Any) -> ToolOutput:
        if type(value) is not kind:
            return otherwise(value)
        try:
            text = to_text(value)
        except ValueError:
            _refuse_long_number("")
        return WireResult(content=[{"type": "text", "text": text}], structuredContent={"result": value}, isError=False)

    return convert


def _refuse_unwritable(error: Exception) -> NoReturn:
    """Refuse what cannot be written: surrogates in keys, bytes, what contains itself or is nested too deeply."""
    if error.__cause__ is not None:
        raise error  # a serializer of the author's has failed, which belongs into the log
    raise InvalidOutput("the returned value cannot be expressed as JSON") from error


def _refuse_non_finite(value: object, where: str = "") -> None:
    """Refuse NaN and infinity: JSON has no such numbers, and `null` in their place would break the schema."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidOutput(f"the returned value{f' at {where!r}' if where else ''} is not a finite number")
    elif isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            _refuse_non_finite(item, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            _refuse_non_finite(item, f"{where}.{index}" if where else str(index))


def _has_replaced_keys(value: object) -> bool:
    """Whether a key may have held lone surrogates: pydantic replaces those without a word."""
    if isinstance(value, dict):
        return any(
            "\ufffd" in key or _has_replaced_keys(item) for key, item in cast("dict[str, object]", value).items()
        )
    return isinstance(value, list) and any(map(_has_replaced_keys, cast("list[object]", value)))


def _refuse_constant(constant: str) -> None:
    raise InvalidOutput(f"the returned value holds {constant}, which is not a finite number")


def _refuse_long_number(digits: str) -> NoReturn:
    raise InvalidOutput(
        "the returned value holds an integer with more digits than readers of JSON take; make it a text"
    )


def _refuse_replaced(value: object, written: object) -> None:
    """Refuse numbers that JSON does not have where `null` was written for them."""
    if isinstance(value, float):
        if written is None and not math.isfinite(value):
            _refuse_constant(json.dumps(value))
        return
    if isinstance(value, dict) and isinstance(written, dict):
        values = cast("dict[object, object]", value).values()
        pairs = zip(values, cast("dict[str, object]", written).values(), strict=False)
    elif isinstance(value, (list, tuple, set, frozenset)) and isinstance(written, list):
        pairs = zip(cast("list[object]", value), cast("list[object]", written), strict=False)
    else:
        return
    for inner, inner_written in pairs:
        _refuse_replaced(inner, inner_written)


def _explain(error: ValidationError) -> str:
    details = error.errors(include_url=False, include_context=False, include_input=False)
    problems = "; ".join(f"{'.'.join(map(str, detail['loc'])) or 'value'}: {detail['msg']}" for detail in details[:20])
    return f"the returned value does not match the declared output ({problems})"
