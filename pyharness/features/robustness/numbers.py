"""The benchmark ``numbers``: where tokens cut numbers that are drawn by a seed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.benchmarks import Benchmark, Findings, Pace, Work
from pyharness.features.robustness.drawn_numbers import (
    FORMS,
    LONGEST,
    PER_KIND,
    Side,
    cut_of,
    entropy,
    pieces,
    rank_correlation,
    scores,
    whole_numbers,
    written,
)
from pyharness.metrics.counting.state_arrays import taken
from pyharness.types import (
    PERCENT,
    Case,
    Column,
    Format,
    HasSegments,
    InputError,
    Measurement,
    Metric,
    NotSpelled,
    Segments,
    State,
    Table,
    Unsupported,
)

Integers = NDArray[np.int64]
SIDES: tuple[Side, ...] = ("right", "left")
_SUMS = ("fields", "aligned", "whole")
_FIELD = re.compile(r"\d+")
_SHORTEST = 4  # digits of numbers that need a cut


@dataclass(frozen=True, slots=True)
class NumberCuts:
    """Cuts of whole numbers, and how the fields of decimals and dates are cut. Integers only."""

    cuts: Integers  # [LONGEST, PER_KIND], as ``drawn_numbers`` defines them
    fields: Integers  # [FORMS, 3], sums of ``_SUMS``

    @classmethod
    def of(cls, segmenter: HasSegments, seed: int, before: str, threads: int = 1) -> NumberCuts:
        """Draw the numbers of a seed and cut them, each behind the text ``before``.

        Raises:
            Unsupported: the tokens of the row do not spell the numbers.
            NotSpelled: its units are not those of the texts.
        """
        values = whole_numbers(seed)
        texts = [f"{before}{value}" for value in values.ravel().tolist()]
        segments, start = _spelled(segmenter, texts, threads), len(before.encode())
        cuts = [cut_of(segments.document(place), start, len(text) - len(before)) for place, text in enumerate(texts)]
        fields = np.zeros((len(FORMS), len(_SUMS)), np.int64)
        for place, form in enumerate(FORMS):
            texts = [before + one for one in written(form, seed)]
            segments = _spelled(segmenter, texts, threads)
            for index, text in enumerate(texts):
                fields[place] += _count_fields(text, segments.document(index), before)
        return cls(np.array(cuts, np.int64).reshape(values.shape), fields)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record."""
        return {"number cuts": self.cuts.ravel(), "number fields": self.fields.ravel()}

    @classmethod
    def of_arrays(cls, arrays: State) -> NumberCuts:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        cuts = taken(arrays, "number cuts", LONGEST * PER_KIND).astype(np.int64).reshape(LONGEST, PER_KIND)
        fields = taken(arrays, "number fields", len(FORMS) * len(_SUMS)).astype(np.int64).reshape(len(FORMS), -1)
        if (cuts < 0).any() or (cuts.max(axis=1) >= 1 << np.arange(LONGEST)).any() or (fields[:, 0] < 1).any():
            raise InputError("a state has cuts of numbers that the numbers do not have")
        return cls(cuts, fields)


def _spelled(segmenter: HasSegments, texts: Sequence[str], threads: int) -> Segments:
    segments = segmenter.segment_batch(texts, threads)
    if (fault := segments.fault(np.array([len(text.encode()) for text in texts], np.int64))) is not None:
        raise NotSpelled(fault)
    if missing := int(segments.missing.sum()):
        lost = texts[int(np.flatnonzero(segments.missing)[0])]
        lack = f"its tokens do not spell {missing:,} of {len(texts):,} numbers, such as {lost!r}"
        raise Unsupported(lack + "; try -b 'numbers?before='" * lost.startswith(" "))
    return segments


def _count_fields(text: str, ends: Integers, before: str) -> tuple[int, int, int]:
    """Return the fields of a decimal or date, those that start and end at boundaries, and those that are one token."""
    bounds = set(ends.tolist())
    if not before.strip():  # white space belongs to no field
        bounds.add(len(before.encode()))
    shift = len(before.encode()) - len(before)
    spans = [(field.start() + shift, field.end() + shift) for field in _FIELD.finditer(text, len(before))]
    aligned = [(first, last) for first, last in spans if first in bounds and last in bounds]
    whole = sum(not any(first < end < last for end in bounds) for first, last in aligned)
    return len(spans), len(aligned), whole


