"""Trainers that remove tokens: leaves by frequency, or by other orders for comparison; new ones may replace them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.features.adaptation.bpe import pruning as orders
from pyharness.features.adaptation.bpe.edited_file import Pruned, prune
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces, TokenCounter
from pyharness.features.adaptation.bpe.placement import place
from pyharness.features.adaptation.bpe.pruning import first_of, leaf_order
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.features.adaptation.trainers.adapted import Adapted, BaseFile, present, texts_of, trained
from pyharness.features.adaptation.trainers.declarations import PruningOptions
from pyharness.features.adaptation.trainers.extension import asked, notes_of, put_in, said_of
from pyharness.features.adaptation.trainers.growth import (
    Counts,
    balance,
    check_growth,
    each_corpus,
    extending_options,
    grow,
    joined,
    rules_of,
    scaled,
)
from pyharness.features.training.trainers import Array, TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.feeding import Feed
from pyharness.types import Ids, InputError

COMPARED = 4_096  # most kept tokens, and most removed ones, in the texts on which the library must agree with us


@dataclass(frozen=True, slots=True)
class Order:
    """An order of removal, and facts about its text."""

    ids: Ids
    documents: int
    bytes: int
    pieces: WeightedPieces | None = None  # only where tokens are learnt as well

    def as_arrays(self) -> dict[str, Array]:
        """Return the arrays with which prunings to other sizes need no text."""
        return {"order": self.ids, "numbers": np.array([self.documents, self.bytes], np.int64)}


@dataclass(frozen=True, slots=True)
class Method:
    """A method of pruning: which tokens go first."""

    name: str
    order: Callable[[BpeModel, Counts, Any, int], Ids]  # (model, counts, options, threads)
    counts: bool = True  # whether it needs token counts

    def train(self, request: TrainingRequest[PruningOptions]) -> TrainedTokenizer:
        """Remove tokens, and learn new ones where the request says so.

        Raises:
            InputError: the base cannot be pruned so far, or the corpus is unusable.
        """
        feed = Feed(request)
        with feed.phases.timed("reading the base"):
            base = BaseFile.read(request.options.base)
            _check(self, base, request)
        order = _order(self, feed, base)
        adapted = _prune(feed, base, order) if order.pieces is None else _replace(feed, base, order, order.pieces)
        return trained(self.name, feed, adapted, order.as_arrays())


def _check(method: Method, base: BaseFile, request: TrainingRequest[PruningOptions]) -> None:
    """Refuse, before the text is read, sizes that are impossible: the number of removable tokens is fixed."""
    model, options = base.model, request.options
    if options.balance and options.tokens is None and not method.counts:
        raise InputError(f"there is nothing to balance: the order of {method.name} does not depend on the text")
    if options.tokens is not None:
        check_growth(model, options.tokens, request, extending_options(request, base))
    if request.learnt is None:
        none = np.zeros(model.id_limit, np.uint64)
        _choose_removed(model, method.order(model, none, options, request.threads), options)


def _order(method: Method, feed: Feed, base: BaseFile) -> Order:
    request, model, tokens = feed.request, base.model, feed.request.options.tokens
    if request.learnt is not None and tokens is None:
        return Order(request.learnt["order"], *request.learnt["numbers"].tolist())
    counts, pieces = np.zeros(model.id_limit, np.uint64), None
    if method.counts or tokens is not None:
        counts, pieces = _count(feed, base)
    with feed.phases.timed("ordering"):
        ids = method.order(model, counts, request.options, request.threads)
    return Order(ids, feed.documents, feed.bytes, None if tokens is None else pieces)


class _CorpusCounts:
    """Counter of tokens, and of pieces where tokens are learnt or corpora balanced."""

    def __init__(self, base: BaseFile, options: PruningOptions) -> None:
        self.tokens = TokenCounter(base.model, whole_pieces=options.whole_pieces)
        wanted = options.tokens is not None or options.balance
        self.pieces = ModelPieces(base.model, rules_of(base)) if wanted else None

    def add(self, texts: list[str], threads: int = 1) -> None:
        self.tokens.add(texts, threads)
        if self.pieces is not None:
            self.pieces.add(texts, threads)


def _count(feed: Feed, base: BaseFile) -> tuple[Counts, WeightedPieces | None]:
    """Read the texts and count tokens and pieces, each corpus times its weight."""
    corpora = each_corpus(feed, lambda: _CorpusCounts(base, feed.request.options))
    with feed.phases.timed("counting"):
        parts = [corpus.pieces.pieces() for corpus in corpora if corpus.pieces is not None]
        if not feed.request.options.balance:
            return corpora[0].tokens.counts, parts[0] if parts else None
        factors = balance(base.model, parts, feed.request.threads)
        counts = [scaled(corpus.tokens.counts, factor) for corpus, factor in zip(corpora, factors, strict=True)]
        return np.sum(counts, axis=0, dtype=np.uint64), joined(parts, factors)


def _choose_removed(model: BpeModel, order: Ids, options: PruningOptions) -> Ids:
    """Return the tokens to remove.

    Raises:
        InputError: more are requested than are removable, the new tokens do not fit into the size, or nothing would be
            removed or added.
    """
    tokens = options.tokens or 0
    if options.share is not None:
        removed = first_of(model, order, share=options.share)
    else:
        size = options.vocab_size or present(model)
        if tokens > size:
            raise InputError(f"{tokens:,} new tokens do not fit into {size:,}")
        removed = first_of(model, order, size=size - tokens)
    if not len(removed) and not tokens:
        can = f"of {present(model):,} tokens {len(order):,} can go"
        if options.share is not None:
            raise InputError(f"share {options.share:g} removes nothing: {can}")
        raise InputError(f"nothing would be removed: {can}; keep fewer")
    return removed


def _prune(feed: Feed, base: BaseFile, order: Order) -> Adapted:
    options: PruningOptions = feed.request.options
    pruned = _cut(feed, base, order)
    rows = place(pruned.model, 0, multiple_of=options.multiple_of).size
    return Adapted(
        base=base,
        data=pruned.data,
        model=pruned.model,
        ids=IdMap(pruned.ids.new, rows),
        added=np.zeros(0, np.uint32),
        details={
            **asked(options, PruningOptions),
            "documents": order.documents,
            "bytes": order.bytes,
            "removable": len(order.ids),
        },
    )


def _replace(feed: Feed, base: BaseFile, order: Order, pieces: WeightedPieces) -> Adapted:
    """Prune the base, and extend the rest."""
    options: PruningOptions = feed.request.options
    pruned = _cut(feed, base, order)
    left = base.edited(pruned.data, pruned.model)
    learnt = grow(feed, left, pieces, options.tokens or 0, extending_options(feed.request, base))
    with feed.phases.timed("writing"):
        extension, edited = put_in(left, learnt, options, reachable=options.cascade)
    return Adapted(
        base=base,
        data=edited.data,
        model=edited.model,
        ids=IdMap(pruned.ids.new, edited.placement.size),
        added=edited.placement.ids,
        complete=extension.complete,
        notes=notes_of(options, left.model, learnt, extension),
        details={
            **asked(options, PruningOptions),
            "removable": len(order.ids),
            **said_of(left.model, learnt, extension),
        },
    )


def _cut(feed: Feed, base: BaseFile, order: Order) -> Pruned:
    model = base.model
    removed = _choose_removed(model, order.ids, feed.request.options)
    with feed.phases.timed("writing"):
        stays = np.setdiff1d(np.flatnonzero(model.merges.tested), removed)
        compared = (*stays[-COMPARED:].tolist(), *removed[-COMPARED:].tolist())
        texts = texts_of([model.merges[token] for token in compared])
        return prune(base.data, model, removed, base.label, texts)


LEAF_PRUNING = Method("leaf-pruning", lambda model, counts, _, threads: leaf_order(model, counts, threads))
FREQUENCY_PRUNING = Method("frequency-pruning", lambda model, counts, *_: orders.frequency_order(model, counts))
LAST_N = Method("last-n", lambda model, *_: orders.last_n(model), counts=False)
LEAF_LAST_N = Method("leaf-last-n", lambda model, *rest: orders.leaf_last_n(model, rest[-1]), counts=False)
MERGE_BASED = Method("merge-based", lambda model, counts, _, threads: orders.merge_based(model, counts, threads))
SCRIPT = Method("script", lambda model, counts, options, _: orders.script_order(model, counts, options.scripts))
