"""The two virtual environments that are compared: the reference and this project's installed wheel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORKLOADS = HERE / "workloads"
REFERENCE = "mcp==2.3.0"
QUIET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}


@dataclass(frozen=True)
class Environment:
    """One virtual environment, and how to run things in it."""

    name: str
    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / ("Scripts" if os.name == "nt" else "bin") / "python")

    def command(self, *arguments: str) -> list[str]:
        return [self.python, *arguments]

    def run(self, *arguments: str) -> str:
        """Run Python with these arguments and return what it printed.

        Raises:
            RuntimeError: It failed; the text holds the end of what it said.
        """
        done = subprocess.run(
            self.command(*arguments),
            capture_output=True,
            text=True,
            timeout=300,
            cwd=WORKLOADS,
            env=clean_environment(),
        )
        if done.returncode:
            raise RuntimeError(f"{self.name}: {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
        return done.stdout

    def versions(self) -> dict[str, str]:
        listing: list[dict[str, str]] = json.loads(self.run("-m", "pip", "list", "--format", "json"))
        return {package["name"]: package["version"] for package in listing}


def clean_environment() -> dict[str, str]:
    """Return the environment without what would change how Python finds or compiles modules."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | QUIET


def prepare_reference() -> Environment:
    """Install the reference as its users get it; an environment that holds it already is kept."""
    environment = _create("reference")
    _install(environment, REFERENCE)
    return environment


def prepare_project() -> Environment:
    """Install the project's wheel, built from the sources as they are now."""
    environment = _create("project")
    root = str(HERE.parent)
    _install(environment, root)
    _install(environment, "--no-deps", "--force-reinstall", root)
    return environment


def _create(name: str) -> Environment:
    environment = Environment(name, HERE / f".{name}")
    if not Path(environment.python).exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment.folder)], check=True)
    return environment


def _install(environment: Environment, *arguments: str) -> None:
    subprocess.run(environment.command("-m", "pip", "install", "-qq", *arguments), check=True, env=clean_environment())
