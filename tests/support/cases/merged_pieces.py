"""Pieces merged by PieceMerger, and what the definition gives."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from oracles import bpe as oracle
from pyharness import _core
from pyharness.bpe import BpeEncoder
from pyharness.types import MergeModel, Tokens


def merged(model: MergeModel, pieces: Sequence[bytes], threads: int = 1, **options: object) -> Tokens:
    merger = _core.PieceMerger(model, **options)  # type: ignore[arg-type]
    return Tokens(*merger.encode_batch(np.frombuffer(b"".join(pieces), np.uint8), oracle.offsets_of(pieces), threads))


def byte_ids(model: MergeModel) -> dict[int, int]:
    strings = {int(token): token_bytes(model, int(token)) for token in np.flatnonzero(model.atomic)}
    return {data[0]: token for token, data in reversed(strings.items()) if len(data) == 1}


def token_bytes(model: MergeModel, token: int) -> bytes:
    return model.data[model.offsets[token] : model.offsets[token + 1]].tobytes()


def expected(model: MergeModel, pieces: Sequence[bytes]) -> Tokens:
    ids = byte_ids(model)
    base = Tokens.from_lists([[ids[byte] for byte in piece if byte in ids] for piece in pieces])
    return BpeEncoder(model).encode_batch(base.ids, base.offsets)


def assert_exact(model: MergeModel, pieces: Sequence[bytes]) -> None:
    found, wanted = merged(model, pieces), expected(model, pieces)
    if np.array_equal(found.ids, wanted.ids) and np.array_equal(found.offsets, wanted.offsets):
        return
    for index in range(len(pieces)):
        assert found.document(index).tolist() == wanted.document(index).tolist(), pieces[index]


def random_pieces(generator: random.Random, alphabet: bytes, count: int, longest: int) -> list[bytes]:
    """Random letters, runs and repetitions."""
    pieces = []
    for _ in range(count):
        unit = bytes(generator.choices(alphabet, k=generator.choice([1, 1, 2, 3, 5, longest])))
        pieces.append((unit * longest)[: generator.randint(1, longest)])
    return pieces
