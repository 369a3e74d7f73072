"""Run the legs of the conformance suite and judge them: `run.py NODE SUITE [LEG ...]`, for example `server-2026-07-28`.

A scenario that fails, or warns, has to be listed in `expected_failures.yaml`, and one that is listed has to fail. A
client scenario that fails unexpectedly is run again alone before it counts, because some of them measure time.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSIONS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
LEGS = [f"{side}{suffix}" for side in ("server", "client") for suffix in ("", *(f"-{version}" for version in VERSIONS))]
BAD = ("FAILURE", "WARNING")
TIMEOUT = 180.0
TIMESTAMP = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")


@dataclass
class Outcome:
    """What came of some scenarios.

    Attributes:
        failed: The scenarios that failed or warned, with what they say.
        passed: Those that did neither.
        skipped: Those that found nothing to check.
        checks: How many checks there were, by status.
    """

    failed: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    passed: set[str] = field(default_factory=set[str])
    skipped: set[str] = field(default_factory=set[str])
    checks: Counter[str] = field(default_factory=Counter[str])

    def add(self, name: str, passed: bool, directory: Path) -> None:
        """Add a scenario: the suite's own verdict, and the checks in the directory."""
        texts: list[str] = []
        statuses: Counter[str] = Counter()
        for path in directory.rglob("checks.json"):
            checks = json.loads(path.read_text(encoding="utf-8"))
            statuses.update(check["status"] for check in checks)
            bad = [check for check in checks if check["status"] in BAD]
            texts += [f"{check['status']} {check['id']}: {check.get('errorMessage', '')}" for check in bad]
        if not passed or texts:
            texts = texts or ["no check failed, but it timed out or the client ended with an error"]
            self.failed[name] = [*texts, *(line for path in directory.rglob("stderr.txt") for line in tail(path))]
        else:
            (self.passed if statuses["SUCCESS"] else self.skipped).add(name)
        self.checks += statuses


def tail(path: Path) -> list[str]:
    """The last lines of a file."""
    return path.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]


@dataclass
class Suite:
    """The suite, and what it is run against.

    Attributes:
        command: How to start the suite.
        url: The server.
        client: The command line of the client.
    """

    command: list[str]
    url: str
    client: str

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=TIMEOUT,
        )

    def run_server(self, version: str) -> Outcome:
        """Run all scenarios for servers."""
        outcome = Outcome()
        with tempfile.TemporaryDirectory() as directory:
            done = self._run("server", "--url", self.url, "--suite", "all", *at(version), "-o", directory)
            verdicts = re.findall(r"^([✓✗]) (\S+): \d+ passed", done.stdout, re.MULTILINE)
            if not verdicts:
                raise SystemExit(f"The suite did not run:\n{done.stdout[-2000:]}")
            folders = {TIMESTAMP.sub("", path.name): path for path in Path(directory).iterdir()}
            for mark, name in verdicts:
                outcome.add(name, mark == "✓", folders[f"server-{name}"])
        return outcome

    def run_client(self, version: str) -> Outcome:
        """Run all scenarios for clients, each by itself: only then does the suite judge the client's exit status."""
        outcome = Outcome()
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for each in pool.map(self._run_scenario, self._client_scenarios(version), repeat(version)):
                outcome.failed |= each.failed
                outcome.passed |= each.passed
                outcome.skipped |= each.skipped
                outcome.checks += each.checks
        return outcome

    def _run_scenario(self, name: str, version: str) -> Outcome:
        outcome = Outcome()
        with tempfile.TemporaryDirectory() as directory:
            done = self._run("client", "--command", self.client, "--scenario", name, *at(version), "-o", directory)
            outcome.add(name, done.returncode == 0, Path(directory))
        return outcome

    def _client_scenarios(self, version: str) -> list[str]:
        """The scenarios of a version; without one those of extensions, for the others each run in a version's leg."""
        listed = re.findall(r"^  - (\S+) \[(.*)\]$", self._run("list", "--client").stdout, re.MULTILINE)
        names = [name for name, versions in listed if (version or "extension") in versions]
        if not names:
            raise SystemExit(f"The suite lists no scenarios for clients at {version or 'its default version'}")
        return names

    def run(self, side: str, version: str, expected: set[str]) -> Outcome:
        """Run one leg."""
        if side == "server":
            return self.run_server(version)
        outcome = self.run_client(version)
        for name in sorted(outcome.failed.keys() - expected):
            again = self._run_scenario(name, version)
            if name in again.passed:
                print(f"{name} passed only when it ran alone")
                del outcome.failed[name]
                outcome.passed.add(name)
        return outcome


def at(version: str) -> list[str]:
    """The option for a version; without one the suite chooses it scenario by scenario."""
    return ["--spec-version", version] if version else []


def expected_failures() -> dict[str, set[str]]:
    """Read the scenarios that are known to fail, by side."""
    expected: dict[str, set[str]] = {"server": set(), "client": set()}
    side = ""
    for line in (HERE / "expected_failures.yaml").read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].rstrip()
        if text.endswith(":"):
            side = text[:-1]
        elif text:
            expected[side].add(text.strip().removeprefix("- "))
    return expected


def problems_of(suite: Suite, leg: str, expected: set[str]) -> list[str]:
    """Run a leg, print its figures, and return what is not as it should be."""
    side, _, version = leg.partition("-")
    start = time.monotonic()
    outcome = suite.run(side, version, expected)
    known = outcome.failed.keys() & expected
    print(
        f"{leg}: {len(outcome.passed)} scenarios passed, {len(outcome.skipped)} were skipped, {len(known)} failed as "
        f"expected, {len(outcome.failed) - len(known)} otherwise; checks: {dict(sorted(outcome.checks.items()))}; "
        f"{time.monotonic() - start:.0f} s",
        flush=True,
    )
    unexpected = [
        f"{leg}: {name} failed:\n    " + "\n    ".join(texts)
        for name, texts in sorted(outcome.failed.items())
        if name not in expected
    ]
    stale = [f"{leg}: {name} passes: strike it from the list" for name in sorted(outcome.passed & expected)]
    return unexpected + stale


@contextmanager
def everything_server() -> Generator[str]:
    """Start the server, and yield its URL when it listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, str(HERE / "everything_server.py"), "--port", str(port)])
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise SystemExit("everything_server.py did not start") from None
                time.sleep(0.1)
        yield f"http://localhost:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)


def main(arguments: Sequence[str]) -> int:
    node, suite_file, *legs = arguments
    unknown = set(legs) - set(LEGS)
    if unknown:
        raise SystemExit(f"unknown legs: {sorted(unknown)}; there are {LEGS}")
    source = HERE.parents[1] / "src"
    os.environ["PYTHONPATH"] = os.pathsep.join([str(source), *filter(None, [os.environ.get("PYTHONPATH")])])
    expected = expected_failures()
    with everything_server() as url:
        suite = Suite([node, suite_file], url, f"{sys.executable} {HERE / 'everything_client.py'}")
        problems = [line for leg in legs or LEGS for line in problems_of(suite, leg, expected[leg.partition("-")[0]])]
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
