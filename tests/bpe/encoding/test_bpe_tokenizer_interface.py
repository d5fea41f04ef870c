"""Special tokens, single tokens, halves of pairs and pickles of a ``BpeTokenizer``, as tiktoken has them."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe_files import FILES
from bpe_models import character_model, trained_model
from cases.tokenizer_models import RANKS, SPECIALS, TEXT, model_of_file, tiktoken_of
from layout.thoroughness import examples
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats import own_file as model_file
from pyharness.bpe.formats.imports import import_model
from pyharness.types import InputError
from tokenizer_files import TEXTS, byte_level, write

MODELS: dict[str, Any] = {
    "plain": lambda: trained_model("gpt2"),
    "scaffold": lambda: trained_model("gpt2", scaffold=True),
    "characters": character_model,
    **{name: partial(model_of_file, name) for name in FILES},
}


@pytest.mark.parametrize("name", MODELS)
def test_pickles_and_copies(name: str) -> None:
    if name in FILES:
        pytest.importorskip("tokenizers", reason="normalisers and pre-tokenizers are run by the library")
    options: dict[str, Any] = {"dropout": 0.25, "seed": 5}
    ours = BpeTokenizer(MODELS[name](), **options)
    data = pickle.dumps(ours)
    again = pickle.loads(data)  # noqa: S301
    assert type(again) is BpeTokenizer
    expected, encoded = ours.encode_batch(TEXTS), again.encode_batch(TEXTS)
    assert np.array_equal(encoded.ids, expected.ids)
    assert np.array_equal(encoded.offsets, expected.offsets)
    assert (again.notes, again.round_trip, again.vocab_size) == (ours.notes, ours.round_trip, ours.vocab_size)
    assert pickle.dumps(again) == data == pickle.dumps(BpeTokenizer(MODELS[name](), **options))
    assert pickle.dumps(BpeTokenizer(MODELS[name]())) != data
    assert copy.copy(ours) is copy.deepcopy(ours) is ours


def test_a_pickle_is_checked_as_a_file() -> None:
    data = pickle.dumps(RANKS)
    with pytest.raises(InputError, match="digest is"):
        pickle.loads(data.replace(b'"whole_pieces": true', b'"whole_pieces":false'))  # noqa: S301
    kind, (cls, content, options) = RANKS.__reduce__()
    with pytest.raises(InputError, match=r"dropout.*1\.5"):
        kind(cls, content, options | {"dropout": 1.5})


def test_other_processes(tmp_path: Path) -> None:
    """As a pool that is spawned has it, and a cache of results by the hash of what made them."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.map(RANKS.encode, TEXTS)
    assert [ids.tolist() for ids in found] == [RANKS.encode(text).tolist() for text in TEXTS]
    path = tmp_path / "model.json"
    model_file.save(RANKS.model, path)
    code = (
        "import hashlib, pickle, sys; from pyharness.bpe import BpeTokenizer, load;"
        "print(hashlib.sha256(pickle.dumps(BpeTokenizer(load(sys.argv[1])).encode, 4)).hexdigest())"
    )
    prints = {
        subprocess.run(
            [sys.executable, "-c", code, str(path)], env=os.environ | {"PYTHONHASHSEED": seed}, check=True,
            capture_output=True, text=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(prints) == 1


@settings(max_examples=examples(300), deadline=None)
@given(text=TEXT, allowed=st.just("all") | st.sets(st.sampled_from(list(SPECIALS))))
def test_allowed_special_as_tiktoken_has_it(text: str, allowed: Any) -> None:
    home = tiktoken_of(RANKS)
    expected = home.encode(text, allowed_special=allowed, disallowed_special=())
    assert RANKS.encode(text, allowed_special=allowed).tolist() == expected
    assert RANKS.encode_batch([text, "x"], allowed_special=allowed).document(0).tolist() == expected


@settings(max_examples=examples(300), deadline=None)
@given(
    text=TEXT,
    allowed=st.just("all") | st.sets(st.sampled_from(list(SPECIALS))),
    disallowed=st.just("all") | st.sets(st.sampled_from(list(SPECIALS))),
)
def test_the_guard_refuses_what_tiktoken_refuses(text: str, allowed: Any, disallowed: Any) -> None:
    """Of halves of surrogate pairs that are not joined yet, tiktoken does not see that they spell a token."""
    home, whole = tiktoken_of(RANKS), text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    try:
        expected = home.encode(whole, allowed_special=allowed, disallowed_special=disallowed)
    except ValueError:
        for given in (text, whole.encode()):
            with pytest.raises(InputError, match=f"^text 0 .*'({'|'.join(map(re.escape, SPECIALS))})'"):
                RANKS.encode(given, allowed_special=allowed, disallowed_special=disallowed)
    else:
        found = RANKS.encode(text, allowed_special=allowed, disallowed_special=disallowed)
        assert found.tolist() == expected


def test_the_guard_says_where() -> None:
    with pytest.raises(InputError, match=r"text 1 .*'<\|a\|>' at character 3\b"):
        RANKS.encode_batch(["he", "hé <|a|>"], disallowed_special={"<|a|>"})
    with pytest.raises(InputError, match="at byte 4"):
        RANKS.encode("hé <|a|>".encode(), disallowed_special="all")
    for options in ({"allowed_special": {"<|A|>"}}, {"disallowed_special": ["<|A|>"]}):
        with pytest.raises(InputError, match=r"special token '<.A.>'.*'<.a.>'"):
            RANKS.encode("he", **options)
    with pytest.raises(InputError, match=r"allowed_special.*'<.a.>'.*'all'"):
        RANKS.encode("he", allowed_special="<|a|>")
    with pytest.raises(TypeError, match="not one text"):
        RANKS.encode_batch("<|a|>", allowed_special="all")
    assert RANKS.encode("he", allowed_special=set(), disallowed_special=set()).tolist() == [256]


def test_special_tokens_that_are_not_allowed_cover_others_as_in_tokenizers() -> None:
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is what this is about")
    file = byte_level() | {"post_processor": None, "truncation": None, "padding": None}
    flags = {"normalized": False, "lstrip": False, "rstrip": False, "single_word": False}
    file["added_tokens"] = [
        {"id": 261, "content": "ab", "special": True, **flags},
        {"id": 262, "content": "bc", "special": False, **flags},
    ]
    data = json.dumps(file).encode()
    home, ours = tokenizers.Tokenizer.from_buffer(data), BpeTokenizer(import_model(data))
    home.encode_special_tokens = True
    assert ours.encode("abc bc").tolist() == home.encode("abc bc", add_special_tokens=False).ids
    home.encode_special_tokens = False
    expected = home.encode("abc bc", add_special_tokens=False).ids
    assert ours.encode("abc bc", allowed_special={"ab"}).tolist() == expected


@settings(max_examples=examples(200), deadline=None)
@given(st.text(st.sampled_from("a\ud83d\ude00\udfff\ufeffé\U0001f600 "), max_size=12))
def test_halves_of_pairs_as_tiktoken_has_them(text: str) -> None:
    expected = tiktoken_of(RANKS).encode_ordinary(text)
    assert RANKS.encode(text).tolist() == expected
    assert RANKS.encode_batch(["x", text], 2).document(1).tolist() == expected


@pytest.mark.parametrize("name", FILES)
def test_halves_of_pairs_in_every_kind_of_file(name: str, tmp_path: Path) -> None:
    for module in ("tokenizers", "sentencepiece"):
        pytest.importorskip(module, reason="normalisers and pre-tokenizers are run by the library")
    write(tmp_path, "file", FILES[name])
    ours = BpeTokenizer(import_model(tmp_path / "file", pattern="gpt2" if name == "ranks" else None))
    for text, whole in (("he\ud83d\ude00 low", "he\U0001f600 low"), ("\ude00\ud83d", "\ufffd\ufffd"), ("", "")):
        assert ours.encode(text).tolist() == ours.encode(whole).tolist()
        assert ours.normalize(text) == ours.normalize(whole)


def test_single_tokens_as_tiktoken_has_them() -> None:
    home = tiktoken_of(RANKS)
    for token in (*range(262), *SPECIALS.values()):
        data = home.decode_single_token_bytes(token)
        assert RANKS.decode_single_token_bytes(token) == data
        assert RANKS.encode_single_token(data) == home.encode_single_token(data) == token
    assert RANKS.encode_single_token("hello") == home.encode_single_token("hello")
    assert RANKS.encode_single_token("<|a|>") == 300
    with pytest.raises(InputError, match="b'hello he'"):
        RANKS.encode_single_token("hello he")
    for stranger in (262, -1, 303, 1 << 40):
        with pytest.raises(InputError, match=f"id {stranger} .*vocabulary"):
            RANKS.decode_single_token_bytes(stranger)
        assert RANKS.id_to_token(stranger) is None
    assert RANKS.decode_single_token_bytes(np.uint32(257)) == b"ll"  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FILES)
def test_tokens_as_their_file_writes_them(name: str, tmp_path: Path) -> None:
    if name in ("ranks", "tekken"):
        pytest.skip("the file writes tokens in base64")
    if name == "metaspace, first, something before":
        pytest.skip("tokenizers gives what its normaliser makes of an added token")
    home: Any
    if name.startswith("sentencepiece"):
        sentencepiece = pytest.importorskip("sentencepiece", reason="it reads the file")
        home = sentencepiece.SentencePieceProcessor(model_proto=FILES[name])
        strings = {token: home.IdToPiece(token) for token in range(home.GetPieceSize())}
    else:
        tokenizers = pytest.importorskip("tokenizers", reason="it reads the file")
        home = tokenizers.Tokenizer.from_str(json.dumps(FILES[name]))
        strings = {token: home.id_to_token(token) for token in range(home.get_vocab_size())}
    write(tmp_path, "file", FILES[name])
    ours = BpeTokenizer(import_model(tmp_path / "file"))
    assert {token: ours.id_to_token(token) for token in range(ours.id_limit)} == strings
    assert {string: ours.token_to_id(string) for string in strings.values()} == {s: t for t, s in strings.items()}
    assert ours.token_to_id("no such token") is None
