"""What shares a group, and what counts as a document: the pieces of one that was cut are no independent evidence."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness import corpora, report, store, suite
from pyharness.benchmarks.compression import CorpusPass
from pyharness.corpora import open_corpus
from pyharness.corpora.files.splitting import KEY_BYTES, Cut, Fragment, pieces
from pyharness.corpora.shards import shard
from pyharness.metrics import compression
from pyharness.report.tables import flat_rows
from pyharness.statistics.jackknife import MIN_DOCUMENTS, NO_SPREAD, group_of
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Corpus, InputError, Measurement, Tally, digest_of

WORDS = ("le", "the", "jäääär", "संस्कृत", "été", "of", "quick", "naïve", "x", "日本語")


def written(folder: Path, documents: int, words: int = 300, seed: int = 1) -> Path:
    """JSON Lines of documents whose style differs: each has favourite words of its own."""
    generator = random.Random(seed)
    file = folder / f"{documents}.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for _ in range(documents):
            favourites = generator.sample(WORDS, 4)
            text = " ".join(generator.choice(favourites) for _ in range(generator.randint(words // 2, 2 * words)))
            out.write(json.dumps({"text": text}) + "\n")
    return file


def passed(corpus: Corpus | str) -> CorpusPass:
    return CorpusPass.start(RawBytes()).read(open_corpus(corpus) if isinstance(corpus, str) else corpus)


def chars_per_token(of: CorpusPass) -> Measurement:
    return next(one for one in of.counted().measurements() if one.metric == "chars_per_token")


def test_forty_documents_in_a_thousand_pieces_are_forty_documents(tmp_path: Path) -> None:
    reading = passed(f"path:{written(tmp_path, 40)}?max_document_bytes=64")
    assert int(reading.state.counters["documents"].sum()) == 40
    assert int(reading.state.counters["pieces"].sum()) > 1000
    assert chars_per_token(reading).replicates == ()
    assert re.match(r"40 .* 64\b", str(chars_per_token(reading).no_interval))


def test_one_document_has_no_interval_however_it_is_cut(tmp_path: Path) -> None:
    measurement = chars_per_token(passed(f"path:{written(tmp_path, 1, 20_000)}?max_document_bytes=100"))
    assert measurement.value is not None
    assert measurement.replicates == ()
    assert re.match(r"1 .* 64\b", str(measurement.no_interval))


def test_cutting_changes_nothing_of_an_interval(tmp_path: Path) -> None:
    # A byte is a token: where a document is cut makes no difference to its sums, nor then to any group.
    file = written(tmp_path, 100)
    whole, cut = (passed(f"path:{file}?max_document_bytes={limit}") for limit in ("1MB", "64"))
    for name in ("documents", "bytes", "characters", "tokens"):
        assert np.array_equal(whole.state.counters[name], cut.state.counters[name])
    assert len(chars_per_token(whole).replicates) == 32
    assert chars_per_token(whole) == chars_per_token(cut)


@pytest.mark.parametrize("wrapped", ["path:{}?max_document_bytes=64", "repeat:3:path:{}?max_document_bytes=64"])
@pytest.mark.parametrize("count", [2, 7])
def test_shards_of_cut_documents_merge_to_the_whole(tmp_path: Path, wrapped: str, count: int) -> None:
    corpus = open_corpus(wrapped.format(written(tmp_path, 70, 60)))
    whole, parts = passed(corpus), [passed(shard(corpus, index, count)) for index in range(count)]
    assert sum(bool(part.state.counters["documents"].sum()) for part in parts) == count
    merged = CorpusPass.start(RawBytes())
    for part in reversed(parts):
        merged.merge(part)
    assert merged.counted().measurements() == whole.counted().measurements()
    assert merged.counted().details() == whole.counted().details()
    assert merged.tally == whole.tally


def test_a_shard_holds_whole_documents(tmp_path: Path) -> None:
    file = written(tmp_path, 9)
    texts = [json.loads(line)["text"] for line in file.read_text("utf-8").splitlines()]
    for index in range(3):
        found = "".join(shard(open_corpus(f"path:{file}?max_document_bytes=64"), index, 3).documents(Tally()))
        assert found == "".join(texts[index::3])


def test_repeated_passes_are_no_further_evidence(tmp_path: Path) -> None:
    file = written(tmp_path, 40)
    assert MIN_DOCUMENTS <= 80
    reading = passed(f"repeat:2:path:{file}")
    assert int(reading.state.counters["documents"].sum()) == 40
    assert int(reading.state.counters["pieces"].sum()) == 80
    assert chars_per_token(reading).replicates == ()


@given(
    st.lists(st.text("aé日\n 😀", max_size=40), min_size=1, max_size=8),
    st.integers(4, 40),
    st.integers(1, 9),
)
def test_a_key_does_not_depend_on_where_a_document_is_cut(texts: list[str], limit: int, block: int) -> None:
    def fragments() -> Iterator[Fragment]:
        for text in texts:
            for start in range(0, len(text), block):
                yield Fragment(text[start : start + block], ends=False)
            yield Fragment("")

    cuts = list(pieces(fragments(), limit))
    together = _by_document(cuts)
    assert ["".join(cut.text for cut in document) for document in together] == texts
    assert all(cut.key == text for document, text in zip(together, texts, strict=True) for cut in document)
    assert [sum(cut.parted for cut in document) for document in together] == [
        int(len(text.encode()) > limit) for text in texts
    ]


def _by_document(found: list[Cut]) -> list[list[Cut]]:
    together: list[list[Cut]] = []
    for cut in found:
        if cut.opens:
            together.append([])
        together[-1].append(cut)
    return together


@pytest.mark.parametrize("limit", [64, 1000, KEY_BYTES, 3 * KEY_BYTES])
def test_documents_alike_for_64_kib_share_a_group_and_others_do_not(limit: int) -> None:
    licence = "# A licence that heads every file\n" * 1900
    assert len(licence) < KEY_BYTES < 2 * len(licence)
    texts = [licence + "one", licence + "two", 2 * licence + "three", 2 * licence + "four"]
    keys = [document[0].key for document in _by_document(list(pieces(map(Fragment, texts), limit)))]
    assert keys[:2] == texts[:2]
    assert keys[2] == keys[3] == (2 * licence)[:KEY_BYTES]


def test_a_key_ends_between_two_code_points() -> None:
    cut = next(pieces([Fragment("a" + "é" * KEY_BYTES)], 100))
    assert cut.key == "a" + "é" * ((KEY_BYTES - 1) // 2)


def test_an_endless_document_is_passed_on_as_it_comes() -> None:
    asked = 0

    def endless() -> Iterator[Fragment]:
        nonlocal asked
        while True:
            asked += 1
            yield Fragment("word " * 200, ends=False)

    stream = pieces(endless(), 1000)
    first = next(stream)
    assert asked * 1000 <= KEY_BYTES + 1000
    assert all(cut.key == first.key and not cut.opens for cut in itertools.islice(stream, 5000))
    assert asked * 1000 <= KEY_BYTES + 5_002_000


class Pairs:
    """A plug-in that keys its texts, as pairs, and one that does not."""

    name, language, domain, licence, smoke_test = "pairs", "und", "", "", False

    def documents(self, tally: Tally) -> Iterator[str]:
        return (text for text, _ in self.keyed_documents(tally))

    def keyed_documents(self, tally: Tally) -> Iterator[tuple[str, str]]:
        del tally
        return iter([("a", "k"), ("b", "k"), ("c", "other")])


def test_a_plug_in_may_give_pairs_or_no_keys() -> None:
    cuts = list(corpora.read(Pairs(), Tally()))
    assert [group_of(one.key) for one in cuts] == [group_of(digest_of(key)) for key in ("k", "k", "other")]
    assert all(one.opens for one in cuts)


@pytest.mark.parametrize("item", ["text", ("text",), ("text", 7), (b"text", "key"), ("a", "b", True, False, 5), None])
def test_a_plug_in_that_yields_something_else_is_named(item: object) -> None:
    class Odd(Pairs):
        name = "odd"

        def keyed_documents(self, tally: Tally) -> Iterator[tuple[str, str]]:
            return iter([item])  # type: ignore[list-item]

    with pytest.raises(InputError, match=f"'odd'.*keyed_documents.*{type(item).__name__}"):
        list(corpora.read(Odd(), Tally()))


def test_works_are_whole_in_groups(tmp_path: Path) -> None:
    named = [(part, work) for part in range(30) for work in ("A", "B", None)]
    rows = [{"text": f"{part} of {work}", "id": work and f"{work}#{part}"} for part, work in named]
    file = tmp_path / "a.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    cuts = list(corpora.read(open_corpus(f"path:{file}?work=id"), Tally()))
    own = [digest_of(str(row["text"])) for row in rows]
    assert [one.key for one in cuts if one.text.endswith("A")] == [digest_of("work A")] * 30
    assert [one.key for one in cuts if one.text.endswith("B")] == [digest_of("work B")] * 30
    assert [one.key for one in cuts][2::3] == own[2::3], "documents of no work are grouped one by one"
    assert [one.key for one in corpora.read(open_corpus(f"path:{file}"), Tally())] == own
    assert [one.digest for one in cuts] == own, "the digest of a text is its own"
    assert all(one.opens for one in cuts)


def test_works_of_a_shard_fall_into_all_groups(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text("".join(f"{json.dumps({'text': f'{number}', 'id': f'W{number}'})}\n" for number in range(800)))
    cuts = corpora.read(open_corpus(f"shard:1/4:path:{file}?work=id"), Tally())
    assert len({group_of(one.key) for one in cuts}) > 28


@pytest.mark.parametrize(("works", "has"), [(4, False), (40, True)])
def test_documents_of_few_works_have_no_interval(tmp_path: Path, works: int, has: bool) -> None:
    file = tmp_path / "a.jsonl"
    rows = [{"text": f"{number} é{number % 7}", "id": f"W{number % works}#{number}"} for number in range(120)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    found = {query: chars_per_token(passed(f"path:{file}{query}")) for query in ("", "?work=id")}
    assert found[""].value == found["?work=id"].value
    assert found[""].replicates
    assert bool(found["?work=id"].replicates) is has
    assert has or re.match(r"120 .* 3 of 32 .* 16\b", str(found["?work=id"].no_interval))


def test_a_ratio_to_the_reference_counts_uncut_documents() -> None:
    measurement = compression.normalized_sequence_length([10] * 32, [8] * 32, [1] * 32, "home", [100] * 32)
    assert (measurement.value, measurement.replicates) == (1.25, ())
    assert re.match(r"32 .* 64\b", str(measurement.no_interval))
    enough = compression.normalized_sequence_length([10] * 32, [8] * 32, [2] * 32, "home", [100] * 32)
    assert (enough.no_interval, enough.replicates) == (NO_SPREAD, (1.25,) * 32)
    long = compression.normalized_sequence_length([10] * 31 + [90], [8] * 32, [2] * 32, "home", [100] * 31 + [900])
    assert str(long.no_pair).startswith("64 documents, so unequal")
    few = compression.normalized_sequence_length([10] * 32, [8] * 32, [64] + [0] * 31, "home", [100] * 32)
    assert str(few.no_interval).startswith("64 documents in 1 of 32 groups")


def compressed(schema: int, cut: int, groups: object = None, **measured: object) -> str:
    tally = {"documents": 900, "bytes": 10**6, "cut_documents": cut, "digest": "0" * 32}
    result: dict[str, object] = {
        "benchmark": "compression", "tokenizer": "a", "corpus": "books", "parameters": {}, "status": "ok",
        "reason": None, "measurements": [{"metric": "bytes_per_token", "value": 4.0, **measured}],
        "details": {"groups": groups} if groups else {},
    }  # fmt: skip
    data = {
        "kind": store.KIND, "schema": schema, "created": "2026-01-01T00:00:00+00:00", "seconds": 1.0, "complete": True,
        "suite": {}, "environment": {}, "tokenizers": {}, "metrics": {}, "corpora": {"books": {"tally": tally}},
        "results": [result],
    }  # fmt: skip
    record = store.Record.from_json(data, "record")
    assert flat_rows(record)[0]["reason"] == measured.get("no_interval")
    return report.to_text(report.sheets(record), 200)


def test_a_table_says_why_there_is_no_interval() -> None:
    assert "No CI: 40 documents." in compressed(2, 40, no_interval="40 documents")
    assert "interval" not in compressed(2, 40)


def test_intervals_of_older_records_are_doubted_where_documents_were_cut() -> None:
    assert "too narrow" in compressed(1, 40)
    assert "too narrow" not in compressed(1, 0)
    assert "too narrow" not in compressed(2, 40)


def test_a_title_counts_documents_before_they_were_cut() -> None:
    text = compressed(2, 40, groups={"documents": [20, 21], "pieces": [400, 500]})
    assert "Compression: books (1 MB, 41 documents in 900 pieces)" in text
    assert "(1 MB, 900 documents)" in compressed(2, 0, groups={"documents": [400, 500], "pieces": [400, 500]})
    assert "(1 MB, 900 pieces)" in compressed(1, 40, groups={"documents": [400, 500]})


def test_the_default_suite_has_enough_documents_for_intervals() -> None:
    quick = suite.read(suite.find(suite.DEFAULT))
    for entry in quick.corpora:
        opened = sum(one.opens for one in corpora.read(open_corpus(entry.spec), Tally()))
        assert opened >= MIN_DOCUMENTS, entry.spec
