"""``pyharness report`` and ``compare`` with ``--format html``: what is asked for, and what cannot be."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from paged import made, reading
from pyharness import store
from pyharness.cli import main
from pyharness.report.page import markup

RECORD = made.record(["a", "b", "c"], ["x", "y"])


def kept(path: Path, record: store.Record = RECORD) -> Path:
    path.write_text(store.dump(record.data), "utf-8")
    return path


def call(*arguments: object) -> Result:
    answer = CliRunner().invoke(main, list(map(str, arguments)))
    assert isinstance(answer.exception, SystemExit | None), answer.exception
    return answer


def page_of(*arguments: object) -> reading.Element:
    answer = call(*arguments, "--format", "html")
    assert (answer.exit_code, answer.stderr) == (0, "")
    return reading.read(answer.stdout)


def test_a_page_carries_its_record(tmp_path: Path) -> None:
    path = kept(tmp_path / "a.json")
    page = call("report", path, "--format", "html").stdout
    (link,) = (one for one in reading.read(page).all("a") if "download" in one.attributes)
    assert link.attributes["download"] == "a.json.xz"
    packed = base64.b64decode(str(link.attributes["href"]).partition("base64,")[2])
    (tmp_path / "b").mkdir()
    (tmp_path / "b/a.json.xz").write_bytes(packed)
    assert store.read(tmp_path / "b/a.json.xz").data == RECORD.data
    again = call("report", tmp_path / "b/a.json.xz", "--format", "html").stdout
    assert again.replace("a.json.xz: ", "a.json: ") == page


def test_a_large_record_is_not_carried(tmp_path: Path) -> None:
    about = {"a": {"spec": "x", "notes": ["x" * 1_000_000]}}
    path = kept(tmp_path / "a.json", made.record(["a"], ["x"], tokenizers=about))
    assert not [one for one in page_of("report", path).all("a") if "download" in one.attributes]


def test_without_the_library_that_draws_there_are_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = kept(tmp_path / "a.json")
    monkeypatch.setattr(markup, "is_installed", lambda module: module != "vl_convert")
    answer = call("report", path, "--format", "html")
    assert (answer.exit_code, answer.stderr.count("\n")) == (0, 1)
    assert "vl-convert-python" in answer.stderr
    assert "pyharness[report]" in answer.stderr
    assert answer.stdout.count("<table>") == 2 + 2 * 2  # in short, the ranking; two texts: compression, speed
    answer = call("report", path, path, "--format", "html")
    assert (answer.exit_code, answer.stdout, answer.stderr.count("\n")) == (2, "", 1)


def test_several_records_are_a_page_and_nothing_else(tmp_path: Path) -> None:
    path = kept(tmp_path / "a.json")
    answer = call("report", path, path)
    assert (answer.exit_code, answer.stderr.count("\n")) == (2, 1)
    assert "-o PAGE.html" in answer.stderr
    answer = call("report", path, tmp_path / "none.json", "--format", "html")
    assert (answer.exit_code, answer.stderr.count("\n")) == (2, 1)
    answer = call("report", path, kept(tmp_path / "b.json"), "--format", "html", "-o", tmp_path / "b.json", "--force")
    assert (answer.exit_code, "--output" in answer.stderr) == (2, True)


def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    path, output = kept(tmp_path / "a.json"), tmp_path / "a.html"
    arguments = ("report", path, "--format", "html", "-o", output)
    assert call(*arguments).exit_code == 0
    first = output.read_bytes()
    answer = call(*arguments)
    assert (answer.exit_code, answer.stderr.count("\n"), "--force" in answer.stderr) == (2, 1, True)
    assert call(*arguments, "--force").exit_code == 0
    assert output.read_bytes() == first
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.html", "a.json"]


@pytest.mark.parametrize("output", ["none/a.html", ".", "a.json/x.html", "/dev/full"])
def test_what_cannot_be_written_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    monkeypatch.chdir(tmp_path)
    kept(tmp_path / "a.json")
    answer = call("report", "a.json", "--format", "html", "-o", output, "--force")
    assert (answer.exit_code, answer.stderr.count("\n")) == (2, 1), answer.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('"schema": 2', '"schema": 99'), "upgrade pyharness"),
        (lambda text: text[: len(text) // 2], "cannot be read"),
        (lambda text: text.replace('"results"', '"other"'), "results"),
        (lambda text: "", "cannot be read"),
    ],
)
def test_what_is_no_whole_record_is_one_line(tmp_path: Path, change: object, message: str) -> None:
    assert callable(change)
    path = tmp_path / "a.json"
    path.write_text(change(store.dump(RECORD.data)), "utf-8")
    answer = call("report", path, "--format", "html", "-o", tmp_path / "a.html")
    assert (answer.exit_code, answer.stderr.count("\n"), message in answer.stderr) == (2, 1, True), answer.stderr
    assert not (tmp_path / "a.html").exists()


def failed(row: str, text: str) -> dict[str, object]:
    return {**made.case("compression", row, text, ()), "status": "failed", "reason": "<b>it fell over</b>"}


FEW = {
    "nothing": made.of_results([], [], []),
    "all failed": made.of_results([failed(row, "x") for row in "ab"], ["a", "b"], ["x"]),
    "one row on one text": made.record(["a"], ["x"]),
    "one row": made.record(["a"], ["x", "y"]),
    "interrupted": made.record(["a", "b"], ["x"], complete=False),
}


@pytest.mark.parametrize("name", FEW)
def test_records_with_little_in_them_are_pages(tmp_path: Path, name: str) -> None:
    tree = page_of("report", kept(tmp_path / "a.json", FEW[name]))
    words = tree.one("body").text
    assert ("it fell over" in words) == (name == "all failed")
    assert ("not complete" in words) == (name == "interrupted")
    assert not tree.all("b")


def test_a_comparison_begins_with_what_is_resolved(tmp_path: Path) -> None:
    tree = page_of("compare", kept(tmp_path / "a.json"), "a", "b", "c")
    titles = [one.text for one in tree.one("main").all("h2")]
    assert [title.startswith("Significant") for title in titles] == [True, False]
    resolved, others = (one for one in tree.one("main").children if isinstance(one, reading.Element))
    rows = [row for table in resolved.all("table") for row in table.one("tbody").all("tr")]
    assert {row.all("td")[-1].text for row in rows} <= {"better", "worse", "differs"}
    assert resolved.all("svg")
    assert others.tag == "details"


def test_ranks_and_verdicts_are_those_of_compare(tmp_path: Path) -> None:
    path = kept(tmp_path / "a.json")
    flat = json.loads(call("compare", path, "a", "b", "--format", "json").stdout)
    tree = page_of("compare", path, "a", "b")
    shown = {}
    for table in tree.one("main").all("table"):
        for row in table.one("tbody").all("tr"):
            shown[table.one("caption").text, row.one("th").text] = row.all("td")[-1].text
    assert len(shown) == len(flat)
    for one in flat:
        name = " ".join(filter(None, (one["metric"], one["part"])))
        (text,) = (text for (title, metric), text in shown.items() if title == one["cases"] and metric == name[:40])
        assert text == (one["verdict"] or "")


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    path = kept(tmp_path / "a.json", made.record(made.names("row", 5), made.names("text", 3)))
    pages = []
    for seed in ("1", "2"):  # sets and what is made of them have another order
        command = [sys.executable, "-m", "pyharness", "report", str(path), "--format", "html"]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        pages.append(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    assert pages[0] == pages[1]
    assert b"<svg" in pages[0]
