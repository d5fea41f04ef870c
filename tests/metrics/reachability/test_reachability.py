"""Dead tokens: planted ones are named with a witness, real ones are the known ones, layer by layer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyharness
from pyharness import tokenizers
from pyharness.metrics import reachability
from pyharness.metrics.reachability import PipelineTest, Verdict
from pyharness.types import CaseResult, HasVocabulary


def byte_level(vocabulary: dict[str, int], merges: list[str], **model: Any) -> dict[str, Any]:
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": model.pop("added_tokens", []),
        "normalizer": model.pop("normalizer", None),
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": vocabulary, "merges": merges, **model,
        },
    }  # fmt: skip


def alphabet() -> dict[str, int]:
    """The 256 symbols of byte-level BPE, as GPT-2 writes them."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


def planted(tmp_path: Path, words: list[str], merges: list[str], **options: Any) -> dict[str, CaseResult]:
    vocabulary = alphabet()
    for word in words:
        vocabulary[word] = len(vocabulary)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(byte_level(vocabulary, merges, **options)), encoding="utf-8")
    result = pyharness.run(tokenizers=[f"file:{path}"], corpora=["sample:prose"], benchmarks=["reachability"])
    return {one.case.benchmark: one for one in result.record.results}


def values(result: CaseResult) -> dict[str, float | int | None]:
    return {measurement.metric: measurement.value for measurement in result.measurements}


def test_a_planted_dead_token_is_named_with_a_witness(tmp_path: Path) -> None:
    result = planted(tmp_path, ["ab", "bc", "abc", "xyz"], ["a b", "b c", "a bc"])["reachability"]
    assert result.status == "ok", result.reason
    listed = {entry["token"]: entry for entry in result.details["model"]}
    assert set(listed) == {"abc", "xyz"}
    assert listed["abc"]["layer"] == 2
    assert listed["abc"]["spelled"] == ["ab", "c"]
    assert listed["xyz"]["layer"] == 1
    assert listed["xyz"]["spelled"] == ["x", "y", "z"]
    assert values(result)["unreachable_graph"] == 1
    assert values(result)["unreachable_model"] == 2
    assert values(result)["unreachable_pipeline"] == 2
    verdicts = {entry["token"]: entry["verdict"] for entry in result.details["pipeline"]}
    assert verdicts == {"abc": "merge_unreachable", "xyz": "merge_unreachable"}


def test_whole_piece_shortcuts_hide_nothing_from_layer_two(tmp_path: Path) -> None:
    result = planted(tmp_path, ["ab", "bc", "abc"], ["a b", "b c", "a bc"], ignore_merges=True)["reachability"]
    assert values(result)["unreachable_model"] == 1
    assert values(result)["unreachable_pipeline"] == 0, "the shortcut does emit it"


def spelled(data: bytes) -> str:
    symbols = {byte: symbol for symbol, byte in alphabet().items()}
    return "".join(symbols[byte] for byte in data)


def test_each_argument(tmp_path: Path) -> None:
    accent = spelled("\u0301".encode())
    words = ["1a", "zz", "qzz", accent, "e" + accent]
    added = {
        "id": 257,
        "content": "zz",
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
    }
    result = planted(
        tmp_path,
        words,
        ["1 a", "z z", "q zz", " ".join(accent), f"e {accent}"],
        added_tokens=[added | {"special": False}],
        normalizer={"type": "NFC"},
    )["reachability"]
    assert result.status == "ok", result.reason
    assert result.details["model"] == []
    verdicts = {entry["token"]: entry["verdict"] for entry in result.details["pipeline"]}
    assert verdicts == {
        "1a": "pretokenizer_unreachable",
        "qzz": "shadowed_by_added",
        "e\u0301": "normalization_unreachable",
    }
    assert result.details["categories"]["added"] == 1


TESTED = {
    "gpt2/tokenizer.json": 50_256,
    "gpt_neox/tokenizer.json": 50_252,
    "mpt/tokenizer.json": 50_252,
    "modernbert/tokenizer.json": 50_252,
    "qwen2_5/tokenizer.json": 151_643,
    "deepseek_v3/tokenizer.json": 127_997,
    "claude_legacy/tokenizer.json": 64_995,
    "clip/tokenizer.json": 49_406,
    "mistral/tokenizer.model.v1": 31_741,
}
DEAD = dict.fromkeys(TESTED, 0) | {
    "tiktoken/r50k_base.tiktoken": 0,
    "tiktoken/p50k_base.tiktoken": 0,
    "tiktoken/cl100k_base.tiktoken": 0,
    "tiktoken/o200k_base.tiktoken": 0,
    "tiktoken/qwen.tiktoken": 0,
    "kimi_k2/kimi_k2.tiktoken": 0,
    "yi/tokenizer.json": 239,
    "tiktoken/whisper_multilingual.tiktoken": 0,
}


def model_test(path: Path) -> reachability.ModelTest:
    tokenizer = tokenizers.load(f"file:{path}")
    assert isinstance(tokenizer, HasVocabulary)
    layers = reachability.examine_model(tokenizer, tokenizer.vocabulary(), threads=2)
    assert layers is not None
    return layers


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(DEAD))
def test_layers_one_and_two_on_real_files(data: Path, name: str) -> None:
    layers = model_test(data / "tokenizers" / name)
    assert len(layers.failed) == DEAD[name]
    assert len(layers.underivable) == DEAD[name]
    if name in TESTED:
        assert layers.tested == TESTED[name]


