"""docs/metrics.md defines every metric as it is reported; docs/architecture.md has rooms and layers as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from layout.citations import OF_FEATURES
from layout.rules import LAYERS, USES
from pyharness.benchmarks import benchmarks
from pyharness.metrics import all_metrics

ROOT = Path(__file__).parents[1]
DOCUMENT = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SOURCES = (".py", ".hpp", ".cpp", ".cu")
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
    defined = rows()
    assert reported.items() <= defined.items()
    gone = [name for name in OF_FEATURES if not (ROOT / "pyharness" / "features" / name).is_dir()]
    assert gone or defined.keys() == reported.keys()


@pytest.mark.parametrize("name", sorted(benchmarks()))
def test_every_benchmark_is_named(name: str) -> None:
    assert f"`{name}`" in DOCUMENT


def test_metrics_that_grow_are_listed_where_that_is_explained() -> None:
    measuring = (ROOT / "docs" / "measuring.md").read_text(encoding="utf-8")
    section = measuring[measuring.index("## What grows with the text") :].split("\n## ")[0]
    table = "\n".join(line for line in section.splitlines() if line.startswith("| `"))
    assert set(re.findall(r"`([^`]+)`", table)) == {name for name, (*_, grows) in rows().items() if grows}


def block(section: str) -> list[str]:
    """Lines of the first block of a section of docs/architecture.md."""
    text = ARCHITECTURE[ARCHITECTURE.index(f"\n## {section}\n") :]
    return text[text.index("```text\n") :].split("```")[1].splitlines()[1:]


def test_the_layers_are_those_that_are_checked() -> None:
    assert [set(line.split()) for line in block("Layers")] == [set(layer.split()) for layer in reversed(LAYERS)]


def test_the_features_are_those_that_are_checked_with_what_they_build_on() -> None:
    lines = re.findall(r"^\| `(\w+)/` \| [^|]+ \| ([^|]*) ?\| [^|]+ \|$", ARCHITECTURE, re.MULTILINE)
    uses = {name: tuple(re.findall(r"`(\w+)/`", cell)) for name, cell in lines}
    assert {name: others for name, others in uses.items() if others} == USES
    assert uses.keys() >= {path.name for path in (ROOT / "pyharness" / "features").iterdir() if holds_sources(path)}


def holds_sources(folder: Path) -> bool:
    return any(path.suffix in SOURCES for path in folder.rglob("*") if folder.is_dir())


def test_every_room_is_on_the_map() -> None:
    rooms: dict[str, set[str]] = {}
    above: list[str] = []
    for line in block("Rooms"):
        if named := re.match(r"( {0,4})([\w.]+)/(?:$| )", line):
            depth = len(named[1]) // 2
            above = [*above[:depth], named[2]] if depth else [named[2]]
            rooms.setdefault("/".join(above[:-1]), set()).add(named[2])
    assert rooms.keys() == {"", "csrc", "csrc/core", "pyharness"}
    for folder in rooms.keys() - {""}:
        assert rooms[folder] == {path.name for path in (ROOT / folder).iterdir() if holds_sources(path)}
    assert all((ROOT / room).is_dir() for room in rooms[""])
