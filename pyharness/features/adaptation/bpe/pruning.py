"""Tokens that go: which can, in which order, and the ids of those that stay."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.analysis.self_tokenization import self_tokenization
from pyharness.bpe.model.model import BpeModel
from pyharness.features.adaptation.types import IdMap
from pyharness.types import Ids, InputError, TokenKind


def removable(model: BpeModel) -> NDArray[np.bool_]:
    """Bool [ids]: tokens that merges make; not base symbols, nor special, added, unknown and unused tokens and bytes.

    Raises:
        InputError: a model of Scaffold-BPE.
    """
    if model.expansion is not None:
        raise InputError("a model of Scaffold-BPE cannot be pruned: its ids are not those of its rules")
    merges = model.merges
    return np.asarray(merges.tested & ~merges.atomic, np.bool_)


def parts(model: BpeModel, threads: int = 1) -> Ids:
    """Uint32 [ids, 2]: the two tokens whose merge makes each token of its own base symbols; 2^32 - 1 where none does.

    Tokens that are not tested, such as special ones, count as well where rules make them.
    """
    merges = model.merges
    spelled = np.diff(merges.base_offsets) > 0
    return self_tokenization(dataclasses.replace(merges, tested=spelled), threads).parts


def leaf_order(model: BpeModel, counts: NDArray[np.uint64], threads: int = 1) -> Ids:
    """Order of removal in which no token goes before those that have it as a part.

    A leaf is part of no token that is left: not on the way from base symbols to it. The least frequent leaf goes first,
    of equally frequent ones that with the larger id; its occurrences become occurrences of its two parts. Tokens that
    cannot be reached are leaves. Whatever beginning of the order is removed, all other tokens stay reachable, and a
    text that uses none of the removed ones keeps its ids.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> model = model_of_training(trained, "gpt2")  # 256 is ug, 257 is hug, 258 is pug
    >>> counts = np.zeros(259, np.uint64)
    >>> counts[[257, 258]] = 5, 3
    >>> leaf_order(model, counts).tolist()
    [258, 257, 256]

    Args:
        model: what to prune.
        counts: uint64 [ids], how often each token occurs in the text it is pruned for
            (:class:`pyharness.features.adaptation.bpe.token_counter.TokenCounter`).
        threads: that test which parts a token has.

    Returns:
        uint32: all ids that can go, but for parts of tokens that cannot.

    Raises:
        InputError: a model of Scaffold-BPE.
        ValueError: ``counts`` do not fit the model, or pass 2^64 - 1 when added up.

    Source: docs/algorithms.md "Pruning"; arXiv 2512.03989.
    """
    can_go = removable(model)
    return _core.leaf_order(parts(model, threads), counts, can_go)


def first_of(model: BpeModel, order: Ids, *, size: int | None = None, share: float | None = None) -> Ids:
    """Tokens of an order that go, so that ``size`` of all tokens are left, or a ``share`` of the order is gone.

    >>> model = model_of_training(train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259), "gpt2")
    >>> order = leaf_order(model, np.zeros(259, np.uint64))
    >>> first_of(model, order, size=257).tolist(), first_of(model, order, share=0.34).tolist()
    ([258, 257], [258])

    Args:
        model: whose order it is.
        order: ids, first to go first.
        size: tokens of any kind that are left, special ones and base symbols among them: the number of ids then.
        share: from 0 to 1; rounded to whole tokens.

    Raises:
        InputError: there are not so many tokens that can go, or not so many tokens.
    """
    if (size is None) == (share is None):
        raise InputError("prune to a size or by a share: give one of the two")
    if share is not None and not 0 <= share <= 1:
        raise InputError(f"a share of {share:g} cannot be removed; it lies between 0 and 1")
    present = int((model.vocabulary.kinds != TokenKind.ABSENT).sum())
    going = round((share or 0) * len(order)) if size is None else present - size
    if going < 0:
        raise InputError(f"{size:,} tokens cannot be left of {present:,}")
    if going > len(order):
        raise InputError(
            f"{going:,} of {present:,} tokens would have to go for {size:,} to be left, and {len(order):,} can; "
            "base symbols and special, added and unknown tokens stay"
        )
    return order[:going]


def id_map(model: BpeModel, removed: Ids) -> IdMap:
    """New ids of the tokens that stay: without gaps, in the old order.

    >>> model = model_of_training(train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259), "gpt2")
    >>> id_map(model, np.array([257], np.uint32)).new[255:].tolist()
    [255, 256, -1, 257]
    """
    stays = model.vocabulary.kinds != TokenKind.ABSENT
    stays[removed] = False
    return IdMap(np.where(stays, np.cumsum(stays) - 1, -1), int(stays.sum()))
