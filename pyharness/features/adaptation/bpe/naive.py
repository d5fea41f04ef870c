"""Naive extension, what continued BPE is compared with: the strings of another training, and whatever rules they have.

Source: docs/algorithms.md "Naive extension"; arXiv 2512.03989, and the code that goes with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Unpack

import numpy as np

from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.features.adaptation.bpe.extendable import Extendable
from pyharness.features.adaptation.bpe.extending import ExtendingOptions, check_extending, extend
from pyharness.features.adaptation.types import Extension
from pyharness.types import InputError, TokenKind, Vocabulary
from pyharness.vocabularies.files.bpe_model import byte_level_model, symbol_model

AUXILIARY_SIZE = 64_000  # tokens of the other training, as in the paper
_MISSING = 2**32 - 1


def extend_naively(
    model: BpeModel,
    pieces: WeightedPieces,
    tokens: int,
    *,
    auxiliary_size: int = AUXILIARY_SIZE,
    **options: Unpack[ExtendingOptions],
) -> Extension:
    """Train a tokenizer of its own on the pieces and append those of its strings that the model lacks, in their order.

    In the rules form each gets all rules of two parts that are strings of the extended model, the longer left part
    first. In the ranks form it is its place that counts, and there are no rules.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> model = model_of_training(trained, "gpt2")
    >>> extension = extend_naively(model, WeightedPieces.of_bytes({b"hugs": 4, b"bugs": 3}), 2)
    >>> extension.tokens, extension.rules.tolist()  # "ug" is there already
    ((b'ugs', b'hugs'), [[256, 115, 259], [257, 115, 260], [104, 259, 260]])

    Args:
        model: what to extend; symbols are bytes or characters, without prefix and suffix.
        pieces: of the corpus, over the 256 bytes.
        tokens: strings to add.
        auxiliary_size: tokens of the other training, its symbols among them, which are the model's.
        options: of the other training, see :class:`pyharness.features.adaptation.bpe.extending.ExtendingOptions`.

    Raises:
        InputError: as :func:`pyharness.features.adaptation.bpe.extending.extend`.
    """
    check_naive(model, tokens, auxiliary_size)
    known = _strings(model)
    other = extend(_bare(model), pieces, auxiliary_size - len(model.alphabet), **options)
    reserved = Extendable.of(model).reserved
    new = tuple(token for token in other.tokens if token not in known and token not in reserved)[:tokens]
    rules = np.array([*_rules(model, known, new)], np.uint32).reshape(-1, 3)
    return Extension(model.id_limit, new, rules, np.zeros(len(rules), np.uint64), complete=len(new) == tokens)


def check_naive(model: BpeModel, tokens: int, auxiliary_size: int) -> None:
    """Refuse what no pieces can mend.

    Raises:
        InputError: as :func:`extend_naively`.
    """
    if auxiliary_size < len(model.alphabet):
        raise InputError(f"auxiliary_size is {auxiliary_size:,}; the symbols alone are {len(model.alphabet):,}")
    check_extending(model, tokens, ExtendingOptions())


def _strings(model: BpeModel) -> dict[bytes, int]:
    """Ids of the strings that merges may take and make; of equal ones the first."""
    merges = Extendable.of(model)
    text, ends = merges.data.tobytes(), merges.offsets.tolist()
    strings = [text[start:end] for start, end in pairwise(ends)]
    return {string: token for token, string in reversed([*enumerate(strings)]) if string}


def _rules(model: BpeModel, known: Mapping[bytes, int], new: tuple[bytes, ...]) -> Iterator[tuple[int, int, int]]:
    if model.merges.rules is None:
        return
    ids = {**known, **{string: model.id_limit + index for index, string in enumerate(new)}}
    ruled = {(left, right) for left, right, _ in model.merges.rules.tolist()}
    for string in new:
        for cut in range(len(string) - 1, 0, -1):
            pair = ids.get(string[:cut]), ids.get(string[cut:])
            if pair[0] is not None and pair[1] is not None and pair not in ruled:
                ruled.add((pair[0], pair[1]))
                yield pair[0], pair[1], ids[string]


def _bare(model: BpeModel) -> BpeModel:
    """The symbols of a model without its merges, in the order of their bytes; text is split as before."""
    symbols = sorted(model.alphabet)
    tokens = dict(enumerate(symbols))
    number = {symbol: token for token, symbol in tokens.items()}
    unknown = None if model.symbols == "bytes" else len(symbols)
    kinds = {} if unknown is None else {unknown: TokenKind.UNKNOWN}
    vocabulary = Vocabulary.from_tokens({**tokens, **dict.fromkeys(kinds, b"")}, kinds)
    none = np.zeros((0, 3), np.uint32)
    if unknown is None:
        byte_ids = np.array([number.get(bytes([byte]), _MISSING) for byte in range(256)], np.uint32)
        merges = byte_level_model(vocabulary, byte_ids, rules=none)
    else:
        strings, base = [*symbols, b""], [[token] for token in range(len(symbols) + 1)]
        merges = symbol_model(strings, base, vocabulary.kinds, rules=none)
    return dataclasses.replace(
        model, vocabulary=vocabulary, merges=merges, alphabet=number, added=(), unknown=unknown, fuse_unknown=False,
        fallback=(), whole_pieces=False, algorithm="bpe",
    )  # fmt: skip
