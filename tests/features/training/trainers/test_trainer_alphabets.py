"""Fewer characters, longest tokens in characters, symbols with a prefix or suffix: as tokenizers trains with them."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from bpe_models import sample
from cases.trained_rows import asked
from oracles import bpe as oracle
from pyharness.bpe import BpeTokenizer, TrainedBpe, WeightedPieces, export_model, model_of_training, train
from pyharness.bpe.formats.own_file import load_bytes, save_bytes
from pyharness.bpe.training.piece_symbols import in_forms, of_characters
from pyharness.features.training import trainers
from pyharness.features.training.trainers import TrainedTokenizer
from pyharness.types import InputError

AFFIXES = [("", ""), ("##", ""), ("", "</w>"), ("##", "</w>"), ("é", "a")]


def random_words(generator: random.Random) -> dict[str, int]:
    letters = generator.choice(["ab", "abcé", "abcdefgh中文"])
    words = Counter(
        "".join(generator.choices(letters, k=generator.randint(1, 9))) for _ in range(generator.randint(1, 12))
    )
    return {word: generator.randint(1, 60) for word in words}


def pieces_of(words: dict[str, int]) -> WeightedPieces:
    return of_characters(WeightedPieces.of_bytes({word.encode(): count for word, count in words.items()}))


def slow_words(words: dict[str, int], prefix: str, suffix: str, kept: set[str]) -> list[tuple[list[str], int]]:
    """Symbols of each word: marks go by the place in the word, before characters are left out."""
    return [
        (
            [
                (prefix if at else "") + character + (suffix if at == len(word) - 1 else "")
                for at, character in enumerate(word)
                if character in kept
            ],
            count,
        )
        for word, count in words.items()
    ]


def slow_kept(words: dict[str, int], limit: int | None) -> set[str]:
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    return set(sorted(counts, key=lambda character: (-counts[character], character))[:limit])


@pytest.mark.parametrize(("prefix", "suffix"), AFFIXES)
def test_equals_recounting(prefix: str, suffix: str) -> None:
    for seed in range(200):
        generator = random.Random(seed)
        words, limit = random_words(generator), generator.choice([None, 1, 2, 5])
        longest, characters = generator.choice([None, 3, 8]), generator.choice([None, 2, 4])
        pieces = in_forms(pieces_of(words), prefix=prefix, suffix=suffix, limit=limit)
        base = [TrainedBpeStrings(pieces)[symbol] for symbol in range(len(pieces.data_offsets) - 1)]
        spelled = slow_words(words, prefix, suffix, slow_kept(words, limit))
        numbers = {data: number for number, data in enumerate(base)}
        slow = Counter[tuple[int, ...]]()
        for symbols, count in spelled:
            slow[tuple(numbers[symbol.encode()] for symbol in symbols)] += count
        bare = range(len(base)) if pieces.bare is None else pieces.bare.tolist()
        size = len(base) + generator.choice([0, 3, 30])
        vocabulary, rules = oracle.train(
            slow, size, max_length=longest, base=base, max_characters=characters, prefix=prefix.encode(),
            texts=[base[symbol] for symbol in bare],
        )  # fmt: skip
        trained = train(pieces, size, max_token_length=longest, max_token_characters=characters)
        assert [tuple(rule) for rule in trained.rules.tolist()] == rules, seed
        assert {token: trained[token] for token in range(len(trained))} == vocabulary, seed


class TrainedBpeStrings:
    """Base symbols of pieces as bytes."""

    def __init__(self, pieces: WeightedPieces) -> None:
        self.pieces = pieces

    def __getitem__(self, symbol: int) -> bytes:
        return self.pieces.data[self.pieces.data_offsets[symbol] : self.pieces.data_offsets[symbol + 1]].tobytes()


@pytest.mark.parametrize(("prefix", "suffix"), AFFIXES[:4])
def test_equals_the_trainer_of_tokenizers(prefix: str, suffix: str) -> None:
    """As far as no two pairs are equally frequent: then the library goes by the order of a hash map."""
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is what this is about")
    compared = 0
    for seed in range(120):
        generator = random.Random(seed)
        words, limit = random_words(generator), generator.choice([None, 3, 6])
        if limit and len({*slow_kept(words, limit)} ^ {*kept_reversed(words, limit)}):
            continue  # which characters stay goes by the order of a hash map, too
        pieces = in_forms(pieces_of(words), prefix=prefix, suffix=suffix, limit=limit)
        slow = Counter[tuple[int, ...]]()
        for start, end, count in zip(pieces.offsets, pieces.offsets[1:], pieces.weights, strict=False):
            slow[tuple(pieces.symbols[start:end].tolist())] += int(count)
        base = [TrainedBpeStrings(pieces)[symbol] for symbol in range(len(pieces.data_offsets) - 1)]
        bare = range(len(base)) if pieces.bare is None else pieces.bare.tolist()
        longest = generator.choice([None, None, 4, 5])
        _, rules = oracle.train(
            slow, len(base) + 25, base=base, prefix=prefix.encode(), texts=[base[symbol] for symbol in bare],
            max_characters=longest, until_tie=True,
        )  # fmt: skip
        size = len(base) + len(rules)
        trained = train(pieces, size, max_token_characters=longest)
        home = tokenizers.Tokenizer(tokenizers.models.BPE())
        home.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
        options = {
            "limit_alphabet": limit, "continuing_subword_prefix": prefix, "end_of_word_suffix": suffix,
            "max_token_length": None if longest is None else longest + 1,  # the first that is too long
        }  # fmt: skip
        given = {name: value for name, value in options.items() if value}
        trainer = tokenizers.trainers.BpeTrainer(vocab_size=size, show_progress=False, **given)
        home.train_from_iterator([" ".join([word] * count) for word, count in words.items()], trainer)
        model = json.loads(home.to_str())["model"]
        assert [(trained[left].decode(), trained[right].decode()) for left, right, _ in trained.rules.tolist()] == [
            tuple(pair) for pair in model["merges"]
        ], seed
        assert {trained[token].decode() for token in range(len(trained))} == set(model["vocab"]), seed
        compared += len(rules)
    assert compared > 100


def kept_reversed(words: dict[str, int], limit: int) -> set[str]:
    """The most frequent characters, the largest of equally frequent ones first."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    return set(sorted(counts, key=lambda character: (counts[character], character), reverse=True)[:limit])


