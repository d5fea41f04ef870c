"""Documents known again: however they are cut, named or dealt out; what is shared by chance is no evidence."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness.corpora import document_keys, keyed, open_corpus
from pyharness.corpora.document_keys import DocumentKeys, Watched, watched
from pyharness.types import HasKeys, InputError, ParallelCorpus, Tally


def write(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return path


def made(count: int, seed: int) -> list[str]:
    draw = np.random.default_rng(seed)
    return [" ".join(f"w{number}" for number in draw.integers(0, 10**6, 40)) for _ in range(count)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write(tmp_path / "et.jsonl", made(200, 0))


def keys_of(*specifications: str) -> DocumentKeys:
    keys, tally = DocumentKeys(), Tally()
    for specification in specifications:
        for piece in keyed(open_corpus(specification), tally):
            keys.add(piece, tally.add(piece.text))
    return DocumentKeys.of_array(keys.as_array())


def share(trained_on: DocumentKeys, specification: str) -> float:
    text = watched(open_corpus(specification), trained_on)
    assert list(text.documents(Tally())) == list(open_corpus(specification).documents(Tally())), "the same text"
    return text.met.share


def test_the_share_is_that_of_the_bytes_by_definition(tmp_path: Path) -> None:
    ours, theirs = made(60, 1), made(40, 2)
    mixed = [*ours[:20], *theirs, *ours[40:]]
    learnt = keys_of(f"path:{write(tmp_path / 'a.jsonl', ours)}")
    known = sum(len(text) for text in mixed if text in set(ours))
    expected = known / sum(map(len, mixed))
    assert share(learnt, f"path:{write(tmp_path / 'b.jsonl', mixed)}") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("trained", "measured"),
    [
        ("path:{}", "path:{}"),
        ("path:{}", "path:{folder}/./et.jsonl"),
        ("path:{}", "path:{folder}"),
        ("path:{}?max_document_bytes=100", "path:{}"),
        ("path:{}", "path:{}?max_document_bytes=64"),
        ("path:{}?max_document_bytes=70", "path:{}?max_document_bytes=100"),
        ("path:{}", "path:{}?max_bytes=20kB"),
        ("path:{}", "shard:1/3:path:{}"),
        ("shard:0-2/3:path:{}", "path:{}"),
        ("path:{}", "repeat:2:path:{}"),
    ],
)
def test_one_text_is_known_however_it_is_named_or_cut(corpus: Path, trained: str, measured: str) -> None:
    names = [one.format(corpus, folder=corpus.parent) for one in (trained, measured)]
    assert share(keys_of(names[0]), names[1]) == 1.0


def test_other_shards_share_nothing(corpus: Path) -> None:
    assert share(keys_of(f"shard:0/2:path:{corpus}"), f"shard:1/2:path:{corpus}") == 0.0


def test_a_shard_is_its_share(corpus: Path) -> None:
    assert 0.45 < share(keys_of(f"shard:0/2:path:{corpus}"), f"path:{corpus}") < 0.55


def test_short_texts_count_where_they_are_most(tmp_path: Path) -> None:
    short = [f"word {number}" for number in range(50)]
    learnt = keys_of(f"path:{write(tmp_path / 'short.jsonl', short)}")
    assert share(learnt, f"path:{write(tmp_path / 'same.jsonl', short)}") == 1.0
    mixed = write(tmp_path / "mixed.jsonl", [*short, *made(50, 3)])
    assert share(learnt, f"path:{mixed}") == 0.0, "met by chance"


def test_many_documents_are_sampled_and_the_share_is_near(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_keys, "MOST", 64)
    keys = keys_of(f"shard:0/2:path:{corpus}")
    assert len(keys.kept) <= 64
    assert keys.limit < 1 << 64
    assert 0.25 < share(keys, f"path:{corpus}") < 0.75
    assert share(keys, f"shard:0/2:path:{corpus}") == 1.0
    assert share(keys, f"shard:1/2:path:{corpus}") == 0.0


def test_aligned_rows_are_known_by_any_of_their_texts(tmp_path: Path) -> None:
    english, german = made(30, 4), made(30, 5)
    for language, texts in (("eng", english), ("deu", german)):
        (tmp_path / f"{language}.txt").write_text("\n".join(texts), encoding="utf-8")
    learnt = keys_of(f"path:{tmp_path / 'deu.txt'}?split=line")
    text = watched(open_corpus(f"parallel:{tmp_path}"), learnt)
    assert isinstance(text, ParallelCorpus)
    assert len(list(text.rows(Tally()))) == 30
    expected = sum(map(len, german)) / sum(map(len, [*english, *german]))
    assert text.met.share == pytest.approx(expected)


def test_what_is_watched_is_a_corpus_like_the_one_within(corpus: Path) -> None:
    whole = open_corpus(f"path:{corpus}?max_document_bytes=100")
    text = watched(whole, DocumentKeys())
    assert isinstance(text, Watched)
    assert isinstance(text, HasKeys)
    assert not isinstance(text, ParallelCorpus)
    tallies = Tally(), Tally()
    assert list(keyed(text, tallies[0])) == list(keyed(whole, tallies[1]))
    assert tallies[0] == tallies[1]
    assert text.name == whole.name
    assert text.met.share == 0.0


def test_digests_are_kept_and_read_again(tmp_path: Path, corpus: Path) -> None:
    keys = keys_of(f"path:{corpus}")
    path = tmp_path / "cache" / "keys.npy"
    document_keys.keep(path, keys)
    assert document_keys.read(path) == keys


@pytest.mark.parametrize("values", [np.zeros(0, np.uint64), np.array([1, 2], np.uint64), np.array([1.0])])
def test_other_arrays_are_refused(values: Any) -> None:
    with pytest.raises(InputError):
        DocumentKeys.of_array(values)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys.npy"
    saved = io.BytesIO()
    np.save(saved, np.zeros(1, np.uint64))
    claims_much = saved.getvalue().replace(b"(1,), }" + b" " * 15, b"(1125899906842624,), }")
    assert b"6842624" in claims_much
    cut_off = claims_much.replace(b"624,), }", b"624, ((")
    for content in (b"no array", b"PK\x03\x04", cut_off, claims_much, bytes(document_keys.MOST_BYTES + 1)):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"keys\.npy"):
            document_keys.read(path)
