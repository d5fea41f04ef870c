"""The vocabulary curriculum (arXiv 2502.17910): in rounds, train a symbol model, and make easy runs tokens."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pyharness.features.curriculum.declarations import CurriculumOptions
from pyharness.features.curriculum.groups import GroupCounter, expand
from pyharness.features.curriculum.model import CurriculumModel, save_bytes
from pyharness.features.curriculum.tokenizer import Alphabet, FixpointEncoder, code_points
from pyharness.features.segmentation.symbol_models import SymbolModel
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.declarations import too_small
from pyharness.features.training.trainers.feeding import Feed, Phases
from pyharness.types import InputError, Tokens

MODEL = "model.json"
MOST_TEXT = 1 << 30  # bytes: the text stays in memory, because every round reads it
PHASES = ("encoding", "modelling", "scoring", "grouping", "growing")  # of a round
AT_ONCE = 1 << 22  # tokens with signals in memory


def train_curriculum(request: TrainingRequest[CurriculumOptions]) -> TrainedTokenizer:
    """Grow a vocabulary in rounds."""
    options, feed = request.options, Feed(request)
    with feed.phases.timed("reading"):
        texts = list(_limit(feed))
    feed.check()
    start = _start(texts, feed)
    least = len(start.strings) + len(options.added)
    if options.vocab_size and options.vocab_size < least:
        raise too_small(options.vocab_size, options, len(start.strings), options.symbols)
    most = options.vocab_size - len(options.added) if options.vocab_size else None
    growth = Growth(request, feed.phases, start, texts)
    del texts
    while not growth.finished(most):
        growth.round(feed.bytes)
    model = growth.model(most)
    tokens = growth.tokens(model.strings)
    size = len(model.strings) + len(options.added)
    return TrainedTokenizer(
        files={MODEL: save_bytes(model)},
        vocab_size=size,
        merges=None,
        complete=not growth.dry and options.vocab_size in (0, size),
        seconds=feed.phases.seconds,
        notes=tuple(_notes(options, growth, size)),
        details={
            "documents": feed.documents, "bytes": feed.bytes, "alphabet": len(start.strings),
            "sizes": list(model.sizes), "rounds": growth.rounds, "tokens": len(tokens.ids),
        },
    )  # fmt: skip


def _limit(feed: Feed) -> Iterator[str]:
    for text in feed:
        if feed.bytes > MOST_TEXT:
            raise InputError(f"a curriculum holds its text, at most {MOST_TEXT:,} bytes: give it less, with max_bytes")
        yield text


def _start(texts: Iterable[str], feed: Feed) -> CurriculumModel:
    """Return the model before the first round: bytes, or the characters of text and ``initial_alphabet`` in order."""
    request: TrainingRequest[CurriculumOptions] = feed.request
    options = request.options
    alphabet = [bytes([byte]) for byte in range(256)]
    if options.symbols == "characters":
        points = [np.unique(code_points([text])) for text in (*texts, options.initial_alphabet)]
        alphabet = [chr(point).encode() for point in np.unique(np.concatenate(points))]
    recorded = ("symbols", "epsilon", "per_round", "signal", "order", "strict", "row_quantile", "selection", "seed")
    return CurriculumModel(
        strings=tuple(alphabet), symbols=options.symbols, sizes=(len(alphabet),), special=options.special,
        unknown=options.unknown,
        origin={
            "trained_on": {**request.source(), "documents": feed.documents, "bytes": feed.bytes},
            **{name: getattr(options, name) for name in recorded},
        },
    )  # fmt: skip


class Growth:
    """State between two rounds: the vocabulary, and the text in symbols."""

    def __init__(
        self, request: TrainingRequest[CurriculumOptions], phases: Phases, start: CurriculumModel, texts: Sequence[str]
    ) -> None:
        self._request, self._phases, self._start = request, phases, start
        self._symbols, self._offsets = Alphabet(start).symbols(texts)
        self.strings, self.sizes = list(start.strings), list(start.sizes)
        self.rounds: list[dict[str, Any]] = []
        self.dry = False  # whether the last round added nothing

    def finished(self, most: int | None) -> bool:
        """Whether another round would change nothing, or exceed the request."""
        full = most is not None and len(self.strings) >= most
        return self.dry or full or len(self.rounds) == self._request.options.rounds

    def model(self, most: int | None) -> CurriculumModel:
        """Return the model of at most ``most`` strings."""
        whole = dataclasses.replace(self._start, strings=tuple(self.strings), sizes=tuple(self.sizes))
        return whole if most is None else whole.truncated(min(most, len(self.strings)))

    def tokens(self, strings: Sequence[bytes]) -> Tokens:
        """Encode the text to tokens."""
        with self._phases.timed("encoding"):
            return FixpointEncoder(strings).encode(self._symbols, self._offsets, self._request.threads)

    def round(self, size: int) -> None:
        """Encode the text of ``size`` bytes, train a model on it, and add the easy groups."""
        request, options = self._request, self._request.options
        before = dict(self._phases.seconds)
        tokens = self.tokens(self.strings)
        with self._phases.timed("modelling"):
            ids = [(tokens.ids, tokens.offsets)]
            model = SymbolModel.train(ids, len(self.strings), options.order, request.threads)
        counter = GroupCounter(options.epsilon, strict=options.strict, row_quantile=options.row_quantile)
        entropy, nll = self._count(tokens, model, counter)
        with self._phases.timed("growing"):
            seed = options.seed + len(self.rounds) if options.selection == "shuffle" else None
            groups = counter.first(options.per_round, seed)
            added = expand(self.strings, groups, options.max_token_length)
        seconds = {name: self._phases.seconds[name] - before.get(name, 0.0) for name in PHASES}
        bits = math.log(2)
        self.rounds.append({
            "vocabulary": len(self.strings), "tokens": len(tokens.ids), "bytes": size,
            "entropy": entropy / bits / max(len(tokens.ids), 1), "nll": nll / bits / max(len(tokens.ids), 1),
            "bits_per_byte": nll / bits / size, "groups": counter.total, "distinct_groups": counter.distinct,
            "selected_groups": len(groups), "added": len(added), "seconds": seconds,
        })  # fmt: skip
        self.strings += [addition.string for addition in added]
        self.sizes += [len(self.strings)] if added else []
        self.dry = not added

    def _count(self, tokens: Tokens, model: SymbolModel, counter: GroupCounter) -> tuple[float, float]:
        """Count the groups; return entropy and negative log-likelihood of the text, in nats."""
        sums: list[tuple[float, float]] = []
        report = self._phases.gauge(f"round {len(self.rounds) + 1}", "tokens", len(tokens.ids))
        for first, last in _document_ranges(tokens):
            start, end = tokens.offsets[first], tokens.offsets[last]
            ids, offsets = tokens.ids[start:end], tokens.offsets[first : last + 1] - start
            with self._phases.timed("scoring"):
                scores = model.score(ids, offsets, self._request.threads)
            with self._phases.timed("grouping"):
                signal = scores.entropy if self._request.options.signal == "entropy" else scores.nll
                counter.add(ids, signal, offsets, self._request.threads)
            sums.append((float(scores.entropy.sum()), float(scores.nll.sum())))
            report(int(end))
        return math.fsum(entropy for entropy, _ in sums), math.fsum(nll for _, nll in sums)


def _document_ranges(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents of about ``AT_ONCE`` tokens; a longer document is alone."""
    first = 0
    while first < len(tokens):
        last = int(np.searchsorted(tokens.offsets, tokens.offsets[first] + AT_ONCE, "right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _notes(options: CurriculumOptions, growth: Growth, size: int) -> Iterator[str]:
    yield f"the {options.signal} is that of an n-gram of order {options.order} on the text that it was trained on"
    if growth.dry:
        yield f"stopped in round {len(growth.rounds)}, which added nothing"
    if options.vocab_size > size:
        yield (
            f"{len(growth.rounds)} rounds gave {size:,} ids, not {options.vocab_size:,}: ask for "
            f"{'' if growth.dry else 'more rounds=, or '}a larger per_round= or epsilon="
        )
    if options.symbols == "characters" and options.unknown is None:
        yield "without an unknown token, characters outside the alphabet are left out when encoding"
