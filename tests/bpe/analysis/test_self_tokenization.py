from __future__ import annotations

import base64
import dataclasses
import gc
import json
import random
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from layout.thoroughness import examples
from oracles import bpe as oracle
from pyharness.bpe import NEVER, BpeEncoder, ModelVerdict, merge_graph, self_tokenization
from pyharness.bpe.model.reachability import _REMEMBERED, SelfTokenization, remembered_self_tokenization
from pyharness.types import MergeModel

VECTORS = json.loads((Path(__file__).parents[2] / "support" / "vectors.json").read_text(encoding="utf-8"))["vectors"]


def vector_model(given: dict[str, Any]) -> tuple[dict[int, bytes], list[oracle.Rule]]:
    """Model of a list of merges given as strings; ids in order of creation."""
    if "merges_hex" in given:
        merges = [(bytes.fromhex(left), bytes.fromhex(right)) for left, right in given["merges_hex"]]
    else:
        merges = [(left.encode(), right.encode()) for left, right in given["merges_in_order"]]
    ids = {bytes([byte]): byte for byte in range(256)}
    rules = [(ids[left], ids[right], ids.setdefault(left + right, len(ids))) for left, right in merges]
    for extra in given.get("extra_tokens_without_rule", ()):
        ids[extra.encode()] = len(ids)
    return {token: data for data, token in ids.items()}, rules


@pytest.mark.parametrize("vector", VECTORS["stt"], ids=lambda vector: vector["name"])
def test_vectors(vector: dict[str, Any]) -> None:
    tokens, rules = vector_model(vector["input"])
    model = oracle.model(tokens, rules=rules)
    result = self_tokenization(model)
    assert [tokens[token].decode() for token in result.failed.tolist()] == vector["expected"]["unreachable"]
    encoder = BpeEncoder(model)
    for word, expected in vector["expected"].items():
        if word not in ("unreachable", "abc_with_ignore_merges"):
            base = np.frombuffer(word.split("_")[0].encode(), np.uint8).astype(np.uint32)
            assert [tokens[token].decode() for token in encoder.encode(base).tolist()] == expected


def check_parts(result: SelfTokenization, model: MergeModel) -> None:
    """The parts of a reachable token spell it; ids that no merge made have none."""

    def spelled(token: int) -> bytes:
        return model.data[model.offsets[token] : model.offsets[token + 1]].tobytes()

    made = (result.verdict == ModelVerdict.REACHABLE) & (np.diff(model.base_offsets) > 1)
    assert (result.parts[~made] == NEVER).all()
    for token in np.flatnonzero(made).tolist():
        left, right = result.parts[token].tolist()
        assert spelled(left) + spelled(right) == spelled(token)
        assert model.rules is None or [left, right, token] in model.rules.tolist()


def check(result: SelfTokenization, model: MergeModel) -> None:
    """Verdicts, witnesses and derivability agree with one another."""
    graph = merge_graph(model)
    passed = result.verdict == ModelVerdict.REACHABLE
    assert graph.derivable[passed].all()
    assert (result.verdict == ModelVerdict.NOT_TESTED).tolist() == (~model.tested).tolist()
    failed = np.flatnonzero(model.tested & ~passed)
    assert result.failed.tolist() == failed.tolist()
    assert (result.verdict[failed] == ModelVerdict.UNDERIVABLE).tolist() == (~graph.derivable[failed]).tolist()
    check_parts(result, model)
    encoder = BpeEncoder(model)
    for position, token in enumerate(failed.tolist()):
        base = model.base[model.base_offsets[token] : model.base_offsets[token + 1]]
        witness = result.witnesses.document(position).tolist()
        assert witness == encoder.encode(base).tolist() != [token]


