from __future__ import annotations

import base64
import json
import lzma
import os
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from made_words import WORDS, model, vocabulary
from oracles import bpe as oracle
from pyharness.bpe import BpeEncoder, Pieces, TextEncoder, TextSplitter
from pyharness.types import InputError, Tokens

DATA = os.environ.get("PYHARNESS_DATA")
TEXTS: tuple[bytes, ...] = (
    b"",
    b"\0",
    b"\0" * 40,
    b"a",
    b"the then the thing",
    b" internationalization internationalizations " * 3,
    "Приветствие привет ¿qué? 日本語 12345 🙂".encode(),
    b"\xff\xfe \xe4\xb8 \xf0\x9f\x99 the",
    b"x" * 5000 + b" " + b"the" * 3000,
    b" " * 3000,
    b"\x10" + b"\0" * 14 + b"\x10" + b"\0" * 15,
)


def reference(
    encoder: BpeEncoder, splitter: TextSplitter, texts: Sequence[str | bytes], byte_ids: Sequence[int] = range(256)
) -> list[list[int]]:
    """Every text split, and every piece merged by itself."""
    table = np.array(byte_ids, np.uint32)
    pieces = [splitter.split(text) for text in texts]
    base = Tokens.from_lists([table[np.frombuffer(piece, np.uint8)] for text in pieces for piece in text])
    encoded = encoder.encode_batch(base.ids, base.offsets)
    bounds = np.cumsum([0, *map(len, pieces)])
    return [encoded.ids[encoded.offsets[a] : encoded.offsets[b]].tolist() for a, b in pairwise(bounds.tolist())]


def lists(tokens: Tokens) -> list[list[int]]:
    return [tokens.document(index).tolist() for index in range(len(tokens))]


words = st.sampled_from([*WORDS, b" ", b"a", b"zyx", b"\0", b"\xff", b"'s", b"x" * 40])
any_text = st.one_of(st.binary(max_size=80), st.lists(words, max_size=40).map(b"".join), st.text(max_size=40))


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "none"])
@pytest.mark.parametrize("cache_bytes", [0, 1 << 13, 64 << 20])
def test_examples(pattern: str, cache_bytes: int) -> None:
    expected = reference(BpeEncoder(model()), TextSplitter(pattern), TEXTS)
    encoder = TextEncoder(model(), pattern, cache_bytes=cache_bytes)
    for threads in (1, 2, 5):
        assert lists(encoder.encode_batch(TEXTS, threads)) == expected
    assert [encoder.encode(text).tolist() for text in TEXTS] == expected


@cache
def shared_encoder(pattern: str, cache_bytes: int) -> TextEncoder:
    """One for all examples: what it returns must not depend on what it has seen."""
    return TextEncoder(model(), pattern, cache_bytes=cache_bytes)


@given(
    texts=st.lists(any_text, max_size=12),
    pattern=st.sampled_from(["gpt2", "cl100k", "o200k", "qwen2", "deepseek_v3", "whitespace", "none"]),
    cache_bytes=st.sampled_from([0, 1 << 13, 1 << 20]),
    threads=st.integers(1, 4),
)
def test_any_bytes(texts: list[str | bytes], pattern: str, cache_bytes: int, threads: int) -> None:
    expected = reference(BpeEncoder(model()), TextSplitter(pattern), texts)
    encoder = shared_encoder(pattern, cache_bytes)
    assert lists(encoder.encode_batch(texts, threads)) == expected
    assert [encoder.encode(text).tolist() for text in texts] == expected


@given(texts=st.lists(any_text, max_size=6), cuts=st.randoms(use_true_random=False), threads=st.integers(1, 3))
def test_pieces_from_elsewhere(texts: list[str | bytes], cuts: random.Random, threads: int) -> None:
    data = [text.encode() if isinstance(text, str) else text for text in texts]
    ends = [sorted({len(text), *cuts.choices(range(1, len(text) + 1), k=4)}) if text else [] for text in data]
    offsets = np.cumsum([0, *map(len, ends)])
    pieces = Pieces(np.array([end for text in ends for end in text], np.int64), offsets.astype(np.int64))
    encoder = BpeEncoder(model())
    expected = [
        [
            token
            for start, end in pairwise([0, *bounds])
            for token in encoder.encode(np.frombuffer(text[start:end], np.uint8).astype(np.uint32)).tolist()
        ]
        for text, bounds in zip(data, ends, strict=True)
    ]
    assert lists(shared_encoder("cl100k", 1 << 13).encode_pieces(texts, pieces, threads)) == expected


