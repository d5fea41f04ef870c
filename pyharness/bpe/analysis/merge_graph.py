"""Layer 1 of the self-tokenization test, and the shape of a model: which ids its rules can produce, and how."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness import _core
from pyharness.types import Ids, MergeModel


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
    orphan_rules: NDArray[np.int64]  # rows of rules with an underivable part, ascending
    shadowed_rules: NDArray[np.int64]  # rows of rules that never fire, ascending
    duplicates: Ids  # ids with more than one derivation, ascending
    rule_count: int


def merge_graph(model: MergeModel) -> MergeGraph:
    """Examine the rules of a model; nothing is encoded.

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
