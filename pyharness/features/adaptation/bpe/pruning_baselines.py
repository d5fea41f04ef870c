"""Orders of removal that leaf pruning is compared with. Those by frequency leave tokens that cannot be reached."""

from __future__ import annotations

from collections.abc import Collection
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.analysis.self_tokenization import NEVER
from pyharness.bpe.model.model import BpeModel
from pyharness.features.adaptation.bpe.pruning import leaf_order, parts, removable
from pyharness.types import Ids, InputError
from pyharness.vocabularies.patterns.properties import plain, table

Counts = NDArray[np.uint64]  # [ids]


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