def test_pattern_of_ones_own() -> None:
    texts = ["the then", "", "x-y"]
    encoder = TextEncoder(model(), r"\w+|[^\w]")
    expected = reference(BpeEncoder(model()), TextSplitter(r"\w+|[^\w]"), texts)
    assert lists(encoder.encode_batch(texts)) == expected
    assert [encoder.encode(text).tolist() for text in texts] == expected


def test_whole_pieces() -> None:
    token = max(vocabulary())
    # zy and yx are no tokens, so only the whole piece gives zyx.
    assert TextEncoder(model(), "gpt2", whole_pieces=True).encode("zyx").tolist() == [token]
    assert TextEncoder(model(), "gpt2").encode("zyx").tolist() == [ord("z"), ord("y"), ord("x")]
    assert TextEncoder(model(), "gpt2", whole_pieces=True).encode("zyxx").tolist() == [*map(ord, "zyxx")]


def test_expansion_and_bytes_without_symbols() -> None:
    """A token can stand for none, one or many ids, more of them than a slot of the cache holds."""
    tokens = {0: b"a", 1: b"b", 2: b"ab"}
    small = oracle.model(tokens, ranks={2: 0})
    expansion = (np.array([7, *range(100, 140)], np.uint32), np.array([0, 1, 1, 41], np.int64))
    encoder = TextEncoder(small, "gpt2", expansion=expansion)
    for _ in range(2):  # the second time from the cache
        assert encoder.encode("ab").tolist() == list(range(100, 140))
        assert encoder.encode("bxx").tolist() == []
        assert encoder.encode("axa a").tolist() == [7, 7, 7]
        assert encoder.encode("abab" * 8).tolist() == list(range(100, 140)) * 16


@pytest.mark.parametrize("length", [*range(12, 36), 47, 48, 49, 127, 254, 255, 256, 257, 300])
def test_keys_of_every_length(length: int) -> None:
    """Pieces that share all but their last byte, or of which one is the other and a NUL."""
    bodies = [b"q" * (length - 1) + end for end in (b"q", b"w", b"\0", b"")]
    encoder, plain = TextEncoder(model(), "none"), BpeEncoder(model())
    for _ in range(2):
        for body in bodies:
            assert (
                encoder.encode(body).tolist() == plain.encode(np.frombuffer(body, np.uint8).astype(np.uint32)).tolist()
            )


def test_the_cache_is_bounded_and_forgets() -> None:
    generator = random.Random(5)
    texts = [" ".join(generator.choices("abcdefghij", k=400)) for _ in range(4)]
    texts += ["".join(generator.choices("abcdefghij ", k=40_000)) for _ in range(40)]
    bound = 1 << 17
    encoder = TextEncoder(model(), "gpt2", cache_bytes=bound)
    expected = reference(BpeEncoder(model()), TextSplitter("gpt2"), texts)
    for threads in (1, 3):
        assert lists(encoder.encode_batch(texts, threads)) == expected
        assert encoder.cached_bytes <= bound
    unbounded = TextEncoder(model(), "gpt2")
    unbounded.encode_batch(texts)
    assert unbounded.cached_bytes > bound  # so the bounded one has forgotten


def test_long_pieces_fill_the_cache_too() -> None:
    generator = random.Random(8)
    texts = ["".join(generator.choices("abcdefgh", k=generator.randrange(16, 300))) for _ in range(3_000)]
    bound = 1 << 17
    encoder = TextEncoder(model(), "none", cache_bytes=bound)
    expected = reference(BpeEncoder(model()), TextSplitter("none"), texts)
    for threads in (1, 3, 1):
        assert lists(encoder.encode_batch(texts, threads)) == expected
        assert encoder.cached_bytes <= bound


def test_several_python_threads_share_an_encoder() -> None:
    generator = random.Random(6)
    batches = [["".join(generator.choices("abcde the\n", k=3_000)) for _ in range(20)] for _ in range(12)]
    expected = [reference(BpeEncoder(model()), TextSplitter("o200k"), batch) for batch in batches]
    encoder = TextEncoder(model(), "o200k", cache_bytes=1 << 16)
    with ThreadPoolExecutor(4) as pool:
        for threads in (1, 2):
            encoded = pool.map(lambda batch, threads=threads: lists(encoder.encode_batch(batch, threads)), batches)
            assert list(encoded) == expected
        singles = pool.map(lambda batch: [encoder.encode(text).tolist() for text in batch], batches)
        assert list(singles) == expected


