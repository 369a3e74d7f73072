"""Run every row in both environments, in turns, and print how they compare."""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.environments import Environment, prepare_project, prepare_reference
from benchmarks.rows import ROWS, Row

RESULTS = Path(__file__).resolve().parent / "results.json"


def measure_row(row: Row, environments: Sequence[Environment], rounds: int, seconds: float) -> dict[str, list[float]]:
    """Measure a row in turns, the order changing from round to round, so that a noisy moment hits both alike."""
    figures: dict[str, list[float]] = {environment.name: [] for environment in environments}
    for number in range(rounds):
        for environment in environments if number % 2 == 0 else reversed(environments):
            figures[environment.name].append(row.measure(environment, seconds))
    return figures


def summarise(row: Row, figures: dict[str, list[float]]) -> dict[str, Any]:
    medians = {name: statistics.median(values) for name, values in figures.items()}
    summary: dict[str, Any] = {"title": row.title, "unit": row.unit, "median": medians, "rounds": figures}
    if len(medians) == 2:
        ratio = medians["reference"] / medians["project"]
        summary["ratio"] = ratio if row.better == "lower" else 1 / ratio
    return summary


def format_row(name: str, summary: dict[str, Any]) -> str:
    medians: dict[str, float] = summary["median"]
    cells = [format_figure(medians[side]) if side in medians else "" for side in ("project", "reference")]
    ratio = f"{summary['ratio']:.1f}×" if "ratio" in summary else ""
    return f"{name:14}  {cells[0]:>10}  {cells[1]:>10}  {summary['unit']:<10}  {ratio:>7}  {summary['title']}"


def format_figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:,.1f}"


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    names = [row.name for row in ROWS]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each row (default: 5)")
    parser.add_argument("--seconds", type=float, default=2.0, help="how long one measurement takes (default: 2)")
    parser.add_argument(
        "--only", metavar="ROW", action="append", choices=names, help=f"measure this row: {', '.join(names)}"
    )
    parser.add_argument("--side", choices=["project", "reference"], help="measure one side only")
    parser.add_argument("--json", metavar="PATH", type=Path, default=RESULTS, help="where the figures go")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parse_arguments(arguments)
    makers = {"project": prepare_project, "reference": prepare_reference}
    environments = [make() for side, make in makers.items() if options.side in (None, side)]

    rows: dict[str, dict[str, Any]] = {}
    print(f"{'row':14}  {'project':>10}  {'reference':>10}  {'unit':<10}  {'ratio':>7}")
    for row in ROWS:
        if options.only is None or row.name in options.only:
            rows[row.name] = summarise(row, measure_row(row, environments, options.rounds, options.seconds))
            print(format_row(row.name, rows[row.name]), flush=True)

    report = {
        "when": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        "rounds": options.rounds,
        "seconds": options.seconds,
        "versions": {environment.name: environment.versions() for environment in environments},
        "rows": rows,
    }
    options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"\nRatios above 1 are in the project's favour. Every figure: {options.json}")
