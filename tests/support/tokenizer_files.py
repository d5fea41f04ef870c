"""Small tokenizer files of every kind, and what every tokenizer must keep to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness import tokenizers
from pyharness.types import (
    HasMergeModel,
    HasPipeline,
    HasVocabulary,
    InputError,
    MergeModel,
    Tokenizer,
    TokenKind,
    Tokens,
    Unsupported,
)
from pyharness.vocabularies import encodings, rank_file
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET
from pyharness.vocabularies.huggingface.traits import SPECIAL_IN_MODEL

SPECIAL = "<|endoftext|> <s> </s> [CLS] <|im_start|> <unk>"
TEXTS = [
    "Hello world, it's DON'T 'ſ 12345.678\n\n\tx = [i for i in range(10)]  # 🇪🇪👨‍👩‍👧",
    "  two before and two after  ",
    "e\u0301 Ä ﬁ ＡＢ ² Ⅳ \u00a0\u2003\u3000\u200d\ufeff",
    "ภาษาไทย العَرَبِيَّة हिन्दी 한국어 日本語 中文 ▁low▁line",
    SPECIAL,
    "<0x41> \x00\x01\x7f \r\n\r\n",
    "a" * 500 + " " * 70 + "\n" * 9,
    " ",
]


def rank_data(extra: tuple[bytes, ...] = (b"he", b"ll", b"llo", b"hello", b" w", b"\xe4\xb8")) -> bytes:
    return rank_file.write_ranks({token: rank for rank, token in enumerate([*map(bytes, zip(range(256))), *extra])})


def byte_level() -> dict[str, Any]:
    """A byte-level BPE of a few rules, with a special and another added token."""
    vocab = {character: byte for byte, character in BYTE_ALPHABET.items()}
    merges = [("h", "e"), ("l", "l"), ("ll", "o"), ("he", "llo"), ("Ġ", "w")]
    for left, right in merges:
        vocab[left + right] = len(vocab)
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    added = [("<|endoftext|>", True), ("   ", False)]
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            "strategy": {"Fixed": 9},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "!",
        },
        "added_tokens": [
            {"id": len(vocab) + i, "content": content, "special": special, **flags}
            for i, (content, special) in enumerate(added)
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [261], "tokens": ["<|endoftext|>"]}},
        },
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocab, "merges": [" ".join(merge) for merge in merges]},
    }


def two_letters() -> dict[str, Any]:
    """A BPE of "a" and "b" without an unknown token: no token stands for any other character."""
    return {"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}


def message(number: int, payload: bytes) -> bytes:
    size, length = len(payload), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + payload


def sentencepiece_data(model_type: int, *, byte_fallback: bool) -> bytes:
    """A SentencePiece model of a few pieces, serialised by hand."""
    pieces = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3), ("[X]", 0.0, 4)]
    if byte_fallback:
        pieces += [(f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)]
    pieces += [(piece, -float(rank), 1) for rank, piece in enumerate(("he", "ll", "hell", "▁w", "▁", *"helow"), 1)]
    data = b""
    for piece, score, kind in pieces:
        value = np.float32(score).tobytes()
        data += message(1, message(1, piece.encode()) + b"\x15" + value + bytes([0x18, kind]))
    trainer = bytes([0x18, model_type]) + bytes([35 << 3 & 0x7F | 0x80, 35 << 3 >> 7, int(byte_fallback)])
    return data + message(2, trainer) + message(3, b"\x0a\x08identity")


def write(folder: Path, name: str, content: bytes | Mapping[str, Any]) -> str:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return f"file:{path}"


def tekken() -> dict[str, Any]:
    import base64

    tokens = [*map(bytes, zip(range(256))), b"he", b"hel", b"outside"]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]
    config = {"pattern": encodings.TEKKEN, "default_vocab_size": 268, "default_num_special_tokens": 10}
    return {"config": config, "vocab": vocab}


def check_contract(tokenizer: Tokenizer) -> None:
    """What holds for every tokenizer, on text that is likely to break it."""
    batch = tokenizer.encode_batch(TEXTS, 1)
    assert batch.ids.dtype == np.uint32
    assert batch.offsets.dtype == np.int64
    assert len(batch) == len(TEXTS)
    assert batch.offsets[0] == 0
    assert int(batch.ids.max()) < tokenizer.id_limit
    for index, text in enumerate(TEXTS):
        ids = batch.document(index)
        assert np.array_equal(tokenizer.encode_batch([text]).ids, ids), "one document alone gives other ids"
        check_round_trip(tokenizer, text, tokenizer.decode(ids))
    both = tokenizer.encode_batch(TEXTS, 2)
    assert np.array_equal(both.ids, batch.ids)
    assert np.array_equal(both.offsets, batch.offsets)
    check_timed(tokenizer, TEXTS)
    if isinstance(tokenizer, HasVocabulary):
        check_vocabulary(tokenizer, batch)
    if isinstance(tokenizer, HasMergeModel):
        check_merge_model(tokenizer.merge_model(), tokenizer.id_limit)


def check_timed(tokenizer: Tokenizer, texts: Sequence[str]) -> None:
    """What is timed gives what the tokenizer gives, on one thread and two."""
    tokens = tokenizer.encode_batch(texts, 1)
    decoded = b"".join(tokenizer.decode(tokens.document(index)) for index in range(len(tokens)))
    for threads in (1, 2):
        with suppress(Unsupported):
            timed = tokenizers.timed_call(tokenizer, texts, threads)
            check_tokens(timed.result(timed.call()), tokens)
            check_tokens(timed.result(timed.call()), tokens)
        with suppress(Unsupported):
            timed = tokenizers.timed_decode(tokenizer, tokens, threads)
            assert timed.result(timed.call()) == decoded
    for text in texts:
        with suppress(Unsupported):
            timed = tokenizers.timed_single(tokenizer, text)
            check_tokens(timed.result(timed.call()), tokenizer.encode_batch([text], 1))
    for threads in (0, -1):
        with pytest.raises(InputError, match=f"on {threads} threads"):
            tokenizers.timed_call(tokenizer, texts, threads)
        with pytest.raises(InputError, match=f"on {threads} threads"):
            tokenizers.timed_decode(tokenizer, tokens, threads)


def check_tokens(found: Tokens | bytes, expected: Tokens) -> None:
    assert isinstance(found, Tokens)
    assert found.ids.dtype == np.uint32
    assert found.offsets.dtype == np.int64
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert np.array_equal(found.ids, expected.ids)


def check_round_trip(tokenizer: Tokenizer, text: str, back: bytes) -> None:
    if tokenizer.round_trip == "exact":
        assert back == text.encode()
    elif tokenizer.round_trip == "normalised" and isinstance(tokenizer, HasPipeline):
        assert back.decode() == tokenizer.normalize(text)


def check_vocabulary(tokenizer: Any, batch: Any) -> None:
    table = tokenizer.vocabulary()
    assert len(table) == tokenizer.id_limit
    assert int(table.counted.sum()) == tokenizer.vocab_size
    emitted = np.unique(batch.ids)
    assert not (table.kinds[emitted] == TokenKind.ABSENT).any()
    if SPECIAL_IN_MODEL not in tokenizer.notes:
        assert not (table.kinds[emitted] == TokenKind.SPECIAL).any(), "a special string was mapped"
    if tokenizer.round_trip == "exact":
        for index, text in enumerate(TEXTS):
            assert b"".join(table[int(token)] for token in batch.document(index)) == text.encode()


def check_merge_model(model: MergeModel, size: int) -> None:
    """Shapes, and that the base symbols of a token spell it."""
    assert len(model.offsets) == len(model.base_offsets) == size + 1
    assert len(model.tested) == len(model.atomic) == size
    assert (model.rules is None) != (model.ranks is None)
    assert int(model.base.max()) < size
    for token in np.flatnonzero(model.tested)[:: max(1, size // 2000)]:
        base = model.base[model.base_offsets[token] : model.base_offsets[token + 1]]
        assert len(base) > 0
        assert model.atomic[base].all()
    if model.rules is not None:
        left, right, result = model.rules.T
        lengths = np.diff(model.base_offsets)
        assert (lengths[left] + lengths[right] == lengths[result]).all()


BYTE_LEVEL: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def split(expression: str, **changes: Any) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False, **changes}


def sequence(*steps: Any) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}
