"""PieceMerger: whole pieces, expansions, threads, bad input and real vocabularies."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.merged_pieces import assert_exact, expected, merged, random_pieces, token_bytes
from oracles import bpe as oracle
from pyharness import _core
from pyharness.bpe import WeightedPieces, train
from pyharness.types import MergeModel, Tokens

DATA = os.environ.get("PYHARNESS_DATA")


@pytest.mark.parametrize("form", ["rules", "ranks"])
def test_whole_pieces_are_themselves(form: str) -> None:
    """`abc` is out of reach of the rules, as `bc` merges first; special strings are no tokens of text."""
    tokens = {0: b"a", 1: b"b", 2: b"c", 3: b"bc", 4: b"ab", 5: b"abc", 6: b"cab", 7: b"xyz"}
    model = (
        oracle.model(tokens, rules=[(1, 2, 3), (0, 1, 4), (4, 2, 5), (2, 4, 6)], untested=[6])
        if form == "rules"
        else oracle.model(tokens, ranks={3: 0, 4: 1, 6: 2}, untested=[6])
    )
    pieces = [b"abc", b"aabc", b"cab", b"xyz", b"", b"ab"]
    found = merged(model, pieces, whole_pieces=True)
    assert [found.document(at).tolist() for at in range(6)] == [[5], [0, 0, 3], [6], [7], [], [4]]
    found = merged(model, pieces)
    assert [found.document(at).tolist() for at in range(6)] == [[0, 3], [0, 0, 3], [6], [], [], [4]]


def test_whole_pieces_of_equal_bytes_are_the_lowest_id() -> None:
    tokens = {0: b"a", 1: b"b", 2: b"ab", 3: b"ab"}
    model = oracle.model(tokens, rules=[(0, 1, 3)])
    assert merged(model, [b"ab"], whole_pieces=True).ids.tolist() == [2]
    assert merged(model, [b"ab"]).ids.tolist() == [3]
    assert merged(oracle.model(tokens, ranks={2: 5, 3: 4}), [b"ab"], whole_pieces=True).ids.tolist() == [3]


@pytest.mark.parametrize("ignore_merges", [False, True])
def test_as_tokenizers_does(ignore_merges: bool) -> None:
    """Unknown characters are dropped before merging, so their neighbours meet; `ignore_merges` is a whole piece."""
    library = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    tokens = {0: b"a", 1: b"b", 2: b"c", 3: b"bc", 4: b"ab", 5: b"abc", 6: b"azb"}
    rules = [(1, 2, 3), (0, 1, 4), (4, 2, 5)]
    merges = [(tokens[left].decode(), tokens[right].decode()) for left, right, _ in rules]
    bpe = library.models.BPE(
        vocab={data.decode(): token for token, data in tokens.items()}, merges=merges, ignore_merges=ignore_merges
    )
    generator = random.Random(0)
    pieces = [bytes(generator.choices(b"abcz", k=generator.randint(1, 9))) for _ in range(500)] + [b"abc", b"azb"]
    found = merged(oracle.model(tokens, rules=rules), pieces, whole_pieces=ignore_merges)
    wanted = [[token.id for token in bpe.tokenize(piece.decode())] for piece in pieces]
    assert [found.document(at).tolist() for at in range(len(pieces))] == wanted


def replaced(tokens: Tokens, expansion: tuple[np.ndarray, np.ndarray]) -> list[int]:
    ids, offsets = expansion
    return [int(part) for token in tokens.ids for part in ids[offsets[token] : offsets[token + 1]]]


@pytest.mark.parametrize("seed", range(10))
def test_scaffold_tokens_are_taken_apart(seed: int) -> None:
    generator = random.Random(seed)
    words = {bytes(generator.choices(b"abcd", k=generator.randint(2, 9))): generator.randint(1, 30) for _ in range(30)}
    model = train(WeightedPieces.of_bytes(words), 256 + 20, scaffold=True)
    merges = oracle.model({token: model[token] for token in range(len(model))}, rules=model.rules.tolist())
    expansion = model.demolition()
    pieces = [*words, *random_pieces(generator, b"abcd", 30, 300)]
    found = merged(merges, pieces, expansion=expansion)
    assert found.ids.tolist() == replaced(expected(merges, pieces), expansion)
    assert not model.scaffold[found.ids].any()


def test_tokens_may_expand_to_any_ids() -> None:
    tokens = {0: b"a", 1: b"b", 2: b"ab"}
    expansion = (np.array([70, 80, 90, 91, 92], np.uint32), np.array([0, 1, 2, 5]))
    model = oracle.model(tokens, ranks={2: 0})
    assert merged(model, [b"aabb"], expansion=expansion).ids.tolist() == [70, 90, 91, 92, 80]
    nothing = (np.array([7], np.uint32), np.array([0, 0, 1, 1]))
    assert merged(model, [b"abab", b"b"], expansion=nothing).ids.tolist() == [7]


@given(pieces=st.lists(st.binary(max_size=90), max_size=60), threads=st.integers(1, 5))
def test_threads_do_not_matter(pieces: list[bytes], threads: int) -> None:
    vocabulary, rules = oracle.train({b"hug": 10, b"pug": 5, b"pun": 12, b"bun": 4, b"hugs": 5}, 262)
    model = oracle.model(vocabulary, rules=rules)
    found, alone = merged(model, pieces, threads), merged(model, pieces)
    assert found.ids.tolist() == alone.ids.tolist()
    assert found.offsets.tolist() == alone.offsets.tolist()


def test_bad_input_is_refused() -> None:
    model = oracle.model({0: b"a", 1: b"b", 2: b"ab"}, ranks={2: 0})
    with pytest.raises(ValueError, match="expansion_offsets must hold 4"):
        _core.PieceMerger(model, False, (np.zeros(1, np.uint32), np.array([0, 1])))
    with pytest.raises(ValueError, match=r"expansion_offsets .* 1\b"):
        _core.PieceMerger(model, False, (np.zeros(1, np.uint32), np.array([0, 1, 2, 3])))
    merger = _core.PieceMerger(model)
    with pytest.raises(ValueError, match=r"^offsets .* 2\b"):
        merger.encode_batch(np.zeros(2, np.uint8), np.array([0, 1]))
    with pytest.raises(ValueError, match="threads"):
        merger.encode_batch(np.zeros(2, np.uint8), np.array([0, 2]), 0)


def real_model(name: str) -> MergeModel:
    from pyharness.vocabularies import rank_file
    from pyharness.vocabularies.huggingface import file as huggingface_file
    from pyharness.vocabularies.huggingface import vocabulary as huggingface_vocabulary

    folder = Path(DATA or "") / "tokenizers"
    if name.endswith("_base"):
        ranks = rank_file.read_ranks((folder / "tiktoken" / f"{name}.tiktoken").read_bytes(), name)
        return rank_file.merge_model(rank_file.RankVocabulary(ranks, {}, ""))
    file = huggingface_file.read_file((folder / name / "tokenizer.json").read_bytes(), name)
    return huggingface_vocabulary.merge_model(file, huggingface_vocabulary.vocabulary(file))


def hard_pieces(generator: random.Random, tokens: Mapping[int, bytes] | Iterable[bytes]) -> list[bytes]:
    strings = [*(tokens.values() if isinstance(tokens, Mapping) else tokens)]
    pieces = [b"".join(generator.choices(strings, k=generator.randint(1, 60))) for _ in range(1_500)]
    pieces += [bytes([generator.randrange(256)]) * generator.randint(1, 3_000) for _ in range(100)]
    pieces += [generator.randbytes(generator.randint(1, 300)) for _ in range(300)]
    for character in (" ", "\n", "é", "的", "ก", "🇪🇪", "ab", "Ġ"):
        pieces += [character.encode() * count for count in (1, 7, 16, 40, 129, 1_000)]
    return [*pieces, bytes(generator.choices(b"abcdefghijklmnopqrstuvwxyz ", k=200_000))]


@pytest.mark.data
@pytest.mark.skipif(DATA is None, reason="PYHARNESS_DATA is not set: it names real tokenizer files")
@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base", "gpt2", "qwen2_5", "deepseek_v3"])
def test_real_vocabularies(name: str) -> None:
    model = real_model(name)
    strings = [token_bytes(model, token) for token in range(len(model.offsets) - 1)]
    assert_exact(model, [*strings, *hard_pieces(random.Random(name), strings)])


@pytest.mark.data
@pytest.mark.skipif(DATA is None, reason="PYHARNESS_DATA is not set: it names real tokenizer files")
def test_pieces_of_a_megabyte() -> None:
    model = real_model("cl100k_base")
    generator = random.Random(0)
    letters = bytes(generator.choices(b"abcdefghijklmnopqrstuvwxyz", k=1_000_000))
    assert_exact(model, [b"a" * 1_000_000, b" " * 1_000_000, letters, b"ab" * 500_000])
