"""Files of pytest-benchmark, read as records: real ones, damaged ones, and hostile ones."""

from __future__ import annotations

import json
import math
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cases.command_line import call
from pyharness import store
from pyharness.report import sheets, to_csv, to_markdown, to_page, to_text
from pyharness.types import InputError

TESTS = """\
import pytest

@pytest.mark.parametrize("size", [1, 100])
@pytest.mark.benchmark(group="sums")
def test_sum(benchmark, size):
    benchmark.extra_info["note"] = "kept"
    assert benchmark(sum, range(size)) == sum(range(size))

def test_pedantic(benchmark):
    benchmark.pedantic(sorted, args=([3, 1],), rounds=3)
"""
SUM = "test_it.py::test_sum[100]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder in which pytest-benchmark has written ``with.json``, and one without the rounds."""
    folder = tmp_path_factory.mktemp("benchmarked")
    (folder / "test_it.py").write_text(TESTS, encoding="utf-8")
    few = ["--benchmark-max-time=0.0005", "--benchmark-min-rounds=6", "-p", "no:cacheprovider", "-q"]
    written = ["--benchmark-json=with.json", "--benchmark-save=without", "--benchmark-storage=file://saved"]
    subprocess.run([sys.executable, "-m", "pytest", *few, *written, "test_it.py"], cwd=folder, check=True)
    return folder


@pytest.fixture
def data(folder: Path) -> Any:
    return json.loads((folder / "with.json").read_text(encoding="utf-8"))


def read(data: Any, folder: Path) -> store.Record:
    path = folder / "changed.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return store.read(path)


def test_a_real_file_is_a_record(folder: Path, data: Any) -> None:
    record = store.read(folder / "with.json")
    jsonschema.validate(record.data, json.loads(store.SCHEMA_FILE.read_text(encoding="utf-8")))
    of_sum = next(one for one in record.results if one.case.tokenizer == SUM)
    (measured,) = of_sum.measurements
    (theirs,) = (one["stats"] for one in data["benchmarks"] if one["fullname"] == SUM)
    assert list(measured.samples) == theirs["data"]
    assert measured.value == statistics.median(theirs["data"]) == pytest.approx(theirs["median"])
    assert (of_sum.case.parameters, of_sum.details["extra_info"]) == ({"group": "sums"}, {"note": "kept"})
    assert of_sum.details["iterations"] == theirs["iterations"]
    assert record.data["environment"]["python"] == sys.version.split()[0]
    assert len(record.results) == 3


def test_it_is_written_as_a_record_and_read_back(folder: Path, tmp_path: Path) -> None:
    record = store.read(folder / "with.json")
    (tmp_path / "again.json").write_text(store.dump(record.data), encoding="utf-8")
    assert store.read(tmp_path / "again.json").results == record.results


def test_nothing_in_it_names_the_machine(folder: Path, data: Any) -> None:
    data["machine_info"]["node"] = "workstation-7"
    assert "workstation-7" not in store.dump(read(data, folder).data)


def test_without_rounds_there_is_a_median_and_no_interval(folder: Path) -> None:
    (path,) = folder.glob("saved/*/*.json")
    record = store.read(path)
    assert all(not one.samples for result in record.results for one in result.measurements)
    assert re.search(r"No CI\b.*--benchmark-save-data", to_text(sheets(record)))


def test_the_command_shows_it_and_does_not_compare_times(folder: Path) -> None:
    shown = call("report", str(folder / "with.json"))
    assert shown.returncode == 0
    assert SUM in shown.stdout
    assert shown.stdout.splitlines()[2].split() == ["test", "seconds"]
    compared = call("compare", str(folder / "with.json"), str(folder / "with.json"))
    assert compared.returncode == 2
    assert "pyharness gate" in compared.stderr


def _without(*path: str) -> Any:
    def damaged(data: Any) -> None:
        place = data["benchmarks"][0] if path[0] not in data else data
        for name in path[:-1]:
            place = place[name]
        del place[path[-1]]

    return damaged


def _with(value: Any, *path: str) -> Any:
    def damaged(data: Any) -> None:
        place = data["benchmarks"][0] if path[0] not in data else data
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return damaged


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_without("fullname"), "benchmark 1: 'fullname' is missing"),
        (_without("stats"), "benchmark 1: 'stats' is missing"),
        (_without("datetime"), "'datetime' is missing"),
        (_with("none", "benchmarks"), "'benchmarks' is \"none\""),
        (_with([], "machine_info"), "'machine_info' is []"),
        (_with([1, "2"], "stats", "data"), "benchmark 1: 'data' is \"2\""),
        (_with([0.1, -1.0], "stats", "data"), "benchmark 1: 'data' is -1.0"),
        (_with(1e200, "stats", "median"), "1e+150"),
        (_with(True, "stats", "rounds"), "benchmark 1: 'rounds' is true"),
        (_with(3, "group"), "benchmark 1: 'group' is 3"),
        (_with(SUM, "fullname"), 'benchmark 2: "test_it.py::test_sum[100]"'),
    ],
)
def test_damaged_files(folder: Path, data: Any, damage: Any, said: str) -> None:
    damage(data)
    with pytest.raises(InputError, match=rf"pytest-benchmark\b.*{re.escape(said)}"):
        read(data, folder)


@pytest.mark.parametrize(("value", "name"), [(math.nan, "NaN"), (math.inf, "Infinity")])
def test_numbers_that_are_none(folder: Path, data: Any, value: float, name: str) -> None:
    data["benchmarks"][0]["stats"]["data"][0] = value
    with pytest.raises(InputError, match=name):
        read(data, folder)


def test_a_file_that_was_cut(folder: Path, tmp_path: Path) -> None:
    content = (folder / "with.json").read_bytes()
    (tmp_path / "cut.json").write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="cannot be read"):
        store.read(tmp_path / "cut.json")


def test_hostile_names_are_shown_as_text(folder: Path, data: Any) -> None:
    name = "a.py::t[\x1b[31m<script>alert(1)</script>|@everyone\ud800\n=1+1]"
    data["benchmarks"][0] |= {"fullname": name, "group": "<b>\x1b]0;title\x07", "extra_info": {"<i>": "\x1b[2J"}}
    filled = sheets(read(data, folder))
    assert not {"\x1b", "\x07"} & {*to_text(filled)}
    assert "<script>" not in to_page(filled, "title")
    assert "<b>" not in to_page(filled, "title")
    markdown = to_markdown(filled)
    assert "\x1b" not in markdown
    (line,) = (line for line in markdown.splitlines() if "<script>" in line)
    assert line.startswith("| `a.py::t[")  # in a code span, in one line
    assert "=1+1]` |" in line
    assert to_csv(filled[0])
