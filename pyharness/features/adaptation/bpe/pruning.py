"""Orders of removal: leaf pruning, and other orders for comparison; and the new ids of kept tokens.

Orders that ignore which tokens others are made of may leave unreachable tokens.
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
    """Return bool [ids]: whether a token is removable.

    Base symbols, bytes, and special, added, unknown and unused tokens are not.

    Raises:
        InputError: a model of Scaffold-BPE.
    """
    if model.expansion is not None:
        raise InputError("a model of Scaffold-BPE cannot be pruned: its ids are not those of its rules")
    merges = model.merges
    return np.asarray(merges.tested & ~merges.atomic, np.bool_)


def parts(model: BpeModel, threads: int = 1) -> Ids:
    """Return uint32 [ids, 2]: the two parts whose merge makes each token from its base symbols; 2^32 - 1 without one.

    Untested tokens, such as special ones, have parts as well where rules make them.
    """
    merges = model.merges
    spelled = np.diff(merges.base_offsets) > 0
    return self_tokenization(dataclasses.replace(merges, tested=spelled), threads).parts


def leaf_order(model: BpeModel, counts: NDArray[np.uint64], threads: int = 1) -> Ids:
    """Return an order of removal in which no token precedes the tokens that have it as a part.

    A leaf is part of no remaining token: no merges of one pass through it. The least frequent leaf goes first; of equal
    ones, that with the larger id. Its occurrences become occurrences of its two parts. Unreachable tokens are leaves.
    After removing any prefix of the order, all other reachable tokens stay reachable, and a text without removed tokens
    keeps its tokens.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> model = model_of_training(trained, "gpt2")  # 256 is ug, 257 is hug, 258 is pug
    >>> counts = np.zeros(259, np.uint64)
    >>> counts[[257, 258]] = 5, 3
    >>> leaf_order(model, counts).tolist()
    [258, 257, 256]

    Args:
        model: what to prune.
        counts: uint64 [ids], occurrences of each token in the target text
            (:class:`pyharness.features.adaptation.bpe.model_pieces.TokenCounter`).
        threads: threads that find the parts of tokens.

    Returns:
        uint32: all removable ids, except parts of tokens that must stay.

    Raises:
        InputError: a model of Scaffold-BPE.
        ValueError: ``counts`` do not fit the model, or pass 2^64 - 1 when added up.

    Source: docs/algorithms.md "Pruning"; arXiv 2512.03989.
    """
    can_go = removable(model)
    return _core.leaf_order(parts(model, threads), counts, can_go)


def frequency_order(model: BpeModel, counts: Counts) -> Ids:
    """Return the removable tokens by ascending frequency; of a tie, the larger id first.

    >>> model = import_model(b"minbpe v1\\n\\n0\\n97 98\\n256 99\\n")  # ab, abc
    >>> frequency_order(model, np.zeros(258, np.uint64)).tolist()
    [257, 256]

    Raises:
        InputError: a model of Scaffold-BPE.
    """
    ids = _from_last(model)
    return ids[np.argsort(counts[ids], kind="stable")]


def last_n(model: BpeModel) -> Ids:
    """Return the removable tokens by descending id.

    >>> last_n(import_model(b"minbpe v1\\n\\n0\\n97 98\\n256 99\\n")).tolist()
    [257, 256]

    Raises:
        InputError: a model of Scaffold-BPE.
    """
    return _from_last(model)


def leaf_last_n(model: BpeModel, threads: int = 1) -> Ids:
    """Return the tokens of :func:`leaf_order` by descending id, but each after the tokens that have it as a part.

    >>> leaf_last_n(import_model(b"minbpe v1\\n\\n0\\n97 98\\n256 99\\n")).tolist()
    [257, 256]

    Raises:
        InputError: a model of Scaffold-BPE.
    """
    return leaf_order(model, np.zeros(model.id_limit, np.uint64), threads)


def merge_based(model: BpeModel, counts: Counts, threads: int = 1) -> Ids:
    """Return the removable tokens by the ascending sum of occurrences and of merges that take the token in the text.

    Of equal ones, the token of more base symbols goes first, then that with the larger id.

    >>> model = import_model(b"minbpe v1\\n\\n0\\n97 98\\n256 99\\n")  # ab, abc
    >>> counts = np.zeros(258, np.uint64)
    >>> counts[[256, 257]] = 1, 2  # one ab for itself, and two for abc
    >>> merge_based(model, counts).tolist()
    [257, 256]

    Raises:
        InputError: a model of Scaffold-BPE.
    """
    ids = _from_last(model)
    lengths = np.diff(model.merges.base_offsets)
    score = counts + _uses(model, counts, lengths, threads)
    order: Ids = ids[np.lexsort((-lengths[ids], score[ids]))]
    return order


def script_order(model: BpeModel, counts: Counts, scripts: Collection[str]) -> Ids:
    """Return the removable tokens: those with a character of these scripts, then others; each by ascending frequency.

    >>> model = import_model("minbpe v1\\n\\n0\\n209 143\\n97 98\\n".encode())  # я, ab
    >>> counts = np.full(258, 7, np.uint64)
    >>> script_order(model, counts, ["Cyrillic"]).tolist()
    [256, 257]

    Args:
        model: what to prune.
        counts: uint64 [ids], occurrences.
        scripts: Unicode's names, such as Latin.

    Raises:
        InputError: there is no such script, or a model of Scaffold-BPE.
    """
    ids = frequency_order(model, counts)
    return ids[np.argsort(~_uses_scripts(model, scripts)[ids], kind="stable")]


def _from_last(model: BpeModel) -> Ids:
    return np.flatnonzero(removable(model))[::-1].astype(np.uint32)


def _uses(model: BpeModel, counts: Counts, lengths: NDArray[np.int64], threads: int) -> Counts:
    """Count merges that take each token; (a, a) counts once. A token always has the same merges, so counts suffice."""
    of = parts(model, threads)
    totals = np.where(model.merges.tested, counts, 0).astype(np.uint64)
    uses = np.zeros(len(counts), np.uint64)
    merged = np.flatnonzero(of[:, 0] != NEVER)
    for length in np.unique(lengths[merged])[::-1]:  # tokens with this part are longer
        ids = merged[lengths[merged] == length]
        left, right = of[ids].T
        np.add.at(totals, left, totals[ids])
        np.add.at(totals, right, totals[ids])
        np.add.at(uses, left, totals[ids])
        np.add.at(uses, right[left != right], totals[ids][left != right])
    return uses


def _uses_scripts(model: BpeModel, scripts: Collection[str]) -> NDArray[np.bool_]:
    """Return bool [ids]: whether a token has a character of the scripts; bytes of partial characters have none."""
    sets = table().sets
    texts = [model.vocabulary[token].decode(errors="ignore") for token in range(model.id_limit)]
    characters = sorted(set().union(*texts))
    points = np.array(list(map(ord, characters)), np.int64)
    inside = np.zeros(len(points), np.bool_)
    for name in scripts:
        if ("sc", plain(name)) not in sets:
            raise InputError(f"no script is called {name!r}; Unicode's names are meant, such as Latin or Cyrillic")
        inside |= np.searchsorted(np.array(sets["sc", plain(name)]), points, side="right") % 2 == 1
    written = frozenset(compress(characters, inside))
    return np.array([not written.isdisjoint(text) for text in texts], np.bool_)


def first_of(model: BpeModel, order: Ids, *, size: int | None = None, share: float | None = None) -> Ids:
    """Return the first tokens of an order, so that ``size`` tokens remain, or a ``share`` of the order is removed.

    >>> model = model_of_training(train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259), "gpt2")
    >>> order = leaf_order(model, np.zeros(259, np.uint64))
    >>> first_of(model, order, size=257).tolist(), first_of(model, order, share=0.34).tolist()
    ([258, 257], [258])

    Args:
        model: the model of the order.
        order: ids in the order of removal.
        size: number of remaining tokens of any kind, with special ones and base symbols: the new number of ids.
        share: from 0 to 1; rounded to whole tokens.

    Raises:
        InputError: too few tokens are removable, or the model has fewer tokens than ``size``; the share is out of
            range; or not exactly one of ``size`` and ``share`` is given.
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
    """Map the tokens that stay to new ids, without gaps and in the old order.

    >>> model = model_of_training(train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259), "gpt2")
    >>> id_map(model, np.array([257], np.uint32)).new[255:].tolist()
    [255, 256, -1, 257]
    """
    stays = model.vocabulary.kinds != TokenKind.ABSENT
    stays[removed] = False
    return IdMap(np.where(stays, np.cumsum(stays) - 1, -1), int(stays.sum()))
