"""WordPiece by likelihood: equal to its slow reference and to the vectors, and a tokenizer.json that encodes so."""

from __future__ import annotations

import json
import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cases.trained_rows import asked
from cases.training_texts import VECTORS
from oracles import wordpiece as oracle
from pyharness import corpora, tokenizers
from pyharness.features.training import trainers
from pyharness.features.training.trainers import likelihood
from pyharness.types import InputError, Tally

# Few letters, so that ties are common; "#" makes strings that look like symbols inside words, "[UNK]" the token itself.
ALPHABETS = ("a", "ab", "abc", "abcdef", "ab#", "héß漢#a", "[UNK]#")


def random_words(generator: random.Random) -> dict[str, int]:
    alphabet, most = generator.choice(ALPHABETS), generator.choice([1, 3, 9, 100])
    longest = generator.choice([3, 6, 12])
    return {
        "".join(generator.choices(alphabet, k=generator.randint(1, longest))): generator.randint(1, most)
        for _ in range(generator.randint(1, 14))
    }


def test_it_is_the_reference_on_500_random_corpora() -> None:
    generator = random.Random(13)
    for _ in range(500):
        words, size, least = random_words(generator), generator.randint(2, 60), generator.choice([1, 1, 2, 5])
        trained = likelihood.train(words, size, min_frequency=least)
        assert (trained.vocabulary, trained.merges) == oracle.train(words, size, min_frequency=least), (words, size)


@pytest.mark.parametrize("vector", VECTORS["wordpiece_train"], ids=lambda vector: str(vector["name"]))
def test_vectors_of_training(vector: dict[str, Any]) -> None:
    given, expected = vector["input"], vector["expected"]
    trained = likelihood.train(given["words"], given["vocab_size"])
    assert trained.vocabulary == expected["vocab"]
    if "merges" in expected:
        assert trained.merges == [(left, right, Fraction(score)) for left, right, score in expected["merges"]]


def train(texts: list[str], vocab_size: int, **options: Any) -> trainers.TrainedTokenizer:
    return trainers.train(
        "wordpiece-likelihood", asked("wordpiece-likelihood", texts=lambda: texts, vocab_size=vocab_size, **options)
    )


def vocabulary_of(trained: trainers.TrainedTokenizer) -> list[str]:
    vocab = json.loads(trained.files["tokenizer.json"])["model"]["vocab"]
    return sorted(vocab, key=vocab.__getitem__)


@pytest.mark.parametrize("vector", VECTORS["wordpiece_encode"], ids=lambda vector: str(vector["name"]))
def test_vectors_of_encoding(vector: dict[str, Any]) -> None:
    library = pytest.importorskip("tokenizers")
    vocabulary, word = vector["input"]["vocab"], vector["input"]["word"]
    file = likelihood._write(vocabulary, ["[UNK]"]).decode()
    assert library.Tokenizer.from_str(file).encode(word).tokens == vector["expected"]
    assert oracle.encode(word, vocabulary) == vector["expected"]


def test_what_is_trained_encodes_as_the_reference(tmp_path: Path) -> None:
    texts = list(corpora.open_corpus("sample:prose").documents(Tally()))
    trained = train(texts, 1500, special=("<pad>",))
    vocabulary = vocabulary_of(trained)
    assert vocabulary[:2] == ["[UNK]", "<pad>"]
    (tmp_path / "tokenizer.json").write_bytes(trained.files["tokenizer.json"])
    tokenizer = tokenizers.load(f"file:{tmp_path / 'tokenizer.json'}")
    words = [word for word in texts[0].split() if word.isalpha()]
    assert len(words) > 20
    for word in words:
        ids = tokenizer.encode_batch([word]).ids
        assert [vocabulary[token] for token in ids] == oracle.encode(word, vocabulary)
    assert train(texts, 1500, special=("<pad>",), threads=2).files == trained.files


def test_words_that_the_model_calls_unknown_are_left_out() -> None:
    trained = train(["ab " + "x" * 101], 300)
    assert vocabulary_of(trained) == ["[UNK]", "a", "##b", "ab"]
    assert re.search("1 .* 100 characters", trained.notes[0])
    assert not trained.complete


@pytest.mark.parametrize(
    ("texts", "size", "said"),
    [
        (["brown the quick fox"], 1, r"vocabulary of 1\b.*special"),
        (["brown the quick fox"], 9, r"vocabulary of 9\b.*alphabet.* 16\b"),
        ([], 300, "no text"),
        ([""], 300, "no text"),
        (["a"], 2**30, "at most 16,777,216"),
        (["fine", "ab\ud800"], 300, "document 2 .*surrogate.*character 2"),
    ],
)
def test_what_cannot_be_trained_is_refused(texts: list[str], size: int, said: str) -> None:
    with pytest.raises(InputError, match=said):
        train(texts, size)
