"""The sample, and the text of the Python installation."""

from __future__ import annotations

import pytest

from pyharness.corpora import open_corpus
from pyharness.types import ParallelCorpus, Tally
from texts import documents, parallel, read

SAMPLE_PARTS = ("prose", "dialogue", "numbers", "code", "unicode")


@pytest.mark.parametrize("part", SAMPLE_PARTS)
def test_every_sample_part_has_64_sound_documents(part: str) -> None:
    corpus = open_corpus(f"sample:{part}")
    texts, tally = documents(corpus)
    assert len(texts) >= 64
    assert (tally.empty_documents, tally.cut_documents, tally.replaced_sequences) == (0, 0, 0)
    assert corpus.smoke_test
    assert corpus.licence == "CC0-1.0"
    assert not isinstance(corpus, ParallelCorpus)


@pytest.mark.parametrize("spec", ["sample", "sample:parallel"])
def test_the_aligned_sample_covers_languages_and_scripts(spec: str) -> None:
    corpus = parallel(spec)
    rows = list(corpus.rows(Tally()))
    assert len(rows) == 64
    assert len(corpus.languages) >= 30
    assert len({language.split("_")[1] for language in corpus.languages}) >= 12
    assert corpus.reference == "eng_Latn"
    assert all(tuple(row) == corpus.languages and all(row.values()) for row in rows)


def test_the_whole_sample_is_all_its_parts() -> None:
    parts = [text for part in (*SAMPLE_PARTS, "parallel") for text in read(f"sample:{part}")[0]]
    assert read("sample")[0] == parts
    assert 0 < read("sample?max_bytes=20kB")[1].bytes <= 20_000


def test_installed_code_is_capped_shuffled_and_stable() -> None:
    texts, tally = read("installed:python-code?max_bytes=1MB")
    assert 500_000 < tally.bytes <= 1_000_000
    assert read("installed:python-code?max_bytes=1MB")[1] == tally
    assert sum("def " in text for text in texts) > 10
    corpus = open_corpus("installed:python-code")
    assert (corpus.language, corpus.licence, corpus.smoke_test) == ("code", "PSF-2.0", False)


def test_installed_docs_are_topics_and_docstrings() -> None:
    texts, tally = read("installed:python-docs?max_bytes=1MB")
    assert len(texts) > 100
    assert tally.empty_documents == 0
    assert open_corpus("installed:python-docs").language == "en"


def test_docstrings_are_found_without_importing() -> None:
    from pyharness.corpora.installed import docstrings

    source = b'"""Module."""\nraise SystemExit\nclass A:\n  """Class."""\n  async def f(self):\n    """Doc."""\n'
    assert list(docstrings(source)) == ["Module.", "Class.", "Doc."]
    assert list(docstrings(b"print 'python 2'")) == []
    assert list(docstrings(b"# coding: latin-1\n'''\xe9'''")) == ["é"]
