"""Time of a piece that no cache holds: ``pytest bench/speed/test_piece_merger_speed.py -s``. Each asserts its ids.

The reference encoder, and where it is installed quicktok, run in the same process. Nothing here asserts a time,
because machines differ and neighbours disturb: compare ratios.
"""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest

from oracles import bpe as oracle
from pyharness import _core
from pyharness.bpe import BpeEncoder, TextSplitter
from pyharness.types import Ids, MergeModel, Offsets
from pyharness.vocabularies.rank_file import RankVocabulary, merge_model, read_ranks
from speed_fixtures import NEEDS_DATA, Benchmark, documents, median_of, rank_file, report

CORPORA = {
    "english": ("english/books",),
    "multilingual": tuple(
        f"multilingual/{path}" for path in ("ar/nahda_books", "hi/classic_novels", "ru/dracor_plays", "th/thaigov_news")
    ),
}
CHARACTERS = 4_000_000  # of each file; pieces of the second half that the first half has not are new

pytestmark = NEEDS_DATA


def report_each(benchmark: Benchmark, what: str, pieces: int, unit: str = "ns a piece", scale: float = 1e9) -> None:
    if seconds := median_of(benchmark):
        report(benchmark, f"{what}: {scale * seconds / pieces:,.2f} {unit}")


@cache
def model(name: str) -> MergeModel:
    return merge_model(RankVocabulary(read_ranks(rank_file(f"{name}_base").read_bytes(), name), {}, ""))


@cache
def new_pieces(name: str, corpus: str) -> tuple[bytes, ...]:
    splitter = TextSplitter(name)
    seen: set[bytes] = set()
    new: list[bytes] = []
    for path in CORPORA[corpus]:
        size = 0
        for text in documents(path, CHARACTERS):
            size += len(text)
            for piece in splitter.split(text):
                if piece not in seen:
                    seen.add(piece)
                    if size > CHARACTERS // 2:
                        new.append(piece)
    random.Random(0).shuffle(new)
    return tuple(new)


def packed(pieces: tuple[bytes, ...]) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint8]], Offsets]:
    return np.frombuffer(b"".join(pieces), np.uint8), oracle.offsets_of(pieces)


def reference(name: str, pieces: tuple[bytes, ...]) -> tuple[BpeEncoder, Ids, Offsets]:
    data, offsets = packed(pieces)
    merges = model(name)
    ids = np.zeros(256, np.uint32)
    for token in np.flatnonzero(merges.atomic):
        ids[merges.data[merges.offsets[token]]] = token
    return BpeEncoder(merges), ids[data], offsets


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("name", ["cl100k", "o200k"])
@pytest.mark.parametrize("engine", ["merger", "reference"])
def test_new_pieces(benchmark: Benchmark, engine: str, name: str, corpus: str) -> None:
    pieces = new_pieces(name, corpus)
    encoder, base, offsets = reference(name, pieces)
    wanted = encoder.encode_batch(base, offsets)
    if engine == "merger":
        merged = benchmark(_core.PieceMerger(model(name)).encode_batch, *packed(pieces))
        assert np.array_equal(merged[0], wanted.ids)
    else:
        assert np.array_equal(benchmark(encoder.encode_batch, base, offsets).ids, wanted.ids)
    report_each(
        benchmark,
        f"{engine}, {name}, {corpus}, {len(pieces):,} pieces of {len(base) / len(pieces):.1f} bytes",
        len(pieces),
    )


@pytest.mark.parametrize("name", ["cl100k", "o200k"])
def test_construction(benchmark: Benchmark, name: str) -> None:
    merger = benchmark(_core.PieceMerger, model(name))
    assert merger.encode_batch(np.frombuffer(b"hello", np.uint8), np.array([0, 5]))[0].size == 1
    report_each(benchmark, f"construction, {name}", 1, "ms", 1e3)


LONG = {
    "a": "a" * 1_000_000,
    "letters": "".join(random.Random(0).choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000)),
    "spaces": " " * 1_000_000,
}


@pytest.mark.parametrize("kind", LONG)
@pytest.mark.parametrize("engine", ["merger", "quicktok"])
def test_one_piece_of_a_megabyte(benchmark: Benchmark, engine: str, kind: str) -> None:
    pieces = (LONG[kind].encode(),)
    encoder, base, offsets = reference("cl100k", pieces)
    if engine == "quicktok":
        library = pytest.importorskip("quicktok", reason="quicktok is not installed")
        ids = benchmark(library.get_encoding("cl100k_base").encode, LONG[kind])
    else:
        ids = benchmark(_core.PieceMerger(model("cl100k")).encode_batch, *packed(pieces))[0]
    assert np.array_equal(ids, encoder.encode_batch(base, offsets).ids)
    report_each(benchmark, f"{engine}, 1 MB of {kind}", 1, "ms", 1e3)
