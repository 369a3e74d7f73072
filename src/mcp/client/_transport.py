"""What a transport of one's own has to offer."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol, TypeAlias, TypeVar

from mcp.shared.message import SessionMessage

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)


class ReadStream(Protocol[T_co]):
    """The receiving end of a pipe: iterate it, and close it by leaving its context."""

    async def receive(self) -> T_co: ...

    async def aclose(self) -> None: ...

    def __aiter__(self) -> ReadStream[T_co]: ...

    async def __anext__(self) -> T_co: ...

    async def __aenter__(self) -> ReadStream[T_co]: ...

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None: ...


class WriteStream(Protocol[T_contra]):
    """The sending end of a pipe."""

    async def send(self, item: T_contra, /) -> None: ...

    async def aclose(self) -> None: ...

    async def __aenter__(self) -> WriteStream[T_contra]: ...

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> bool | None: ...


TransportStreams: TypeAlias = tuple[ReadStream[SessionMessage | Exception], WriteStream[SessionMessage]]


class Transport(AbstractAsyncContextManager[TransportStreams], Protocol):
    """An async context manager that connects when entered and yields the pair of streams to talk through."""
