"""Comments on a pull request: what matters first, all rows shown or counted, 60 kB, and names that do nothing."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from browsing.strings import hostile
from pyharness import report, store
from pyharness.cli import main
from pyharness.report import comments, comparison
from pyharness.report.exporters.comment import MOST_BYTES_OF_STEP
from pyharness.report.sheet import strings
from pyharness.report.sheet.strings import shorten, visible
from ranked.records import case, column, record
from strangers.names import NAMES
from strangers.records import named
from workflows.commented import acts, tables
from workflows.rendered import read

CHANGE = re.compile(r"([+-][\d.]+) % ±([\d.]+)")


# ---------------------------------------------------------------------------------------------- what is said first


def test_ranks_come_first_then_what_failed_and_the_rest_is_folded() -> None:
    read_ = named(["good", "fair", "poor", "bad"])
    opened, *folds = report.to_pull_request(comments.record_comment(read_, "x.json")).split("<details>")
    first, _, about, *_ = opened.splitlines()
    assert first == "**4 tokenizers on 4 texts: 8 cases measured, 2 failed, 2 skipped.**"
    assert about == "Record x.json of 2026-01-01"
    short, ranking, failed = tables(opened)
    assert [row[0] for row in short][1:] == ["Fewest tokens", "Tied", "Not measured"]
    assert [row[0] for row in ranking] == ["tokenizer", "good", "fair", "poor", "bad"]
    assert [row[1] for row in failed] == ["status", "failed", "failed", "skipped", "skipped"]
    assert opened.index("Ranking: fewest tokens") < opened.rindex("Not measured")
    titles = [one.removeprefix("<summary>").partition("</summary>")[0] for one in folds]
    assert titles[0] == "3 more tables"
    assert len(titles) == 2
    said = "".join(folds)
    assert all(sheet.title in said for sheet in report.sheets(read_) if sheet.title not in opened)


def test_without_ranks_the_first_table_is_open() -> None:
    text = report.to_pull_request(comments.record_comment(record(case("a", "text", 4.0, ())), "x"))
    assert "compression" in text.partition("<details>")[0].casefold()


def test_an_interrupted_run_says_so() -> None:
    read_ = record(*column({"a": 4.0, "b": 3.0}, 1, 0))
    read_ = store.Record.from_json({**read_.data, "complete": False}, "record")
    assert "not complete" in report.to_pull_request(comments.record_comment(read_, "x")).splitlines()[0]


def compared() -> store.Record:
    """Rows b (worse), c (better), d (better by more) and e (not told apart), each against a on two texts."""
    means = {"a": 4.0, "b": 3.9, "c": 4.1, "d": 5.0, "e": 4.0 + 1e-5}
    return record(*column(means, 0.1, 1, "x"), *column(means, 0.1, 2, "y"))


def test_resolved_differences_come_first_the_worse_before_the_better_and_the_largest_before_others() -> None:
    differences = comparison.rows(compared(), "a", "b", "c", "d", "e")
    text = report.to_pull_request(comments.comparison_comment(differences, "x.json: a, b"))
    opened, folded = text.split("<details>")
    assert opened.splitlines()[0] == "**8 differences B - A: 2 worse, 4 better, 2 not significant.**"
    (table,), (rest,) = tables(opened), tables(folded)
    assert [row[-1] for row in table[1:]] == ["worse"] * 2 + ["better"] * 4
    assert [row[0].split(" | ")[1] for row in table[1:]] == ["a -> b"] * 2 + ["a -> d"] * 2 + ["a -> c"] * 2
    assert "<summary>2 not significant</summary>" in folded
    assert [row[-1] for row in rest[1:]] == ["not significant"] * 2
    assert all(CHANGE.fullmatch(row[-2]) for row in (*table[1:], *rest[1:])), "an interval as text in every row"


def test_what_is_shown_is_the_comparison() -> None:
    differences = comparison.rows(compared(), "a", "b", "c", "d", "e")
    text = report.to_pull_request(comments.comparison_comment(differences, "t"))
    shown = [row for table in tables(text) for row in table[1:]]
    assert Counter(row[-1][2:] if row[-1][1] == " " else row[-1] for row in shown) == Counter(
        one.verdict for one in differences
    )
    by_case = {one.title: one for one in differences}
    for title, _, a, b, change, _ in shown:
        one = by_case[title]
        assert one.interval is not None
        assert one.a is not None
        assert one.b is not None
        assert [float(a), float(b)] == pytest.approx([one.a, one.b], abs=5e-5)
        found = CHANGE.fullmatch(change)
        assert found is not None
        half = (one.interval[1] - one.interval[0]) / 2
        assert [float(n) for n in found.groups()] == pytest.approx(
            [100 * n / one.a for n in (one.b - one.a, half)], abs=5e-3
        )


def test_of_nothing_there_is_no_share_and_the_difference_itself_is_shown() -> None:
    differences = comparison.rows(record(*column({"a": 0.0, "b": 3.0}, 0.1, 1)), "a", "b")
    ((_, row),) = tables(report.to_pull_request(comments.comparison_comment(differences, "t")))
    assert (float(row[-2]), row[-1]) == (3, "better")


# ---------------------------------------------------------------------------------------------- names of strangers


def test_names_do_nothing_in_a_comment_about_a_record_and_read_as_they_are() -> None:
    for start in range(0, len(NAMES), 26):
        some = NAMES[start : start + 26]
        text = report.to_pull_request(comments.record_comment(named(some), f"{some[0]}.json"))
        assert acts(text) == []
        cells = {" ".join(cell.split()) for table in tables(text) for row in table for cell in row}
        missing = [name for name in some if " ".join(shorten(visible(name), 300).split()) not in cells]
        assert missing == []


def test_names_do_nothing_in_a_comparison() -> None:
    for name in (*NAMES, *hostile()):
        read_ = record(*column({name: 4.0, f"{name}x": 3.0}, 0.1, 1, name))
        text = report.to_pull_request(comments.comparison_comment(comparison.rows(read_, name, f"{name}x"), name))
        assert acts(text) == [], name
        (_, (cases, *_)) = tables(text)[0]
        assert len(cases) <= 300 or "…" in cases


def test_a_planted_failure_of_the_escape_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "_ACTS", re.compile("(?!)"))
    assert acts(report.to_pull_request(comments.record_comment(named(NAMES[:8]), "x")))


# ---------------------------------------------------------------------------------------------- the command


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "@x #1.json"
    path.write_text(store.dump(dict(compared().data)), "utf-8")
    return path


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    return done.exit_code, done.output


def test_the_command_writes_a_comment_and_appends_it_to_the_summary(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    for arguments in (("report", written), ("compare", written, "a", "b")):
        summary.write_text("before\n", "utf-8")
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        code, text = run(*arguments, "--format", "markdown", "--for", "pr")
        assert (code, acts(text)) == (0, [])
        assert re.search("`@x` `#1.json:?`", text.splitlines()[2])
        assert summary.read_text("utf-8") == f"before\n\n{text}"
        summary.write_text("before\n", "utf-8")
        assert run(*arguments, "--format", "markdown")[0] == 0
        assert summary.read_text("utf-8") == "before\n", "plain Markdown is nobody's summary"


def test_a_summary_that_github_would_not_show_is_not_made(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    text = "x" * (MOST_BYTES_OF_STEP - 2)
    assert report.append_step_summary(text) is None
    assert summary.stat().st_size == MOST_BYTES_OF_STEP - 1
    code, output = run("compare", written, "a", "b", "--format", "markdown", "--for", "pr")
    assert code == 0
    assert re.search(r"\bsummary\b.*\b1,048,576 bytes\b", output)
    assert summary.read_text("utf-8") == f"{text}\n"


def test_reasons_that_are_no_numbers_stand_first_and_the_status_is_that_of_the_gate(tmp_path: Path) -> None:
    lost = {
        "benchmark": "integrity",
        "tokenizer": "b",
        "corpus": "x",
        "parameters": {},
        "details": {},
        "measurements": [],
    }
    sides = []
    for status, reason in (("ok", None), ("failed", "@someone broke it")):
        data = compared().data
        results = [*data["results"], lost | {"status": status, "reason": reason}]
        sides.append(tmp_path / f"{status}.json")
        sides[-1].write_text(store.dump({**data, "results": results}), "utf-8")
    code, text = run("compare", *sides, "--fail-on", "worse", "--format", "markdown", "--for", "pr")
    assert (code, acts(text)) == (1, [])
    first, _, about, _, reason, *_ = text.splitlines()
    assert first.startswith("**--fail-on worse fails: 10 numbers compared; 10 differences B - A: 10 same")
    assert about == "Compared: ok.json and failed.json"
    assert reason == r"- worse: integrity \| b \| x: fails in B: `@someone` broke it"


@pytest.mark.parametrize("form", ["text", "html", "csv", "json"])
def test_another_format_is_for_no_pull_request(written: Path, form: str) -> None:
    for arguments in (("report", written), ("compare", written, "a", "b")):
        code, output = run(*arguments, "--format", form, "--for", "pr")
        assert code == 2
        assert all(name in output for name in ("--for pr", form, "--format markdown"))


def test_names_of_files_are_names(tmp_path: Path) -> None:
    """A record in a file of any name, a comment written into another: nothing acts, and nothing else is made."""
    named_ = record(case("a", "text", 4.0, ()))
    text = store.dump(dict(named_.data))
    for number, name in enumerate(NAMES):
        comment = report.to_pull_request(comments.record_comment(named_, f"{name}.json"))
        assert acts(comment) == [], name
        assert " ".join(visible(name[:100]).split()) in " ".join(read(comment).shown.split())
        path = tmp_path / str(number) / f"{name.replace('/', '_')}.json"
        path.parent.mkdir()
        if number % 16 or "\0" in name or len(name) > 200:  # others take long, or no file can have them
            continue
        path.write_text(text, "utf-8")
        code, output = run("report", path, "--format", "markdown", "--for", "pr", "-o", f"{path}.md")
        assert (code, output) == (0, ""), name
        assert acts(Path(f"{path}.md").read_text("utf-8")) == [], name
        assert {one.name for one in path.parent.iterdir()} == {path.name, f"{path.name}.md"}
        assert run("report", f"{path}.none")[1].removesuffix("\n").isprintable()
