"""Words and characters as tokens: the most frequent ones, and the share of what is unknown."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cases.trained_rows import asked
from pyharness import corpora, tokenizers
from pyharness.benchmarks.compression import CorpusPass
from pyharness.features.training import trainers
from pyharness.types import HasVocabulary, InputError, Tally, Tokenizer

UNITS: dict[str, Callable[[str], list[str]]] = {
    "words": re.compile(r"[^\W_]+|[^\s]").findall,  # of this text: letters and digits in runs, all else alone
    "characters": list,
}
TEXTS = ["to be or not to be, that is 2 be", "be\nquick, too"]


def trained(name: str, size: int, folder: Path, texts: list[str]) -> tuple[list[str], Tokenizer]:
    result = trainers.train(name, asked(name, texts=lambda: texts, vocab_size=size))
    (folder / "tokenizer.json").write_bytes(result.files["tokenizer.json"])
    tokenizer = tokenizers.load(f"file:{folder / 'tokenizer.json'}")
    assert isinstance(tokenizer, HasVocabulary)
    vocabulary = tokenizer.vocabulary()
    return [vocabulary[token].decode() for token in range(result.vocab_size)], tokenizer


@pytest.mark.parametrize("name", sorted(UNITS))
@pytest.mark.parametrize("size", [2, 4, 6])
def test_the_most_frequent_are_kept_and_the_rest_is_unknown(name: str, size: int, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    vocabulary, tokenizer = trained(name, size, tmp_path, TEXTS)
    counts = Counter(unit for text in TEXTS for unit in UNITS[name](text))
    by_rank = sorted(counts, key=lambda unit: (-counts[unit], unit))[: size - 1]
    assert vocabulary[1:] == by_rank
    tokens = tokenizer.encode_batch(TEXTS)
    expected = [vocabulary.index(unit) if unit in by_rank else 0 for text in TEXTS for unit in UNITS[name](text)]
    assert tokens.ids.tolist() == expected


@pytest.mark.parametrize("name", sorted(UNITS))
def test_the_share_of_unknown_tokens_is_measured(name: str, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    texts = list(corpora.open_corpus("sample:prose").documents(Tally()))
    for size, unknown in ((2, True), (20_000, False)):
        _, tokenizer = trained(name, size, tmp_path, texts)
        passed = CorpusPass.start(tokenizer).read(corpora.open_corpus("sample:prose"))
        rate = next(one for one in passed.counted().measurements() if one.metric == "unknown_rate")
        ids = tokenizer.encode_batch(texts).ids
        assert rate.value == (ids == 0).mean()
        assert bool(rate.value) is unknown


@pytest.mark.parametrize("name", sorted(UNITS))
def test_what_cannot_be_trained_is_refused(name: str) -> None:
    for texts, size, said in (([], 9, "no text"), (["a b"], 1, "vocabulary of 1 .*special")):
        with pytest.raises(InputError, match=said):
            trainers.train(name, asked(name, texts=lambda texts=texts: texts, vocab_size=size))