def trained_on_sample(prefix: str, suffix: str, *, in_bytes: bool) -> TrainedBpe:
    words = Counter(word for text in sample()[:400] for word in text.split())
    pieces = WeightedPieces.of_bytes({word.encode(): count for word, count in words.items()})
    pieces = pieces if in_bytes else of_characters(pieces)
    limit = None if in_bytes else 90
    pieces = in_forms(pieces, prefix=prefix, suffix=suffix, limit=limit, every_form=in_bytes)
    return train(pieces, 2600 if in_bytes else 900)


@pytest.mark.parametrize(("prefix", "suffix"), AFFIXES[1:4])
@pytest.mark.parametrize("in_bytes", [False, True])
def test_the_model_encodes_as_tokenizers_does(prefix: str, suffix: str, in_bytes: bool) -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is what this is about")
    special = [] if in_bytes else ["<unk>"]
    trained = trained_on_sample(prefix, suffix, in_bytes=in_bytes)
    model = model_of_training(trained, "whitespace", special=special, unknown=None if in_bytes else "<unk>")
    assert (model.prefix, model.suffix, model.symbols) == (prefix, suffix, "bytes" if in_bytes else "characters")
    ours = BpeTokenizer(load_bytes(save_bytes(model), "again"))
    home = tokenizers.Tokenizer.from_buffer(export_model(model, "tokenizer.json"))
    for text in sample()[::15]:
        ids = ours.encode(text)
        expected = home.encode(text, add_special_tokens=False)
        assert ids.tolist() == expected.ids
        assert [ours.id_to_token(token) for token in ids.tolist()] == expected.tokens
        if in_bytes:
            assert ours.decode(ids) == text.encode()
            if not {"</w>", "##"} & {text[at : at + size] for at in range(len(text)) for size in (2, 4)}:
                assert home.decode(ids.tolist()) == text


