"""PieceMerger against the definition: every short string, strange models, windows and runs."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.merged_pieces import assert_exact, merged, random_pieces
from layout.thoroughness import examples
from oracles import bpe as oracle
from pyharness.types import MergeModel

WINDOW = 63  # longer pieces are merged window by window


def all_strings(alphabet: bytes, longest: int) -> list[bytes]:
    return [bytes(text) for n in range(longest + 1) for text in itertools.product(alphabet, repeat=n)]


EVERY_STRING = all_strings(b"ab", 11) + all_strings(b"abc", 7)


def trained(generator: random.Random, size: int) -> tuple[dict[int, bytes], list[oracle.Rule]]:
    words = {
        bytes(generator.choices(b"abc", k=generator.randint(1, 12))): generator.randint(1, 9)
        for _ in range(generator.randint(1, 15))
    }
    return oracle.train(words, 256 + size)


@pytest.mark.parametrize("seed", range(examples(60)))
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


@pytest.mark.parametrize("seed", range(examples(120)))
def test_every_short_string_with_strange_models(seed: int) -> None:
    generator = random.Random(seed)
    assert_exact(strange_model(generator), EVERY_STRING + random_pieces(generator, b"abc", 20, 700))


def model_in_order(generator: random.Random) -> MergeModel:
    """Rules each behind those of its parts, whether anything encodes to these parts or not; some strings have two."""
    tokens = [b"a", b"b", b"c"][: generator.randint(1, 3)]
    rules: list[oracle.Rule] = []
    for _ in range(generator.randint(1, 30)):
        left, right = generator.choices(range(len(tokens)), k=2)
        string = tokens[left] + tokens[right]
        if len(string) > 9 or any((left, right) == rule[:2] for rule in rules):
            continue
        if string not in tokens:
            tokens.append(string)
        if max(left, right) < tokens.index(string):
            rules.append((left, right, tokens.index(string)))
    return oracle.model(dict(enumerate(tokens)), rules=rules)


@pytest.mark.parametrize("seed", range(examples(200)))
def test_every_short_string_where_rules_follow_those_of_their_parts(seed: int) -> None:
    generator = random.Random(seed)
    assert_exact(model_in_order(generator), EVERY_STRING + random_pieces(generator, b"abc", 20, 300))


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


@pytest.mark.parametrize("seed", range(examples(150)))
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