@pytest.mark.parametrize("seed", range(examples(300)))
def test_random_corpora(seed: int) -> None:
    generator = random.Random(seed)
    words = {bytes(generator.choices(b"abc", k=generator.randint(1, 9))): generator.randint(1, 9) for _ in range(8)}
    tokens, rules = oracle.train(words, 256 + generator.randint(1, 12))
    check_clean = self_tokenization(oracle.model(tokens, rules=rules))
    assert check_clean.failed.size == 0  # what BPE trained from scratch learns, it can produce
    # Damage: rules shuffled, some dropped, tokens without a rule added.
    damaged = [rule for rule in generator.sample(rules, len(rules)) if generator.random() < 0.8]
    tokens[len(tokens)] = bytes(generator.choices(b"abcd", k=7))
    distinct = {data: token for token, data in reversed(tokens.items())}
    tokens = {token: data for token, data in tokens.items() if distinct[data] == token}
    untested = {token for token in tokens if generator.random() < 0.1}
    ranks = {token: generator.randrange(9) for token in tokens}
    by_rule = {token: oracle.encode(list(data), damaged) for token, data in tokens.items()}
    by_rank = {token: oracle.encode_ranks(list(data), tokens, ranks) for token, data in tokens.items()}
    for model, gives in (
        (oracle.model(tokens, rules=damaged, untested=untested), by_rule),
        (oracle.model(tokens, ranks=ranks, untested=untested), by_rank),
    ):
        result = self_tokenization(model)
        check(result, model)
        expected = [token for token in tokens if token not in untested and gives[token] != [token]]
        assert result.failed.tolist() == expected
        for threads in (2, 3, 7):
            again = self_tokenization(model, threads)
            assert again.verdict.tobytes() == result.verdict.tobytes()
            assert again.failed.tobytes() == result.failed.tobytes()
            assert again.witnesses.ids.tobytes() == result.witnesses.ids.tobytes()
            assert again.witnesses.offsets.tobytes() == result.witnesses.offsets.tobytes()


def test_threads_are_checked() -> None:
    with pytest.raises(ValueError, match="threads"):
        self_tokenization(oracle.model({0: b"a"}, rules=[]), 0)


def read_tiktoken(path: Path) -> dict[int, bytes]:
    """Lines of ``base64 rank``; an empty token has no base64 (``=``)."""
    rows = (line.rsplit(b" ", 1) for line in path.read_bytes().splitlines() if line)
    return {int(row[-1]): base64.b64decode(row[0].strip(b"=") + b"==") for row in rows}


@pytest.mark.data
@pytest.mark.parametrize(
    "file", ["r50k_base", "p50k_base", "cl100k_base", "o200k_base", "qwen", "whisper_multilingual", "whisper_gpt2"]
)
def test_published_vocabularies_have_no_dead_token(data: Path, file: str) -> None:
    tokens = read_tiktoken(data / "tokenizers" / "tiktoken" / f"{file}.tiktoken")
    empty = [token for token, string in tokens.items() if not string]
    assert len(empty) == (file == "whisper_multilingual")
    model = oracle.model(tokens, ranks={token: token for token in tokens if tokens[token]})
    result = self_tokenization(model, threads=2)
    assert result.failed.size == 0
    assert np.count_nonzero(result.verdict == ModelVerdict.REACHABLE) == len(tokens) - len(empty)
    check(result, model)


@pytest.mark.data
def test_kimi_k2_has_no_dead_token(data: Path) -> None:
    tokens = read_tiktoken(data / "tokenizers" / "kimi_k2" / "kimi_k2.tiktoken")
    assert self_tokenization(oracle.model(tokens, ranks={token: token for token in tokens})).failed.size == 0


def test_what_is_remembered_is_the_same_and_goes_with_its_model() -> None:
    tokens, rules = vector_model(VECTORS["stt"][0]["input"])
    model = oracle.model(tokens, rules=rules)
    fresh, kept = self_tokenization(model), remembered_self_tokenization(model)
    assert remembered_self_tokenization(model) is kept
    for name in ("verdict", "parts", "failed"):
        assert getattr(kept, name).tolist() == getattr(fresh, name).tolist()
        with pytest.raises(ValueError, match="read-only"):
            getattr(kept, name)[...] = 0
    assert remembered_self_tokenization(dataclasses.replace(model, tested=~model.tested)) is not kept
    there, models = weakref.ref(model), len(_REMEMBERED)
    del model
    gc.collect()
    assert there() is None
    assert len(_REMEMBERED) < models
