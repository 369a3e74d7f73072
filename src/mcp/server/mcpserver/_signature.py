"""A function's parameters: what the client fills, how it is checked, and what the server injects."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, cast

from pydantic import ConfigDict, Field, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, SchemaError, SchemaValidator, core_schema
from typing_extensions import NotRequired, TypedDict

from mcp._protocol.jsonrpc import loads
from mcp.server.mcpserver._invoke import is_async_callable
from mcp.server.mcpserver._json_schema import (
    JsonSchema,
    SchemaGenerator,
    accepts_text,
    as_published,
    find_misfit,
    in_json_form,
    title_of,
)
from mcp.server.mcpserver._known_schemas import Known, argument_schema, merge_definitions
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.utilities.context_injection import callable_name, evaluate_hints, is_context_annotation

_EMPTY: Final = inspect.Parameter.empty
_UNCALLABLE: Final = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only",
    inspect.Parameter.VAR_POSITIONAL: "collects positional arguments",
}
_UNDERSTOOD: Final = {"annotation", "default", "description", "metadata", "required"}
_CONFIG: Final = ConfigDict(arbitrary_types_allowed=False, defer_build=True)


class InvalidArguments(Exception):
    """The client's arguments do not fit.

    Attributes:
        fields: The top-level names that are wrong.
        text: What is wrong, without the values.
    """

    def __init__(self, fields: list[str], text: str) -> None:
        super().__init__(text)
        self.fields = fields
        self.text = text


@dataclass(slots=True)
class Parameter:
    """One parameter that the client fills.

    Attributes:
        name: Its name in Python.
        wire_name: The name under which the client sends it: its alias, else its name.
        annotation: Its evaluated annotation; `Parameter.empty` of `inspect` where there is none.
        default: Its default, which may be a pydantic `Field(...)`.
        required: Whether the client must send it.
        description: What `Field(description=...)` says.
        bare: The annotation without metadata, if that is only a description and constraints; `None` otherwise.
        constraints: The constraints.
    """

    name: str
    wire_name: str
    annotation: Any
    default: Any
    required: bool
    description: str | None = None
    bare: Any = None
    constraints: tuple[object, ...] = ()

    def as_field(self) -> Any:
        """The annotation that pydantic reads as this parameter."""
        annotation = self.annotation
        if annotation is _EMPTY:
            annotation = Annotated[Any, Field(title=self.name)]
        if isinstance(self.default, FieldInfo):
            annotation = Annotated[annotation, self.default]
        elif self.default is not _EMPTY:
            annotation = Annotated[annotation, Field(default=self.default)]
        return annotation if self.required else NotRequired[annotation]


@dataclass(slots=True)
class Arguments:
    """The arguments of a function: their JSON schema and the check they pass, once, at each call.

    The check yields keyword arguments, not a model instance; any parameter name will do, also one of pydantic's own.
    """

    title: str
    parameters: list[Parameter]
    json_schema: JsonSchema
    parse_json: bool = True
    _validator: SchemaValidator | None = None
    _make_validator: Callable[[], SchemaValidator] = field(kw_only=True)
    _parsable: frozenset[str] | None = None

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Check arguments and return them as keyword arguments, defaults included.

        Raises:
            InvalidArguments: They do not fit.
        """
        validator = self._validator
        if validator is None:
            validator = self._validator = self._make_validator()
        try:
            return validator.validate_python(arguments)
        except ValidationError as error:
            return self._validate_parsed(validator, arguments, error)

    def _validate_parsed(
        self, validator: SchemaValidator, arguments: Mapping[str, Any], error: ValidationError
    ) -> dict[str, Any]:
        """Try again with JSON texts parsed, for parameters that cannot take a text: models like to send such."""
        parsed = self._parse_texts(arguments, error) if self.parse_json else None
        if parsed is not None:
            try:
                return validator.validate_python(parsed)
            except ValidationError as second:
                error = second
        raise self._explain(error) from None

    def _parse_texts(self, arguments: Mapping[str, Any], error: ValidationError) -> dict[str, Any] | None:
        if self._parsable is None:
            definitions = self.json_schema.get("$defs", {})
            properties = cast("dict[str, object]", self.json_schema["properties"])
            self._parsable = frozenset(n for n, schema in properties.items() if not accepts_text(schema, definitions))
        parsed: dict[str, Any] | None = None
        for name in _wrong_names(error):
            value = arguments.get(name)
            if name not in self._parsable or not isinstance(value, str):
                continue
            try:
                found = loads(value)
            except ValueError:
                continue
            if found is None or isinstance(found, (dict, list)):
                parsed = {**(arguments if parsed is None else parsed), name: found}
        return parsed

    def _explain(self, error: ValidationError) -> InvalidArguments:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        lines = [f"{len(details)} validation error{'' if len(details) == 1 else 's'} for {self.title}"]
        for detail in details:
            unknown = detail["type"] == "extra_forbidden" and len(detail["loc"]) == 1
            problem = self._unknown_argument() if unknown else detail["msg"]
            lines += [".".join(map(str, detail["loc"])), f"  {problem}"]
        return InvalidArguments(_wrong_names(error), "\n".join(lines))

    def _unknown_argument(self) -> str:
        names = ", ".join(repr(parameter.wire_name) for parameter in self.parameters)
        return f"Unknown argument; known are {names}" if names else "Unknown argument; there are none"


