"""The vocabulary curriculum (arXiv 2502.17910): a symbol model is trained, what it finds easy becomes tokens, again."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pyharness.features.curriculum.groups import GroupCounter, expand
from pyharness.features.curriculum.model import CurriculumModel, save_bytes
from pyharness.features.curriculum.tokenizer import Alphabet, FixpointEncoder, code_points
from pyharness.symbol_models import HIGHEST_ORDER, SymbolModel
from pyharness.trainers import TrainedTokenizer, TrainerSpec, TrainingRequest
from pyharness.trainers.feeding import Feed
from pyharness.trainers.native import too_small
from pyharness.trainers.phases import Phases
from pyharness.types import InputError, Tokens

MODEL = "model.json"
MOST_TEXT = 1 << 30  # bytes: the text is held, because every round reads it
PHASES = ("encoding", "modelling", "scoring", "grouping", "growing")  # of a round
AT_ONCE = 1 << 22  # tokens whose signals are held


def train_curriculum(request: TrainingRequest) -> TrainedTokenizer:
    """Grow a vocabulary in rounds."""
    feed = Feed(request)
    with feed.phases.timed("reading"):
        texts = list(_bounded(feed))
    feed.check()
    start = _start(texts, feed)
    least = len(start.strings) + len(request.added)
    if request.vocab_size and request.vocab_size < least:
        raise too_small(request, len(start.strings))
    most = request.vocab_size - len(request.added) if request.vocab_size else None
    growth = Growth(request, feed.phases, start, texts)
    del texts
    while not growth.finished(most):
        growth.round(feed.bytes)
    model = growth.model(most)
    tokens = growth.tokens(model.strings)
    size = len(model.strings) + len(request.added)
    return TrainedTokenizer(
        files={MODEL: save_bytes(model)},
        vocab_size=size,
        merges=None,
        complete=not growth.dry and request.vocab_size in (0, size),
        seconds=feed.phases.seconds,
        notes=tuple(_notes(request, growth, size)),
        details={
            "documents": feed.documents, "bytes": feed.bytes, "alphabet": len(start.strings),
            "sizes": list(model.sizes), "rounds": growth.rounds, "tokens": len(tokens.ids),
        },
    )  # fmt: skip


def _bounded(feed: Feed) -> Iterator[str]:
    for text in feed:
        if feed.bytes > MOST_TEXT:
            raise InputError(f"a curriculum holds its text, at most {MOST_TEXT:,} bytes: give it less, with max_bytes")
        yield text


def _start(texts: Iterable[str], feed: Feed) -> CurriculumModel:
    """The model before the first round: bytes, or the characters of the text in the order of their code points."""
    request = feed.request
    alphabet = [bytes([byte]) for byte in range(256)]
    if request.symbols == "characters":
        points = [np.unique(code_points([text])) for text in (*texts, request.initial_alphabet)]
        alphabet = [chr(point).encode() for point in np.unique(np.concatenate(points))]
    options = ("symbols", "epsilon", "per_round", "signal", "order", "strict", "row_quantile", "selection", "seed")
    return CurriculumModel(
        strings=tuple(alphabet), symbols=request.symbols, sizes=(len(alphabet),), special=request.special,
        unknown=request.unknown,
        origin={
            "trained_on": {**request.source(), "documents": feed.documents, "bytes": feed.bytes},
            **{name: getattr(request, name) for name in options},
        },
    )  # fmt: skip


class Growth:
    """A vocabulary between two rounds, and the text in symbols."""

    def __init__(self, request: TrainingRequest, phases: Phases, start: CurriculumModel, texts: Sequence[str]) -> None:
        self._request, self._phases, self._start = request, phases, start
        self._symbols, self._offsets = Alphabet(start).symbols(texts)
        self.strings, self.sizes = list(start.strings), list(start.sizes)
        self.rounds: list[dict[str, Any]] = []
        self.dry = False  # whether the last round added nothing

    def finished(self, most: int | None) -> bool:
        """Whether another round would change nothing, or was not asked for."""
        full = most is not None and len(self.strings) >= most
        return self.dry or full or len(self.rounds) == self._request.rounds

    def model(self, most: int | None) -> CurriculumModel:
        """The model of the strings, of the first ``most`` if there are more."""
        whole = dataclasses.replace(self._start, strings=tuple(self.strings), sizes=tuple(self.sizes))
        return whole if most is None else whole.truncated(min(most, len(self.strings)))

    def tokens(self, strings: Sequence[bytes]) -> Tokens:
        """The text in tokens."""
        with self._phases.timed("encoding"):
            return FixpointEncoder(strings).encode(self._symbols, self._offsets, self._request.threads)

    def round(self, size: int) -> None:
        """Encode the text of ``size`` bytes, train a model on it, and add what it finds easy."""
        request = self._request
        before = dict(self._phases.seconds)
        tokens = self.tokens(self.strings)
        with self._phases.timed("modelling"):
            ids = [(tokens.ids, tokens.offsets)]
            model = SymbolModel.train(ids, len(self.strings), request.order, request.threads)
        counter = GroupCounter(request.epsilon, strict=request.strict, row_quantile=request.row_quantile)
        entropy, nll = self._count(tokens, model, counter)
        with self._phases.timed("growing"):
            seed = request.seed + len(self.rounds) if request.selection == "shuffle" else None
            groups = counter.first(request.per_round, seed)
            added = expand(self.strings, groups, request.max_token_length)
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
        """Count the groups; entropy and negative log-likelihood of the text, in nats."""
        sums: list[tuple[float, float]] = []
        report = self._phases.gauge(f"round {len(self.rounds) + 1}", "tokens", len(tokens.ids))
        for first, last in _document_ranges(tokens):
            start, end = tokens.offsets[first], tokens.offsets[last]
            ids, offsets = tokens.ids[start:end], tokens.offsets[first : last + 1] - start
            with self._phases.timed("scoring"):
                scores = model.score(ids, offsets, self._request.threads)
            with self._phases.timed("grouping"):
                signal = scores.entropy if self._request.signal == "entropy" else scores.nll
                counter.add(ids, signal, offsets, self._request.threads)
            sums.append((float(scores.entropy.sum()), float(scores.nll.sum())))
            report(int(end))
        return math.fsum(entropy for entropy, _ in sums), math.fsum(nll for _, nll in sums)


def _document_ranges(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Ranges of documents of about ``AT_ONCE`` tokens, or of one that has more."""
    first = 0
    while first < len(tokens):
        last = int(np.searchsorted(tokens.offsets, tokens.offsets[first] + AT_ONCE, "right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def _notes(request: TrainingRequest, growth: Growth, size: int) -> Iterator[str]:
    yield f"the {request.signal} is that of an n-gram of order {request.order} on the text that it was trained on"
    if growth.dry:
        yield f"stopped in round {len(growth.rounds)}, which added nothing"
    if request.vocab_size > size:
        yield (
            f"{len(growth.rounds)} rounds gave {size:,} ids, not {request.vocab_size:,}: ask for more rounds=, or a "
            "larger per_round= or epsilon="
        )
    if request.symbols == "characters" and request.unknown is None:
        yield "without an unknown token, characters outside the alphabet are left out when encoding"


def _refuse(request: TrainingRequest) -> None:
    if not (math.isfinite(request.epsilon) and request.epsilon > 0):
        raise InputError(f"epsilon is {request.epsilon:g}; it is a bound on the {request.signal} in nats, above 0")
    if request.row_quantile is not None and not 0 <= request.row_quantile <= 1:
        raise InputError(f"row_quantile is {request.row_quantile:g}; it must be in 0..1")
    for name, most in (("rounds", 1000), ("per_round", 1 << 24), ("order", HIGHEST_ORDER)):
        if not 1 <= (value := getattr(request, name)) <= most:
            raise InputError(f"{name} is {value:,}; it must be in 1..{most:,}")
    if request.signal not in ("entropy", "nll"):
        raise InputError(f"signal is {request.signal!r}; it must be entropy or nll")
    if request.selection not in ("count", "shuffle"):
        raise InputError(f"selection is {request.selection!r}; it must be count or shuffle")
    if request.seed and request.selection == "count":
        raise InputError("the most frequent groups are taken without a draw: seed= is for selection=shuffle")
    if request.symbols == "bytes" and (request.unknown is not None or request.initial_alphabet):
        raise InputError(
            "every byte has a token: an unknown token and an initial alphabet are for symbols 'characters'"
        )
    least = (256 if request.symbols == "bytes" else 1) + len(request.added)
    if request.vocab_size and request.vocab_size < least:
        raise too_small(request, least - len(request.added))


TRAINERS = (
    TrainerSpec(
        name="curriculum",
        train=train_curriculum,
        summary="vocabulary curriculum (arXiv 2502.17910): runs of tokens that an n-gram finds ever easier, in rounds",
        algorithm="curriculum",
        library="pyharness",
        patterns=("none",),
        options=frozenset({
            "rounds", "epsilon", "per_round", "order", "signal", "strict", "row_quantile", "selection", "seed",
            "max_token_length", "special", "unknown", "symbols", "initial_alphabet",
        }),
        sized=False,
        refuse=_refuse,
    ),
)  # fmt: skip
