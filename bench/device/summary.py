"""One table of what was measured, as JSON and as Markdown for docs/gpu.md."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

OURS = "pyharness"  # as records call it
FIGURES = ("call_seconds", "copy_share", "read_share", "times_ours", "floor_bytes_per_second", "host_seconds")
CASE = ("kernel", "shape", "dtype", "variant", "contender", "phase")
COLUMNS = (
    *("problem", "what", "cold ms", "cold copy %", "cold read %", "warm ms", "warm copy %", "warm read %"),
    *("GB/s", "times ours", "host ms", "samples"),
)


def measured(records: Iterable[Path]) -> list[dict[str, Any]]:
    """Return one row for every kernel, problem, contender and phase; of two figures for one, the later record's."""
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for path in records:
        record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"results": ()}
        for result in record["results"]:
            row = _row(record, result)
            key = tuple(str(row[name]) for name in CASE)
            if row["status"] == "ok" or key not in rows:
                rows[key] = row
    return list(rows.values())


def _row(record: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    values = {one["metric"]: one for one in result["measurements"]}
    parameters = result["parameters"]
    return {
        "kernel": record["profile"]["kernel"],
        "shape": parameters.get("shape"),
        "dtype": parameters.get("dtype"),
        "variant": parameters.get("variant"),
        "contender": result["tokenizer"],
        "phase": parameters.get("phase"),
        "status": result["status"],
        "reason": result["reason"],
        "date": record["created"],
        "samples": len(values.get("call_seconds", {}).get("samples", ())),
        **{name: values[name]["value"] if name in values else None for name in FIGURES},
    }


def markdown(summary: dict[str, Any]) -> str:
    """Return the summary as a page: what it ran on, how each part ended, the figures of each kernel."""
    device = summary["device"] or "no device: not measured on a GPU"
    libraries = ", ".join(f"{name} {version}" for name, version in summary["versions"].items())
    parts = [(" ".join(one["part"]), one["verdict"], _seconds(one), _detail(one, device)) for one in summary["parts"]]
    made_of = f"{libraries}; {summary['host']}; sources {summary['sources'][:12]}."
    lines = [f"# GPU check: {device}, {summary['date']}", "", made_of, ""]
    lines += _table(("part", "verdict", "s", "detail"), parts, ranged="llrl")
    for kernel in dict.fromkeys(row["kernel"] for row in summary["measured"]):
        rows = [row for row in summary["measured"] if row["kernel"] == kernel]
        lines += ["", f"## {kernel}", "", *_table(COLUMNS, _figures(rows), ranged="ll" + "r" * (len(COLUMNS) - 2))]
    return "\n".join(lines) + "\n"


def _detail(part: dict[str, Any], device: str) -> str:
    """Say by which driver, if that is not the one of this machine."""
    other = part.get("driver") and not device.endswith(f"driver {part['driver']}")
    return f"{part['detail']} (driver {part['driver']})".strip() if other else str(part["detail"])


def _seconds(part: dict[str, Any]) -> str:
    return f"{part['seconds']:.0f}" if part.get("seconds") is not None else ""


def _figures(rows: Sequence[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    cells: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        problem = f"{row['shape']} {row['dtype']}" + (f", {row['variant']}" if row["variant"] else "")
        cells.setdefault((problem, row["contender"]), {})[row["phase"]] = row
    for (problem, contender), phases in sorted(cells.items(), key=lambda cell: (cell[0][0], cell[0][1] != OURS)):
        cold, warm = phases.get("cold", {}), phases.get("warm", {})
        said = cold or warm or next(iter(phases.values()))
        if said["status"] != "ok":
            yield problem, contender, f"{said['status']}: {said['reason']}", *[""] * (len(COLUMNS) - 3)
            continue
        shares = ("copy_share", "read_share")
        yield (
            *(problem, contender),
            *(_number(cold, "call_seconds", 1e3), *(_number(cold, name, 100) for name in shares)),
            *(_number(warm, "call_seconds", 1e3), *(_number(warm, name, 100) for name in shares)),
            *(_number(said, "floor_bytes_per_second", 1e-9), _number(said, "times_ours", 1)),
            *(_number(warm, "host_seconds", 1e3), str(min(row["samples"] for row in (cold, warm, said) if row))),
        )


def _number(row: dict[str, Any], name: str, scale: float) -> str:
    value = row.get(name)
    return "" if value is None else f"{value * scale:.4g}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], ranged: str) -> list[str]:
    rule = ["--:" if side == "r" else "---" for side in ranged]
    return [f"| {' | '.join(row)} |" for row in (head, rule, *([_cell(text) for text in row] for row in rows))]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
