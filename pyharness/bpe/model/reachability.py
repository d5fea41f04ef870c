"""Ids that the rules of a model can produce, and how: merge graph, self-tokenization test, canonical rules."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import IntEnum
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import Ids, InputError, MergeModel, Tokens

NEVER = 2**32 - 1


class ModelVerdict(IntEnum):
    """The outcome of one id.

    >>> ModelVerdict(1).name
    'REACHABLE'
    """

    NOT_TESTED = 0
    REACHABLE = 1  # its base symbols encode to itself
    MODEL = 2  # layer 2: rules could make it, but its own base symbols encode to other ids
    UNDERIVABLE = 3  # layer 1: no sequence of rules makes it


@dataclass(frozen=True, slots=True)
class SelfTokenization:
    """ModelVerdict of every id, and the model's output instead of the ids that failed.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> result = self_tokenization(model_of_training(trained, "gpt2").merges)
    >>> result.parts[257].tolist(), result.parts[0].tolist() == [NEVER, NEVER]  # h and ug; a byte is not merged
    ([104, 256], True)
    """

    verdict: NDArray[np.uint8]  # ModelVerdict [n]
    parts: NDArray[np.uint32]  # [n, 2]: the symbols whose merge made each reachable id; NEVER where no merge did
    failed: Ids  # ids with MODEL or UNDERIVABLE, ascending
    witnesses: Tokens  # document k: encoding of the base symbols of failed[k]


def self_tokenization(model: MergeModel, threads: int = 1) -> SelfTokenization:
    """Test every id that ``model.tested`` names, with whole-piece shortcuts off.

    ``threads`` does not change the result.

    >>> model = import_model(b"minbpe v1\\n\\n0\\n98 99\\n97 98\\n257 99\\n")  # 256 is bc, 257 is ab, 258 is ab + c
    >>> result = self_tokenization(model.merges)
    >>> result.failed.tolist(), result.witnesses.document(0).tolist()  # in abc, the rule of bc comes first
    ([258], [97, 256])
    >>> ModelVerdict(result.verdict[258]).name
    'MODEL'

    Raises:
        ValueError: the model's arrays do not fit each other, or an id is out of range.
        TypeError: an array has another dtype.

    Source: arXiv 2512.03989; docs/metrics.md "Reachability"; docs/algorithms.md "Self-tokenization".
    """
    verdict, parts, failed, ids, offsets = _core.self_tokenization(model, threads)
    return SelfTokenization(verdict, parts.reshape(-1, 2), failed, Tokens(ids, offsets))


_REMEMBERED: WeakKeyDictionary[MergeModel, SelfTokenization] = WeakKeyDictionary()


def remembered_self_tokenization(model: MergeModel, threads: int = 1) -> SelfTokenization:
    """Return the result of :func:`self_tokenization`, cached as long as the model lives, in read-only arrays.

    Reading a file, extending it and checking the result all need it.

    Raises:
        ValueError, TypeError: as :func:`self_tokenization`.
    """
    result = _REMEMBERED.get(model)
    if result is None:
        result = _REMEMBERED[model] = self_tokenization(model, threads)
        for array in (result.verdict, result.parts, result.failed, result.witnesses.ids, result.witnesses.offsets):
            array.flags.writeable = False
    return result


@dataclass(frozen=True, slots=True)
class MergeGraph:
    """Facts by id ([n]) and by rule.

    A row of ``rules`` whose pair has an earlier row never fires: it is listed in ``shadowed_rules`` and counts nowhere
    else. In the ranks form a rule is a split of a token into two strings of the vocabulary.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> graph = merge_graph(model_of_training(trained, "gpt2").merges)
    >>> bool(graph.derivable.all()), graph.rule_count, graph.orphan_rules.tolist()
    (True, 3, [])
    """

    derivable: NDArray[np.bool_]  # [n] atomic, or made from derivable parts
    depth: NDArray[np.int32]  # [n] fewest merge levels; 0 atomic, -1 underivable
    children: NDArray[np.int64]  # [n] rules that use the id; (a, a) counts once
    derivations: NDArray[np.int64]  # [n] rules that produce the id
    orphan_rules: NDArray[np.int64]  # rows of rules with an underivable part, ascending; none in the ranks form
    shadowed_rules: NDArray[np.int64]  # rows of rules that never fire, ascending; none in the ranks form
    duplicates: Ids  # ids with more than one derivation, ascending
    rule_count: int


def merge_graph(model: MergeModel) -> MergeGraph:
    """Analyse the rules of a model, without encoding.

    Derivability is a least fixed point, so rules in a cycle derive nothing by themselves.

    >>> trained = train(WeightedPieces.of_bytes({b"hug": 5, b"pug": 3}), 259)
    >>> [trained[token] for token in (256, 257, 258)]
    [b'ug', b'hug', b'pug']
    >>> graph = merge_graph(model_of_training(trained, "gpt2").merges)
    >>> graph.depth[[ord("u"), 256, 257]].tolist(), int(graph.children[256])  # ug is a part of hug and of pug
    ([0, 1, 2], 2)

    Raises:
        ValueError: the model's arrays do not fit each other, or an id is out of range.
        TypeError: an array has another dtype.

    Source: docs/metrics.md "Merge graph"; docs/algorithms.md "Merge graph".
    """
    return MergeGraph(**_core.merge_graph(model))


# One rule per token: the merge that makes it, wherever it is made.
#
# Before a token is made, no merge crosses its two ends, whatever its neighbours. So its base symbols merge as they do
# when they are encoded alone, and its last merge is the same everywhere. A token that does not encode to itself alone
# is never made at all. Hence the rules below, in the order of their ranks, give the ids of the whole model, and two
# models with the same rules in the same order give the same ids. (This needs merges to be ordered by rank and then by
# position, and different ranks for different results.)
def canonical_rules(merges: MergeModel) -> NDArray[np.uint32]:
    """Return left, right and result of every merge that can happen, in rank order: uint32 [rules, 3].

    Raises:
        InputError: two results have the same rank, so that their order depends on the text.
    """
    tested = merges.tested.copy()
    if merges.ranks is not None:  # special tokens may be results of rules, too
        tested |= merges.ranks != NEVER
    elif merges.rules is not None:
        tested[merges.rules[:, 2]] = True
    parts = self_tokenization(dataclasses.replace(merges, tested=tested)).parts
    merged = np.flatnonzero(parts[:, 0] != NEVER).astype(np.uint32)
    rules = np.column_stack((parts[merged], merged)).astype(np.uint32)
    ranks = _ranks(merges, rules)
    if len(np.unique(ranks)) != len(ranks):
        raise InputError("two tokens have the same rank: which of them is merged first depends on the text")
    return rules[np.argsort(ranks)]


def unmergeable(merges: MergeModel) -> Ids:
    """Return the tested tokens that merging never makes, in ascending order."""
    return self_tokenization(merges).failed


def ranks_agree(merges: MergeModel) -> None:
    """Refuse rules that differ from those that ids as ranks imply.

    Raises:
        InputError: ids as ranks would give another merge (the message names the first such token), or two tokens have
            the same rank.
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
    """Return the same tokens, with ids as ranks."""
    ranks = np.arange(len(merges.tested), dtype=np.uint32)
    ranks[~merges.tested | (np.diff(merges.base_offsets) < 2)] = NEVER
    return MergeModel(
        merges.data, merges.offsets, merges.base, merges.base_offsets, merges.tested, merges.atomic, ranks=ranks
    )


def _ranks(merges: MergeModel, rules: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the rank of each rule, int64 [rules]; of rules that are listed twice the first counts."""
    if merges.ranks is not None:
        return merges.ranks[rules[:, 2]].astype(np.int64)
    listed: dict[tuple[int, int], int] = {}
    for rank, (left, right, _) in enumerate(() if merges.rules is None else merges.rules.tolist()):
        listed.setdefault((left, right), rank)
    return np.array([listed[left, right] for left, right, _ in rules.tolist()], np.int64)