def bad_pieces() -> dict[str, tuple[list[int], list[int], str]]:
    return {
        "too few texts": ([3], [0, 1], "must hold 3 values"),
        "does not start at 0": ([3, 2], [1, 1, 2], "must start at 0"),
        "does not end at the ends": ([3, 2], [0, 1, 1], "must end at 2"),
        "falling offsets": ([3, 2], [0, 3, 2], "must not fall"),
        "ends fall": ([2, 1, 2], [0, 2, 3], "must rise"),
        "empty piece": ([0, 3, 2], [0, 2, 3], "must rise"),
        "beyond the text": ([4, 2], [0, 1, 2], "must end where the text does, at 3, not at 4"),
        "before its end": ([3, 1], [0, 1, 2], "must end where the text does, at 2, not at 1"),
    }


@pytest.mark.parametrize(("ends", "offsets", "message"), bad_pieces().values(), ids=bad_pieces())
def test_pieces_of_other_texts_are_refused(ends: list[int], offsets: list[int], message: str) -> None:
    pieces = Pieces(np.array(ends, np.int64), np.array(offsets, np.int64))
    with pytest.raises(ValueError, match=message):
        TextEncoder(model(), "gpt2").encode_pieces(["abc", "de"], pieces)


def test_bad_input() -> None:
    encoder = TextEncoder(model(), "gpt2")
    with pytest.raises(TypeError, match=r"texts\[1\].*bytes.*int"):
        encoder.encode_batch(["a", 1])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"text .*bytes.*int"):
        encoder.encode(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sequence of texts"):
        encoder.encode_batch("abc")
    with pytest.raises(ValueError, match="surrogates"):
        encoder.encode("\ud800")
    with pytest.raises(ValueError, match="threads"):
        encoder.encode_batch(["a"], 0)
    with pytest.raises(InputError, match=r"cache_bytes.*-1"):
        TextEncoder(model(), "gpt2", cache_bytes=-1)
    with pytest.raises(InputError, match="split pattern"):
        TextEncoder(model(), "gtp2")


# ---------------------------------------------------------------------------------------------- real vocabularies


def read_ranks(name: str) -> dict[bytes, int]:
    lines = (Path(DATA or "") / "tokenizers" / "tiktoken" / f"{name}.tiktoken").read_bytes().splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines)}


def real_texts() -> list[str | bytes]:
    texts: list[str | bytes] = []
    for path in sorted((Path(DATA or "") / "corpora").glob("*/**/*.jsonl.xz")):
        if path.parent.name in ("actions", "parallel"):
            continue
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"][:15_000] for line in islice(lines, 2)]
    generator = random.Random(7)
    whole = "".join(text for text in texts if isinstance(text, str))
    texts += ["".join(generator.choices(whole, k=5_000)) for _ in range(10)]
    texts += [
        "".join(chr(code) for code in range(start, start + 4096) if not 0xD800 <= code < 0xE000)
        for start in range(0, 0x30000, 4096)
    ]
    return [*texts, *(generator.randbytes(5_000) for _ in range(5))]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [("r50k_base", "gpt2"), ("p50k_base", "gpt2"), ("cl100k_base", "cl100k"), ("o200k_base", "o200k")],
    ids=["r50k", "p50k", "cl100k", "o200k"],
)
@pytest.mark.data
@pytest.mark.skipif(DATA is None, reason="PYHARNESS_DATA is not set: it names real corpora and tokenizers")
def test_equal_to_tiktoken_and_to_the_reference(name: str, pattern: str) -> None:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    ranks = read_ranks(name)
    model_ = oracle.model({rank: token for token, rank in ranks.items()}, ranks={rank: rank for rank in ranks.values()})
    texts = real_texts()
    splitter = TextSplitter(pattern)
    encoding = tiktoken.Encoding(name, pat_str=splitter.expressions[0], mergeable_ranks=ranks, special_tokens={})
    encoder = TextEncoder(model_, pattern, whole_pieces=True)
    encoded = lists(encoder.encode_batch(texts, 2))
    for text, ids in zip(texts, encoded, strict=True):
        if isinstance(text, str):
            assert ids == encoding.encode_ordinary(text)
    tiny = TextEncoder(model_, pattern, whole_pieces=True, cache_bytes=1 << 14)
    assert lists(tiny.encode_batch(texts, 1)) == encoded
    assert [encoder.encode(text).tolist() for text in texts] == encoded
    without = reference(BpeEncoder(model_), splitter, texts, [ranks[bytes([byte])] for byte in range(256)])
    assert lists(TextEncoder(model_, pattern).encode_batch(texts, 2)) == without
