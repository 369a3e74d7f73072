"""The settings a server was built with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict

from mcp.server.lowlevel.entries import LifespanResultT

LogLevel: TypeAlias = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]


_FLAGS = ("debug", "warn_on_duplicate_resources", "warn_on_duplicate_tools", "warn_on_duplicate_prompts")


class Settings(BaseModel, Generic[LifespanResultT]):
    """The settings a server was built with.

    Attributes:
        debug: Whether the web application shows tracebacks.
        log_level: The level that `run()` configures logging with.
        warn_on_duplicate_resources: Whether a second resource of one URI is reported.
        warn_on_duplicate_tools: Whether a second tool of one name is reported.
        warn_on_duplicate_prompts: Whether a second prompt of one name is reported.
        dependencies: Packages that the server's file needs, for installers.
        lifespan: The server's lifespan.
        auth: Authorization settings.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=True)

    debug: bool
    log_level: LogLevel
    warn_on_duplicate_resources: bool
    warn_on_duplicate_tools: bool
    warn_on_duplicate_prompts: bool
    dependencies: list[str]
    lifespan: Callable[..., Any] | None
    auth: Any


def make_settings(**values: Any) -> Settings[Any]:
    """Make settings of the values of all their fields.

    Raises:
        pydantic.ValidationError: A value is none of its field.
    """
    right = (
        values["log_level"] in get_args(LogLevel)
        and all(type(values[name]) is bool for name in _FLAGS)
        and all(type(name) is str for name in values["dependencies"])
        and (values["lifespan"] is None or callable(values["lifespan"]))
    )
    # Nearly always they are, and building a validator takes longer than all else that a server does to be made.
    return Settings.model_construct(**values) if right else Settings(**values)
