"""Roots: the folders that a client works in."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from mcp_types._base import Notification, NotificationParams, Request, RequestParams, Result
from mcp_types._model import MCPModel

if TYPE_CHECKING:
    from pydantic import FileUrl, GetCoreSchemaHandler
    from pydantic_core import CoreSchema
else:

    class _FileUrlSchema:
        """Stands for `pydantic.FileUrl` until it is needed: its module takes longer to import than all of ours."""

        def __get_pydantic_core_schema__(self, source: object, handler: "GetCoreSchemaHandler") -> "CoreSchema":
            from pydantic import FileUrl

            return handler.generate_schema(FileUrl)

    FileUrl = Annotated[Any, _FileUrlSchema()]


class Root(MCPModel):
    """A folder or a file that servers may work in."""

    uri: FileUrl
    """Where it is: a `file:` URI."""
    name: str | None = None
    """What people call it."""
    meta: dict[str, Any] | None = Field(alias="_meta", default=None)


class ListRootsRequest(Request):
    """Asks for the client's roots."""

    method: Literal["roots/list"] = "roots/list"
    params: RequestParams | None = None


class ListRootsResult(Result):
    """The client's roots."""

    roots: list[Root]


class RootsListChangedNotification(Notification):
    """Tells that the client's roots changed (legacy revisions only)."""

    method: Literal["notifications/roots/list_changed"] = "notifications/roots/list_changed"
    params: NotificationParams | None = None


__all__ = ["ListRootsRequest", "ListRootsResult", "Root", "RootsListChangedNotification"]
