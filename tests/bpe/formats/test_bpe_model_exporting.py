from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from bpe_models import (
    PATTERNS,
    SPECIAL,
    TEXT,
    character_model,
    encode,
    minbpe_encode,
    random_model,
    same,
    sample,
    texts,
    trained,
    trained_model,
)
from oracles import bpe as oracle
from pyharness.bpe.analysis.canonical_rules import by_ids, canonical_rules
from pyharness.bpe.encoding.bpe_encoder import BpeEncoder
from pyharness.bpe.formats.exporting import export_model, single_expression
from pyharness.bpe.formats.importing import import_model
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.splitting.text_splitter import TextSplitter
from pyharness.bpe.training.trained_model import model_of_training
from pyharness.types import InputError, MergeModel, TokenKind
from pyharness.vocabularies.files.minbpe_file import read_minbpe
from pyharness.vocabularies.huggingface.file import AddedToken
from pyharness.vocabularies.ranks import rank_file
from tokenizer_files import byte_level, rank_data, sentencepiece_data

Encode = Callable[[str], list[int]]


def in_tokenizers(data: bytes) -> Encode:
    tokenizers: Any = pytest.importorskip("tokenizers", reason="the extra `engines` is not installed")
    library = tokenizers.Tokenizer.from_buffer(data)
    library.encode_special_tokens = True
    return lambda text: library.encode(text, add_special_tokens=False).ids


def in_tiktoken(model: BpeModel, data: bytes) -> Encode:
    tiktoken: Any = pytest.importorskip("tiktoken", reason="the extra `engines` is not installed")
    library = tiktoken.Encoding(
        "exported",
        pat_str=single_expression(model),
        mergeable_ranks=rank_file.read_ranks(data, "exported"),
        special_tokens=dict(model.special),
    )
    return library.encode_ordinary  # type: ignore[no-any-return]


def check(model: BpeModel, encoder: Encode, count: int = 150) -> None:
    for text in texts(count):
        assert encoder(text) == encode(model, text), repr(text)


# ------------------------------------------------------------------------------------------ parity


@pytest.mark.parametrize("pattern", [*PATTERNS, "o200k", "llama3", "qwen2", "deepseek_v3", "tekken"])
def test_tokenizer_json_gives_the_same_ids(pattern: str) -> None:
    model = trained_model("cl100k") if pattern not in PATTERNS else trained_model(pattern)
    model = dataclasses.replace(model, splitter=pattern)
    data = export_model(model, "tokenizer.json")
    check(model, in_tokenizers(data))
    again = import_model(data)
    assert again.splitter == pattern
    assert again.special == model.special
    for text in texts(20):
        assert encode(again, text) == encode(model, text)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rank_file_gives_the_same_ids(pattern: str) -> None:
    model = trained_model(pattern)
    data = export_model(model, "tiktoken")
    check(model, in_tiktoken(model, data))
    again = import_model(data, pattern=pattern, special=model.special)
    for text in texts(20):
        assert encode(again, text) == encode(model, text)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_minbpe_file_gives_the_same_ids(pattern: str) -> None:
    model = trained_model(pattern)
    data = export_model(model, "minbpe")
    file = read_minbpe(data, "exported")
    assert file.special == {SPECIAL[0]: 700, SPECIAL[1]: 701}
    assert (file.pattern == "") == (pattern == "none")
    check(model, lambda text: minbpe_encode(file, text), 60)
    again = import_model(data)
    assert same(dataclasses.replace(again, origin=model.origin), model)


@settings(max_examples=150, deadline=None)
@given(TEXT)
def test_any_text(text: str) -> None:
    for pattern in ("gpt2", "cl100k"):
        model = trained_model(pattern)
        expected = encode(model, text)
        for kind, load in _LOADERS.items():
            assert load(pattern)(text) == expected, kind


def _loaded(kind: str) -> Callable[[str], Encode]:
    known: dict[str, Encode] = {}

    def load(pattern: str) -> Encode:
        if pattern not in known:
            model = trained_model(pattern)
            data = export_model(model, kind)  # type: ignore[arg-type]
            known[pattern] = _in_library(kind, model, data)
        return known[pattern]

    return load


_LOADERS = {kind: _loaded(kind) for kind in ("tokenizer.json", "tiktoken")}


