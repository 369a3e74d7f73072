"""The command `mcp`: its version, and `mcp keys`."""

from __future__ import annotations

import re
import stat
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from mcp.cli import main
from mcp.cli.app import app
from mcp.server._sealing import AESGCMRequestStateCodec
from mcp.server.mcpserver import RequestStateSecurity
from tests.programs import ROOT, environment, run_program

OLD, NEW = "a1b2c3d4e5f60718" * 4, "0918273645aabbcc" * 4


def invoke(*arguments: str | Path, env: dict[str, str] | None = None) -> Result:
    return CliRunner(env={"MCP_REQUEST_STATE_KEYS": None, "TERM": "dumb", **(env or {})}).invoke(
        app, [str(argument) for argument in arguments]
    )


def ids(*keys: str) -> list[str]:
    return [key_id.hex() for key_id in AESGCMRequestStateCodec(keys).key_ids]


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "keys"
    path.write_text(text)
    path.chmod(mode)
    return path


# The command


@pytest.mark.rule("CLI-1")
def test_without_a_command_there_is_help_and_an_unknown_one_is_named() -> None:
    for nothing in (invoke(), invoke("keys")):
        assert (nothing.exit_code, "Usage:" in nothing.output) == (2, True)
    unknown = invoke("bogus")
    assert (unknown.exit_code, "No such command 'bogus'." in unknown.output) == (2, True)
    assert invoke("--help").exit_code == 0
    assert invoke("keys", "--help").exit_code == 0


@pytest.mark.rule("CLI-2")
def test_version_prints_the_version_of_this_distribution() -> None:
    assert invoke("version").output == f"MCP version {version('rondo-mcp')}\n"
    assert run_program("-m", "mcp.cli", "version") == f"MCP version {version('rondo-mcp')}\n"


@pytest.mark.rule("CLI-3", "CLI-D7")
def test_without_typer_the_command_says_how_to_get_it() -> None:
    hide = "import sys; sys.modules['typer'] = None"
    done = subprocess.run(
        [sys.executable, "-c", f"{hide}; from mcp.cli import main; main()"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    message = "Error: typer is required. Install it with: pip install 'rondo-mcp[cli]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", message)


def test_the_installed_command_is_this_one() -> None:
    scripts = (ROOT / "pyproject.toml").read_text().partition("[project.scripts]")[2]
    assert scripts.startswith(f'\nmcp = "{main.__module__}:{main.__name__}"\n')


# keys new


def test_a_new_key_is_printed_and_does_for_a_server() -> None:
    keys = {invoke("keys", "new").output.strip() for _ in range(3)}
    assert len(keys) == 3
    assert all(re.fullmatch("[0-9a-f]{64}", key) for key in keys)
    RequestStateSecurity(keys=sorted(keys))


def test_a_key_in_a_new_file_seals_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    done = invoke("keys", "new", "--file", path)
    [key] = path.read_text().split()
    assert done.output == f"{path}: added {ids(key)[0]}, which seals and opens\n"
    assert key not in done.output
    if sys.platform != "win32":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_is_added_below_those_that_are_there_which_stay_as_they_are(tmp_path: Path) -> None:
    path = written(tmp_path, f"# the old one\n{OLD}")
    done = invoke("keys", "new", "-f", path)
    start, key = path.read_text().split(f"\n{OLD}\n")
    assert start == "# the old one"
    assert done.output == f"{path}: added {ids(key.strip())[0]}, which opens\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["keys"]


@pytest.mark.parametrize("content", [b"short\n", b"\xff"])
def test_a_file_with_something_else_in_it_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "keys"
    path.write_bytes(content)
    done = invoke("keys", "new", "--file", path)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {path}: ")
    assert done.stderr.count(str(path)) == 1
    assert path.read_bytes() == content


def test_a_folder_that_is_not_there_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    done = invoke("keys", "new", "--file", tmp_path / "none" / "keys")
    assert (done.exit_code, done.stderr) == (1, f"Error: {tmp_path / 'none' / 'keys'}: No such file or directory\n")


# keys check


def test_a_file_is_shown_by_the_ids_of_its_keys(tmp_path: Path) -> None:
    path = written(tmp_path, f"# two\n{NEW}\n{OLD}\n")
    done = invoke("keys", "check", path)
    new, old = ids(NEW, OLD)
    assert done.stdout == f"{path}: 2 keys\n  {new} seals and opens\n  {old} opens\n"
    assert (done.exit_code, done.stderr) == (0, "")


def test_the_environment_is_checked_without_a_file() -> None:
    done = invoke("keys", "check", env={"MCP_REQUEST_STATE_KEYS": OLD})
    assert done.stdout == f"MCP_REQUEST_STATE_KEYS: 1 key\n  {ids(OLD)[0]} seals and opens\n"
    other = invoke("keys", "check", "--env", "SHOP_KEYS", env={"SHOP_KEYS": f"{OLD},{NEW}"})
    assert other.stdout.startswith("SHOP_KEYS: 2 keys\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{OLD}\nshort\n", r"{path}: request-state keys must be at least 32 bytes .*keys\[1\] is 5 bytes.*"),
        (f"{OLD}\n{OLD}\n", r"{path}: keys\[1\] duplicates an earlier ring key"),
        ("# none\n", "{path}: there is no key in it; write one key a line"),
        (None, "{path}: No such file or directory"),
    ],
)
def test_a_file_that_no_server_would_start_with_exits_with_1_and_quotes_nothing(
    tmp_path: Path, text: str | None, message: str
) -> None:
    path = tmp_path / "keys"
    if text is not None:
        written(tmp_path, text)
    done = invoke("keys", "check", path)
    assert (done.exit_code, done.stdout) == (1, "")
    assert re.fullmatch("Error: " + message.replace("{path}", re.escape(str(path))) + "\n", done.stderr)
    assert OLD not in done.stderr
    assert "short" not in done.stderr


def test_an_environment_without_keys_exits_with_1() -> None:
    done = invoke("keys", "check")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: the environment variable MCP_REQUEST_STATE_KEYS is not set")


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_that_others_may_read_is_worth_a_warning(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path, OLD, mode)
    done = invoke("keys", "check", path)
    assert (done.exit_code, done.stderr) == (
        0,
        f"Warning: {path} can be read by others. Keep it to its owner: chmod 600 {path}\n",
    )


@pytest.mark.parametrize("keys", [["k" * 32], [OLD, "changeme" * 4]])
def test_a_key_that_does_not_look_random_is_worth_a_warning(tmp_path: Path, keys: Sequence[str]) -> None:
    done = invoke("keys", "check", written(tmp_path, "\n".join(keys)))
    assert (done.exit_code, done.stderr) == (
        0,
        f"Warning: keys[{len(keys) - 1}] does not look random. Make one with: mcp keys new\n",
    )