def _wrong_names(error: ValidationError) -> list[str]:
    details = error.errors(include_url=False, include_context=False, include_input=False)
    return list(dict.fromkeys(str(detail["loc"][0]) for detail in details if detail["loc"]))


@dataclass(slots=True)
class Signature:
    """What a function's signature says.

    Attributes:
        name: The function's name.
        parameters: What the client fills.
        context_kwarg: The parameter that receives the `Context`.
        hints: The evaluated annotations, `return` included.
        is_async: Whether it has to be awaited, or else runs in a worker thread.
    """

    name: str
    parameters: list[Parameter]
    context_kwarg: str | None
    hints: dict[str, Any]
    is_async: bool


def read_signature(
    fn: Callable[..., Any],
    *,
    hints: dict[str, Any] | None = None,
    injected: Iterable[str] = (),
    context_kwarg: str | None = None,
    strict: bool = True,
) -> Signature:
    """Read a function's signature.

    Args:
        fn: Any callable.
        hints: Its evaluated annotations, for callers that have them already.
        injected: Parameters that the server fills by other means.
        context_kwarg: The parameter for the context, where the caller names it.
        strict: Whether parameters that can only be passed by position are refused.

    Raises:
        InvalidSignature: The function cannot be called with keyword arguments from a client.
    """
    name = callable_name(fn)
    hints = evaluate_hints(fn) if hints is None else hints
    try:
        found = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError) as error:
        raise InvalidSignature(f"Unable to read the signature of callable {name!r}") from error
    parameters: list[Parameter] = []
    for parameter in found:
        hint = hints.get(parameter.name, _EMPTY)
        if parameter.name == context_kwarg:
            continue
        if is_context_annotation(hint):
            if context_kwarg is not None:
                raise InvalidSignature(
                    f"Function {name!r} has more than one Context parameter: {context_kwarg!r} and {parameter.name!r}"
                )
            context_kwarg = parameter.name
            continue
        if parameter.name in injected:
            continue
        if parameter.name.startswith("_"):
            raise InvalidSignature(f"Parameter {parameter.name} of {name} cannot start with '_'")
        if strict and parameter.kind in _UNCALLABLE:
            raise InvalidSignature(
                f"Parameter {parameter.name!r} of {name!r} {_UNCALLABLE[parameter.kind]}; arguments are passed by name"
            )
        parameters.append(_read_parameter(name, parameter.name, hint, parameter.default))
    return Signature(name, parameters, context_kwarg, hints, is_async_callable(fn))


def _read_parameter(function: str, name: str, annotation: Any, default: Any) -> Parameter:
    if not isinstance(default, FieldInfo) and getattr(annotation, "__metadata__", None) is None:
        bare: Any = Any if annotation is _EMPTY else annotation
        return Parameter(name, name, annotation, default, default is _EMPTY, bare=bare)
    base: Any = Any if annotation is _EMPTY else annotation
    try:
        info = (
            FieldInfo.from_annotation(base) if default is _EMPTY else FieldInfo.from_annotated_attribute(base, default)
        )
    except PydanticUserError as error:
        raise InvalidSignature(f"Parameter {name!r} of {function!r}: {error.message}") from error
    alias = info.validation_alias if info.validation_alias is not None else info.alias
    wire_name = alias if isinstance(alias, str) else name
    bare = info.annotation if {attribute for attribute, _ in info.__repr_args__()} <= _UNDERSTOOD else None
    constraints = tuple(info.metadata)
    return Parameter(name, wire_name, annotation, default, info.is_required(), info.description, bare, constraints)


