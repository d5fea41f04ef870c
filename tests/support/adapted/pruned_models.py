"""What pruning makes of a model: in memory, without a file."""

from __future__ import annotations

import dataclasses
from itertools import compress

import numpy as np

from oracles.bpe import NEVER
from pyharness.bpe.model.model import BpeModel
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.types import Ids, MergeModel, Offsets, Vocabulary, offsets_of


def _kept(data: np.ndarray, offsets: Offsets, kept: np.ndarray) -> tuple[np.ndarray, Offsets]:
    lengths = np.diff(offsets)
    return data[np.repeat(kept, lengths)], offsets_of(lengths[kept])


def pruned_merges(merges: MergeModel, ids: IdMap) -> MergeModel:
    """Merges among the tokens that stay, in their new ids, ranks as they were."""
    kept = ids.new >= 0
    assert ids.new[kept].tolist() == list(range(ids.size))
    data, offsets = _kept(merges.data, merges.offsets, kept)
    base, base_offsets = _kept(merges.base, merges.base_offsets, kept)
    rules = merges.rules
    if rules is not None:
        rules = ids.new[rules[(ids.new[rules] >= 0).all(axis=1)]].astype(np.uint32)
    assert (ids.new[base] >= 0).all()
    return MergeModel(
        data, offsets, ids.new[base].astype(np.uint32), base_offsets, merges.tested[kept], merges.atomic[kept], rules,
        None if merges.ranks is None else merges.ranks[kept],
    )  # fmt: skip


def pruned_model(model: BpeModel, ids: IdMap) -> BpeModel:
    """The model without the tokens that go."""
    kept = ids.new >= 0
    data, offsets = _kept(model.vocabulary.data, model.vocabulary.offsets, kept)
    return dataclasses.replace(
        model,
        vocabulary=Vocabulary(data, offsets, model.vocabulary.kinds[kept]),
        merges=pruned_merges(model.merges, ids),
        alphabet={symbol: int(ids.new[token]) for symbol, token in model.alphabet.items()},
        added=tuple(dataclasses.replace(token, id=int(ids.new[token.id])) for token in model.added),
        unknown=None if model.unknown is None else int(ids.new[model.unknown]),
        fallback=tuple(-1 if token < 0 else int(ids.new[token]) for token in model.fallback),
    )


def mapped_parts(parts: Ids, ids: IdMap) -> list[list[int]]:
    """Parts of the tokens that stay, in their new ids; NEVER as it is."""
    new = [NEVER if part == NEVER else int(ids.new[part]) for part in parts.ravel().tolist()]
    rows = [new[at : at + 2] for at in range(0, len(new), 2)]
    return list(compress(rows, (ids.new >= 0).tolist()))
