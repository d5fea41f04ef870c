"""docs/metrics.md defines every metric, with the unit and the direction that it is reported with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyharness.benchmarks import benchmarks
from pyharness.metrics import all_metrics

DOCUMENT = (Path(__file__).parents[1] / "docs" / "metrics.md").read_text(encoding="utf-8")
GROWS = r"\*"


def rows() -> dict[str, tuple[str, str, bool]]:
    """Unit, direction and whether it grows with the text, by metric, of all tables of definitions."""
    defined: dict[str, tuple[str, str, bool]] = {}
    for line in DOCUMENT.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) >= 4 and cells[2] in ("higher", "lower", "none"):
            for name in re.findall(r"`([^`]+)`", cells[0]):
                assert name not in defined, f"{name} is defined twice"
                assert cells[3], f"{name} has no definition"
                defined[name] = (cells[1], cells[2], GROWS in cells[0])
    return defined


def test_every_metric_is_defined_as_it_is_reported() -> None:
    reported = {name: (metric.unit, metric.direction, metric.grows_with_text) for name, metric in all_metrics().items()}
    assert rows() == reported


@pytest.mark.parametrize("name", sorted(benchmarks()))
def test_every_benchmark_is_named(name: str) -> None:
    assert f"`{name}`" in DOCUMENT


def test_metrics_that_grow_are_listed_where_that_is_explained() -> None:
    measuring = (Path(__file__).parents[1] / "docs" / "measuring.md").read_text(encoding="utf-8")
    section = measuring[measuring.index("## What grows with the text") :].split("\n## ")[0]
    table = "\n".join(line for line in section.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`([^`]+)`", table)) == {name for name, (*_, grows) in rows().items() if grows}
