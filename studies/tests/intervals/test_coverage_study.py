"""The coverage study on made text: its sub-corpora are the library's states, and its table says what was found."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import coverage
from document_states import Documents, DocumentStates
from pyharness import tokenizers
from pyharness.benchmarks.compression import CorpusPass
from pyharness.corpora import open_corpus
from pyharness.metrics import corpus_metrics
from pyharness.metrics.counting.state import CorpusState, measure

LIMIT = 100  # bytes of a piece


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 documents, each with a density of wide characters of its own."""
    generator = random.Random(2)
    path = tmp_path_factory.mktemp("pool") / "pool.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for _ in range(120):
            share = generator.uniform(0.1, 0.9)
            letters = ("é" if generator.random() < share else "e" for _ in range(generator.randint(150, 450)))
            text = "".join(letters)
            words = " ".join(text[start : start + 5] for start in range(0, len(text), 5))
            out.write(json.dumps({"text": words}) + "\n")
    return path


@pytest.fixture(scope="module")
def documents(file: Path) -> Documents:
    return Documents.read(open_corpus(f"path:{file}?max_document_bytes={LIMIT}"))


def same(mine: CorpusState, other: CorpusState) -> None:
    for name, sums in other.counters.items():
        assert mine.counters[name].tolist() == sums.tolist(), name


@pytest.mark.parametrize("row", ["raw_bytes", "mistral:v3"])
def test_a_sub_corpus_has_the_state_of_the_library(file: Path, documents: Documents, row: str) -> None:
    tokenizer = tokenizers.load(row)
    passed = CorpusPass.start(tokenizer).read(open_corpus(f"path:{file}?max_document_bytes={LIMIT}"))
    state = DocumentStates.of(tokenizer, documents).state(documents.whole())
    same(state, passed.state)
    mine, theirs = (one.histogram[:, one.histogram.any(axis=0)] for one in (state, passed.state))
    assert np.array_equal(mine, theirs)
    metrics = list(corpus_metrics().values())
    assert measure(state, metrics) == measure(passed.state, metrics)


def test_a_draw_keeps_documents_together_and_hashes_each_anew(documents: Documents) -> None:
    assert len(documents.pieces) > 2 * len(documents) == 240
    drawn = documents.draw(200, np.random.default_rng(1))
    lengths = np.diff(documents.starts)[drawn.documents]
    assert len(drawn.pieces) == len(drawn.groups) == lengths.sum()
    by_document = np.split(drawn.groups, np.cumsum(lengths)[:-1])
    assert all(len(set(groups.tolist())) == 1 for groups in by_document)
    twice = {document: set[int]() for document in drawn.documents.tolist()}
    for document, groups in zip(drawn.documents.tolist(), by_document, strict=True):
        twice[document].add(int(groups[0]))
    assert max(map(len, twice.values())) > 1, "drawn twice, a document stands for two"
    size = documents.bytes[drawn.documents].sum()
    assert abs(size - 200 * documents.bytes.mean()) <= documents.bytes.max() / 2
    apart = documents.draw(200, np.random.default_rng(1), apart=True)
    assert any(len(set(groups.tolist())) > 1 for groups in np.split(apart.groups, np.cumsum(lengths)[:-1]))


def test_works_are_drawn_whole(tmp_path: Path) -> None:
    """A work is all documents that name it, wherever they are; what a draw adds up to is what the library counts."""
    path = tmp_path / "works.jsonl"
    rows = [(name, f"{name} number {number}. " * 9) for number in range(4) for name in ("one", "two", "three")]
    path.write_text("".join(json.dumps({"work": name, "text": text}) + "\n" for name, text in rows), encoding="utf-8")
    corpus = open_corpus(f"path:{path}?work=work&max_document_bytes={LIMIT}")
    works = Documents.read(corpus, works=True)
    assert len(works) == 3
    names = [works.pieces[start].text.split()[0] for start in works.starts[:-1]]
    assert names == ["one", "two", "three"]
    assert works.bytes.tolist() == [sum(len(text) for name, text in rows if name == of) for of in names]
    tokenizer = tokenizers.load("raw_bytes")
    passed = CorpusPass.start(tokenizer).read(corpus)
    same(DocumentStates.of(tokenizer, works).state(works.whole()), passed.state)
    assert len(Documents.read(corpus)) == 12 - 9, "without works, documents of one key are taken once"


def test_pieces_apart_cover_less_than_documents(documents: Documents) -> None:
    states = [DocumentStates.of(tokenizers.load(row), documents) for row in ("raw_bytes", "mistral:v3")]
    together, apart = (
        coverage.simulate(documents, states, 80, 100, apart=apart)["chars_per_token"].coverage()
        for apart in (False, True)
    )
    assert 90 <= (together[0] or 0) <= 99
    assert (apart[0] or 100) < 85


def test_coverage_is_of_the_truth_and_where_a_metric_grows_of_the_mean() -> None:
    constant = coverage.Draws(False, (1.0, 1.0), [(1.0, 1.0)] * 5, [(0.0, 0.0, 0.0)] * 5)
    assert constant.coverage() == (None, None)
    values = [(1.0 + step, 2.0 + 2 * step) for step in range(5)]  # means 3 and 6
    near = coverage.Draws(False, (3.0, 6.0), values, [(1.0, 4.0, 1.0)] * 5)
    assert near.coverage() == (80.0, 60.0)
    far = coverage.Draws(False, (30.0, 60.0), values, near.halves)
    assert far.coverage() == (0.0, 0.0)
    assert coverage.Draws(True, (30.0, 60.0), values, near.halves).coverage() == (80.0, 60.0)


def test_a_table_marks_what_does_not_hold() -> None:
    draws = coverage.Draws(True, (0.0, 0.0), [(0.0, 0.0), (2.0, 4.0)], [(1.0, 1.0, 9.0)] * 2)
    text = coverage.markdown({coverage.Setting("books", "cut", 100): (1320, {"vocabulary_used": draws})}, 2)
    assert "| vocabulary_used * | **50** / **100** (100) |" in text
    assert "Pools: books 1,320 documents." in text


def test_sizes_leave_most_of_a_pool_out() -> None:
    assert coverage.fitting([400, 100], 159) == [100]
    assert coverage.fitting([400, 100], 800) == [100, 400]


def test_the_study_asks_for_its_data(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("PYHARNESS_DATA", raising=False)
    with pytest.raises(SystemExit) as left:
        coverage.main([])
    assert left.value.code == 2
    assert "PYHARNESS_DATA" in capsys.readouterr().err
