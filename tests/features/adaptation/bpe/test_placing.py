"""Ids of new tokens."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from bpe_files import unused
from pyharness.bpe import BpeModel, import_model
from pyharness.features.adaptation.bpe.placement import place
from pyharness.types import InputError
from tokenizer_files import byte_level, message, rank_data

RESERVED = r"<\|reserved_\d+\|>"


@pytest.fixture(scope="module")
def model() -> BpeModel:
    """256 bytes, five tokens, an end, three spaces, and reserved tokens 263, 265 and 266; 264 is a gap."""
    content = byte_level()
    first = content["added_tokens"][0]
    reserved = [first | {"id": token, "content": f"<|reserved_{token}|>"} for token in (263, 265, 266)]
    content["added_tokens"] += reserved
    content["model"]["vocab"] |= {token["content"]: token["id"] for token in content["added_tokens"]}
    return import_model(json.dumps(content).encode())


def test_ids_follow_the_largest(model: BpeModel) -> None:
    assert place(model, 3).ids.tolist() == [267, 268, 269]
    assert place(model, 3).ids.dtype == np.uint32
    assert place(model, 0).size == 267


@pytest.mark.parametrize(("count", "size"), [(0, 384), (117, 384), (118, 512)])
def test_sizes_are_multiples(model: BpeModel, count: int, size: int) -> None:
    assert place(model, count, multiple_of=128).size == size


def test_reserved_tokens_and_gaps_come_first(model: BpeModel) -> None:
    assert place(model, 3, reuse=RESERVED).ids.tolist() == [263, 264, 265]
    placed = place(model, 6, reuse=RESERVED)
    assert placed.ids.tolist() == [263, 264, 265, 266, 267, 268]
    assert placed.size == 269
    assert place(model, 2, reuse=RESERVED).size == 267
    assert place(model, 2, reuse=r"<\|reserved_265\|>").ids.tolist() == [264, 265]


def test_where_an_id_is_a_rank_new_ones_are_above(model: BpeModel) -> None:
    special = {"<|reserved_0|>": 262, "<|end|>": 263, "<|reserved_1|>": 266}
    data = rank_data().replace(b" 261\n", b" 264\n")  # so that 261 is a gap among the ranks
    ranks = import_model(data, pattern="gpt2", special=special)
    assert place(ranks, 4, reuse=RESERVED).ids.tolist() == [265, 266, 267, 268]


def test_unused_pieces() -> None:
    idle = message(1, message(1, b"ooo") + b"\x15\0\0\0\0\x18\x05")
    model = import_model(unused("he", "hell", "h") + idle)
    assert place(model, 1, reuse="ooo").ids.tolist() == [14]
    assert place(model, 1, reuse=r"\[X\]").ids.tolist() == [3]
    for merging in ("he", "hell", "h"):  # "hello" is made of them
        with pytest.raises(InputError, match=f"--reuse '{merging}' .*there are: "):
            place(model, 1, reuse=merging)
    with pytest.raises(InputError, match=r"--reuse 'll' .*there are: "):
        place(model, 1, reuse="ll")


def test_what_is_refused(model: BpeModel) -> None:
    for reuse, why in (("(", r"reuse '\(' .*regular expression"), ("reserved", "--reuse 'reserved' .*there are: ")):
        with pytest.raises(InputError, match=why):
            place(model, 1, reuse=reuse)
    emitted = np.array([104, 265, 265], np.uint32)
    assert place(model, 2, reuse=RESERVED, emitted=emitted).ids.tolist() == [263, 264]
    with pytest.raises(InputError, match=r"--reuse .*id 265 of '<\|reserved_265\|>'"):
        place(model, 3, reuse=RESERVED, emitted=emitted)
    with pytest.raises(InputError, match="multiple of 0"):
        place(model, 1, multiple_of=0)
    unknown = dataclasses.replace(model, unknown=263)
    assert place(unknown, 2, reuse=RESERVED).ids.tolist() == [264, 265]