@pytest.mark.parametrize("kind", ["tokenizer.json", "tiktoken", "minbpe"])
def test_any_model_gives_the_same_ids_or_is_refused(kind: Any) -> None:
    generator = random.Random(7)
    written = 0
    for seed in range(120):
        model = random_model(seed)
        try:
            data = export_model(model, kind)
        except InputError:
            continue
        written += 1
        encoder = _in_library(kind, model, data)
        for _ in range(25):
            text = "".join(generator.choices("aaabbcc ", k=generator.randrange(1, 12)))
            assert encoder(text) == encode(model, text), (seed, text)
    assert 15 < written < 120


def _in_library(kind: str, model: BpeModel, data: bytes) -> Encode:
    if kind == "minbpe":
        file = read_minbpe(data, "exported")
        return lambda text: minbpe_encode(file, text)
    return in_tokenizers(data) if kind == "tokenizer.json" else in_tiktoken(model, data)


def test_special_tokens_in_tokenizers() -> None:
    tokenizers: Any = pytest.importorskip("tokenizers", reason="the extra `engines` is not installed")
    library = tokenizers.Tokenizer.from_buffer(export_model(trained_model("none"), "tokenizer.json"))
    assert library.encode(f"a{SPECIAL[1]}").ids == [97, 701]
    assert library.decode([97, 701, 98], skip_special_tokens=False) == f"a{SPECIAL[1]}b"
    for text in texts(50):
        ids = library.encode(text).ids
        assert library.decode(ids, skip_special_tokens=False) == text


def test_characters_in_tokenizers() -> None:
    model = character_model()
    data = export_model(model, "tokenizer.json")
    encoder, again = in_tokenizers(data), import_model(data)
    assert again.alphabet == model.alphabet
    assert again.unknown == model.unknown
    merges = BpeEncoder(model.merges)
    for text in sample()[:100:5]:
        pieces = [piece.decode() for piece in TextSplitter("gpt2").split(text)]
        base = [np.array([model.alphabet[c.encode()] for c in piece], np.uint32) for piece in pieces]
        assert encoder(text) == [token for symbols in base for token in merges.encode(symbols).tolist()]


@pytest.mark.data
@pytest.mark.parametrize("name", ["p50k_base", "cl100k_base", "whisper_multilingual"])
def test_published_rank_files(data: Path, name: str) -> None:
    """One with gaps, one of another pattern, one with an empty token."""
    path = data / "tokenizers" / "tiktoken" / f"{name}.tiktoken"
    model = import_model(path)
    ours = rank_file.read_ranks(export_model(model, "tiktoken"), "exported")
    assert ours == rank_file.read_ranks(path.read_bytes(), "original")
    tiktoken, tokenizers = in_tiktoken(model, path.read_bytes()), in_tokenizers(export_model(model, "tokenizer.json"))
    for text in texts(120):
        assert tokenizers(text) == tiktoken(text) == encode(model, text), repr(text)
    with pytest.raises(InputError, match="minbpe"):
        export_model(model, "minbpe")


@pytest.mark.data
@pytest.mark.parametrize("folder", ["gpt_neox", "deepseek_v3", "claude_legacy", "yi"])
def test_published_tokenizer_files(data: Path, folder: str) -> None:
    """NFC with added spaces, three Split steps, NFKC, and characters with byte fallback."""
    path = data / "tokenizers" / folder / "tokenizer.json"
    exported, original = (
        in_tokenizers(export_model(import_model(path), "tokenizer.json")),
        in_tokenizers(path.read_bytes()),
    )
    for text in texts(120):
        assert exported(text) == original(text), repr(text)


@pytest.mark.data
def test_gpt2_as_ranks(data: Path) -> None:
    model = import_model(data / "tokenizers" / "gpt2" / "tokenizer.json")
    r50k = (data / "tokenizers" / "tiktoken" / "r50k_base.tiktoken").read_bytes()
    exported = rank_file.read_ranks(export_model(model, "tiktoken"), "exported")
    assert exported == rank_file.read_ranks(r50k, "r50k")


# ------------------------------------------------------------------------------------------ canonical rules


