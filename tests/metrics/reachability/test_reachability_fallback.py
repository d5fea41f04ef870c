"""Certificates of BPE that merges what characters fall back on: bytes, the unknown token, pieces that are missing."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cases.reachability_files import NONE, TEXTS, huggingface_file, sentencepiece_file, sentencepiece_model
from layout.thoroughness import examples
from pyharness import tokenizers
from pyharness.metrics import reachability
from pyharness.metrics.reachability import ModelTest, PipelineTest, Verdict
from pyharness.types import HasVocabulary

BYTES = ["<0xC3>", "<0xA9>"]


def examined(spec: str) -> tuple[PipelineTest, ModelTest]:
    tokenizer = tokenizers.load(spec)
    assert isinstance(tokenizer, HasVocabulary)
    vocabulary = tokenizer.vocabulary()
    test, model = PipelineTest(tokenizer, vocabulary), reachability.examine_model(tokenizer, vocabulary)
    assert model is not None
    test.run(model, NONE)
    return test, model


def refuted(test: PipelineTest) -> set[int]:
    """Tokens with a certificate that a short text gives all the same."""
    return set(np.unique(test.tokenizer.encode_batch(TEXTS).ids).tolist()) & test.arguments.keys()


def written(folder: Path, file: dict[str, Any] | bytes) -> str:
    path = folder / ("tokenizer.model" if isinstance(file, bytes) else "tokenizer.json")
    path.write_bytes(file if isinstance(file, bytes) else json.dumps(file).encode())
    return f"file:{path}"


def bpe(tokens: list[str], merges: list[list[str]], unknown: str | None = None, **options: Any) -> dict[str, Any]:
    vocab = {token: number for number, token in enumerate(tokens)}
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": unknown} | options
    return {"version": "1.0", "model": model, "decoder": {"type": "Fuse"}}


@pytest.mark.parametrize("engine", ["", "native+"])
@pytest.mark.parametrize(
    ("file", "token", "text"),
    [
        # The token's own text gives it not, nor do the contexts that are tried.
        (bpe([*BYTES, "<", "<0xC3><0xA9>"], [BYTES], byte_fallback=True), "<0xC3><0xA9>", "é"),
        (bpe(["a", *BYTES, "<0xA9>a"], [["<0xA9>", "a"]], byte_fallback=True), "<0xA9>a", "éa"),
        (bpe(["a", "<unk>", ">", "<unk>a"], [["<unk>", "a"]], unknown="<unk>"), "<unk>a", "éa"),
        (bpe(["a", "b", "?a", "?ab"], [["?a", "b"]], unknown="?a", fuse_unk=True), "?ab", "éb"),
    ],
)
def test_what_characters_fall_back_on_merges_too(
    tmp_path: Path, engine: str, file: dict[str, Any], token: str, text: str
) -> None:
    test, _ = examined(f"{engine}{written(tmp_path, file)}")
    number = file["model"]["vocab"][token]
    assert number in test.tokenizer.encode_batch([text]).ids
    assert number not in test.arguments


def test_a_prefix_that_the_text_spells_or_a_rule_cuts_proves_nothing(tmp_path: Path) -> None:
    """The rule makes ``<0x62>nk>``: it cuts two characters off the unknown token, which has no prefix."""
    tokens = ["<0x62>", "<unk>", "<0x62>nk>"]
    file = bpe(tokens, [tokens[:2]], unknown="<unk>", byte_fallback=True, continuing_subword_prefix="##")
    test, _ = examined(written(tmp_path, file))
    assert test.tokenizer.encode_batch(["ba"]).ids.tolist() == [2]
    assert 2 not in test.arguments


def test_tokens_of_plain_characters_keep_their_argument(tmp_path: Path) -> None:
    rules = [["a", "b"], ["b", "c"], ["a", "bc"], BYTES]
    file = bpe(
        ["a", "b", "c", "ab", "bc", "abc", *BYTES, "".join(BYTES), "<unk>"], rules, unknown="<unk>", byte_fallback=True
    )
    test, _ = examined(written(tmp_path, file))
    assert {token: argument.kind for token, argument in test.arguments.items()} == {5: "merges_alone"}


def test_sentencepiece_merges_characters_that_are_no_pieces(tmp_path: Path) -> None:
    """A piece with such a character has no base symbols that could be tested; layers 1 and 2 leave it out."""
    pytest.importorskip("sentencepiece")
    pieces = [("<unk>", 0.0, 2), ("a", -2.0, 1), ("éa", -1.0, 1), ("ba", -1.0, 1), ("b", -3.0, 1)]
    test, model = examined(written(tmp_path, sentencepiece_model(pieces, in_bytes=False)))
    assert 2 in test.tokenizer.encode_batch(["éa"]).ids
    assert test.verdicts[2] == Verdict.REACHABLE
    assert (model.tested, model.failed.tolist(), model.underivable.tolist()) == (3, [], [])


RANDOM = st.randoms(use_true_random=False)
LENIENT = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@LENIENT
@given(RANDOM, st.booleans())
def test_no_text_refutes_a_certificate_of_a_made_up_file(tmp_path: Path, random: Random, affixes: bool) -> None:
    spec = written(tmp_path, huggingface_file(random, affixes=affixes))
    test, _ = examined(spec)
    hypothesis.event(f"{len(test.arguments)} certificates")
    assert not refuted(test)


@LENIENT
@given(RANDOM)
def test_no_text_refutes_a_certificate_of_the_native_engine(tmp_path: Path, random: Random) -> None:
    test, _ = examined(f"native+{written(tmp_path, huggingface_file(random))}")
    assert not refuted(test)


@LENIENT
@given(RANDOM)
def test_no_text_refutes_a_certificate_of_a_made_up_sentencepiece_model(tmp_path: Path, random: Random) -> None:
    pytest.importorskip("sentencepiece")
    data, _ = sentencepiece_file(random)
    test, model = examined(written(tmp_path, data))
    emitted = set(np.unique(test.tokenizer.encode_batch(TEXTS).ids).tolist())
    assert not emitted & test.arguments.keys()
    assert not emitted & set(model.underivable.tolist())
