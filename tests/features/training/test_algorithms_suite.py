"""The suite of algorithms: what it compares, on which text, and the tables it ends in."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

import pyharness
from pyharness import corpora, report, store, suite
from pyharness.commands import session
from pyharness.features.training import rows as trained
from pyharness.features.training.recipe import Recipe
from pyharness.features.training.trainers import declarations, options
from pyharness.report.sheet.cases import TRAINED_MARK
from pyharness.running import runner
from pyharness.types import InputError, Tally

ALGORITHMS = ("bpe", "scaffold-bpe", "wordpiece", "unigram", "sentencepiece-bpe")
SIZES = {"8k": 8192, "16k": 16384, "32k": 32768}


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> suite.Suite:
    monkeypatch.delenv("PYHARNESS_ALGORITHMS_TEXT", raising=False)
    return suite.read(suite.find("algorithms"))


def recipes(declared: suite.Suite) -> dict[str, Recipe]:
    by_label = {entry.label: trained.recipe_of(entry.spec) for entry in declared.tokenizers}
    return {label: recipe for label, recipe in by_label.items() if recipe is not None}


def test_every_algorithm_at_every_size_on_the_same_text(declared: suite.Suite) -> None:
    by_label = recipes(declared)
    assert set(by_label) == {f"{name}-{size}" for name in ALGORITHMS for size in SIZES}
    for label, recipe in by_label.items():
        name, _, size = label.rpartition("-")
        assert (recipe.trainer.name, recipe.options["vocab_size"]) == (name, SIZES[size])
    assert {recipe.corpus for recipe in by_label.values()} == {"shard:0/2:installed:python-code"}


def test_what_is_measured_was_not_trained_on(declared: suite.Suite) -> None:
    (held_out,) = declared.corpora
    (training,) = {recipe.corpus for recipe in recipes(declared).values()}
    texts = [list(corpora.open_corpus(spec).documents(Tally())) for spec in (training, held_out.spec)]
    whole = list(corpora.open_corpus("installed:python-code").documents(Tally()))
    assert texts == [whole[0::2], whole[1::2]]
    repeated = sum(map(len, set(texts[0]) & set(texts[1])))  # near-empty __init__.py files
    assert repeated < 1e-4 * sum(map(len, texts[1]))
    assert len(texts[1]) >= 64, "enough documents for intervals"


def test_a_text_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "100%.txt"
    path.write_text("one\ntwo\n", encoding="utf-8")
    text = f"path:{path}?split=line&name=50%25"
    monkeypatch.setenv("PYHARNESS_ALGORITHMS_TEXT", text)
    declared = suite.read(suite.find("algorithms"))
    assert declared.corpora[0].spec == f"shard:1/2:{text}"
    assert {recipe.corpus for recipe in recipes(declared).values()} == {f"shard:0/2:{text}"}


def test_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: suite.Suite) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    rows = [
        suite.Entry(f"{name}-1k", f"trained:{name}?vocab_size=1000&corpus=shard:0/2:sample")
        for name in ("bpe", "scaffold-bpe")
    ]
    small = dataclasses.replace(
        declared,
        tokenizers=tuple(rows),
        corpora=(suite.Entry("held-out", "shard:1/2:sample"),),
        selections=tuple(dataclasses.replace(one, tokenizers=None) for one in declared.selections),
        reference="bpe-1k",
    )
    record = runner.run(suite.plan(small), store.Journal(tmp_path / "record.json"), session.SilentListener())
    sheets = report.sheets(record)
    tables = {table.title: table for table in sheets}
    assert max(map(len, report.to_text(tables.values()).splitlines())) <= 80
    (compression,) = (table for title, table in tables.items() if title.startswith("Compression: held-out"))
    assert any("NSL" in note and "bpe-1k" in note for note in compression.notes)
    (sizes,) = (table for table in sheets if "d=768" in table.columns)
    assert sizes.columns[-3:] == ("d=768", "d=2048", "d=4096")
    assert sizes.texts[0][1] == "1,000"
    assert sizes.texts[0][-3:] == ("0.8", "2.0", "4.1")
    read = re.compile(r"\bshard:0/2:sample\b.*\bshard:1/2:sample\b")
    assert any(map(read.search, sizes.notes))
    (uses,) = (table for table in sheets if "entropy" in table.columns)
    assert [row[0] for row in uses.texts] == ["bpe-1k", "scaffold-bpe-1k", "paper: BPE 32K", "paper: Scaffold 32K"]
    assert [row[2] for row in uses.texts[2:]] == ["11.2382", "11.2443"]
    assert any(map(read.search, uses.notes))
    scaffolds = tables["Scaffold tokens: held-out"]
    ours, paper = scaffolds.texts
    assert float(ours[1]) >= float(ours[2]) > 0
    assert ours[3][0] in "+-"
    assert paper == ("paper: Scaffold 32K", "-", "6.07", "+76.40")
    assert any(map(read.search, scaffolds.notes))
    for table in (uses, scaffolds):
        assert any("other data" in note for note in table.notes)


def test_tables_say_what_is_no_fair_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    text = tmp_path / "text.txt"
    text.write_text("ab ab cd\n" * 80, encoding="utf-8")
    row = f"trained:bpe?corpus=path:{text}?split=line&vocab_size=2000"
    vocabulary = {"name": "vocabulary", "width": 768}
    result = pyharness.run([row], [f"path:{text}?split=line"], ["compression", vocabulary])
    tables = [one for one in report.sheets(result.record) if one.title.startswith(("Use", "Vocabulary size"))]
    assert len(tables) == 2
    for table in tables:
        assert any(note.startswith(TRAINED_MARK) and row in note for note in table.notes)
        assert any(note.startswith(f"{row} has 260 ids, not 2,000") for note in table.notes)


def test_tables_without_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    alone = pyharness.run(
        ["trained:scaffold-bpe?corpus=sample:prose&vocab_size=600"], [], [{"name": "vocabulary", "width": 768}]
    )
    sizes, scaffolds = report.sheets(alone.record)
    assert (sizes.title, sizes.columns) == ("Vocabulary size", ("tokenizer", "V", "d=768"))
    assert (scaffolds.title, scaffolds.texts[0][2:]) == ("Scaffold tokens", ("-", "-"))
    assert float(scaffolds.texts[0][1]) > 0
    assert "Trained on sample:prose." in scaffolds.notes


def test_the_suite_of_trainings_has_every_trainer_of_this_feature_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYHARNESS_TRAINING_TEXT", raising=False)
    by_label = recipes(suite.read(suite.find("training")))
    sized = {one.name for one in declarations.TRAINERS if options.declared(one.options)["vocab_size"].required}
    for size in (8192, 32768):
        assert {one.trainer.name for one in by_label.values() if one.options.get("vocab_size") == size} == sized
    assert {recipe.options["pattern"] for recipe in by_label.values() if "pattern" in recipe.options} == {"gpt2"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "sample"), ("", "sample"), ("sample:code", "sample:code")],
)
def test_a_variable_with_an_otherwise(monkeypatch: pytest.MonkeyPatch, value: str | None, expected: str) -> None:
    monkeypatch.delenv("SOME_TEXT", raising=False)
    if value is not None:
        monkeypatch.setenv("SOME_TEXT", value)
    assert suite.entries(["${SOME_TEXT:-sample}"], "corpora")[0].spec == expected


def test_a_variable_that_has_to_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_TEXT", raising=False)
    with pytest.raises(InputError, match=r"\$\{SOME_TEXT\}.*not set"):
        suite.entries(["${SOME_TEXT}"], "corpora")
    monkeypatch.setenv("SOME_TEXT", "a&b%c")
    assert suite.entries(["file:${SOME_TEXT}/x?pattern=${SOME_TEXT}"])[0].spec == "file:a&b%c/x?pattern=a%26b%25c"
    assert suite.entries(["path:x?name=${SOME_TEXT}"], "corpora")[0].spec == "path:x?name=a&b%c"
