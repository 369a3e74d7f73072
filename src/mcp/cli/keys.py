"""`mcp keys`: make and check the keys of request state."""

from __future__ import annotations

import os
import secrets
import stat
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Final, NoReturn

import typer

from mcp.server._sealing import AESGCMRequestStateCodec
from mcp.server._state_keys import codec_from_environment, read_key_file, read_keys
from mcp.server.request_state import KEYS_VARIABLE

app = typer.Typer(help="Make and check the keys that seal request state.", no_args_is_help=True)

_FEW_BYTES: Final = 8
"""A random key of 32 bytes or of 64 hexadecimal digits has more different bytes than this, all but certainly."""


@app.command("new")
def new(
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="Add the key to this file, below those that are there.", dir_okay=False),
    ] = None,
) -> None:
    """Make a key.

    It is printed; or, with --file, added to a file, which only its owner may read. There it does not seal yet: that is
    the first of the three phases of a rotation. A key in a new file seals.
    """
    key = secrets.token_hex(32)
    if file is None:
        print(key)
        return
    try:
        text = read_key_file(file) if file.exists() else ""
        if read_keys(text):
            AESGCMRequestStateCodec(read_keys(text))
        replace(file, f"{text.rstrip()}\n{key}\n".lstrip())
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    except ValueError as error:
        fail(about(file, error))
    keys = read_keys(read_key_file(file))
    print(f"{file}: added {id_of(key)}, which {'opens' if len(keys) > 1 else 'seals and opens'}")


@app.command("check")
def check(
    file: Annotated[Path | None, typer.Argument(help="The file of keys.", show_default=False)] = None,
    env: Annotated[str, typer.Option(help="The environment variable that is checked without a file.")] = KEYS_VARIABLE,
) -> None:
    """Check the keys in a file, or in the environment, and show their ids.

    Instances that show the same ids in the same order have the same keys. Exits with 1 if a server would not start with
    them. Warnings go to stderr.
    """
    try:
        if file is None:
            codec, keys, place = codec_from_environment(env), read_keys(os.environ[env]), env
        else:
            keys, place = read_keys(read_key_file(file)), str(file)
            if not keys:
                fail(f"{file}: there is no key in it; write one key a line")
            codec = AESGCMRequestStateCodec(keys)
    except ValueError as error:
        fail(str(error) if file is None else about(file, error))
    print(f"{place}: {len(keys)} {'key' if len(keys) == 1 else 'keys'}")
    for index, key_id in enumerate(codec.key_ids):
        print(f"  {key_id.hex()} {'opens' if index else 'seals and opens'}")
    for index, key in enumerate(keys):
        if len(set(key)) <= _FEW_BYTES:
            warn(f"keys[{index}] does not look random. Make one with: mcp keys new")
    if file is not None and sys.platform != "win32" and stat.S_IMODE(file.stat().st_mode) & 0o077:
        warn(f"{file} can be read by others. Keep it to its owner: chmod 600 {file}")


def id_of(key: str) -> str:
    """Return what a key is known by."""
    return AESGCMRequestStateCodec([key]).key_ids[0].hex()


def replace(file: Path, text: str) -> None:
    """Put a file in the place of another one at once, so that nobody reads half of it."""
    handle, beside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")  # for its owner only
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as writing:
            writing.write(text)
            writing.flush()
            os.fsync(writing.fileno())
        Path(beside).replace(file)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise


def about(file: Path, error: ValueError) -> str:
    """Return an error's text, and the file's name before it unless it is there already."""
    text = str(error)
    return text if text.startswith(f"{file}: ") else f"{file}: {text}"


def warn(text: str) -> None:
    """Print a warning."""
    print(f"Warning: {text}", file=sys.stderr)


def fail(text: str) -> NoReturn:
    """Print an error and exit with 1."""
    print(f"Error: {text}", file=sys.stderr)
    raise typer.Exit(1)
