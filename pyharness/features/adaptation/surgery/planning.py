"""Makes plans: from an old and a new tokenizer, or from any map of ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from pyharness.bpe import BpeModel
from pyharness.features.adaptation.surgery.plan import EmbeddingPlan, Numbering, Operation, Step
from pyharness.features.adaptation.surgery.spelling import constituents
from pyharness.features.adaptation.surgery.token_matches import matches
from pyharness.features.adaptation.types import IdMap
from pyharness.types import InputError, TokenKind

Method: TypeAlias = Literal["fvt", "mean", "random"]
MOST_MULTIPLE = 1 << 16  # kernels of matrix products like 64 or 128
_NOTHING: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a plan beside the ids."""

    rows: int  # of the matrices
    checkpoint: str  # digest of the model
    method: Method = "fvt"  # of rows that are no copies
    named: Mapping[int, int] = field(default_factory=dict)  # new ids that get the row of an old one
    multiple_of: int = 1  # of the number of rows
    seed: int = 0


def plan_of_tokenizers(
    old: BpeModel, new: BpeModel, request: Request, sha256: tuple[str | None, str | None] = (None, None)
) -> EmbeddingPlan:
    """Plan the rows of a new tokenizer: tokens that both have are copied, the others are made by the method.

    Method ``fvt`` takes the mean of the rows of what the old tokenizer writes for the new token.

    Raises:
        InputError: the matrices have fewer rows than the old tokenizer has ids, or a named id is none.

    Source: arXiv 2512.03989, "models.py"; fast vocabulary transfer is of arXiv 2402.09977.
    """
    copied = matches(old, new)
    steps: list[Step | None] = [(Operation.COPY, (source,)) if source >= 0 else None for source in copied.tolist()]
    kinds = new.vocabulary.kinds
    missing = np.flatnonzero((copied < 0) & (kinds != TokenKind.ABSENT)).tolist()
    if request.method == "fvt":
        for token, ids in zip(missing, constituents(old, new, missing), strict=True):
            steps[token] = (Operation.MEAN, tuple(ids)) if ids else (Operation.AVERAGE, _NOTHING)
    else:
        for token in missing:
            steps[token] = _filling(request.method)
    return _whole(steps, request, _numbering(old, sha256[0]), _numbering(new, sha256[1]))


def plan_of_map(ids: IdMap, request: Request) -> EmbeddingPlan:
    """Plan the rows of a map of ids; what no old id is mapped to is made by the method, which is not ``fvt``.

    Raises:
        InputError: two ids are mapped to one, or to one that is out of range; the matrices have fewer rows.
    """
    old = np.flatnonzero(ids.new >= 0)
    new = ids.new[old]
    if not len(new):
        raise InputError("the map of ids keeps no token")
    if int(new.max()) >= ids.size:
        raise InputError(f"the map of ids names {int(new.max()):,}, but there are to be {ids.size:,} ids")
    if len(np.unique(new)) < len(new):
        twice = int(np.flatnonzero(np.bincount(new) > 1)[0])
        raise InputError(f"the map of ids gives two tokens the new id {twice}")
    if request.method == "fvt" and len(new) < ids.size - len(request.named):
        raise InputError(
            f"{ids.size - len(new):,} new ids have no old one in the map: what they are written with needs both "
            "tokenizers; take --method mean or random"
        )
    steps: list[Step | None] = [_filling(request.method)] * ids.size
    for source, token in zip(old.tolist(), new.tolist(), strict=True):
        steps[token] = (Operation.COPY, (source,))
    return _whole(steps, request, Numbering(len(ids)), Numbering(ids.size))


def _filling(method: Method) -> Step:
    return (Operation.RANDOM if method == "random" else Operation.AVERAGE), _NOTHING


def _numbering(model: BpeModel, sha256: str | None) -> Numbering:
    gaps = np.flatnonzero(model.vocabulary.kinds == TokenKind.ABSENT)
    return Numbering(model.id_limit, tuple(gaps.tolist()), sha256)


def _whole(steps: Sequence[Step | None], request: Request, old: Numbering, new: Numbering) -> EmbeddingPlan:
    """Plan of the steps of ids (None: a gap), with the rows behind them."""
    if request.rows < old.ids:
        raise InputError(f"the matrices have {request.rows:,} rows, and the old tokenizer has {old.ids:,} ids")
    if not 1 <= request.multiple_of <= MOST_MULTIPLE:
        raise InputError(f"--multiple-of {request.multiple_of} is no number from 1 to {MOST_MULTIPLE:,}")
    done = list(steps)
    for token, source in request.named.items():
        if not 0 <= token < new.ids or not 0 <= source < old.ids:
            raise InputError(f"id {token} cannot get the row of {source}: {new.ids:,} new and {old.ids:,} old ids")
        same = done[token]
        done[token] = (Operation.ROW, (source, *(same[1] if same and same[0] is Operation.COPY else ())))
    return EmbeddingPlan.of_steps(
        [*_with_gaps(done, request.rows), *_padding(request, old, new)],
        rows=request.rows, old=old, new=new, checkpoint=request.checkpoint, seed=request.seed,
    )  # fmt: skip


def _with_gaps(steps: Sequence[Step | None], rows: int) -> list[Step]:
    """Steps of all ids: as long as no token has moved, a gap keeps what is in its row."""
    moved = any(step and step[0] is Operation.COPY and step[1] != (token,) for token, step in enumerate(steps))
    return [
        step or ((Operation.KEPT, (token,)) if token < rows and not moved else (Operation.AVERAGE, _NOTHING))
        for token, step in enumerate(steps)
    ]


def _padding(request: Request, old: Numbering, new: Numbering) -> list[Step]:
    """Rows behind the last id: those of the old matrix that new ids do not take, and what the multiple asks for.

    Ids that follow the old ones fall on its padding first. Where there are fewer ids, there is as much padding as
    before. Rows that are added get the average: its logit is the mean of those of tokens, and not above all of them.
    """
    kept = range(max(old.ids, new.ids), request.rows)
    size = new.ids + len(kept)
    added = -size % request.multiple_of
    return [(Operation.KEPT, (row,)) for row in kept] + [(Operation.AVERAGE, _NOTHING)] * added
