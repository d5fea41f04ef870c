"""A result writes reports by the suffix of a file, and shows charts in a notebook. The documented example runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import pyharness
from pyharness import report
from pyharness.commands import session
from pyharness.report import page
from pyharness.types import InputError

DOCUMENT = Path(__file__).parents[2] / "docs" / "measure.md"


@pytest.fixture(scope="module")
def result() -> session.Result:
    return pyharness.run(["raw_bytes", "deepseek"], ["sample:prose"], ["compression"])


def test_the_suffix_chooses_the_exporter(result: session.Result, tmp_path: Path) -> None:
    for suffix in report.FORMATS_OF_SUFFIXES:
        result.report(tmp_path / f"report{suffix}")
    read = {path.suffix: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(read) == set(report.FORMATS_OF_SUFFIXES)
    assert read[".html"].startswith(b"<!doctype html>")
    assert read[".md"].decode() == report.to_markdown(report.sheets(result.record))
    assert read[".txt"].decode() == str(result)
    assert read[".csv"].decode() == report.to_csv(report.flat_sheet(result.record))
    assert json.loads(read[".json"]) == json.loads(report.to_json(report.flat_sheet(result.record)))
    assert read[".parquet"][:4] == b"PAR1"


def test_other_suffixes_and_existing_files_are_refused(result: session.Result, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.doc'"):
        result.report(tmp_path / "report.doc")
    (tmp_path / "report.md").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"report\.md"):
        result.report(tmp_path / "report.md")
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == "mine"
    result.report(tmp_path / "report.md", overwrite=True)
    assert "deepseek" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_a_record_in_a_folder_that_is_missing(result: session.Result, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        result.save(tmp_path / "missing" / "record.json")
    assert f"{str(tmp_path / 'missing')!r}" in str(refused.value)
    assert "record.json" not in str(refused.value)


def test_a_notebook_shows_tables_and_charts(result: session.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = result._repr_html_()
    assert "<caption><strong>Ranking: fewest tokens" in shown
    figures = len(page.figures(result.record))
    assert shown.count("<svg") == figures == shown.count("<figure>") > 0
    assert "<script" not in shown
    monkeypatch.setattr(page, "lack", lambda: "no library of charts")
    assert "<svg" not in result._repr_html_()


def test_the_example_of_the_documents_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python\n(import pyharness\n.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(example.replace('"sample"', '"sample:prose"'), names)  # noqa: S102 -- of our document
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "record.json", "record.json.state.zip"}
    assert str(pyharness.read("record.json")) == str(names["result"])