@pytest.mark.parametrize("seed", range(60))
def test_canonical_rules_give_the_ids_of_any_model(seed: int) -> None:
    """Random vocabularies with unreachable tokens and rules nobody trained, against the definition."""
    generator = np.random.default_rng(seed)
    tokens = {byte: bytes([byte]) for byte in range(256)}
    while len(tokens) < 275:
        data = bytes(generator.choice([97, 98, 99], generator.integers(2, 6)).tolist())
        if data not in tokens.values():
            tokens[len(tokens)] = data
    ranks = {token: token for token in range(256, len(tokens))}
    model = oracle.model(tokens, ranks=ranks)
    rules = canonical_rules(model)
    by_rules = oracle.model(tokens, rules=[tuple(rule) for rule in rules.tolist()])
    for _ in range(40):
        piece = generator.choice([97, 98, 99], generator.integers(1, 14)).tolist()
        expected = oracle.encode_ranks(piece, tokens, ranks)
        assert BpeEncoder(by_rules).encode(np.array(piece, np.uint32)).tolist() == expected


def test_rules_that_no_order_of_ids_expresses() -> None:
    """`abc` is made of a and bc by the rules; in order of ids it would be made of ab and c."""
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"bc", 258: b"abc"}
    rules = [(98, 99, 257), (97, 98, 256), (97, 257, 258)]
    model = _model(tokens, rules)
    with pytest.raises(InputError, match="token 256 is merged after token 257"):
        export_model(model, "tiktoken")
    # In this order of ids, "xy" + "z" and "x" + "yz" are both neighbours, and the rules know only one.
    tokens = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"abc"}
    assert export_model(_model(tokens, [(97, 98, 256), (256, 99, 257)]), "tiktoken")
    with pytest.raises(InputError, match="merged into token 257"):
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


# ------------------------------------------------------------------------------------------ refusals


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
        "pre-tokenizer": (lambda: import_model(by_json), "tiktoken", "pre-tokenizer that is no known pattern"),
        "three steps": (lambda: _split_by("deepseek_v3"), "tiktoken", "3 expressions in turn"),
        "own expression": (lambda: _split_by(r"\w+|\W"), "tokenizer.json", "expression of one's own"),
        "own expression for tiktoken": (lambda: _split_by(r"\w+"), "tiktoken", "text that it leaves out"),
        "own expression for minbpe": (lambda: _split_by("\\w+\n"), "minbpe", "text that it leaves out"),
        "special in the vocabulary": (_special_inside, "minbpe", "one merge for every token but the special ones"),
        "parts after their whole": (_part_after_whole, "minbpe", "this model has other ids"),
        "white space": (lambda: _special("<a b>"), "minbpe", "white space ends its name"),
        "taken": (lambda: _special("Ġthe"), "tokenizer.json", "two tokens that read 'Ġthe'"),
        "one character": (lambda: _special("→"), "tokenizer.json", "for a base symbol"),
        "bytes in another order": (
            lambda: import_model(huggingface.replace(b'"   "', b'"<x>"')),
            "minbpe",
            "added tokens",
        ),
        "whole pieces": (_unreachable, "minbpe", "does not take a piece that is a token"),
        "no whole pieces": (
            lambda: dataclasses.replace(_unreachable(), whole_pieces=False),
            "tiktoken",
            "changes 1 token",
        ),
        "added as a piece": (
            lambda: dataclasses.replace(_unreachable(), splitter="whitespace"),
            "tokenizer.json",
            "plain text that reads '<x>'",
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


def _unreachable() -> BpeModel:
    """`abc` exists, but `bc` is merged first and nothing takes `a` and `bc`."""
    return import_model(rank_data((b"bc", b"ab", b"abcd")), pattern="gpt2", special={"<x>": 300})


@pytest.mark.parametrize("name", refused())
def test_refusals_say_why(name: str) -> None:
    make, kind, reason = refused()[name]
    with pytest.raises(InputError, match=reason):
        export_model(make(), kind)  # type: ignore[arg-type]


def test_unreachable_tokens_are_whole_pieces_in_tokenizers() -> None:
    model = _unreachable()
    assert any("1 tokens are only as a whole piece" in note for note in model.notes)
    data = export_model(model, "tokenizer.json")
    assert json.loads(data)["model"]["ignore_merges"]
    encoder = in_tokenizers(data)
    for text in ("abcd", "abcde", "ab bc abc", "x abcd"):
        assert encoder(text) == encode(model, text)
    assert encoder("abcd") == [258]