def test_a_suffix_makes_tokens_of_the_ends_of_words() -> None:
    trained = train(in_forms(pieces_of({"low": 5, "lower": 2}), suffix="</w>"), 11)
    strings = [trained[token].decode() for token in range(len(trained))]
    assert strings == ["e", "l", "o", "r", "w", "r</w>", "w</w>", "lo", "low</w>", "er</w>", "wer</w>"]


# ---------------------------------------------------------------------------------------------- the trainer


def run(texts: list[str], size: int, **options: Any) -> TrainedTokenizer:
    return trainers.train("bpe", asked("bpe", texts=lambda: texts, vocab_size=size, **options))


def loaded(trained: TrainedTokenizer) -> BpeTokenizer:
    return BpeTokenizer(load_bytes(trained.files["model.json"], "model.json"))


def test_options_of_the_trainer() -> None:
    texts = ["lower lower lowest 中 newer"] * 3
    trained = run(texts, 60, symbols="characters", pattern="whitespace", limit_alphabet=5, end_of_word_suffix="</w>",
                  continuing_subword_prefix="##", max_token_characters=3, initial_alphabet="中")  # fmt: skip
    ours = loaded(trained)
    strings = [ours.id_to_token(token) for token in range(ours.id_limit)]
    assert {string for string in strings if string and len(string) == 1} == {"中", "e", "l", " ", "w"}
    assert trained.details["characters_left_out"] == 3 * len("ooorrrstn")
    assert max(len(ours.decode_single_token_bytes(token).decode()) for token in range(ours.id_limit)) == 3
    assert any("within 3 characters" in note for note in trained.notes)
    origin = ours.model.origin
    assert (origin["limit_alphabet"], origin["end_of_word_suffix"], origin["max_token_characters"]) == (5, "</w>", 3)
    assert "limit_alphabet" not in loaded(run(texts, 300)).model.origin


def test_a_limit_on_characters_of_bytes() -> None:
    for most, expected in ((1, 1), (2, 2), (None, 5)):
        ours = loaded(run(["déjà déjà vu"] * 4, 400, max_token_characters=most, pattern="whitespace"))
        tokens = [ours.decode_single_token_bytes(token) for token in range(256, ours.id_limit)]
        assert max(map(oracle.characters_in, tokens)) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limit_alphabet": 3}, "limit_alphabet.*'characters'"),
        ({"limit_alphabet": 0, "symbols": "characters"}, r"limit_alphabet.* 0\b.* 1\.\."),
        (
            {"limit_alphabet": 1, "symbols": "characters", "initial_alphabet": "xy"},
            r"limit_alphabet=1\b.* 2\b.*initial_alphabet",
        ),
        ({"max_token_characters": 0}, r"max_token_characters.* 0\b.* 1\.\."),
        ({"end_of_word_suffix": "\ud800"}, r"'\\ud800'.*Unicode"),
        ({"end_of_word_suffix": "</w>"}, r"vocabulary of 300\b.*alphabet.* 512\b"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(["abc abc"], 300, **options)
    with pytest.raises(InputError, match=r"scaffold-bpe.*'end_of_word_suffix'"):
        trainers.options_of("scaffold-bpe", vocab_size=300, end_of_word_suffix="</w>")
    with pytest.raises(InputError, match=r"Scaffold.*suffix"):
        train(in_forms(pieces_of({"ab": 1}), suffix="</w>"), 9, scaffold=True)


def test_pieces_that_lose_all_characters() -> None:
    pieces = in_forms(pieces_of({"ab": 3, "c": 1, "": 4, "aca": 2}), limit=2)
    assert [pieces.symbols[a:b].tolist() for a, b in zip(pieces.offsets, pieces.offsets[1:], strict=False)] == [
        [0, 1], [], [], [0, 0],
    ]  # fmt: skip
    assert np.array_equal(in_forms(pieces, limit=5).symbols, pieces.symbols)
