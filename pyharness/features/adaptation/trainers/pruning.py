"""A tokenizer that loses tokens: leaves by frequency, or by orders to compare that with; new ones may come instead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyharness.bpe.model.model import BpeModel
from pyharness.bpe.training.trainer import WeightedPieces
from pyharness.features.adaptation.bpe import pruning as orders
from pyharness.features.adaptation.bpe.coverage import check_share
from pyharness.features.adaptation.bpe.edited_file import Pruned, prune
from pyharness.features.adaptation.bpe.model_pieces import ModelPieces, TokenCounter
from pyharness.features.adaptation.bpe.placement import compiled, place
from pyharness.features.adaptation.bpe.pruning import first_of, leaf_order
from pyharness.features.adaptation.id_maps import IdMap
from pyharness.features.adaptation.trainers.adapted import Adapted, present, texts_of, trained
from pyharness.features.adaptation.trainers.base_file import BaseFile, digest_of, located
from pyharness.features.adaptation.trainers.corpus_pieces import (
    Counts,
    balance,
    each_corpus,
    joined,
    rules_of,
    scaled,
)
from pyharness.features.adaptation.trainers.extension import ADAPTING, LEARNING, asked, notes_of, put_in, said_of
from pyharness.features.adaptation.trainers.growth import check_growth, grow, options_of
from pyharness.trainers import Array, TrainedTokenizer, TrainerSpec, TrainingRequest
from pyharness.trainers.feeding import Feed
from pyharness.types import Ids, InputError

COMPARED = 4_096  # tokens that stay, in texts that the library of the format has to encode as we do


@dataclass(frozen=True, slots=True)
class Order:
    """The order in which tokens go, and the text that it comes from."""

    ids: Ids
    documents: int
    bytes: int
    pieces: WeightedPieces | None = None  # where tokens are learnt as well

    def as_arrays(self) -> dict[str, Array]:
        """What spares prunings to other sizes the text."""
        return {"order": self.ids, "numbers": np.array([self.documents, self.bytes], np.int64)}


def train_leaf(request: TrainingRequest) -> TrainedTokenizer:
    """Remove the least frequent tokens that no other is made of.

    Raises:
        InputError: the base cannot be pruned so far, or the corpus will not do.
    """
    return _train("leaf-pruning", request)


def train_frequency(request: TrainingRequest) -> TrainedTokenizer:
    """Remove the least frequent tokens, whatever is made of them."""
    return _train("frequency-pruning", request)


def train_last(request: TrainingRequest) -> TrainedTokenizer:
    """Remove the largest ids."""
    return _train("last-n", request)


def train_leaf_last(request: TrainingRequest) -> TrainedTokenizer:
    """Remove the largest ids that no other token is made of."""
    return _train("leaf-last-n", request)


def train_merge_based(request: TrainingRequest) -> TrainedTokenizer:
    """Remove the tokens that occur and are merged least."""
    return _train("merge-based", request)


def train_script(request: TrainingRequest) -> TrainedTokenizer:
    """Remove the tokens of some scripts first."""
    return _train("script", request)


_ORDERS: Mapping[str, Callable[[BpeModel, Counts, TrainingRequest], Ids]] = {
    "leaf-pruning": lambda model, counts, request: leaf_order(model, counts, request.threads),
    "frequency-pruning": lambda model, counts, _: orders.frequency_order(model, counts),
    "last-n": lambda model, *_: orders.last_n(model),
    "leaf-last-n": lambda model, _, request: orders.leaf_last_n(model, request.threads),
    "merge-based": lambda model, counts, request: orders.merge_based(model, counts, request.threads),
    "script": lambda model, counts, request: orders.script_order(model, counts, request.scripts),
}
_UNCOUNTED = frozenset({"last-n", "leaf-last-n"})  # orders that ask for no count of the text


def _train(name: str, request: TrainingRequest) -> TrainedTokenizer:
    feed = Feed(request)
    with feed.phases.timed("reading the base"):
        base = BaseFile.read(request.base or "")
        model = base.model
        _check(name, base, request)
    order = _order(name, feed, base, model)
    adapted = _pruned(feed, base, order) if order.pieces is None else _replaced(feed, base, order, order.pieces)
    return trained(name, feed, adapted, order.as_arrays())


def _check(name: str, base: BaseFile, request: TrainingRequest) -> None:
    """Refuse, before the text is read, what no count of its tokens can mend: how many can go does not depend on it."""
    model = base.model
    if request.balance and request.tokens is None and name in _UNCOUNTED:
        raise InputError(f"there is nothing to balance: the order of {name} does not depend on the text")
    if request.tokens is not None:
        check_growth(model, request.tokens, request, options_of(request, base))
    if request.learnt is None:
        _removed(model, _ORDERS[name](model, np.zeros(model.id_limit, np.uint64), request), request)


def _order(name: str, feed: Feed, base: BaseFile, model: BpeModel) -> Order:
    request = feed.request
    if request.learnt is not None and request.tokens is None:
        return Order(request.learnt["order"], *request.learnt["numbers"].tolist())
    counts, pieces = np.zeros(model.id_limit, np.uint64), None
    if name not in _UNCOUNTED or request.tokens is not None:
        counts, pieces = _counted(feed, base)
    with feed.phases.timed("ordering"):
        ids = _ORDERS[name](model, counts, request)
    return Order(ids, feed.documents, feed.bytes, None if request.tokens is None else pieces)


class _Counter:
    """Counts tokens, and the pieces that they are of where tokens are learnt or corpora weighed."""

    def __init__(self, base: BaseFile, request: TrainingRequest) -> None:
        self.tokens = TokenCounter(base.model, whole_pieces=request.whole_pieces)
        wanted = request.tokens is not None or request.balance
        self.pieces = ModelPieces(base.model, rules_of(base)) if wanted else None

    def add(self, texts: list[str], threads: int = 1) -> None:
        self.tokens.add(texts, threads)
        if self.pieces is not None:
            self.pieces.add(texts, threads)


def _counted(feed: Feed, base: BaseFile) -> tuple[Counts, WeightedPieces | None]:
    """Read the texts and count tokens and pieces, each corpus as often as its weight says."""
    corpora = each_corpus(feed, lambda: _Counter(base, feed.request))
    with feed.phases.timed("counting"):
        parts = [corpus.pieces.pieces() for corpus in corpora if corpus.pieces is not None]
        if not feed.request.balance:
            return corpora[0].tokens.counts, parts[0] if parts else None
        factors = balance(base.model, parts, feed.request.threads)
        counts = [scaled(corpus.tokens.counts, factor) for corpus, factor in zip(corpora, factors, strict=True)]
        return np.sum(counts, axis=0, dtype=np.uint64), joined(parts, factors)


def _removed(model: BpeModel, order: Ids, request: TrainingRequest) -> Ids:
    """Tokens that go.

    Raises:
        InputError: more than can go, or none, and none comes.
    """
    tokens = request.tokens or 0
    if request.share is not None:
        removed = first_of(model, order, share=request.share)
    else:
        size = request.vocab_size or present(model)
        if tokens > size:
            raise InputError(f"{tokens:,} new tokens do not fit into {size:,}")
        removed = first_of(model, order, size=size - tokens)
    if not len(removed) and not tokens:
        can = f"of {present(model):,} tokens {len(order):,} can go"
        if request.share is not None:
            raise InputError(f"share {request.share:g} removes nothing: {can}")
        raise InputError(f"nothing would go: {can}; ask for fewer that stay")
    return removed


def _pruned(feed: Feed, base: BaseFile, order: Order) -> Adapted:
    request = feed.request
    done = _cut(feed, base, order)
    rows = place(done.model, 0, multiple_of=request.multiple_of).size
    return Adapted(
        base=base,
        data=done.data,
        model=done.model,
        ids=IdMap(done.ids.new, rows),
        added=np.zeros(0, np.uint32),
        details={**asked(request, PRUNING), **_read(order), **_removable(order)},
    )


def _replaced(feed: Feed, base: BaseFile, order: Order, pieces: WeightedPieces) -> Adapted:
    """Prune the base, and extend what is left of it."""
    request, done = feed.request, _cut(feed, base, order)
    left = base.edited(done.data, done.model)
    learnt = grow(feed, left, pieces, request.tokens or 0, options_of(request, base))
    with feed.phases.timed("writing"):
        extension, made = put_in(left, learnt, request, reachable=request.cascade)
    return Adapted(
        base=base,
        data=made.data,
        model=made.model,
        ids=IdMap(done.ids.new, made.placement.size),
        added=made.placement.ids,
        complete=extension.complete,
        notes=notes_of(request, left.model, learnt, extension),
        details={**asked(request, PRUNING), **_removable(order), **said_of(left.model, learnt, extension)},
    )


def _cut(feed: Feed, base: BaseFile, order: Order) -> Pruned:
    model = base.model
    removed = _removed(model, order.ids, feed.request)
    with feed.phases.timed("writing"):
        return prune(base.data, model, removed, base.label, _compared(model, removed))


def _read(order: Order) -> dict[str, Any]:
    return {"documents": order.documents, "bytes": order.bytes}


def _removable(order: Order) -> dict[str, Any]:
    return {"removable": len(order.ids)}


def _compared(model: BpeModel, removed: Ids) -> list[str]:
    """Texts of tokens that stay and of tokens that go."""
    stays = np.setdiff1d(np.flatnonzero(model.merges.tested), removed)
    return texts_of([model.merges[token] for token in (*stays[-COMPARED:].tolist(), *removed[-COMPARED:].tolist())])


def refuse(request: TrainingRequest) -> None:
    """Refuse what no text can mend.

    Raises:
        InputError: the file of the base is not there, or it is not said how much goes.
    """
    located(request.base or "")
    compiled("deny", request.deny or "")
    if request.vocab_size and request.share is not None:
        raise InputError("prune to a size or by a share: give one of vocab_size= and share=")
    if not request.vocab_size and request.share is None and request.tokens is None:
        raise InputError(
            "say how much goes: vocab_size= (tokens that are left), share= (of those that can go), or tokens= (new "
            "ones, in the place of as many)"
        )
    if request.character_coverage is not None:
        check_share(request.character_coverage)
    given = sorted(name for name in LEARNING if getattr(request, name) is not None)
    if given and request.tokens is None:
        raise InputError(f"{given[0]} is for tokens that are learnt, and none are: say how many, or leave it out")
    if request.share is not None and not 0 <= request.share <= 1:
        raise InputError(f"a share of {request.share:g} cannot be removed; it lies between 0 and 1")


def refuse_script(request: TrainingRequest) -> None:
    """Refuse what :func:`refuse` does, and a request without scripts."""
    refuse(request)
    if not request.scripts:
        raise InputError("name the scripts whose tokens go first: scripts=Cyrillic,Greek")


PRUNING = ADAPTING | {"share"}
_SIZES = frozenset({"vocab_size", "share"})


def _spec(name: str, train: Callable[[TrainingRequest], TrainedTokenizer], summary: str, **more: Any) -> TrainerSpec:
    settings = {"options": PRUNING, "refuse": refuse, **more}
    return TrainerSpec(
        name=name, train=train, summary=summary, algorithm="bpe", library="pyharness", patterns=(),
        base_digest=digest_of, sizes=_SIZES, **settings,
    )  # fmt: skip


TRAINERS = (
    _spec(
        "leaf-pruning",
        train_leaf,
        "leaf pruning (arXiv 2512.03989): base= loses the least frequent tokens that no other is made of",
    ),
    _spec("frequency-pruning", train_frequency, "base= loses its least frequent tokens, to compare with leaf-pruning"),
    _spec("last-n", train_last, "base= loses its largest ids, to compare with leaf-pruning"),
    _spec("leaf-last-n", train_leaf_last, "base= loses its largest ids, but none that another token is made of"),
    _spec("merge-based", train_merge_based, "base= loses the tokens that occur and are merged least"),
    _spec(
        "script",
        train_script,
        "base= loses the tokens of some scripts= first, then the least frequent",
        options=PRUNING | {"scripts"},
        refuse=refuse_script,
    ),
)
