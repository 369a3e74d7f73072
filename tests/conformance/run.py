"""Run the legs of the conformance suite and judge them: `run.py NODE SUITE [LEG ...]`, for example `server-2026-07-28`.

A scenario that fails, or warns, has to be listed in `expected_failures.yaml`, and one that is listed has to fail. A
scenario that fails unexpectedly is run again alone before it counts: the suite plays all client scenarios at once, and
some of them measure time.
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
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSIONS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
LEGS = [f"{side}{suffix}" for side in ("server", "client") for suffix in ("", *(f"-{version}" for version in VERSIONS))]
BAD = ("FAILURE", "WARNING")


@dataclass
class Outcome:
    """What came of some scenarios.

    Attributes:
        failed: The scenarios that failed or warned, with what they say.
        passed: Those that did neither.
        checks: How many checks there were, by status.
    """

    failed: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    passed: set[str] = field(default_factory=set[str])
    checks: Counter[str] = field(default_factory=Counter[str])


@dataclass
class Suite:
    """The suite, and what it is run against.

    Attributes:
        command: How to start the suite.
        target: The arguments that name the server or the client, by side.
    """

    command: list[str]
    target: dict[str, list[str]]

    def run(self, side: str, version: str, scenario: str | None = None) -> Outcome:
        """Run one leg, or one scenario of it."""
        which = ["--suite", "all"] if scenario is None else ["--scenario", scenario]
        at = ["--spec-version", version] if version else []
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                [*self.command, side, *self.target[side], *which, *at, "-o", directory],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                timeout=240,
            )
            verdicts = summary(done.stdout) if scenario is None else {scenario: done.returncode == 0}
            if not verdicts and "No scenarios" not in done.stdout:
                raise SystemExit(f"The suite did not run:\n{done.stdout[-2000:]}")
            return judge(verdicts, Path(directory))


def summary(output: str) -> dict[str, bool]:
    """Read the suite's own verdicts, which count time-outs and exit statuses as well as checks."""
    return {name: mark != "✗" for mark, name in re.findall(r"^(\S) (\S+): \d+ passed", output, re.M)}


def judge(verdicts: dict[str, bool], directory: Path) -> Outcome:
    """Put the suite's verdicts and the checks of each scenario together."""
    outcome = Outcome()
    texts: dict[str, list[str]] = {}
    for path in directory.rglob("checks.json"):
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", path.parent.relative_to(directory).as_posix())
        name = name if name in verdicts else name.removeprefix("server-")
        checks = json.loads(path.read_text(encoding="utf-8"))
        outcome.checks.update(check["status"] for check in checks)
        bad = [check for check in checks if check["status"] in BAD]
        texts.setdefault(name, []).extend(f"{c['status']} {c['id']}: {c.get('errorMessage', '')}" for c in bad)
        stderr = path.with_name("stderr.txt")
        if bad and stderr.exists():
            texts[name] += stderr.read_text(encoding="utf-8").splitlines()[-3:]
    for name, passed in verdicts.items():
        if passed and not texts.get(name):
            outcome.passed.add(name)
        else:
            outcome.failed[name] = texts.get(name) or ["it timed out, or the client ended with an error"]
    return outcome


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
    outcome = suite.run(side, version)
    for name in sorted(outcome.failed.keys() - expected):
        again = suite.run(side, version, name)
        if not again.failed:
            del outcome.failed[name]
            outcome.passed.add(name)
            print(f"{leg}: {name} passed when it ran alone")
    known = outcome.failed.keys() & expected
    print(
        f"{leg}: {len(outcome.passed)} scenarios passed, {len(known)} failed as expected, "
        f"{len(outcome.failed) - len(known)} otherwise; checks: {dict(sorted(outcome.checks.items()))}; "
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
        client = f"{sys.executable} {HERE / 'everything_client.py'}"
        suite = Suite(
            [node, suite_file], {"server": ["--url", url], "client": ["--command", client, "--timeout", "60000"]}
        )
        problems = [line for leg in legs or LEGS for line in problems_of(suite, leg, expected[leg.partition("-")[0]])]
    for line in problems:
        print(line)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