def run(work: Work) -> Findings:
    """Draw numbers and cut them."""
    seed, before = (work.case.parameters[name] for name in ("seed", "before"))
    try:
        cuts = NumberCuts.of(work.segmenter(), seed, before, work.threads)
    except NotSpelled as reason:
        return Findings(status="failed", reason=f"{work.spec.name}: {reason}")
    return Findings(tuple(measure(cuts, seed)), state=cuts.arrays())


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, from the cuts and the seed."""
    return Findings(tuple(measure(NumberCuts.of_arrays(state), case.parameters["seed"])))


def measure(cuts: NumberCuts, seed: int) -> Iterator[Measurement]:
    """Yield every metric."""
    digits = np.arange(1, LONGEST + 1)[:, None].repeat(PER_KIND, axis=1)
    tokens = pieces(cuts.cuts)
    entropies = [entropy(row) for row in cuts.cuts]
    measured = partial(Measurement, no_interval=_DRAWN)
    for side in SIDES:
        for name, values in zip(_SCORES, scores(cuts.cuts, digits, side), strict=True):
            yield measured(name, float(values.mean()), part=side)
    yield measured("number_split_entropy", float(np.mean(entropies[_SHORTEST - 1 :])))
    for length, bits in enumerate(entropies, 1):
        yield measured("number_split_entropy", bits, part=str(length))
    yield measured("tokens_per_digit", int(tokens.sum()) / int(digits.sum()))
    correlation = rank_correlation(whole_numbers(seed).ravel(), tokens.ravel())
    if correlation is None:
        yield Measurement(_CORRELATION, None, reason="every number has as many tokens")
    else:
        yield measured(_CORRELATION, correlation)
    for form, (fields, *sums) in zip(FORMS, cuts.fields.tolist(), strict=True):
        for name, count in zip(_FIELDS, sums, strict=True):
            yield measured(name, count / fields, part=form)


_DRAWN = "numbers are drawn by a seed, not read from documents"
_CORRELATION = "value_token_correlation"
_SCORES = ("digit_group_precision", "digit_group_recall", "digit_group_f1")
_FIELDS = ("number_fields_aligned", "whole_number_fields")
_SHOWN = Format("{:.3f}")
REPORTED = (
    Metric("digit_group_f1", "share", "higher", "F1 of cuts against groups of three digits, mean over numbers",
           primary=True, format=PERCENT),
    Metric("digit_group_precision", "share", "higher", "cuts inside numbers that are between groups of three digits",
           format=PERCENT),
    Metric("digit_group_recall", "share", "higher", "places between groups of three digits that are cut",
           format=PERCENT),
    Metric("number_split_entropy", "bit", "lower", "entropy of the cuts of numbers of one length", format=_SHOWN),
    Metric("tokens_per_digit", "token/digit", "none", "tokens of whole numbers over their digits", format=_SHOWN),
    Metric(_CORRELATION, "correlation", "higher", "rank correlation of a number and its tokens",
           format=_SHOWN),
    Metric("number_fields_aligned", "share", "higher",
           "fields of decimals and dates that start and end at token boundaries", format=PERCENT),
    Metric("whole_number_fields", "share", "higher", "fields of decimals and dates that are one token",
           format=PERCENT),
)  # fmt: skip


WHOLE = Table(
    "Numbers of 1 to 12 digits",
    columns=(
        *(Column("digit_group_f1", f"{side} F1 %", part=side, interval=True) for side in SIDES),
        *(Column("digit_group_precision", f"{side} precision %", part=side) for side in SIDES),
        *(Column("digit_group_recall", f"{side} recall %", part=side) for side in SIDES),
        Column("tokens_per_digit", "tok/digit"),
        Column(_CORRELATION, "value-tokens"),
        Column("number_split_entropy", "entropy"),
    ),
    notes=(
        "right, left: groups of three digits from that side. value-tokens: rank correlation of value and tokens.",
        f"entropy: of the cuts of one length, mean over {_SHORTEST} to {LONGEST} digits, in bits.",
    ),
)
LENGTHS = Table(
    "Entropy of cuts by digits",
    columns=tuple(Column("number_split_entropy", str(length), part=str(length)) for length in range(2, LONGEST + 1)),
    notes=("In bits, of numbers of so many digits; 0: all are cut alike.",),
)
WRITTEN = Table(
    "Decimals and dates",
    columns=tuple(
        Column(metric, f"{form}: {title} %", part=form)
        for metric, title in zip(_FIELDS, ("aligned", "whole"), strict=True)
        for form in FORMS
    ),
    notes=("A field is a run of digits. aligned: no token holds a digit of it and anything else.",),
)

BENCHMARKS = (
    Benchmark(
        "numbers",
        "where numbers are cut: groups of three digits, entropy, decimals and dates",
        run,
        corpus="none",
        pace=Pace(1.0),
        parameters={"seed": 0, "before": " "},  # before: text in front of every number
        metrics=REPORTED,
        tables=(WHOLE, LENGTHS, WRITTEN),
        rederive=rederive,
    ),
)
