"""What every message of the protocol is made of."""

from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from typing_extensions import NotRequired, TypedDict, TypeVar

DEFAULT_NEGOTIATED_VERSION: Final[str] = "2025-03-26"
"""The revision of a legacy HTTP request that does not name one."""

PROTOCOL_VERSION_META_KEY: Final[str] = "io.modelcontextprotocol/protocolVersion"
"""`_meta` key of a modern request: the revision it is written in."""
CLIENT_CAPABILITIES_META_KEY: Final[str] = "io.modelcontextprotocol/clientCapabilities"
"""`_meta` key of a modern request: what its client can do."""
CLIENT_INFO_META_KEY: Final[str] = "io.modelcontextprotocol/clientInfo"
"""`_meta` key of a modern request: who its client is."""
LOG_LEVEL_META_KEY: Final[str] = "io.modelcontextprotocol/logLevel"
"""`_meta` key of a modern request: the least level of log messages it wants."""
SERVER_INFO_META_KEY: Final[str] = "io.modelcontextprotocol/serverInfo"
"""`_meta` key of a modern result: who its server is."""

ResultType = Literal["complete", "input_required"] | str
"""How to read a result: the two core types, or one that an extension defines."""

CORE_RESULT_TYPES: Final[frozenset[str]] = frozenset({"complete", "input_required"})
"""The result types that need no extension."""

ProgressToken = str | int
"""What pairs progress notifications with the request that wants them."""


# The same few names come up in many classes.
_camel = cache(to_camel)


def _alias(name: str) -> str:
    return name if name.isalpha() and name.islower() else _camel(name)


class MCPModel(BaseModel):
    """Base of every protocol type: camelCase on the wire, snake_case in Python, unknown members ignored."""

    # Deferred, because most programs use few of the types and building a validator costs far more than the class.
    model_config = ConfigDict(alias_generator=_alias, populate_by_name=True, defer_build=True)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)  # private attributes
            except AttributeError as error:
                for field, info in type(self).model_fields.items():
                    if info.alias == name:
                        hint = f"in Python its name is {field!r}, and {name!r} on the wire"
                        raise AttributeError(f"{error}: {hint}", name=name, obj=self) from None
                raise


class TaskMetadata(MCPModel):
    """Makes a request run as a task (2025-11-25 only)."""

    ttl: int | None = None
    """How many milliseconds to keep the task."""


class RequestParamsMeta(TypedDict, extra_items=Any):
    """The `_meta` of a request: an open map with one member that has a name of its own in Python."""

    progress_token: NotRequired[Annotated[ProgressToken, Field(alias="progressToken")]]
    """Set by a sender that wants progress notifications, which carry the same token."""


class RequestParams(MCPModel):
    """Params of a request that takes nothing but metadata; base of all others."""

    meta: RequestParamsMeta | None = Field(alias="_meta", default=None)
    """Data about the request, apart from what it asks."""


class NotificationParams(MCPModel):
    """Params of a notification that tells nothing but metadata; base of all others."""

    meta: dict[str, Any] | None = Field(alias="_meta", default=None)
    """Data about the notification, apart from what it tells."""


# The defaults let the protocol's own types derive from the plain classes, which takes a third of the time that
# deriving from `Request[Params, Literal[method]]` takes.
RequestParamsT = TypeVar("RequestParamsT", default=Any)
NotificationParamsT = TypeVar("NotificationParamsT", default=Any)
MethodT = TypeVar("MethodT", default=Any)


class Request(MCPModel, Generic[RequestParamsT, MethodT]):
    """A request, without its id. Subscript it with params and method to define one of your own.

    Example:
        ```python
        class Search(Request[SearchParams, Literal["acme/search"]]):
            method: Literal["acme/search"] = "acme/search"
            params: SearchParams
        ```
    """

    name_param: ClassVar[str | None] = None
    """The param that HTTP repeats in the `Mcp-Name` header, if there is one."""

    method: MethodT
    params: RequestParamsT


class Notification(MCPModel, Generic[NotificationParamsT, MethodT]):
    """A notification. Subscript it with params and method to define one of your own."""

    method: MethodT
    params: NotificationParamsT


class Result(MCPModel):
    """What a request is answered with; base of all results."""

    meta: dict[str, Any] | None = Field(alias="_meta", default=None)
    """Data about the result, apart from what it says."""


class EmptyResult(Result):
    """A result that says only that the request succeeded."""

    result_type: ResultType | None = None
    """How to read the result."""


class PaginatedRequestParams(RequestParams):
    """Params of a request for a list."""

    cursor: str | None = None
    """Where the wanted page begins: the `next_cursor` of the page before. None asks for the first page."""


# Deriving from a subscripted `Request` would build it at import; hence its two variables, the second without a use.
class PaginatedRequest(Request, Generic[MethodT, RequestParamsT]):
    """A request for a list that comes in pages. Subscript it with the method to define one of your own."""

    method: MethodT
    params: PaginatedRequestParams | None = None


class PaginatedResult(Result):
    """One page of a list."""

    next_cursor: str | None = None
    """Where the next page begins. None if this is the last one."""


def _at_least_zero(milliseconds: int) -> int:
    return max(milliseconds, 0)


class CacheableResult(Result):
    """A result that may be kept for a while."""

    # caching: a negative time to live means the same as none at all
    ttl_ms: Annotated[int, AfterValidator(_at_least_zero)] = 0
    """How many milliseconds the result stays fresh."""
    cache_scope: Literal["public", "private"] = "private"
    """Whether a shared cache may keep it, or only that of the user who asked."""


__all__ = [
    "CLIENT_CAPABILITIES_META_KEY",
    "CLIENT_INFO_META_KEY",
    "CORE_RESULT_TYPES",
    "DEFAULT_NEGOTIATED_VERSION",
    "LOG_LEVEL_META_KEY",
    "PROTOCOL_VERSION_META_KEY",
    "SERVER_INFO_META_KEY",
    "CacheableResult",
    "EmptyResult",
    "MCPModel",
    "Notification",
    "NotificationParams",
    "PaginatedRequest",
    "PaginatedRequestParams",
    "PaginatedResult",
    "ProgressToken",
    "Request",
    "RequestParams",
    "RequestParamsMeta",
    "Result",
    "ResultType",
    "TaskMetadata",
]
