"""A server process: how it starts, how its end is noticed, and how it is ended.

On POSIX it leads a process group of its own, so that what it started ends with it. Programs that are meant to outlive
it leave that group, as daemons do.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

import anyio
import anyio.from_thread
import anyio.lowlevel

from mcp._engine.descriptors import source

logger = logging.getLogger(__name__)

PROCESS_TERMINATION_TIMEOUT: Final = 2.0
"""Seconds that a server has to end after its input ended."""
FORCE_KILL_TIMEOUT: Final = 2.0
"""Seconds that it has to end after it was asked to by a signal."""
LAST_WORDS_SECONDS: Final = 0.5
"""How long the output of a server that has ended is still read, if something that it started holds it open."""
STRAGGLER_SECONDS: Final = 0.5
"""How long what the server left running has to end, once it was asked to."""

_POSIX: Final = sys.platform != "win32"
_POLL_SECONDS: Final = 0.02


class ServerProcess:
    """A started server process.

    Args:
        command: The program and its arguments.
        env: Its environment.
        cwd: Its working directory.
        errlog: Where its stderr goes.
        on_exit: Told, on the event loop, soon after the process ended.

    Raises:
        OSError: The program could not be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        cwd: str | Path | None,
        errlog: TextIO | None,
        on_exit: Callable[[], None],
    ) -> None:
        try:
            self._popen = subprocess.Popen(
                _resolved(command, env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=_descriptor_of(errlog),
                env=dict(env),
                cwd=cwd,
                bufsize=0,
                start_new_session=_POSIX,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            # The system says what is wrong, and of two arguments that it may be about, not which one.
            error.strerror = f"{error.strerror} ({_at_fault(error, command[0], cwd)})"
            raise
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self.stdin = self._popen.stdin.fileno()
        self.stdout = self._popen.stdout.fileno()
        self._on_exit = on_exit
        self._exited = anyio.Event()
        self._ending = threading.Event()
        self._token = anyio.lowlevel.current_token()
        threading.Thread(target=self._wait, name="mcp-server-process", daemon=True).start()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._popen.pid

    def _wait(self) -> None:
        """Wait in a thread, which works everywhere and costs nothing meanwhile."""
        if hasattr(os, "waitid"):
            with suppress(ChildProcessError):
                # The process stays a zombie: its id cannot become another's before its group has been signalled.
                os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._popen.wait()
        if not self._ending.is_set():
            logger.warning("The server process %d ended by itself", self.pid)
        with suppress(RuntimeError):  # the event loop has ended
            anyio.from_thread.run_sync(self._exited.set, token=self._token)
            if not self._ending.wait(LAST_WORDS_SECONDS):
                anyio.from_thread.run_sync(self._on_exit, token=self._token)

    async def end(self) -> None:
        """End the process and all that it started, gently at first, and let go of everything.

        It takes as long as it has to, whether the caller is cancelled or not, but not longer than the time limits.
        """
        self._ending.set()
        with anyio.CancelScope(shield=True):
            assert self._popen.stdin is not None
            with suppress(OSError):
                self._popen.stdin.close()
            try:
                await self._end_all()
            finally:
                assert self._popen.stdout is not None
                self._popen.stdout.close()
                self._popen.poll()

    async def _end_all(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._drain)
            if not await self._exits_within(PROCESS_TERMINATION_TIMEOUT):
                self._signal(force=False)
                await self._exits_within(FORCE_KILL_TIMEOUT)
            elif self._signal(force=False):
                await self._group_ends_within(STRAGGLER_SECONDS)
            if not self._exited.is_set() or self._has_group():
                self._signal(force=True)
                if not await self._exits_within(FORCE_KILL_TIMEOUT):
                    logger.error("The server process %d is still alive after the kill escalation", self.pid)
            tasks.cancel_scope.cancel()

    async def _drain(self) -> None:
        """Throw away what the process still writes, so that it is not stuck with it."""
        output = source(self.stdout)
        try:
            while await output.read():
                pass
        finally:
            output.stop()

    async def _exits_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            await self._exited.wait()
        return self._exited.is_set()

    async def _group_ends_within(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            while True:  # nothing tells when a group has become empty
                if not self._has_group():
                    return
                await anyio.sleep(_POLL_SECONDS)

    def _has_group(self) -> bool:
        """Whether anything of the group is left, once the process itself has ended."""
        if not _POSIX:
            return False
        self._popen.poll()
        return _signal_group(self.pid, 0)

    def _signal(self, *, force: bool) -> bool:
        """Signal the process and all that it started; whether there was anyone to receive it."""
        if _POSIX:
            number = signal.SIGKILL if force else signal.SIGTERM
            return _signal_group(self.pid, number)
        # Windows has no signals; this ends the whole tree at once.
        with suppress(OSError):
            subprocess.run(
                ["taskkill", "/PID", str(self.pid), "/T", "/F"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=False,
            )
        return False


def _signal_group(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says so of a group that holds zombies only
        return False
    return True


def _resolved(command: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """On Windows, find what the shell would find: many commands there are scripts with an extension."""
    if not _POSIX and (found := shutil.which(command[0], path=env.get("PATH"))) is not None:
        return [found, *command[1:]]
    return list(command)


def _at_fault(error: OSError, command: str, cwd: str | Path | None) -> str:
    """Say which argument kept a program from being started."""
    if cwd is not None and not os.path.isdir(cwd):
        return "the server's cwd="
    if isinstance(error, FileNotFoundError) and not os.path.dirname(command):
        return "the server's command=, which its PATH does not lead to"
    return "the server's command="


def _descriptor_of(errlog: TextIO | None) -> int | None:
    try:
        return None if errlog is None else errlog.fileno()
    except (OSError, ValueError, AttributeError):
        logger.debug("errlog= is no file of the system; the server's stderr goes where this process's goes")
        return None
