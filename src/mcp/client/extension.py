"""Extensions of a client: what it declares, which results it understands, and which notifications it hears."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, get_args

from pydantic import AliasChoices, AliasPath, BaseModel
from pydantic.fields import FieldInfo

import mcp_types as types
from mcp.client._claims import UnexpectedClaimedResult
from mcp.client.session import ClientSession
from mcp.shared.extension import validate_extension_identifier
from mcp_types import CORE_RESULT_TYPES
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

__all__ = [
    "ClaimContext",
    "ClientExtension",
    "NotificationBinding",
    "ResultClaim",
    "UnexpectedClaimedResult",
    "advertise",
]

ClaimedT = TypeVar("ClaimedT", bound=types.Result)
NotifyParamsT = TypeVar("NotifyParamsT", bound=BaseModel)

_CORE_ALIASES = ("inputRequests", "requestState")


@dataclass(frozen=True, kw_only=True)
class ClaimContext:
    """What a resolver knows of the call whose result it turns into one of the core protocol.

    Attributes:
        session: The session that made the call; a resolver may ask the server through it.
        tool_name: The tool.
        read_timeout_seconds: The call's own time limit, in seconds; `None` if it has none of its own.
    """

    session: ClientSession
    tool_name: str
    read_timeout_seconds: float | None


@dataclass(frozen=True, kw_only=True)
class ResultClaim(Generic[ClaimedT]):
    """Says that an extension understands results of one shape, in place of a tool's usual one.

    Attributes:
        result_type: The `resultType` that marks the shape.
        model: The model to read it with; its field `result_type` is `Literal[...]` of that mark.
        resolve: Turns it into a tool's result.
        method: The method whose results are meant.
        protocol_versions: The modern revisions under which the claim holds; `None` for all.

    Raises:
        ValueError: The claim could never be of use.
    """

    result_type: str
    model: type[ClaimedT]
    resolve: Callable[[ClaimedT, ClaimContext], Awaitable[types.CallToolResult]]
    method: Literal["tools/call"] = "tools/call"
    protocol_versions: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.method != "tools/call":
            raise ValueError(f"claims attach to ['tools/call'] only; got method {self.method!r}")
        if self.result_type in CORE_RESULT_TYPES:
            raise ValueError(f"resultType {self.result_type!r} is core protocol vocabulary")
        _check_model(self.model, self.result_type)
        _check_versions(self.protocol_versions)


@dataclass(frozen=True, kw_only=True)
class NotificationBinding(Generic[NotifyParamsT]):
    """Hears one kind of notification that the core protocol does not know.

    Attributes:
        method: Its method.
        params_type: The model of its params.
        handler: Is given the params, one notification at a time and in order.
    """

    method: str
    params_type: type[NotifyParamsT]
    handler: Callable[[NotifyParamsT], Awaitable[None]]


class ClientExtension:
    """Base of extensions: subclass it, set `identifier`, and override what the extension has.

    ```python
    class Receipts(ClientExtension):
        identifier = "com.example/receipts"

        def settings(self) -> dict[str, Any]:
            return {"format": "v2"}
    ```

    Raises:
        TypeError: `identifier` is not of the form `vendor-prefix/name`.
    """

    identifier: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "identifier" in cls.__dict__:
            validate_extension_identifier(cls.identifier, owner=cls.__name__)

    def settings(self) -> dict[str, Any]:
        """Return what is declared under the identifier."""
        return {}

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Return the result shapes that the extension understands."""
        return ()

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """Return the notifications that the extension hears."""
        return ()


def advertise(identifier: str, settings: dict[str, Any] | None = None) -> ClientExtension:
    """Make an extension that is declared and does nothing else.

    Args:
        identifier: Its name, of the form `vendor-prefix/name`.
        settings: What is declared under it.

    Raises:
        TypeError: The identifier is not of that form.
    """
    return _Advertised(identifier, settings)


class _Advertised(ClientExtension):
    def __init__(self, identifier: str, settings: dict[str, Any] | None) -> None:
        validate_extension_identifier(identifier, owner="ClientExtension")
        self.identifier = identifier
        self._settings = {} if settings is None else settings

    def settings(self) -> dict[str, Any]:
        return self._settings


def _check_model(model: type[types.Result], result_type: str) -> None:
    name = getattr(model, "__name__", repr(model))
    if not (isinstance(model, type) and issubclass(model, types.Result)):
        raise ValueError(f"{name} must subclass mcp_types.Result")
    if any(base.__module__.partition(".")[0] == "mcp_types" for base in model.__mro__ if _is_core_result(base)):
        raise ValueError("claim models must not subclass core result types")
    field = model.model_fields.get("result_type")
    if field is None or get_args(field.annotation) != (result_type,):
        raise ValueError(f"{name}.result_type must be Literal[{result_type!r}]")
    for field_name, field in model.model_fields.items():
        for alias in _aliases(field):
            if alias in _CORE_ALIASES:
                raise ValueError(
                    f"{name}.{field_name} aliases {alias!r}, a typed field of the core result surface; a colliding "
                    "value would fail core validation before the claim adapter runs"
                )


def _is_core_result(base: type) -> bool:
    return issubclass(base, types.Result) and base is not types.Result


def _aliases(field: FieldInfo) -> Iterator[str]:
    for alias in (field.alias, field.validation_alias, field.serialization_alias):
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        for choice in choices:
            first = choice.path[0] if isinstance(choice, AliasPath) else choice
            if isinstance(first, str):
                yield first


def _check_versions(versions: frozenset[str] | None) -> None:
    if versions is None:
        return
    if not versions:
        raise ValueError("empty protocol_versions could never activate; use None for all")
    others = sorted(versions - set(MODERN_PROTOCOL_VERSIONS))
    if others:
        raise ValueError(
            f"protocol_versions {others} are not modern protocol revisions; claimed shapes cannot be delivered on a "
            "legacy wire (None means every modern version)"
        )
