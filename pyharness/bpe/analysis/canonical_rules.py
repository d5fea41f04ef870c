"""One rule per token: the merge that makes it, wherever it is made.

No merge crosses the two ends of a token before it is made, whatever its neighbours. So its base symbols merge as they
do when they are encoded alone, and its last merge is the same everywhere. A token that does not encode to itself alone
is never made at all. Hence the rules below, in the order of their ranks, give the ids of the whole model, and two
models with the same rules in the same order give the same ids. (This needs merges to be ordered by rank and then by
position, and different ranks for different results.)
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from pyharness.bpe.analysis.self_tokenization import NEVER, self_tokenization
from pyharness.types import Ids, InputError, MergeModel


def canonical_rules(merges: MergeModel) -> NDArray[np.uint32]:
    """uint32 [rules, 3]: left, right and result of every merge that can happen, in rank order.

    Raises:
        InputError: two results have the same rank, so that their order depends on the text.
    """
    parts = self_tokenization(dataclasses.replace(merges, tested=merges.tested | _results(merges))).parts
    made = np.flatnonzero(parts[:, 0] != NEVER).astype(np.uint32)
    rules = np.column_stack((parts[made], made)).astype(np.uint32)
    ranks = _ranks(merges, rules)
    if len(np.unique(ranks)) != len(ranks):
        raise InputError("two tokens have the same rank: which of them is merged first depends on the text")
    return rules[np.argsort(ranks)]


def unmergeable(merges: MergeModel) -> Ids:
    """Tokens that merging never makes."""
    return self_tokenization(merges).failed


def ranks_agree(merges: MergeModel) -> None:
    """Refuse rules that are not what the order of the ids says.

    Raises:
        InputError: naming the first token for which ids as ranks would merge something else.
    """
    rules = canonical_rules(merges)
    falls = np.flatnonzero(np.diff(rules[:, 2].astype(np.int64)) < 0)
    if len(falls):
        first, then = rules[falls[0], 2], rules[falls[0] + 1, 2]
        raise InputError(f"ranks are ids, but token {then} is merged after token {first}")
    canonical = canonical_rules(by_ids(merges))
    if len(rules) == len(canonical) and np.array_equal(rules, canonical):
        return
    size = min(len(rules), len(canonical))
    differs = np.flatnonzero((rules[:size] != canonical[:size]).any(axis=1))
    token = int((rules if len(rules) > size else canonical)[size, 2]) if not len(differs) else int(rules[differs[0], 2])
    raise InputError(
        f"in order of ids other parts would be merged into token {token} ({merges[token]!r}) than the rules say"
    )


def by_ids(merges: MergeModel) -> MergeModel:
    """The same tokens, with ids as ranks."""
    ranks = np.arange(len(merges.tested), dtype=np.uint32)
    ranks[~merges.tested | (np.diff(merges.base_offsets) < 2)] = NEVER
    return MergeModel(
        merges.data, merges.offsets, merges.base, merges.base_offsets, merges.tested, merges.atomic, ranks=ranks
    )


def _results(merges: MergeModel) -> NDArray[np.bool_]:
    """bool [tokens]: what rules make, special tokens among them."""
    if merges.ranks is not None:
        return np.asarray(merges.ranks != NEVER)
    results = np.zeros(len(merges.tested), np.bool_)
    if merges.rules is not None:
        results[merges.rules[:, 2]] = True
    return results


def _ranks(merges: MergeModel, rules: NDArray[np.uint32]) -> NDArray[np.int64]:
    """int64 [rules]: rank of each rule; of rules that are listed twice the first counts."""
    if merges.ranks is not None:
        return merges.ranks[rules[:, 2]].astype(np.int64)
    listed: dict[tuple[int, int], int] = {}
    for rank, (left, right, _) in enumerate(() if merges.rules is None else merges.rules.tolist()):
        listed.setdefault((left, right), rank)
    return np.array([listed[left, right] for left, right, _ in rules.tolist()], np.int64)
