"""From a tool's return annotation to its output schema."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import inspect
import pathlib
import typing
import uuid
import warnings
from collections.abc import Callable, Collection, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Final, Literal, Union, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model
from typing_extensions import TypeAliasType, TypedDict, is_typeddict

from mcp._protocol.named import names_of
from mcp.server.mcpserver._json_schema import (
    JsonSchema,
    SchemaGenerator,
    as_published,
    may_hold,
    title_of,
)
from mcp.server.mcpserver._known_schemas import plain_schema
from mcp.server.mcpserver._typed_dicts import with_readable_typed_dicts
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.utilities.types import Audio, File, Image

# Names of message types: what a tool returns is compared by name, since most tools return none of them.
_BLOCKS: Final = frozenset({"AudioContent", "EmbeddedResource", "ImageContent", "ResourceLink", "TextContent"})
_MEDIA: Final = (Image, Audio, File)
_SCALARS: Final = (str, int, bool, float, bytes, NoneType)
_SINGLE_VALUES: Final = (
    enum.Enum, datetime.date, datetime.time, datetime.timedelta, uuid.UUID, decimal.Decimal, pathlib.PurePath,
)  # fmt: skip
# Type checkers know `TypedDict` only as a form with literal members.
_typed_dict: Final = cast("Callable[[str, dict[str, Any]], Any]", TypedDict)
_UNION_ORIGINS: Final = (Union, UnionType)
# `type X = ...` makes a `typing.TypeAliasType`, which is not always the one of typing_extensions.
_ALIASES: Final[tuple[type, ...]] = (TypeAliasType, getattr(typing, "TypeAliasType", TypeAliasType))
# A named type counts as a value of its own, whatever it stands for.
_NAMES: Final = (*_ALIASES, typing.NewType)
_QUALIFIERS: Final = (typing.Final, ClassVar)


class Shape:
    """How a tool's structured content looks.

    Attributes:
        hand_built: The tool returns a `CallToolResult`, whose structured content has this shape.
        scalar: The built-in type, if it is a wrapped `str`, `int` or `bool`.
        model: The pydantic model, if it is an unwrapped one.
    """

    __slots__ = (
        "_annotation", "_function", "_schema", "_wrapped",
        "hand_built", "may_have_any_keys", "may_hold_floats", "model", "scalar",
    )  # fmt: skip

    def __init__(self, function: str, annotation: Any, *, wrapped: bool, hand_built: bool) -> None:
        self.hand_built = hand_built
        self.model: type[BaseModel] | None = None
        self.scalar: type | None = None
        self.may_hold_floats = True
        self.may_have_any_keys = True
        self._function = function
        self._annotation = annotation
        self._wrapped = wrapped
        self._schema: JsonSchema | Literal[False] | None = False
        if wrapped and annotation in (str, int, bool):
            self.scalar = annotation
        elif not wrapped and isinstance(annotation, type) and issubclass(annotation, BaseModel):
            self.model = annotation

    @property
    def wrapped(self) -> bool:
        """Whether the value stands under `result`; known only after the schema was made."""
        if self._schema is False:
            self._schema = self._make_schema()
        return self._wrapped

    @property
    def schema(self) -> JsonSchema | None:
        """The output schema, made when it is first asked for; `None` if there is none after all."""
        if self._schema is False:
            self._schema = self._make_schema()
        return self._schema

    def make_adapter(self) -> TypeAdapter[Any]:
        """The validator and serializer of the structured content."""
        if not self.wrapped:
            return _adapter(self._annotation)
        described: Any = _typed_dict(f"{self._function}Output", {"result": self._annotation})
        described.__pydantic_config__ = ConfigDict(defer_build=True)
        return _adapter(described)

    def _make_schema(self) -> JsonSchema | None:
        # What is sent is the serialized form, so that is what the schema describes (OUT-D1).
        if self._wrapped and (known := plain_schema(self._annotation)) is not None and self._annotation is not Any:
            schema: JsonSchema = {
                "properties": {"result": {"title": title_of("result"), **known.json}},
                "required": ["result"],
                "title": f"{self._function}Output",
                "type": "object",
            }
        else:
            self._schema = None
            try:
                schema = self.make_adapter().json_schema(schema_generator=SchemaGenerator, mode="serialization")
                if not self._wrapped and not _describes_object(schema):
                    # OUT-D8: older clients know objects only, and one such tool would break their whole list.
                    self._wrapped, self.model = True, None
                    schema = self.make_adapter().json_schema(schema_generator=SchemaGenerator, mode="serialization")
                schema = as_published(schema)
            except Exception:  # pydantic cannot describe it: a tool with content alone (OUT-D5)
                return None
        if get_origin(self._annotation) is dict and not self._wrapped:
            schema = {**schema, "title": f"{self._function}DictOutput"}
        self.may_hold_floats = may_hold(schema, "number")
        self.may_have_any_keys = may_hold(schema, "object")
        return schema


def _adapter(annotation: Any) -> TypeAdapter[Any]:
    with warnings.catch_warnings():
        # pydantic warns that it does not protect read-only items; nobody writes to what is returned.
        warnings.filterwarnings("ignore", message=".*`ReadOnly` qualifier")
        return TypeAdapter(annotation)


def _describes_object(schema: JsonSchema) -> bool:
    while "$ref" in schema:
        schema = schema["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    return schema.get("type") == "object"


def read_shape(function: str, annotation: Any, structured_output: bool | None) -> Shape | None:
    """Decide which shape a return annotation gives; `None` for content alone.

    Raises:
        InvalidSignature: The annotation is no return annotation, or gives no structured output although asked for.
    """
    if structured_output is False:
        return None
    if annotation is inspect.Signature.empty:
        if structured_output:
            raise InvalidSignature(f"Function {function}: return annotation required for structured output")
        return None
    shape = _read(function, with_readable_typed_dicts(annotation), explicit=structured_output is True)
    if structured_output and (shape is None or shape.schema is None):
        raise InvalidSignature(
            f"Function {function}: return type {annotation} is not serializable for structured output"
        )
    return shape


def _read(function: str, annotation: Any, *, explicit: bool) -> Shape | None:
    written = annotation
    annotation = without_input_required(_unalias(annotation))
    if annotation is None:
        return None
    if annotation in _QUALIFIERS or get_origin(annotation) in _QUALIFIERS:
        raise InvalidSignature(f"Function {function}: return annotation contains an invalid type qualifier")
    metadata: tuple[Any, ...] = getattr(annotation, "__metadata__", ())
    bare = get_args(annotation)[0] if metadata else annotation
    if _is_call_tool_result(bare):
        described = next((item for item in metadata if _is_type(item)), None)
        if described is None or _holds(described, _is_media, _is_block):
            return None
        return _shape(function, described, hand_built=True)
    if get_origin(bare) in _UNION_ORIGINS and any(_is_call_tool_result(_strip(arm)) for arm in get_args(bare)):
        raise InvalidSignature(
            f"Function {function}: CallToolResult cannot be used in Union or Optional types. "
            "To return empty results, use: CallToolResult(content=[])"
        )
    if _holds(annotation, _is_media) or (not explicit and _holds(annotation, _is_block)):
        return None
    if isinstance(written, _ALIASES) and annotation == _unalias(written):
        return Shape(function, written, wrapped=True, hand_built=False)  # a named alias counts as a value of its own
    return _shape(function, annotation, hand_built=False)


def _shape(function: str, annotation: Any, *, hand_built: bool) -> Shape | None:
    bare = _strip(annotation)
    origin = get_origin(bare)
    if isinstance(bare, _NAMES):
        return Shape(function, annotation, wrapped=True, hand_built=hand_built)
    if bare is None or bare is NoneType:
        return Shape(function, None, wrapped=True, hand_built=hand_built)
    if isinstance(bare, type) and origin is None:
        return _shape_of_class(function, annotation, cast("type[object]", bare), hand_built=hand_built)
    if origin is dict and get_args(bare)[0] is str:
        return Shape(function, annotation, wrapped=False, hand_built=hand_built)
    if isinstance(origin, type) and _has_members(cast("type[object]", origin)):
        return Shape(function, annotation, wrapped=False, hand_built=hand_built)
    if bare is Any or isinstance(bare, typing.TypeVar) or origin is None:
        return None
    return Shape(function, annotation, wrapped=True, hand_built=hand_built)


def _shape_of_class(function: str, annotation: Any, cls: type[object], *, hand_built: bool) -> Shape | None:
    if cls in _SCALARS or issubclass(cls, _SINGLE_VALUES):
        return Shape(function, annotation, wrapped=True, hand_built=hand_built)
    if issubclass(cls, BaseModel) and cls.__pydantic_root_model__:
        return Shape(function, annotation, wrapped=False, hand_built=hand_built)
    if _has_members(cls):
        return Shape(function, annotation, wrapped=False, hand_built=hand_built)
    if cls.__module__ == "builtins" or issubclass(cls, (tuple, list, dict, set, frozenset, str, bytes, int, float)):
        return None
    model = _model_of(cls)
    return None if model is None else Shape(function, model, wrapped=False, hand_built=hand_built)


def _model_of(cls: type[object]) -> type[BaseModel] | None:
    """A model that reads the annotated attributes of an ordinary class."""
    try:
        hints = typing.get_type_hints(cls, include_extras=True)
    except Exception:
        return None
    fields = {
        name: hint for name, hint in hints.items() if not name.startswith("_") and get_origin(hint) is not ClassVar
    }
    if not fields:
        return None
    definitions: dict[str, Any] = {name: (hint, getattr(cls, name, ...)) for name, hint in fields.items()}
    config = ConfigDict(from_attributes=True, defer_build=True)
    try:
        return create_model(
            cls.__name__, __config__=config, __doc__=cls.__doc__, __module__=cls.__module__, **definitions
        )
    except Exception:
        return None


def without_input_required(annotation: Any) -> Any:
    """Take the `InputRequiredResult` arms out of a return annotation; `None` if nothing else is left."""
    if _is_input_required(annotation):
        return None
    if get_origin(annotation) not in _UNION_ORIGINS:
        return NoneType if annotation is None else annotation
    arms = get_args(annotation)
    rest = tuple(arm for arm in arms if not _is_input_required(arm))
    if len(rest) == len(arms):
        return annotation
    return Union[rest] if rest else None  # noqa: UP007 - built from a tuple


def _is_input_required(annotation: Any) -> bool:
    return _is_message(_strip(_unalias(annotation)), {"InputRequiredResult"})


def _is_call_tool_result(annotation: Any) -> bool:
    return _is_message(annotation, {"CallToolResult"})


def _is_block(annotation: Any) -> bool:
    return _is_message(annotation, _BLOCKS)


def _is_message(annotation: Any, names: Collection[str]) -> bool:
    return _is_class(annotation) and any(names_of(annotation, names))


def _is_media(annotation: Any) -> bool:
    return _is_class(annotation) and issubclass(annotation, _MEDIA)


def _is_class(annotation: Any) -> bool:
    # A parametrised built-in such as `list[int]` passes `isinstance(..., type)` on Python 3.10.
    return isinstance(annotation, type) and get_origin(annotation) is None


def _has_members(cls: type[object]) -> bool:
    return is_typeddict(cls) or dataclasses.is_dataclass(cls) or issubclass(cls, BaseModel)


def _is_type(value: Any) -> bool:
    return isinstance(value, (type, UnionType, *_ALIASES)) or get_origin(value) is not None


def _strip(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _unalias(annotation: Any) -> Any:
    """Look through `type X = ...`, where content blocks or unions may hide."""
    while isinstance(annotation, _ALIASES):
        annotation = annotation.__value__
    return annotation


def _holds(annotation: Any, *kinds: Callable[[Any], bool]) -> bool:
    """Whether a return annotation means a class of these kinds: itself, as an arm, or as an item of a sequence."""
    annotation = _strip(_unalias(annotation))
    origin = get_origin(annotation)
    if origin in _UNION_ORIGINS or (isinstance(origin, type) and issubclass(origin, Sequence)):
        return any(_holds(argument, *kinds) for argument in get_args(annotation))
    return any(kind(annotation) for kind in kinds)
