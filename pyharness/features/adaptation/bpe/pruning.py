"""Which tokens a model loses first: leaf pruning, and orders that it is compared with; and the new ids of the others.

Orders by frequency leave tokens that cannot be reached.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.model.reachability import NEVER, self_tokenization
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.types import Ids, InputError, TokenKind
from pyharness.vocabularies.patterns.code_points import plain, table

Counts = NDArray[np.uint64]  # [ids]


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
            (:class:`pyharness.features.adaptation.bpe.model_pieces.TokenCounter`).
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


def frequency_order(model: BpeModel, counts: Counts) -> Ids:
    """The least frequent token first; of equally frequent ones that with the larger id.

    >>> model = import_model(b"minbpe v1\\n\\n0\\n97 98\\n256 99\\n")  # ab, abc
    >>> frequency_order(model, np.zeros(258, np.uint64)).tolist()
    [257, 256]
    """
    ids = _from_last(model)
    return ids[np.argsort(counts[ids], kind="stable")]


def last_n(model: BpeModel) -> Ids:
    """The largest id first.

    >>> last_n(import_model(b"minbpe v1\\n\\n0\\n97 98\\n256 99\\n")).tolist()
    [257, 256]
    """
    return _from_last(model)


def leaf_last_n(model: BpeModel, threads: int = 1) -> Ids:
    """The largest id first, but no token before those that have it as a part: see :func:`leaf_order`.

    >>> leaf_last_n(import_model(b"minbpe v1\\n\\n0\\n97 98\\n256 99\\n")).tolist()
    [257, 256]
    """
    return leaf_order(model, np.zeros(model.id_limit, np.uint64), threads)


def merge_based(model: BpeModel, counts: Counts, threads: int = 1) -> Ids:
    """The smallest sum of occurrences and of merges that take the token, in the text of the counts, first.

    Of equal ones the token of more base symbols goes first, then that with the larger id.

    >>> model = import_model(b"minbpe v1\\n\\n0\\n97 98\\n256 99\\n")  # ab, abc
    >>> counts = np.zeros(258, np.uint64)
    >>> counts[[256, 257]] = 1, 2  # one ab for itself, and two for abc
    >>> merge_based(model, counts).tolist()
    [257, 256]
    """
    ids = _from_last(model)
    lengths = np.diff(model.merges.base_offsets)
    score = counts + _uses(model, counts, lengths, threads)
    order: Ids = ids[np.lexsort((-lengths[ids], score[ids]))]
    return order


def script_order(model: BpeModel, counts: Counts, scripts: Collection[str]) -> Ids:
    """Tokens with a character of one of these scripts first, and then the others; each by frequency.

    >>> model = import_model("minbpe v1\\n\\n0\\n209 143\\n97 98\\n".encode())  # я, ab
    >>> counts = np.full(258, 7, np.uint64)
    >>> script_order(model, counts, ["Cyrillic"]).tolist()
    [256, 257]

    Args:
        model: what to prune.
        counts: uint64 [ids], occurrences.
        scripts: Unicode's names, such as Latin.

    Raises:
        InputError: there is no such script.
    """
    ids = frequency_order(model, counts)
    return ids[np.argsort(~_written_in(model, scripts)[ids], kind="stable")]


def _from_last(model: BpeModel) -> Ids:
    return np.flatnonzero(removable(model))[::-1].astype(np.uint32)


def _uses(model: BpeModel, counts: Counts, lengths: NDArray[np.int64], threads: int) -> Counts:
    """Merges that take each token; one of (a, a) is one. A token is always merged as by itself, so counts say it."""
    of = parts(model, threads)
    made = np.where(model.merges.tested, counts, 0).astype(np.uint64)
    uses = np.zeros(len(counts), np.uint64)
    merged = np.flatnonzero(of[:, 0] != NEVER)
    for length in np.unique(lengths[merged])[::-1]:  # all that take a token are longer
        ids = merged[lengths[merged] == length]
        left, right = of[ids].T
        np.add.at(made, left, made[ids])
        np.add.at(made, right, made[ids])
        np.add.at(uses, left, made[ids])
        np.add.at(uses, right[left != right], made[ids][left != right])
    return uses


def _written_in(model: BpeModel, scripts: Collection[str]) -> NDArray[np.bool_]:
    """Bool [ids]: tokens with a character of one of the scripts; bytes that are no characters have none."""
    known = table().sets
    texts = [model.vocabulary[token].decode(errors="ignore") for token in range(model.id_limit)]
    characters = sorted(set().union(*texts))
    points = np.array(list(map(ord, characters)), np.int64)
    inside = np.zeros(len(points), np.bool_)
    for name in scripts:
        if ("sc", plain(name)) not in known:
            raise InputError(f"no script is called {name!r}; Unicode's names are meant, such as Latin or Cyrillic")
        inside |= np.searchsorted(np.array(known["sc", plain(name)]), points, side="right") % 2 == 1
    written = frozenset(compress(characters, inside))
    return np.array([not written.isdisjoint(text) for text in texts], np.bool_)


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
