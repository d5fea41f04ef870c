"""Prunings as trainings: what goes, what stays, and tokens that come in their place."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from adapted.bases import NEW, OLD, metaspace_file, write_base
from bpe_files import FILES, characters_file
from cases.trained_rows import asked
from pyharness.bpe import import_model, self_tokenization
from pyharness.features.adaptation.bpe.model_pieces import TokenCounter
from pyharness.features.adaptation.bpe.pruning import id_map, leaf_order
from pyharness.features.training import trainers
from pyharness.features.training.trainers import TrainedTokenizer
from pyharness.types import InputError

PIECES = "sentencepiece, byte fallback"
NAMES = ("leaf-pruning", "frequency-pruning", "last-n", "leaf-last-n", "merge-based", "script")


def prune(base: Path | str, texts: Iterable[str] = OLD, name: str = "leaf-pruning", **options: Any) -> TrainedTokenizer:
    kept = list(texts)
    return trainers.train(name, asked(name, texts=lambda: kept, base=str(base), **options))


def record(trained: TrainedTokenizer) -> dict[str, Any]:
    content = json.loads(trained.files["adaptation.json"])
    assert isinstance(content, dict)
    return content


def strings_of(trained: TrainedTokenizer) -> set[bytes]:
    assert trained.model is not None
    return {trained.model.vocabulary[token] for token in range(trained.model.id_limit)}


def test_leaves_go_by_frequency_and_the_map_of_ids_is_written(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    model = import_model(base)
    counter = TokenCounter(model)
    counter.add(OLD)
    expected = id_map(model, leaf_order(model, counter.counts)[:5])
    trained = prune(base, vocab_size=268)
    assert json.loads(trained.files["id_map.json"]) == expected.new.tolist()
    assert (trained.vocab_size, record(trained)["removed"]) == (268, 5)
    assert trained.model is not None
    assert not len(self_tokenization(trained.model.merges).failed)
    assert dict(trained.model.special) == {"<|end|>": 265, "<|reserved_0|>": 266, "<|reserved_1|>": 267}


@pytest.mark.parametrize("name", NAMES)
def test_other_sizes_need_no_text(tmp_path: Path, name: str) -> None:
    base = write_base(tmp_path)
    more = {"scripts": ("Latin",)} if name == "script" else {}
    first = prune(base, name=name, share=0.5, **more)
    assert record(first)["removed"] == 7
    for size in ({"vocab_size": 270}, {"share": 1.0}):
        fresh = prune(base, name=name, **size, **more)
        assert prune(base, [], name, learnt=first.learnt, **size, **more).files == fresh.files
    assert fresh.vocab_size == 259


def test_tokens_come_in_the_place_of_others(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    same = prune(base, NEW, tokens=6)
    assert same.vocab_size == 273
    assert (record(same)["removed"], record(same)["added"]) == (6, 6)
    assert record(same)["unreachable"]["adapted"] == {"layer_1": 0, "layer_2": 0}
    assert prune(base, NEW, tokens=6, vocab_size=271).vocab_size == 271
    assert prune(base, NEW, tokens=6, share=1.0).vocab_size == 259 + 6
    assert max(json.loads(same.files["id_map.json"])) == 266


@pytest.mark.parametrize("file", ["tokenizer.json", "tokenizer.model"])
def test_characters_come_in_the_place_of_tokens(tmp_path: Path, file: str) -> None:
    path = tmp_path / file
    path.write_bytes(json.dumps(characters_file()).encode() if file == "tokenizer.json" else FILES[PIECES])
    size = import_model(path).vocabulary.counted.sum()
    made = prune(path, ["õõ 日õ 日"] * 3, tokens=2, character_coverage=1.0)
    assert made.model is not None
    assert {"õ", "日"} <= {string.decode(errors="replace") for string in strings_of(made)}
    assert made.model.vocabulary.counted.sum() == size
    assert record(made)["characters"] == 2


def test_balanced_corpora_choose_what_goes_and_what_comes(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    rare = ["päike paistab"] * 2
    texts: dict[str, Any] = {"texts": [*NEW * 50, *rare], "parts": lambda: [NEW * 50, rare]}
    plain, balanced = (prune(base, **texts, tokens=12, balance=one) for one in (False, True))
    assert not any("päi".encode() in string for string in strings_of(plain))
    assert any("päi".encode() in string for string in strings_of(balanced))
    large, small = (prune(base, part, vocab_size=262).files["id_map.json"] for part in (NEW * 50, rare))
    assert prune(base, **texts, vocab_size=262).files["id_map.json"] == large
    assert large != small


@pytest.mark.parametrize("option", [{"deny": "x"}, {"character_coverage": 0.5}, {"min_frequency": 3}])
def test_options_of_learning_are_refused_where_nothing_is_learnt(tmp_path: Path, option: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(option))}= .*tokens="):
        prune(write_base(tmp_path), vocab_size=262, **option)


def test_rank_files_say_where_their_special_tokens_are_now(tmp_path: Path) -> None:
    base = write_base(tmp_path, "mine.tiktoken")
    trained = prune(f"file:{base}?pattern=gpt2&special=<|end|>:285", vocab_size=261)
    assert dict(trained.loading) == {"pattern": "gpt2", "special": "<|end|>:260"}


def test_settings_follow_the_ids(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    decoder = {str(token): {"content": str(token)} for token in (270, 271)}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    settings = json.loads(prune(base, vocab_size=268).files["tokenizer_config.json"])
    assert settings == {"added_tokens_decoder": {"265": {"content": "270"}, "266": {"content": "271"}}}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "vocab_size= .*share= .*tokens= "),
        ({"vocab_size": 265, "share": 0.5}, "give one of"),
        ({"share": 1.5}, "must be in 0..1"),
        ({"vocab_size": 258}, r"\b15 of 273 tokens .*\b258\b.*\b14 can"),
        ({"vocab_size": 500}, r"\b500 tokens .*\b273"),
        ({"share": 0.5, "name": "script"}, "name the scripts"),
        ({"share": 0.5, "name": "script", "scripts": ("Klingon",)}, "script .*'Klingon'"),
        ({"share": 0.5, "texts": []}, "corpus .*no text"),
        ({"tokens": 5, "texts": ["x"]}, "nothing to add.*min_frequency"),
        ({"share": 0.5, "reuse": "x"}, "no option 'reuse'"),
    ],
)
def test_bad_requests_are_refused_in_words(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        prune(write_base(tmp_path), **options)


def test_plain_frequency_leaves_tokens_that_nothing_makes(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    texts, none = ["the mat sat"] * 9, {"layer_1": 0, "layer_2": 0}
    assert record(prune(base, texts, "frequency-pruning", share=0.8))["unreachable"]["adapted"] != none
    assert record(prune(base, texts, share=0.8))["unreachable"]["adapted"] == none


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"vocab_size": 274}, r"\b274 tokens .*\b273"),
        ({"vocab_size": 258}, r"\b15 of 273 tokens .*\b258\b.*\b14 can"),
        ({"vocab_size": 273}, "nothing would .*: of 273 tokens 14 can go"),
        ({"share": 0.0}, "share 0 removes nothing: of 273 tokens 14 can go"),
        ({"tokens": 15}, r"\b15 of 273 tokens .*\b258\b.*\b14 can"),
        ({"tokens": 9, "vocab_size": 267}, "and 14 can"),
        ({"tokens": 300}, r"\b300 new tokens .*\b273"),
        ({"tokens": 1 << 31}, "must be in 1..2,147,483,647"),
    ],
)
def test_sizes_that_no_text_can_mend_are_refused_before_it_is_read(
    tmp_path: Path, name: str, options: dict[str, Any], said: str
) -> None:
    scripts = {"scripts": ("Latin",)} if name == "script" else {}
    values = {"texts": lambda: pytest.fail("read"), "base": str(write_base(tmp_path)), **scripts, **options}
    with pytest.raises(InputError, match=said):
        trainers.train(name, asked(name, **values))


@pytest.mark.parametrize("name", ["last-n", "leaf-last-n"])
def test_orders_that_count_nothing_read_nothing(tmp_path: Path, name: str) -> None:
    request = asked(name, texts=lambda: pytest.fail("read"), base=str(write_base(tmp_path)), vocab_size=268)
    trained = trainers.train(name, request)
    assert (trained.vocab_size, record(trained)["documents"]) == (268, 0)


def test_what_only_a_lookup_finds_is_counted_as_the_base_writes_it(tmp_path: Path) -> None:
    base = tmp_path / "tokenizer.json"
    base.write_bytes(metaspace_file(split=True))
    texts = ["abcd", "abcd cd"]
    for whole, left in ((None, "▁abcd"), (False, "cd")):
        trained = prune(base, texts, vocab_size=8, whole_pieces=whole)
        vocab = json.loads(trained.files["tokenizer.json"])["model"]["vocab"]
        assert {"▁abcd", "cd"} & vocab.keys() == {left}


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [("script", {"share": 0.5, "scripts": ("Latin", "Klingon")}, "script .*'Klingon'")],
)
def test_what_no_text_can_mend_is_refused_before_it_is_read(
    tmp_path: Path, name: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        trainers.train(name, asked(name, texts=lambda: pytest.fail("read"), base=str(write_base(tmp_path)), **options))