@pytest.mark.data
def test_the_dead_tokens_of_yi_are_named(data: Path) -> None:
    tokenizer = tokenizers.load(f"file:{data}/tokenizers/yi/tokenizer.json")
    assert isinstance(tokenizer, HasVocabulary)
    vocabulary = tokenizer.vocabulary()
    layers = reachability.examine_model(tokenizer, vocabulary)
    assert layers is not None
    assert {b"<|im_start|>", b"<h1>"} <= {vocabulary[int(token)] for token in layers.failed}
    assert all(len(instead) > 1 for instead in layers.instead)


PIPELINE = {
    "gpt2/tokenizer.json": {},
    "deepseek_v3/tokenizer.json": {},
    "claude_legacy/tokenizer.json": {},
    "gpt_neox/tokenizer.json": {Verdict.SHADOWED_BY_ADDED: 221},
    "modernbert/tokenizer.json": {Verdict.SHADOWED_BY_ADDED: 221},
    "qwen2_5/tokenizer.json": {
        Verdict.NORMALIZATION_UNREACHABLE: 248,
        Verdict.PRETOKENIZER_UNREACHABLE: 1661,
    },
    "yi/tokenizer.json": {Verdict.MERGE_UNREACHABLE: 239},
    "tiktoken/o200k_base.tiktoken": {},
    "kimi_k2/kimi_k2.tiktoken": {},
    "clip/tokenizer.json": {
        Verdict.NORMALIZATION_UNREACHABLE: 52,
        Verdict.PRETOKENIZER_UNREACHABLE: 22,
    },
    "bert_base_cased/tokenizer.json": {
        Verdict.NORMALIZATION_UNREACHABLE: 113,
        Verdict.PRETOKENIZER_UNREACHABLE: 186,
    },
    "bert_uncased_gte/tokenizer.json": {
        Verdict.NORMALIZATION_UNREACHABLE: 244,
        Verdict.PRETOKENIZER_UNREACHABLE: 1087,
    },
    "xlnet/tokenizer.json": {Verdict.MERGE_UNREACHABLE: 83},
    "xlnet/xlnet_base_cased.model": {},
}
OPEN = {"xlnet/xlnet_base_cased.model": 5}  # sums of 32 bits, which a long text rounds
LIVING = (3914, 24091, 48235, 63100, 65447, 125141, 175653)  # of o200k_base: "\n//" and its kin


@pytest.mark.data
@pytest.mark.parametrize("name", sorted(PIPELINE))
def test_layer_three_on_real_files(data: Path, name: str) -> None:
    tokenizer = tokenizers.load(f"file:{data}/tokenizers/{name}")
    assert isinstance(tokenizer, HasVocabulary)
    test = PipelineTest(tokenizer, tokenizer.vocabulary(), threads=2)
    test.run(reachability.examine_model(tokenizer, test.vocabulary), np.zeros(0, np.uint32))
    count = np.bincount(test.verdicts, minlength=len(Verdict))
    found = {verdict: int(count[verdict]) for verdict in reachability.UNREACHABLE if count[verdict]}
    assert found == PIPELINE[name]
    assert count[Verdict.NO_WITNESS_FOUND] == OPEN.get(name, 0)
    assert bool(test.unexaminable) == (name in OPEN)
    assert all(test.arguments[token].text for token in np.flatnonzero(np.isin(test.verdicts, reachability.UNREACHABLE)))


@pytest.mark.data
def test_living_tokens_of_o200k_have_witnesses(data: Path) -> None:
    """No text that begins with a letter, digit, space or line feed shows them; a sign before them does."""
    tokenizer = tokenizers.load(f"file:{data}/tokenizers/tiktoken/o200k_base.tiktoken")
    assert isinstance(tokenizer, HasVocabulary)
    test = PipelineTest(tokenizer, tokenizer.vocabulary(), threads=2)
    test.texts = {token: text for token, text in test.texts.items() if token in LIVING}
    test.run(None, np.zeros(0, np.uint32))
    assert set(test.witnesses) == set(LIVING)
    for token, text in test.witnesses.items():
        assert token in tokenizer.encode_batch([text]).ids
    assert 3914 in tokenizer.encode_batch(["=\n//"]).ids


@pytest.mark.data
def test_the_empty_token_of_whisper_has_a_category_of_its_own(data: Path) -> None:
    tokenizer = tokenizers.load(f"file:{data}/tokenizers/tiktoken/whisper_multilingual.tiktoken")
    assert isinstance(tokenizer, HasVocabulary)
    assert (PipelineTest(tokenizer, tokenizer.vocabulary()).verdicts == Verdict.EMPTY).sum() == 1


def test_scaffolding_is_what_is_rarely_emitted_for_all_its_uses() -> None:
    never = 2**32 - 1
    # 0 = a, 1 = b, 2 = c, 3 = ab (0, 1), 4 = abc (3, 2)
    parts = np.array([[never, never]] * 3 + [[0, 1], [3, 2]], np.uint32)
    lengths = np.array([1, 1, 1, 2, 3])
    for emitted_ab, expected in ((0, 1), (1, 1), (11, 1), (12, 0)):
        emitted = np.array([5, 5, 5, emitted_ab, 100], np.uint64)
        assert reachability.scaffold_like(parts, lengths, emitted) == expected
    assert reachability.scaffold_like(parts, lengths, np.zeros(5, np.uint64)) == 0
