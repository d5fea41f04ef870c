"""From a corpus to a symbol model: the command ``pyharness symbols train``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyharness import tokenizers
from pyharness.corpora.streaming import batches
from pyharness.corpora.texts import Text
from pyharness.features.segmentation.symbol_models import SymbolIds, SymbolModel
from pyharness.features.segmentation.symbol_models import check as check_model
from pyharness.features.training.commands import JUDGED_BYTES, HeldOut, front
from pyharness.features.training.trainers.feeding import BATCH_BYTES, Phases, utf8_length
from pyharness.system import atomic_file
from pyharness.types import InputError, Offsets, Tally, Tokenizer, TrainingProgress

ADVICE = "replace it with --force, or choose another --out"
Listener = Callable[[TrainingProgress], None]


@dataclass(frozen=True, slots=True)
class MeanScores:
    """A model's scores of a text, on average over its symbols, in bits."""

    bytes: int
    symbols: int
    nll: float
    entropy: float

    @property
    def bits_per_byte(self) -> float:
        """The score per byte, comparable between rows whatever the length of their tokens."""
        return self.nll * self.symbols / max(self.bytes, 1)


@dataclass(frozen=True, slots=True)
class TrainedSymbols:
    """A model that was written."""

    model: SymbolModel
    tally: Tally  # of the training text
    judged: MeanScores
    seconds: Mapping[str, float]


def train(row: str, text: Text, order: int, out: Path, *, held: HeldOut | None = None, threads: int = 1,
          progress: Listener | None = None, force: bool = False) -> TrainedSymbols:  # fmt: skip
    """Train a model on the ids that a row gives a text, write it, and judge it.

    Args:
        row: specification of a tokenizer; its ids are the symbols.
        held: text to judge on; without one, the front of the training text.

    Raises:
        InputError: the order is not in 1..5; the row or the text cannot be read; the text is empty, or also held out;
            ``out`` cannot be written, or exists and ``force`` is not set.
    """
    atomic_file.check_writable(out, overwrite=force, advice=ADVICE)
    tokenizer = tokenizers.load(tokenizers.obtain(row, progress))
    check_model(tokenizer.id_limit, order)
    phases = Phases(progress)
    with phases.timed("training"):
        report = phases.gauge("training", "bytes", text.max_bytes)
        documents = text.documents() if held is None else held.apart(text.documents())
        ids = _ids(tokenizer, documents, lambda: report(text.tally.bytes))
        try:
            model = SymbolModel.train(ids, tokenizer.id_limit, order, threads)
        except InputError:
            if text.tally.bytes:
                raise
            raise InputError("the corpus has no text to train on") from None
    tally = text.tally  # judging reads the text again
    with phases.timed("writing"):
        model.save(out, overwrite=force)
    with phases.timed("judging"):
        judged = judge(model, tokenizer, held.text.documents() if held else front(text.documents(), JUDGED_BYTES))
    return TrainedSymbols(model, tally, judged, phases.seconds)


def _ids(tokenizer: Tokenizer, texts: Iterable[str], report: Callable[[], None]) -> Iterator[tuple[SymbolIds, Offsets]]:
    for batch in batches(enumerate(texts), size=BATCH_BYTES, size_of=lambda item: utf8_length(item[1], item[0])):
        tokens = tokenizer.encode_batch([text for _, text in batch])
        yield tokens.ids, tokens.offsets
        report()


def judge(model: SymbolModel, tokenizer: Tokenizer, texts: Iterable[str]) -> MeanScores:
    """Return a model's average scores of a text."""
    size = symbols = 0
    nll, entropy = [], []
    for batch in batches(texts, size=BATCH_BYTES):
        tokens = tokenizer.encode_batch(batch)
        scores = model.score(tokens.ids, tokens.offsets)
        size += sum(len(text.encode()) for text in batch)
        symbols += len(tokens.ids)
        nll.append(float(scores.nll.sum()))
        entropy.append(float(scores.entropy.sum()))
    bits = max(symbols, 1) * math.log(2)
    return MeanScores(size, symbols, math.fsum(nll) / bits, math.fsum(entropy) / bits)
