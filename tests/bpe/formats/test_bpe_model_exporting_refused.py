"""Models that a format cannot express: refused, with the reason."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bpe_models import character_model, trained, trained_model
from cases.model_files import unreachable_tokens
from oracles import bpe as oracle
from pyharness.bpe.formats.exports import export_model
from pyharness.bpe.formats.imports import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import by_ids, canonical_rules
from pyharness.bpe.training.trained_model import model_of_training
from pyharness.types import InputError, MergeModel, TokenKind
from pyharness.vocabularies.huggingface.file import AddedToken
from tokenizer_files import byte_level, rank_data, sentencepiece_data


def test_rules_that_no_order_of_ids_expresses() -> None:
    """`abc` is made of a and bc by the rules; in order of ids it would be made of ab and c."""
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"bc", 258: b"abc"}
    rules = [(98, 99, 257), (97, 98, 256), (97, 257, 258)]
    model = _model(tokens, rules)
    with pytest.raises(InputError, match=r"256.* after .*257"):
        export_model(model, "tiktoken")
    # In this order of ids, "xy" + "z" and "x" + "yz" are both neighbours, and the rules know only one.
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    assert export_model(_model(tokens, [(97, 98, 256), (256, 99, 257)]), "tiktoken")
    with pytest.raises(InputError, match=r"token 257\b"):
        export_model(_model(tokens, [(97, 98, 256)]), "tiktoken")


def _model(tokens: dict[int, bytes], rules: list[oracle.Rule]) -> BpeModel:
    merges: MergeModel = oracle.model(tokens, rules=rules)
    plain = trained_model("gpt2")
    vocabulary = dataclasses.replace(
        plain.vocabulary, data=merges.data, offsets=merges.offsets, kinds=np.zeros(len(tokens), np.uint8)
    )
    return dataclasses.replace(plain, vocabulary=vocabulary, merges=merges, added=())


def test_equal_ranks_are_refused() -> None:
    model = trained_model("gpt2").merges
    ranked = by_ids(model)
    assert ranked.ranks is not None
    ranks = np.where(ranked.ranks == oracle.NEVER, ranked.ranks, ranked.ranks // 2).astype(np.uint32)
    with pytest.raises(InputError, match="same rank"):
        canonical_rules(dataclasses.replace(ranked, ranks=ranks))


def refused() -> dict[str, tuple[Callable[[], BpeModel], str, str]]:
    huggingface = json.dumps(byte_level()).encode()
    normalised = json.dumps({**byte_level(), "normalizer": {"type": "NFC"}, "added_tokens": []}).encode()
    digits = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, _byte_level()]}
    by_json = json.dumps({**byte_level(), "pre_tokenizer": digits}).encode()
    return {
        "scaffold tiktoken": (_scaffold, "tiktoken", "cannot express Scaffold-BPE"),
        "scaffold json": (_scaffold, "tokenizer.json", "cannot express Scaffold-BPE"),
        "scaffold minbpe": (_scaffold, "minbpe", "cannot express Scaffold-BPE"),
        "unknown": (lambda: trained_model("gpt2"), "tiktokn", "did you mean 'tiktoken'"),
        "characters": (character_model, "tiktoken", "merges bytes; this model merges characters$"),
        "characters minbpe": (character_model, "minbpe", "merges bytes"),
        "marked characters": (
            lambda: dataclasses.replace(character_model(), suffix="</w>"),
            "tiktoken",
            "merges characters marked with '</w>'$",
        ),
        "sentencepiece": (_sentencepiece, "tokenizer.json", "SentencePiece"),
        "sentencepiece ranks": (_sentencepiece, "tiktoken", "merges bytes"),
        "normaliser": (lambda: import_model(normalised), "tiktoken", "cannot express a normaliser"),
        "added": (lambda: import_model(huggingface), "tiktoken", "added tokens that are not special: '   '"),
        "pre-tokenizer": (lambda: import_model(by_json), "tiktoken", "pre-tokenizer.*tokenizer.json"),
        "three steps": (lambda: _split_by("deepseek_v3"), "tiktoken", "3 expressions in turn"),
        "own expression": (lambda: _split_by(r"\w+|\W"), "tokenizer.json", "expression of one's own"),
        "own expression for tiktoken": (lambda: _split_by(r"\w+"), "tiktoken", "text that it leaves out"),
        "own expression for minbpe": (lambda: _split_by("\\w+\n"), "minbpe", "text that it leaves out"),
        "special in the vocabulary": (_special_inside, "minbpe", "minbpe model"),
        "parts after their whole": (_part_after_whole, "minbpe", "this model has other ids"),
        "white space": (lambda: _special("<a b>"), "minbpe", "white space ends its name"),
        "taken": (lambda: _special("Ġthe"), "tokenizer.json", "two tokens that read 'Ġthe'"),
        "one character": (lambda: _special("→"), "tokenizer.json", "for a base symbol"),
        "bytes in another order": (
            lambda: import_model(huggingface.replace(b'"   "', b'"<x>"')),
            "minbpe",
            "added tokens",
        ),
        "whole pieces": (unreachable_tokens, "minbpe", "does not take a piece that is a token"),
        "no whole pieces": (
            lambda: dataclasses.replace(unreachable_tokens(), whole_pieces=False),
            "tiktoken",
            "changes 1 token",
        ),
        "added as a piece": (
            lambda: dataclasses.replace(unreachable_tokens(), splitter="whitespace"),
            "tokenizer.json",
            "plain text '<x>'",
        ),
    }


def _byte_level() -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def _scaffold() -> BpeModel:
    return trained_model("gpt2", scaffold=True)


def _sentencepiece() -> BpeModel:
    return import_model(sentencepiece_data(2, byte_fallback=True))


def _split_by(splitter: str) -> BpeModel:
    return dataclasses.replace(trained_model("gpt2"), splitter=splitter)


def _special(content: str) -> BpeModel:
    return model_of_training(trained("gpt2"), "gpt2", special=(content,))


def _special_inside() -> BpeModel:
    """Every token has a merge, but 257 is special."""
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc", 258: b"zz"}
    model = _model(tokens, [(97, 98, 256), (256, 99, 257)])
    kinds = model.vocabulary.kinds.copy()
    kinds[257] = TokenKind.SPECIAL
    vocabulary = dataclasses.replace(model.vocabulary, kinds=kinds)
    return dataclasses.replace(model, vocabulary=vocabulary, added=(AddedToken(257, "abc", special=True),))


def _part_after_whole() -> BpeModel:
    """In order of ids `aab` is merged before `aa`, which it is made of, where both could be."""
    return dataclasses.replace(import_model(rank_data((b"aab", b"aa")), pattern="gpt2"), whole_pieces=False)


@pytest.mark.parametrize("name", refused())
def test_refusals_say_why(name: str) -> None:
    make, kind, reason = refused()[name]
    with pytest.raises(InputError, match=reason):
        export_model(make(), kind)  # type: ignore[arg-type]
