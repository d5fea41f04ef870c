"""The fast merger of pieces against the reference encoder, which test_bpe_encoder.py holds to the definition."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import bpe as oracle
from pyharness import _core
from pyharness.bpe import BpeEncoder, WeightedPieces, train
from pyharness.types import MergeModel, Tokens

DATA = os.environ.get("PYHARNESS_DATA")
WINDOW = 63  # longer pieces are merged window by window


def merged(model: MergeModel, pieces: Sequence[bytes], threads: int = 1, **options: object) -> Tokens:
    merger = _core.PieceMerger(model, **options)  # type: ignore[arg-type]
    return Tokens(*merger.encode_batch(np.frombuffer(b"".join(pieces), np.uint8), oracle.offsets_of(pieces), threads))


def byte_ids(model: MergeModel) -> dict[int, int]:
    strings = {int(token): token_bytes(model, int(token)) for token in np.flatnonzero(model.atomic)}
    return {data[0]: token for token, data in reversed(strings.items()) if len(data) == 1}


def token_bytes(model: MergeModel, token: int) -> bytes:
    return model.data[model.offsets[token] : model.offsets[token + 1]].tobytes()


def expected(model: MergeModel, pieces: Sequence[bytes]) -> Tokens:
    ids = byte_ids(model)
    base = Tokens.from_lists([[ids[byte] for byte in piece if byte in ids] for piece in pieces])
    return BpeEncoder(model).encode_batch(base.ids, base.offsets)


def assert_exact(model: MergeModel, pieces: Sequence[bytes]) -> None:
    found, wanted = merged(model, pieces), expected(model, pieces)
    if np.array_equal(found.ids, wanted.ids) and np.array_equal(found.offsets, wanted.offsets):
        return
    for index in range(len(pieces)):
        assert found.document(index).tolist() == wanted.document(index).tolist(), pieces[index]


def all_strings(alphabet: bytes, longest: int) -> list[bytes]:
    return [bytes(text) for n in range(longest + 1) for text in itertools.product(alphabet, repeat=n)]


EVERY_STRING = all_strings(b"ab", 11) + all_strings(b"abc", 7)


def random_pieces(generator: random.Random, alphabet: bytes, count: int, longest: int) -> list[bytes]:
    """Random letters, runs and repetitions."""
    pieces = []
    for _ in range(count):
        unit = bytes(generator.choices(alphabet, k=generator.choice([1, 1, 2, 3, 5, longest])))
        pieces.append((unit * longest)[: generator.randint(1, longest)])
    return pieces


def trained(generator: random.Random, size: int) -> tuple[dict[int, bytes], list[oracle.Rule]]:
    words = {
        bytes(generator.choices(b"abc", k=generator.randint(1, 12))): generator.randint(1, 9)
        for _ in range(generator.randint(1, 15))
    }
    return oracle.train(words, 256 + size)


@pytest.mark.parametrize("seed", range(60))
def test_every_short_string_with_trained_models(seed: int) -> None:
    generator = random.Random(seed)
    vocabulary, rules = trained(generator, generator.randint(1, 25))
    pieces = EVERY_STRING + random_pieces(generator, b"abc", 20, 400)
    assert_exact(oracle.model(vocabulary, rules=rules), pieces)
    assert_exact(oracle.model(vocabulary, ranks={token: token for token in vocabulary}), pieces)


def strange_model(generator: random.Random) -> MergeModel:
    """Tokens in any order of rank, some of them unreachable; as ranks, or as some of the rules that they imply."""
    strings = {bytes(generator.choices(b"abc", k=generator.randint(2, 7))) for _ in range(generator.randint(1, 25))}
    tokens = dict(enumerate([b"a", b"b", b"c", *strings]))
    if generator.random() < 0.5:
        ranks = generator.sample(range(3, 60), len(strings))
        return oracle.model(tokens, ranks={3 + at: rank for at, rank in enumerate(ranks)})
    rules = oracle.split_rules(tokens)
    rules = generator.choices(rules, k=len(rules)) if rules else []
    return oracle.model(tokens, rules=rules)


@pytest.mark.parametrize("seed", range(120))
def test_every_short_string_with_strange_models(seed: int) -> None:
    generator = random.Random(seed)
    assert_exact(strange_model(generator), EVERY_STRING + random_pieces(generator, b"abc", 20, 700))


CHARACTERS = [character.encode() for character in ("é", "è", "ж", "क", "ख", "中", "丮", "€")]
STRAY = [bytes([byte]) for byte in (0xC3, 0xA9, 0xE0, 0xA4, 0xE4, 0xB8)]
STRAY += [b"\xe0\x83\xa9", b"\xc1\xa1"]  # overlong: "é" and "a"


def model_of_characters(generator: random.Random) -> MergeModel:
    """Tokens that are characters, begin or end within them or cross them, in ranks that stop each other."""
    characters = generator.sample(CHARACTERS, 4)
    parts = [*characters, b" ", b"a", *(generator.choices(STRAY, k=3) if generator.random() < 0.5 else [])]
    text = b"".join(generator.choices(parts, k=200))
    strings = {character[:2] if generator.random() < 0.5 else character[-2:] for character in characters}
    strings |= {*characters}
    ranks = {string: generator.randrange(generator.choice([30, 1_000])) for string in strings}
    for _ in range(generator.randint(0, 30)):
        start = generator.randrange(len(text))
        ranks.setdefault(text[start : start + generator.randint(2, 6)], generator.randrange(1_000))
    order = sorted((string for string in ranks if len(string) > 1), key=lambda string: (ranks[string], string))
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256 + at: string for at, string in enumerate(order)}
    return oracle.model(tokens, ranks={256 + at: at for at in range(len(order))})


@pytest.mark.parametrize("seed", range(150))
def test_characters_are_what_their_bytes_are(seed: int) -> None:
    generator = random.Random(seed)
    model = model_of_characters(generator)
    pieces = [b"".join(generator.choices(CHARACTERS, k=generator.randint(1, 20))) for _ in range(60)]
    parts = [*CHARACTERS, *STRAY, b" ", b"a"]
    pieces += [b"".join(generator.choices(parts, k=generator.randint(1, 30))) for _ in range(60)]
    assert_exact(model, pieces)


rule_lists = st.lists(st.tuples(*[st.integers(0, 7)] * 3), max_size=20)


@given(rules=rule_lists, piece=st.text("ABCDEFGH", max_size=12), repeats=st.integers(1, 60))
def test_rules_whose_results_are_not_their_parts(rules: list[oracle.Rule], piece: str, repeats: int) -> None:
    tokens = {token: bytes([65 + token]) for token in range(8)}
    assert_exact(oracle.model(tokens, rules=rules), [piece.encode(), piece.encode() * repeats])


@given(
    strings=st.lists(st.text("ab", min_size=1, max_size=5), max_size=15),
    order=st.randoms(use_true_random=False),
    piece=st.text("abcd", max_size=200),
)
def test_equal_ranks_equal_strings_and_missing_bytes(strings: list[str], order: random.Random, piece: str) -> None:
    """Ranks may tie, two ids may have the same bytes, "d" has no id."""
    tokens = dict(enumerate([b"a", b"b", b"c", *(string.encode() for string in strings)]))
    ranks = {token: order.choice([*range(25), oracle.NEVER]) for token in tokens}
    assert_exact(oracle.model(tokens, ranks=ranks), [piece.encode()])


def test_the_first_of_equal_rules_counts() -> None:
    tokens = {0: b"a", 1: b"b", 2: b"ab", 3: b"ab", 4: b"aba"}
    rules = [(0, 1, 3), (0, 1, 2), (2, 0, 4)]
    assert merged(oracle.model(tokens, rules=rules), [b"aba"]).ids.tolist() == [3, 0]


def test_lengths_around_the_window() -> None:
    vocabulary, rules = trained(random.Random(7), 40)
    generator = random.Random(8)
    lengths = [*range(WINDOW - 3, WINDOW + 4), *range(2 * WINDOW - 3, 2 * WINDOW + 4)]
    pieces = [bytes(generator.choices(b"abc", k=length)) for length in lengths for _ in range(20)]
    assert_exact(oracle.model(vocabulary, rules=rules), pieces + [b"a" * length for length in lengths])


@pytest.mark.parametrize("longest", [1, 2, 16, 100, 700])
def test_runs_with_long_tokens(longest: int) -> None:
    """Tokens longer than a window, whose rank falls with their length or rises with it."""
    tokens = {length - 1: b"a" * length for length in range(1, longest + 1)} | {longest: b"b"}
    pieces = [b"a" * length for length in (1, 5, 62, 63, 64, 65, 500, 999, 5_000)]
    pieces += [piece + b"b" + piece for piece in pieces]
    for sign in (1, -1):
        ranks = {length - 1: 1000 + sign * length for length in range(2, longest + 1)}
        assert_exact(oracle.model(tokens, ranks=ranks), pieces)


def test_what_stands_far_away_changes_the_symbols_before() -> None:
    """Each merge is stopped by one of lower rank to its right, down to the last letter of the piece."""
    letters = bytes(range(65, 65 + 100))
    tokens = {at: bytes([letter]) for at, letter in enumerate(letters)}
    pairs = list(itertools.pairwise(letters))
    tokens |= {100 + at: bytes(pair) for at, pair in enumerate(pairs)}
    ranks = {100 + at: 1000 - at for at in range(len(pairs))}
    pieces = [letters[:end] * repeats for end in (70, 99, 100) for repeats in (1, 2, 30)]
    assert_exact(oracle.model(tokens, ranks=ranks), pieces)


def test_long_pieces_of_all_bytes() -> None:
    generator = random.Random(3)
    words = {generator.randbytes(generator.randint(1, 9)): 1 for _ in range(300)}
    vocabulary, rules = oracle.train(words, 256 + 100)
    pieces = [generator.randbytes(20_000), b"".join(generator.choices([*vocabulary.values()], k=9_000))]
    assert_exact(oracle.model(vocabulary, rules=rules), pieces)


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
    with pytest.raises(ValueError, match="expansion_offsets must end at 1"):
        _core.PieceMerger(model, False, (np.zeros(1, np.uint32), np.array([0, 1, 2, 3])))
    merger = _core.PieceMerger(model)
    with pytest.raises(ValueError, match="offsets must end at 2"):
        merger.encode_batch(np.zeros(2, np.uint8), np.array([0, 1]))
    with pytest.raises(ValueError, match="threads"):
        merger.encode_batch(np.zeros(2, np.uint8), np.array([0, 2]), 0)


# ------------------------------------------------------------------------------------------ real vocabularies


def real_model(name: str) -> MergeModel:
    from pyharness.vocabularies.huggingface import file as huggingface_file
    from pyharness.vocabularies.huggingface import vocabulary as huggingface_vocabulary
    from pyharness.vocabularies.ranks import rank_file

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
