"""One corpus, one text: figures of different text never stand in one table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pyharness
from pyharness import corpora
from pyharness.benchmarks import first_documents
from pyharness.running.run_record import TextsRead
from pyharness.types import Case, CaseResult, Tally, TextRead


def front(documents: list[str], benchmark: str = "compression", row: str = "a", **parameters: Any) -> CaseResult:
    tally = Tally(beginnings=[])
    for document in documents:
        tally.add(document)
    return CaseResult(Case(benchmark, row, "text", parameters), "ok", tally=TextRead.of(tally))


def test_beginnings_are_digests_of_the_first_documents() -> None:
    documents = [str(number) for number in range(11)]
    tally = Tally(beginnings=[])
    for document in documents:
        tally.add(document)
    expected = []
    for count in (1, 2, 4, 8):
        part = Tally()
        for document in documents[:count]:
            part.add(document)
        expected.append(part.digest)
    assert tally.beginnings == expected
    tally.merge(Tally(documents=3, beginnings=[7, 9]))
    assert tally.beginnings == expected, "the other text is behind the first"


@settings(deadline=None)  # the first example imports the benchmarks
@given(st.lists(st.text(max_size=3), min_size=1, max_size=40), st.data())
def test_another_document_in_what_both_have_read_is_noticed(documents: list[str], data: Any) -> None:
    texts = TextsRead()
    assert texts.checked(front(documents)).status == "ok"
    assert texts.checked(front(documents, row="b")).status == "ok"
    shorter = documents[: data.draw(st.integers(1, len(documents)))]
    assert texts.checked(front(shorter, "throughput", bytes=len(shorter))).status == "ok", "a front of the same text"
    at = data.draw(st.integers(0, len(documents) - 1))
    other = [*documents[:at], documents[at] + "!", *documents[at + 1 :]]
    found = texts.checked(front(other, row="c"))
    assert (found.status, found.measurements) == ("failed", ())
    if at < 1 << (len(shorter).bit_length() - 1):  # within a beginning that both have
        assert texts.checked(front(other[: len(shorter)], "latency")).status == "failed"


def test_the_reason_names_both_digests_and_the_first_wins() -> None:
    texts = TextsRead()
    first, second = front(["one", "two"]), front(["one", "two", "three"], row="b")
    assert texts.checked(first) is first
    found = texts.checked(second)
    for result in (first, second):
        assert result.tally is not None
        assert result.tally.digest[:16] in str(found.reason)
    assert "compression of 'a' had read" in str(found.reason)
    assert texts.checked(front(["one", "two"], row="c")).status == "ok"


def test_readers_that_start_at_the_front_can_be_compared() -> None:
    corpus = corpora.open_corpus("sample:code")
    whole, part = Tally(), Tally()
    assert len(list(corpora.read(corpus, whole))) == whole.documents
    first_documents(corpus, 2000, part)
    assert part.beginnings
    assert whole.beginnings is not None
    assert whole.beginnings[: len(part.beginnings)] == part.beginnings


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Corpora that change: ``growing`` with every reading, ``random`` altogether."""
    (tmp_path / "growing.py").write_text(
        """
import os
from pyharness.types import CorpusFamily
from pyharness.corpora.files.splitting import Fragment
from pyharness.corpora.streaming import TextCorpus
def read():
    with open(os.environ["GROWING"], "a+") as file:
        file.write("x"); file.seek(0); count = len(file.read())
    return (Fragment(f"document {number} of many") for number in range(20 + count))
def drawn():
    return (Fragment(os.urandom(8).hex()) for _ in range(80))
def family(name, read):
    def make(spec, argument, options):
        return TextCorpus(spec, read, "en", "x", "x", spec, None, 1 << 20)
    return CorpusFamily(name, make, "", name)
CORPORA = (family("growing", read), family("random", drawn))
""",
        encoding="utf-8",
    )
    monkeypatch.setenv("GROWING", str(tmp_path / "count"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYHARNESS_PLUGINS", "growing")
    monkeypatch.syspath_prepend(str(tmp_path))
    from pyharness.plugins import registry

    registry.discover.cache_clear()
    yield
    registry.discover.cache_clear()


@pytest.mark.usefixtures("stranger")
@pytest.mark.parametrize("corpus", ["growing", "random"])
def test_text_that_changes_while_it_is_measured_fails(corpus: str, tmp_path: Path) -> None:
    entries = 'tokenizers = ["raw_bytes", { name = "again", spec = "raw_bytes" }]\nbenchmarks = ["compression"]\n'
    (tmp_path / "suite.toml").write_text(f'{entries}corpora = ["{corpus}"]\n', encoding="utf-8")
    found = pyharness.run(suite_name=tmp_path / "suite.toml")
    by_case = {(one.case.benchmark, one.case.tokenizer): one for one in found.record.results}
    assert by_case["integrity", "raw_bytes"].status == "ok"
    if corpus == "random":
        assert "text changed" in str(by_case["compression", "raw_bytes"].reason)
    assert "text changed" in str(by_case["integrity", "again"].reason)
    assert by_case["compression", "again"].status == "failed"
    measured = [one for one in found.record.results if one.status == "ok" and one.case.benchmark == "compression"]
    assert len(measured) == (corpus == "growing")
