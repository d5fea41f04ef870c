"""Dry runs: what they foretell is what a run then does, and they leave nothing behind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cases.command_line import QUICK, call, refused
from pyharness import corpora, store, suite
from pyharness.benchmarks import STARTED_IN
from pyharness.commands import dry_run, session
from pyharness.running import runner
from pyharness.types import CaseResult, CorpusFamily


@pytest.fixture
def quick_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes start as quickly as where the rates were taken."""
    monkeypatch.setattr(dry_run, "seconds_to_start", lambda: STARTED_IN)


def everything_below(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*")}


def test_it_says_what_the_run_does_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    variables = {"PYHARNESS_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path / "tmp")}
    before = everything_below(tmp_path)
    rows, texts = ("-t", "raw_bytes"), ("-c", "sample:prose", "-c", "sample:code")
    chosen = ("--max-bytes", "4kB", "-b", "compression", "-b", "load")
    done = call("run", *rows, *texts, *chosen, "--dry-run", "--json", cwd=tmp_path, **variables)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert everything_below(tmp_path) == before
    foretold = json.loads(done.stdout)
    ran = session.run(["raw_bytes"], ["sample:prose", "sample:code"], ["compression", "load"], max_bytes="4kB").record
    cases = {one["benchmark"]: one["cases"] for one in foretold["cases"]}
    assert cases == {name: len(ran.of(name)) for name in ("integrity", "compression", "load")}
    for text in foretold["corpora"]:
        read = ran.data["corpora"][text["corpus"]]
        assert (text["spec"], text["bytes"], text["documents"], text["whole"]) == (
            read["spec"], read["tally"]["bytes"], read["tally"]["documents"], True,
        )  # fmt: skip


def interrupt(declared: suite.Suite, output: Path) -> None:
    """Begin a run that ends with its first case of compression."""

    class Impatient(session.SilentListener):
        def finished(self, result: CaseResult) -> None:
            if result.case.benchmark == "compression":
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(suite.plan(declared), store.Journal(output), Impatient())


@pytest.mark.usefixtures("quick_start")
def test_what_a_journal_has_is_left_out(tmp_path: Path) -> None:
    declared = suite.declare(["raw_bytes"], ["sample:prose", "sample:code"], ["compression"])
    output = tmp_path / "r.json"
    interrupt(declared, output)
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    whole, rest = dry_run.foresee(declared), dry_run.foresee(declared, output, resume=True)
    assert {one.benchmark: (one.cases, one.finished) for one in rest.cases} == {
        "integrity": (2, 2), "compression": (2, 1),
    }  # fmt: skip
    assert 0 < rest.estimate.most < whole.estimate.most
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    assert dry_run.sheets(rest)[0].title == "Dry run of custom: 1 case to measure"


@pytest.mark.parametrize(("most", "said"), [(11.0, "About 10 s, if"), (60.0, "Between 10 s and 60 s, if")])
def test_a_time_is_a_span_only_if_its_ends_differ(most: float, said: str) -> None:
    guess = dry_run.Estimate(9.0, most, STARTED_IN, {})
    (sheet, *_) = dry_run.sheets(dry_run.DryRun("custom", (), (), (), guess))
    assert sheet.notes[0].startswith(said)


@pytest.mark.usefixtures("quick_start")
def test_a_check_whose_ids_are_gone_counts_as_left(tmp_path: Path) -> None:
    declared = suite.declare(["raw_bytes", "again=raw_bytes"], ["sample:prose"], ["compression"])
    output = tmp_path / "r.json"
    interrupt(declared, output)
    rest = dry_run.foresee(declared, output, resume=True)
    assert {one.benchmark: (one.cases, one.finished) for one in rest.cases} == {
        "integrity": (2, 0), "compression": (2, 1),
    }  # fmt: skip

    class Counting(session.SilentListener):
        total, done = 0, 0

        def begin(self, total: int) -> None:
            self.total = total

        def finished(self, result: CaseResult) -> None:
            self.done += 1

    counting = Counting()
    runner.run(suite.plan(declared), store.Journal(output, resume=True), counting, resume=True)
    assert (counting.total, counting.done) == (3, 3)


def test_what_the_run_would_be_refused_for_is_said(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text("mine", encoding="utf-8")
    (tmp_path / "begun.json.journal").write_text('{"header": {"suite": "x"}}\n{"result": {"key": "a"}}\n')
    for given, said in (
        (("-o", "r.json"), r"'r\.json' exists already\b.*--force"),
        (("-o", "begun.json"), r"'begun\.json\.journal'.*--resume"),
        (("-o", "begun.json", "--resume"), r"cannot resume 'begun\.json\.journal': suite was \"x\""),
        (("--resume",), "no unfinished run.*suite 'custom'"),
        (("--max-bytes", "1"), r"max_bytes=1\b"),
        (("-t", "file:gone.json"), r"gone\.json"),
        (("--time-limit", "x"), "time limit 'x'"),
    ):
        message = refused(*QUICK, "--dry-run", *given, cwd=tmp_path)
        assert re.search(said, message)
        assert len(message.splitlines()) == 1
    assert re.search("--json .*--dry-run", refused(*QUICK, "--json", cwd=tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"r.json", "begun.json.journal"}


@pytest.mark.usefixtures("quick_start")
def test_long_and_distant_texts_are_not_read_to_their_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run, "READ_SECONDS", 0.0)
    declared = suite.declare(["raw_bytes"], ["sample:prose", "sample:code"], ["compression"])
    read = dry_run.foresee(declared).corpora[0]
    assert (read.documents, read.whole) == (1, False)
    monkeypatch.setattr(corpora, "is_remote", lambda spec: spec.endswith("code"))
    run = dry_run.foresee(declared)
    assert (run.corpora[1].bytes, run.corpora[1].whole) == (None, False)
    *_, texts = dry_run.sheets(run)
    assert [note[:3] for note in texts.notes] == [">: ", "-: "]
    assert " 0 s" in texts.notes[0]
    assert [row[2].text for row in texts.rows][1] == "-"
    assert texts.rows[0][2].text.startswith("> ")


def test_what_a_network_is_needed_for_is_known_without_it() -> None:
    assert corpora.is_remote("datasets:org/name")
    assert corpora.is_remote("shard:0/2:repeat:3:datasets:org/name?split=a")
    assert not corpora.is_remote("shard:0/2:path:x")
    assert not corpora.is_remote("sample")
    assert CorpusFamily("own", lambda *_: None, "", "").remote("x") is False  # type: ignore[arg-type]
