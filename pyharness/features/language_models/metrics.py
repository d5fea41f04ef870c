"""Entropy and negative log-likelihood (NLL) of a language model's predictions of a tokenizer's tokens.

For token t of a text (a document, or a piece of a cut one), p(. | tokens before t) is the model's prediction. All
figures are in bits, of the *scored* tokens: all tokens, except the first of a text if the model has no BOS token to
predict it from.

- ``next_token_entropy`` = mean of H(p(. | before)), the model's uncertainty;
- ``next_token_nll`` = mean of -log2 p(t | before); about the entropy for a calibrated model. Both are per token, and
  tokens of two tokenizers are different units: these never compare tokenizers;
- ``bits_per_byte`` = sum of -log2 p(t | before) / bytes of UTF-8 of the scored text, as in the Pile (Gao et al. 2020,
  arXiv 2101.00027, section 3.1) and in lm-evaluation-harness. It does compare tokenizers. Bytes of an unscored first
  token are left out, so that no byte is free;
- ``token_length_nll`` = mean of -log2 p over the tokens of 1, 2, 3, 4 to 5, 6 to 8, and 9 or more bytes of the text,
  and ``token_length_bits_per_byte`` = the same sum / the bytes of these tokens, of documents whose tokens spell them;
- ``word_position_entropy`` and ``word_position_nll``: the same means over the tokens at one position in a word
  (``words.places_of``), of documents whose tokens spell them.

The state holds integers: bits are added up in units of 2^-24 bit, finer than a float32 of 1 bit and more. So shards
merge to the same sums. The model's own arithmetic differs in the last digits with batch sizes, threads and machines, so
comparisons call values within ``TOLERANCE`` the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pyharness.kernels import TextColumn, text_statistics
from pyharness.metrics.counting.state import CorpusMetric, CorpusState, Counts
from pyharness.metrics.counting.state import measure as measure_groups
from pyharness.metrics.counting.words import PARTS
from pyharness.statistics.jackknife import GROUPS, Undefined
from pyharness.types import PLAIN, Direction, Format, Measurement, Metric

UNSCORED = "no token was scored"
UNSPELLED = "the tokens of no document spell its text, or the engine does not expose their bytes"
UNIT = 1 << 24  # of a bit
# Relative. Between batch sizes and threads, two small models differed by 7e-8 in float32 and by 2e-5 in 16 bits.
TOLERANCE = 5e-5
MOST_BITS = 1 << 20  # of a token: over five times the most that float16 logits can give; beyond, there is no prediction
LENGTHS = ("1", "2", "3", "4-5", "6-8", "9+")  # bytes of a token
_FIRST_OF_LENGTHS = np.array([1, 2, 3, 4, 6, 9])
COUNTERS_OF_TEXT = ("documents", "pieces", "spelled", "bytes", "letters", "unsegmented")

Bits = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scores:
    """A document, or a piece of one, with its predictions, in bits; NaN for an unscored token."""

    text: str
    entropy: Bits  # float64 [tokens]
    nll: Bits  # float64 [tokens]
    unscored_bytes: int  # of the text
    positions: NDArray[np.int64] | None  # [tokens], from words.places_of; None: the tokens do not spell the text
    sizes: NDArray[np.int64] | None = None  # [tokens], bytes of the text in each; None: they do not spell it
    opens: bool = True  # the first piece of its document


def empty() -> CorpusState:
    """Return the state before any score. Its histogram stays empty: it does not count the ids again."""
    return CorpusState.of_sums()


def update(state: CorpusState, group: int, scores: Scores) -> None:
    """Add one text."""
    statistics = text_statistics([scores.text])[0]
    values = (
        int(scores.opens),
        1,
        int(scores.positions is not None),
        int(statistics[TextColumn.BYTES]) - scores.unscored_bytes,
        int(statistics[TextColumn.LETTERS]),
        int(statistics[TextColumn.UNSEGMENTED]),
    )
    for name, value in zip(COUNTERS_OF_TEXT, values, strict=True):
        add(state, name, group, value)
    scored = ~np.isnan(scores.nll)
    _add_tokens(state, "", group, scores, scored)
    if scores.positions is not None:
        for position, part in enumerate(PARTS):
            _add_tokens(state, f" {part}", group, scores, scored & (scores.positions == position))
    _add_lengths(state, group, scores, scored)


def _add_tokens(state: CorpusState, where: str, group: int, scores: Scores, chosen: NDArray[np.bool_]) -> None:
    add(state, f"tokens{where}", group, int(chosen.sum()))
    add(state, f"entropy{where}", group, units(scores.entropy[chosen]))
    add(state, f"nll{where}", group, units(scores.nll[chosen]))


def _add_lengths(state: CorpusState, group: int, scores: Scores, scored: NDArray[np.bool_]) -> None:
    sizes = np.zeros(len(scores.nll), np.int64) if scores.sizes is None else scores.sizes
    classes = np.searchsorted(_FIRST_OF_LENGTHS, sizes, side="right") - 1  # -1: tokens without a byte of the text
    for index, part in enumerate(LENGTHS):
        chosen = scored & (classes == index)
        add(state, f"tokens of {part}", group, int(chosen.sum()))
        add(state, f"nll of {part}", group, units(scores.nll[chosen]))
        add(state, f"bytes of {part}", group, int(sizes[chosen].sum()))


def units(bits: Bits) -> int:
    """Return the sum in units of 2^-24 bit, as Python adds: 524,288 tokens of ``MOST_BITS`` would overflow 64 bits."""
    return sum(np.rint(bits * UNIT).astype(np.int64).tolist())


def add(state: CorpusState, name: str, group: int, value: int) -> None:
    """Add to a counter of a group."""
    state.counters.setdefault(name, np.zeros(GROUPS, np.object_))[group] += value


def measure(state: CorpusState) -> list[Measurement]:
    """Return every metric, with the replicates of its interval. Its part names the position in a word or the length.

    States of older records have no sums by length, and give no metric of them.
    """
    measurements = measure_groups(state, _WHOLE)
    for part in PARTS:
        metrics = [CorpusMetric(about, _mean_at(bits, part)) for about, bits in zip(_BY_POSITION, _BITS, strict=True)]
        measurements += [replace(one, part=part) for one in measure_groups(state, metrics)]
    if f"tokens of {LENGTHS[0]}" in state.counters or not state.counters:
        for part in LENGTHS:
            metrics = [
                CorpusMetric(about, _of_length(part, over)) for about, over in zip(_BY_LENGTH, _OVER, strict=True)
            ]
            measurements += [replace(one, part=part) for one in measure_groups(state, metrics)]
    return measurements


def _mean(bits: str, tokens: str) -> Callable[[Counts], float]:
    def compute(counts: Counts) -> float:
        if counts[tokens] == 0:
            raise Undefined(UNSCORED)
        return counts[bits] / UNIT / counts[tokens]

    return compute


def bits_per_byte(counts: Counts) -> float:
    """Return the sum of -log2 p over the scored tokens / bytes of UTF-8 of their text."""
    if counts["tokens"] == 0 or counts["bytes"] == 0:
        raise Undefined(UNSCORED)
    return counts["nll"] / UNIT / counts["bytes"]


def _mean_at(bits: str, part: str) -> Callable[[Counts], float]:
    def compute(counts: Counts) -> float:
        if counts["spelled"] == 0:
            raise Undefined(UNSPELLED)
        if 2 * counts["unsegmented"] > counts["letters"]:
            raise Undefined("the text is mostly in a script written without spaces, where UAX #29 does not find words")
        return _mean(f"{bits} {part}", f"tokens {part}")(counts)

    return compute


def _of_length(part: str, over: str) -> Callable[[Counts], float]:
    def compute(counts: Counts) -> float:
        if counts["spelled"] == 0:
            raise Undefined(UNSPELLED)
        if counts["tokens"] == 0:
            raise Undefined(UNSCORED)
        if counts[f"tokens of {part}"] == 0:
            raise Undefined(f"no token of {part} {'byte' if part == '1' else 'bytes'} was scored")
        return counts[f"nll of {part}"] / UNIT / counts[f"{over} of {part}"]

    return compute


_SHOWN = Format("{:.3f}")


def _metric(
    name: str, unit: str, direction: Direction, summary: str, *, primary: bool = False, shown: Format = _SHOWN
) -> Metric:
    return Metric(name, unit, direction, summary, primary=primary, tolerance=TOLERANCE, format=shown)


_BITS = ("entropy", "nll")
_BY_POSITION = (
    _metric("word_position_entropy", "bit/token", "none", "entropy of the prediction of tokens at a place in a word"),
    _metric("word_position_nll", "bit/token", "none", "-log2 p of the tokens at a place in a word"),
)
_OVER = ("tokens", "bytes")
_BY_LENGTH = (
    _metric("token_length_nll", "bit/token", "none", "-log2 p of the tokens of a length in bytes"),
    _metric("token_length_bits_per_byte", "bit/byte", "none", "-log2 p of the tokens of a length, per byte"),
)
_WHOLE = (
    CorpusMetric(
        _metric("next_token_entropy", "bit/token", "none", "mean entropy of a language model's predictions"),
        _mean("entropy", "tokens"),
    ),
    CorpusMetric(
        _metric("next_token_nll", "bit/token", "none", "mean -log2 p of the tokens; tokenizers: see bits_per_byte"),
        _mean("nll", "tokens"),
    ),
    CorpusMetric(
        _metric(
            "bits_per_byte", "bit/byte", "lower", "-log2 p of the text / its UTF-8 bytes", primary=True, shown=PLAIN
        ),
        bits_per_byte,
    ),
)
# Not METRICS: those are computed for every pass over a corpus, which has no language model.
REPORTED = (*(metric.about for metric in _WHOLE), *_BY_POSITION, *_BY_LENGTH)