def build_arguments(signature: Signature, *, parse_json: bool = True, refuse_unknown: bool = False) -> Arguments:
    """Build the schema and the check of a function's arguments; the validator itself is made at the first call.

    Args:
        signature: The function's signature.
        parse_json: Whether JSON texts are parsed for parameters that cannot take a text.
        refuse_unknown: Whether arguments that the function does not have are refused; else they are ignored.

    Raises:
        InvalidSignature: A parameter's type has no JSON schema.
    """
    title = f"{signature.name}Arguments"
    known = _known_arguments(title, signature.parameters)
    core_fields: dict[str, core_schema.TypedDictField] | None = None
    adapter = None
    if known is not None:
        json_schema, core_fields = known
    else:
        adapter = _adapter(title, signature.parameters)
        try:
            json_schema = as_published(adapter.json_schema(schema_generator=SchemaGenerator))
        except (PydanticUserError, PydanticSchemaGenerationError, SchemaError, TypeError, NameError, ValueError) as bad:
            raise _blame(signature, bad) from bad
        _refuse_misfits(signature.name, json_schema)
    if refuse_unknown:
        json_schema = {"additionalProperties": False, **json_schema}

    def make() -> SchemaValidator:
        if core_fields is not None:
            config = core_schema.CoreConfig(title=title)
            core: CoreSchema = core_schema.typed_dict_schema(core_fields, config=config)
        else:
            core = _core_schema(adapter or _adapter(title, signature.parameters))
        return SchemaValidator(_forbidding_extra(core) if refuse_unknown else core)

    return Arguments(title, signature.parameters, json_schema, parse_json, _make_validator=make)


def _core_schema(adapter: TypeAdapter[Any]) -> CoreSchema:
    adapter.rebuild()  # unless that was done
    return adapter.core_schema


def _forbidding_extra(core: CoreSchema) -> CoreSchema:
    """Refuse unknown arguments, but not unknown members of arguments: pydantic would pass such a setting on to some."""
    if core["type"] == "definitions":
        return {**core, "schema": _forbidding_extra(core["schema"])}
    return cast("CoreSchema", {**core, "extra_behavior": "forbid"})


def _known_arguments(
    title: str, parameters: list[Parameter]
) -> tuple[JsonSchema, dict[str, core_schema.TypedDictField] | None] | None:
    """The JSON schema of parameters whose meaning is known, and their validator's fields unless pydantic makes it."""
    fields: dict[str, core_schema.TypedDictField] | None = {}
    properties: JsonSchema = {}
    definitions: dict[str, JsonSchema] | None = {}
    for parameter in parameters:
        known = _known_parameter(parameter)
        definitions = known and merge_definitions(definitions, known.definitions)
        if known is None or definitions is None:
            return None
        properties[parameter.name] = known.json
        if known.core is None:
            fields = None
        elif fields is not None:
            fields[parameter.name] = core_schema.typed_dict_field(known.core, required=parameter.required)
    json_schema: JsonSchema = {"properties": properties, "title": title, "type": "object"}
    if definitions:
        json_schema = {"$defs": dict(sorted(definitions.items())), **json_schema}
    if required := [parameter.name for parameter in parameters if parameter.required]:
        json_schema["required"] = required
    try:
        return in_json_form(json_schema), fields
    except ValueError:  # a default that is not a number, or a text that is none: pydantic's way knows what to do
        return None


def _known_parameter(parameter: Parameter) -> Known | None:
    known = None if parameter.bare is None else argument_schema(parameter.bare, parameter.constraints)
    if known is None:
        return None
    schema, core = known.json, known.core
    if parameter.annotation is _EMPTY:
        schema = {"title": parameter.name, **schema}
    elif known.has_title:
        schema = {"title": title_of(parameter.name), **schema}
    if parameter.description is not None:
        schema = {"description": parameter.description, **schema}
    if not parameter.required:
        default = parameter.default.default if isinstance(parameter.default, FieldInfo) else parameter.default
        if default is not None and type(default) not in (int, str, float, bool):
            return None
        schema = {"default": default, **schema}
        core = core and core_schema.with_default_schema(core, default=default)
    return Known(schema, core, known.definitions)


def _adapter(title: str, parameters: list[Parameter]) -> TypeAdapter[dict[str, Any]]:
    fields = {parameter.name: parameter.as_field() for parameter in parameters}
    described: Any = TypedDict(title, fields)  # pyright: ignore[reportArgumentType, reportGeneralTypeIssues]
    described.__pydantic_config__ = _CONFIG
    return TypeAdapter(described)


def _refuse_misfits(function: str, json_schema: JsonSchema) -> None:
    """Refuse constraints that no value of the type could be held against: each call would fail."""
    for name, schema in json_schema["properties"].items():
        found = find_misfit(schema)
        if found is not None:
            raise InvalidSignature(f"Parameter {name!r} of {function!r} has a constraint that does not fit: {found}")


def _blame(signature: Signature, error: Exception) -> InvalidSignature:
    """Name the parameter whose type cannot be described."""
    for parameter in signature.parameters:
        try:
            adapter = _adapter("One", [parameter])
            as_published(adapter.json_schema(schema_generator=SchemaGenerator))
        except Exception as problem:
            lines = getattr(problem, "message", str(problem)).splitlines()
            reason = lines[-1].strip() if isinstance(problem, SchemaError) else lines[0]
            return InvalidSignature(
                f"Parameter {parameter.name!r} of {signature.name!r} has a type without a JSON schema: {reason}"
            )
    return InvalidSignature(f"The parameters of {signature.name!r} cannot be described: {error}")
