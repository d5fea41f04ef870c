"""The example of a plug-in: one file outside the package is listed, run, compared and reported like any other."""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def pyharness(*arguments: str) -> str:
    path = os.pathsep.join((str(EXAMPLES), *sys.path))  # the package under test, wherever it is
    environment = os.environ | {"PYTHONPATH": path, "PYHARNESS_PLUGINS": "my_plugin", "COLUMNS": "100"}
    command = [sys.executable, "-P", "-m", "pyharness", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "record.json"
    benchmarks = ("-b", "compression", "-b", "repeats")
    pyharness("run", "-t", "mine", "-t", "raw_bytes", "-c", "sample:prose", *benchmarks, "-o", str(path), "-q")
    return path


def values(record: Path) -> dict[tuple[str, str], float]:
    results = json.loads(record.read_text(encoding="utf-8"))["results"]
    return {(one["tokenizer"], m["metric"]): m["value"] for one in results for m in one["measurements"]}


@pytest.mark.parametrize(
    ("kind", "name"), [("tokenizers", "mine"), ("metrics", "repeated_share"), ("benchmarks", "repeats")]
)
def test_it_is_listed(kind: str, name: str) -> None:
    assert name in {one["name"] for one in json.loads(pyharness("list", kind, "--json"))}


def test_its_numbers_are_in_tables_of_text_and_html(record: Path) -> None:
    share = values(record)["mine", "repeated_share"]
    length = values(record)["mine", "tokens_per_document"]
    assert 0 < share < 0.2
    text, page = pyharness("report", str(record)), pyharness("report", str(record), "--format", "html")
    (repeats,) = (part for part in text.split("\n\n") if part.startswith("Repeats: "))
    (row,) = (line for line in repeats.splitlines() if line.startswith("mine"))
    assert row.split()[1] == f"{100 * share:.2f}"
    assert row.split()[-1] == f"{length:.4f}"
    assert f">{length:.4f}<" in page
    assert "repeated_share, share, lower is better" in page
    (compression,) = (part for part in text.split("\n\n") if part.startswith("Compression: "))
    assert f"{length:.1f} ±" in compression, "a primary metric stands in the table of the benchmark that measures it"


def headings(text: str, title: str) -> list[str]:
    """Return the words above the columns of a table, however they are broken into lines."""
    lines = text[text.index(f"\n{title}: ") :].split("\n")[2:]
    return sorted(" ".join(itertools.takewhile(lambda line: not line.startswith("mine "), lines)).split())


def test_the_page_of_plug_ins_shows_the_tables_of_today(record: Path) -> None:
    page, today = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8"), pyharness("report", str(record))
    for title in ("Compression", "Repeats"):
        assert headings(page, title) == headings(today, title)


def test_its_numbers_are_in_rows_for_programs(record: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pyharness("report", str(record), "--format", "parquet", "-o", str(path))
    frame = pd.read_parquet(path)
    for (row, metric), value in values(record).items():
        if metric in ("repeated_share", "tokens_per_document"):
            (chosen,) = frame[(frame.metric == metric) & (frame.tokenizer == row)].to_dict("records")
            assert chosen["value"] == value
            assert chosen["low"] < value < chosen["high"]
    rows = csv.DictReader(io.StringIO(pyharness("report", str(record), "--format", "csv")))
    assert {"repeated_share", "tokens_per_document"} <= {row["metric"] for row in rows}


def test_it_is_compared(record: Path) -> None:
    text = pyharness("compare", str(record), "raw_bytes", "mine", "--all")
    rows = {words[0]: words for line in text.splitlines() if (words := line.split())}
    assert "repeated_share" in rows
    rows = json.loads(pyharness("compare", str(record), "raw_bytes", "mine", "--format", "json"))
    (row,) = (row for row in rows if row["metric"] == "tokens_per_document")
    assert row["b"] - row["a"] == row["difference"]
