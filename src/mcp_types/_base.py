"""What every message of the protocol is made of."""

from typing import Annotated, Any, ClassVar, Generic, Literal

from pydantic import AfterValidator, Field
from typing_extensions import NotRequired, TypedDict, TypeVar

from mcp_types._model import MCPModel
from mcp_types._vocabulary import ProgressToken, ResultType


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
    "CacheableResult",
    "EmptyResult",
    "Notification",
    "NotificationParams",
    "PaginatedRequest",
    "PaginatedRequestParams",
    "PaginatedResult",
    "Request",
    "RequestParams",
    "RequestParamsMeta",
    "Result",
    "TaskMetadata",
]
