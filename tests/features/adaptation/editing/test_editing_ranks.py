"""Edited rank files and tekken files."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapted.edited_files import changed_keys, ids_of, made_up, texts_of, without, without_leaves
from pyharness.bpe import BpeModel, import_model
from pyharness.features.adaptation.editing.files import extend_file, prune_file
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.types import InputError
from pyharness.vocabularies.rank_file import read_ranks, read_tekken
from tokenizer_files import rank_data, tekken

SPECIAL = {"<|end|>": 262, "<|more|>": 270}


def agree(model: BpeModel, ranks: dict[bytes, int], special: dict[str, int], texts: list[str]) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    encoding = tiktoken.Encoding("it", pat_str=r"\s*\S+|\s+", mergeable_ranks=ranks, special_tokens=special)
    assert encoding.encode_ordinary_batch(texts) == ids_of(model, texts)


def read(data: bytes, special: dict[str, int]) -> BpeModel:
    return import_model(data, pattern=r"\s*\S+|\s+", special=special)


def test_lines_are_appended() -> None:
    data = rank_data()
    model = read(data, SPECIAL)
    tokens, _ = made_up(model, 20, random.Random(1))
    assert tokens[0][0] == 271
    edited = extend_file(data, tokens, [], "it")
    lines = "".join(f"{base64.b64encode(string).decode()} {token}\n" for token, string in tokens)
    assert edited == data + lines.encode()
    assert extend_file(data, [], [], "it") == data
    texts = texts_of(model, [string for _, string in tokens], random.Random(2))
    agree(read(edited, SPECIAL), read_ranks(edited, "it"), SPECIAL, texts)


@pytest.mark.parametrize(("ending", "last"), [(b"\r\n", b"\r\n"), (b"\n", b""), (b" \n", b" \n")])
def test_ends_of_lines_stay(ending: bytes, last: bytes) -> None:
    data = rank_data().replace(b"\n", ending).removesuffix(ending) + last
    edited = extend_file(data, [(300, b"hell")], [], "it")
    assert edited.startswith(data)
    assert read_ranks(edited, "it") == {**read_ranks(data, "it"), b"hell": 300}
    pruned = prune_file(data, IdMap(np.array([*range(257), -1, *range(257, 261)]), 261), "it")
    assert read_ranks(pruned, "it")[b" w"] == 259
    assert set(pruned.splitlines()) - set(data.splitlines()) == {
        line.replace(b"258", b"257").replace(b"259", b"258").replace(b"260", b"259").replace(b"261", b"260")
        for line in data.splitlines()[258:]
    }


def test_lines_are_left_out() -> None:
    data = rank_data()
    model = read(data, SPECIAL)
    ids = without(model, [257, 260])
    special = {content: int(ids.new[token]) for content, token in SPECIAL.items()}
    assert special == {"<|end|>": 260, "<|more|>": 261}
    edited = prune_file(data, ids, "it")
    assert read_ranks(edited, "it") == {
        token: ids.new[rank] for token, rank in read_ranks(data, "it").items() if rank not in (257, 260)
    }
    agree(
        read(edited, special), read_ranks(edited, "it"), special, texts_of(model, [b"hello", b"ll"], random.Random(1))
    )


def test_a_last_line_without_an_end_gets_one_where_it_would_look_cut_off() -> None:
    data = rank_data().removesuffix(b"\n")
    gap = IdMap(np.where(np.arange(262) == 260, -1, np.arange(262)), 262)
    edited = prune_file(data, gap, "it")
    assert edited.endswith(b" 259\n5Lg= 261\n")
    assert read_ranks(edited, "it")[b"\xe4\xb8"] == 261
    assert prune_file(data, IdMap(np.arange(262), 262), "it") == data


def test_rank_files_that_are_refused() -> None:
    data = rank_data()
    for tokens, why in (
        ([(261, b"hell")], "gets id 261 after 261"),
        ([(264, b"hell"), (263, b"hew")], "gets id 263 after 264"),
        ([(262, b"he")], "already, as id 256"),
    ):
        with pytest.raises(InputError, match=why):
            extend_file(data, tokens, [], "it")
    with pytest.raises(InputError, match=r"byte 0x41 has id 65\b"):
        prune_file(data, without(read(data, {}), [65]), "it")


@given(st.sets(st.binary(min_size=2, max_size=6), max_size=6))
def test_any_bytes_are_written_and_read_back(strings: set[bytes]) -> None:
    data = rank_data()
    wanted = sorted(strings - read_ranks(data, "it").keys())
    edited = extend_file(data, [(300 + 2 * place, string) for place, string in enumerate(wanted)], [], "it")
    assert [token for token, rank in read_ranks(edited, "it").items() if rank >= 300] == wanted
    back = np.where(np.arange(400) < 262, np.arange(400), -1)
    assert prune_file(edited, IdMap(back, 262), "it") == data


def tekken_data(style: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    content = tekken()
    content["config"]["num_vocab_tokens"] = 259
    content["vocab"].append({"rank": 259, "token_bytes": base64.b64encode(b"help").decode(), "token_str": "help"})
    content["config"]["num_vocab_tokens"] = 260
    return json.dumps(content, **style).encode(), content


@pytest.mark.parametrize("style", [{"indent": 4}, {}, {"separators": (",", ":"), "ensure_ascii": False}], ids=str)
def test_entries_of_tekken_are_put_before_those_outside(style: dict[str, Any]) -> None:
    data, content = tekken_data(style)
    model = import_model(data)
    tokens = [(268, b"help"), (269, b'<"\\>'), (270, b"\xff\xfe")]
    edited = extend_file(data, tokens, [], "it")
    expected = json.loads(data)
    outside = expected["vocab"][258] | {"rank": 261}
    new = [
        {"rank": 258 + place, "token_bytes": base64.b64encode(string).decode(), "token_str": text}
        for place, ((_, string), text) in enumerate(zip(tokens, ("help", '<"\\>', None), strict=True))
    ]
    expected["vocab"] = [*content["vocab"][:258], *new, outside]
    expected["config"] |= {"default_vocab_size": 271, "num_vocab_tokens": 262}
    assert edited == json.dumps(expected, **style).encode()
    assert extend_file(data, [], [], "it") == data
    tiktoken = pytest.importorskip("tiktoken")
    ranks = read_tekken(edited, "it")
    encoding = tiktoken.Encoding("it", pat_str=ranks.pattern, mergeable_ranks=dict(ranks.ranks), special_tokens={})
    texts = texts_of(model, [b"help", b'<"\\>'], random.Random(1))
    assert encoding.encode_ordinary_batch(texts) == ids_of(import_model(edited), texts)


def test_entries_of_tekken_are_left_out() -> None:
    data, content = tekken_data({"indent": 4})
    model = import_model(data)
    ids = without(model, [266])
    edited = prune_file(data, ids, "it")
    pruned = json.loads(edited)
    assert [entry["rank"] for entry in pruned["vocab"]] == list(range(259))
    assert pruned["vocab"][256]["token_bytes"] == content["vocab"][257]["token_bytes"]
    assert pruned["config"] == content["config"] | {"default_vocab_size": 267, "num_vocab_tokens": 259}
    assert changed_keys(content, pruned) == {"vocab", "config.default_vocab_size", "config.num_vocab_tokens"}
    assert import_model(edited).special == model.special
    assert prune_file(data, without(model, []), "it") == data


def test_tekken_files_that_are_refused() -> None:
    data, content = tekken_data({})
    model = import_model(data)
    with pytest.raises(InputError, match="follow 267 one by one"):
        extend_file(data, [(300, b"hell")], [], "it")
    for gone, why in (([3], r"special token '\[INST\]' has id 3"), ([75], "the byte 0x41 has id 75")):
        with pytest.raises(InputError, match=why):
            prune_file(data, without(model, gone), "it")
    with pytest.raises(InputError, match="without gaps"):
        prune_file(data, IdMap(np.array([*range(266), -1, 267]), 268), "it")
    content["vocab"][257]["more"] = 1
    with pytest.raises(InputError, match="entries have a 'more'"):
        extend_file(json.dumps(content).encode(), [(268, b"hell")], [], "it")


def test_leaves_of_a_larger_file() -> None:
    data = rank_data(tuple(sorted({b"a" * n + b"b" * m for n in range(6) for m in range(6) if n + m > 1}, key=len)))
    model = read(data, {})
    ids = without_leaves(model, 0.5, random.Random(3))
    edited = prune_file(data, ids, "it")
    agree(read(edited, {}), read_ranks(edited, "it"), {}, ["aabbb abab bbbaaa", "aaaaaaaabbbbbbb"])
