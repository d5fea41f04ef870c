"""Rows that cut text and have no vocabulary: named, refused where ids are needed, measured where units are."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import pyharness
from pyharness import tokenizers
from pyharness.benchmarks import Work, benchmarks
from pyharness.corpora import open_corpus
from pyharness.types import Case, InputError, ParallelCorpus, Tally, Unsupported

ROWS = (
    *("patches:static", "patches:static?size=7", "patches:space", "patches:space?reading=paper"),
    *("units:sentence", "units:sentence?cap=20&commas=1", "units:word", "units:character"),
)
BAD = {
    "patches:static?size=0": r"patches:static: size=0 .*whole number .*\b1 to 2,147,483,648\b",
    "patches:static?size=4.5": r"size=4\.5 .*whole number",
    "patches:static?size=-1": "size=-1 .*whole number",
    "patches:static?size=\u0664": "size=\u0664 .*whole number",
    "patches:static?reading=paper": "size",
    "patches:space?reading=blog": "reading=blog .*repo, paper",
    "patches:spaces": "space",
    "patches": "needs an argument",
    "units:sentence?cap=0": "cap=0 .*whole number",
    "units:sentence?commas=yes": "commas=yes is neither 0 nor 1",
    "units:word?cap=4": "takes no options",
    "units:lines": "unknown kind of units",
    "native+patches:space": "native .*'patches:space' .*vocabulary file",
}


@pytest.mark.parametrize("row", ROWS)
def test_rows_have_units_and_no_vocabulary(row: str) -> None:
    spec = tokenizers.resolve(row)
    assert spec.name == row
    assert spec.instead is not None
    assert spec.instead.make(spec).segment_batch(["Hi, you.", ""]).ends[-1] == 8
    with pytest.raises(Unsupported, match=f"'{row.partition('?')[0]}' .*no vocabulary.*segmentation"):
        tokenizers.load(spec)


@pytest.mark.parametrize(("row", "message"), BAD.items())
def test_bad_rows_are_refused_in_one_line(row: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        tokenizers.resolve(row)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("command", ["encode", "decode"])
def test_commands_that_need_ids_say_why_not(command: str) -> None:
    line = [sys.executable, "-m", "pyharness", command, "units:word"]
    done = subprocess.run(line, input="1", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"error: 'units:word' .*no vocabulary.*segmentation.*\n", done.stderr)


def test_every_benchmark_that_needs_ids_skips_them() -> None:
    spec = tokenizers.resolve("patches:space")
    texts = {"none": None, "parallel": open_corpus("sample:parallel"), "motions": open_corpus("motions:made?clips=2")}
    able = {"segmentation", "fairness", "numbers", "cost"}  # cost: prices of what fairness measures
    for benchmark in benchmarks().values():
        if benchmark.name in able:
            continue
        parameters = {name: one[0] if isinstance(one, list) else one for name, one in benchmark.parameters.items()}
        corpus = texts.get(benchmark.corpus, open_corpus("sample:prose"))
        case = Case(benchmark.name, spec.name, None if corpus is None else corpus.name, parameters)
        with pytest.raises(Unsupported):
            benchmark.run(Work(case, spec, lambda: tokenizers.load(spec), corpus, 1))


def test_a_run_measures_units_and_skips_the_rest() -> None:
    rows = ["raw_bytes", "units:character", "units:sentence?cap=64"]
    names = ["compression", "segmentation", "fairness"]
    record = pyharness.run(rows, ["sample:parallel"], names).record
    found = {(one.case.benchmark, one.case.tokenizer): one for one in record.results}
    assert {benchmark: one.status for (benchmark, row), one in found.items() if row == rows[2]} == {
        "compression": "skipped",
        "segmentation": "ok",
        "fairness": "ok",
    }
    assert {row for benchmark, row in found if benchmark == "integrity"} == {"raw_bytes"}, "no ids, nothing to verify"
    assert re.match("'units:sentence' .*no vocabulary.*segmentation", str(found["compression", rows[2]].reason))
    about = record.data["tokenizers"][rows[2]]
    assert about["units"] == {"is_causal": False}
    assert "vocab_size" not in about


def test_fairness_counts_units() -> None:
    record = pyharness.run(["units:character"], ["sample:parallel"], ["fairness"]).record
    corpus = open_corpus("sample:parallel")
    assert isinstance(corpus, ParallelCorpus)
    lines = list(corpus.rows(Tally()))
    counts = {language: sum(len(line[language]) for line in lines) for language in lines[0]}
    assert record.of("fairness")[0].details["tokens"] == counts
