"""The benchmark ``numbers``: where tokens cut numbers that are drawn by a seed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
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
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Undefined
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
_GROUP = np.arange(PER_KIND) % GROUPS  # of the i-th draw of a kind: every group has all lengths
_SHORTEST = 4  # digits of numbers that need a cut


@dataclass(frozen=True, slots=True)
class NumberCuts:
    """Cuts of whole numbers, and how the fields of decimals and dates are cut. Integers only."""

    values: Integers  # [LONGEST, PER_KIND]
    cuts: Integers  # [LONGEST, PER_KIND], as ``drawn_numbers`` defines them
    fields: Integers  # [GROUPS, FORMS, 3], sums of ``_SUMS``

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
        fields = np.zeros((GROUPS, len(FORMS), len(_SUMS)), np.int64)
        for place, form in enumerate(FORMS):
            texts = [before + one for one in written(form, seed)]
            segments = _spelled(segmenter, texts, threads)
            counts = [_count_fields(one, segments.document(index), before) for index, one in enumerate(texts)]
            np.add.at(fields[:, place], _GROUP, np.array(counts, np.int64))
        return cls(values, np.array(cuts, np.int64).reshape(values.shape), fields)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record."""
        arrays = {"values": self.values, "cuts": self.cuts, "fields": self.fields}
        return {f"number {name}": array.ravel() for name, array in arrays.items()}

    @classmethod
    def of_arrays(cls, arrays: State) -> NumberCuts:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        shape, of_fields = (LONGEST, PER_KIND), (GROUPS, len(FORMS), len(_SUMS))
        values, cuts = (
            taken(arrays, f"number {name}", LONGEST * PER_KIND).astype(np.int64).reshape(shape)
            for name in ("values", "cuts")
        )
        fields = taken(arrays, "number fields", int(np.prod(of_fields))).astype(np.int64).reshape(of_fields)
        if (values < 0).any() or (cuts < 0).any() or (cuts.max(axis=1) >= 1 << np.arange(LONGEST)).any():
            raise InputError("a state has cuts of numbers that the numbers do not have")
        return cls(values, cuts, fields)


def _spelled(segmenter: HasSegments, texts: Sequence[str], threads: int) -> Segments:
    segments = segmenter.segment_batch(texts, threads)
    if (fault := segments.fault(np.array([len(text.encode()) for text in texts], np.int64))) is not None:
        raise NotSpelled(fault)
    if missing := int(segments.missing.sum()):
        lost = texts[int(np.flatnonzero(segments.missing)[0])]
        raise Unsupported(f"its tokens do not spell {missing:,} of {len(texts):,} numbers, such as {lost!r}")
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
    parameters = work.case.parameters
    try:
        cuts = NumberCuts.of(work.segmenter(), parameters["seed"], parameters["before"], work.threads)
    except NotSpelled as reason:
        return Findings(status="failed", reason=f"{work.spec.name}: {reason}")
    return Findings(tuple(measure(cuts)), state=cuts.arrays())


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, from the cuts."""
    del case
    return Findings(tuple(measure(NumberCuts.of_arrays(state))))


def measure(cuts: NumberCuts) -> Iterator[Measurement]:
    """Yield every metric."""
    per_group = [LONGEST * PER_KIND // GROUPS] * GROUPS
    digits = np.arange(1, LONGEST + 1)[:, None].repeat(PER_KIND, axis=1)
    for side in SIDES:
        for name, values in zip(_SCORES, scores(cuts.cuts, digits, side), strict=True):
            yield jackknife.estimate(name, per_group, partial(_mean, values), side)
    long = np.array([entropy(row) for row in cuts.cuts[_SHORTEST - 1 :]])
    yield jackknife.without_interval("number_split_entropy", lambda _: float(long.mean()), _GROWS)
    for length, row in enumerate(cuts.cuts, 1):
        yield Measurement("number_split_entropy", entropy(row), part=str(length), no_interval=_GROWS)
    tokens = pieces(cuts.cuts)
    yield jackknife.estimate("tokens_per_digit", per_group, partial(_ratio, tokens, digits))
    yield jackknife.estimate("value_token_correlation", per_group, partial(_correlation, cuts.values, tokens))
    for (place, form), (sums, name) in product(enumerate(FORMS), enumerate(_FIELDS, 1)):
        of_form = cuts.fields[:, place]
        yield jackknife.estimate(name, per_group, partial(_share, of_form[:, sums], of_form[:, 0]), form)


def _mean(values: NDArray[np.float64], groups: jackknife.Groups) -> float:
    return float(values[:, groups[_GROUP]].mean())


def _ratio(over: Integers, under: Integers, groups: jackknife.Groups) -> float:
    kept = groups[_GROUP]
    return int(over[:, kept].sum()) / int(under[:, kept].sum())


def _share(over: Integers, under: Integers, groups: jackknife.Groups) -> float:
    return int(over[groups].sum()) / int(under[groups].sum())


def _correlation(values: Integers, tokens: Integers, groups: jackknife.Groups) -> float:
    kept = groups[_GROUP]
    correlation = rank_correlation(values[:, kept].ravel(), tokens[:, kept].ravel())
    if correlation is None:
        raise Undefined("every number has as many tokens")
    return correlation


_GROWS = f"it grows with the number of draws, which is {PER_KIND:,} of each length"
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
    Metric("value_token_correlation", "correlation", "higher", "rank correlation of a number and its tokens",
           format=_SHOWN),
    Metric("number_fields_aligned", "share", "higher",
           "fields of decimals and dates that start and end at token boundaries", format=PERCENT),
    Metric("whole_number_fields", "share", "higher", "fields of decimals and dates that are one token",
           format=PERCENT),
)  # fmt: skip


def _columns(titles: Sequence[str], of: Callable[[str], str], metric: str) -> Iterator[Column]:
    return (Column(metric, of(title), part=title) for title in titles)


WHOLE = Table(
    "Numbers of 1 to 12 digits",
    columns=(
        *(Column("digit_group_f1", f"{side} F1 %", part=side, interval=True) for side in SIDES),
        *(Column("digit_group_precision", f"{side} precision %", part=side) for side in SIDES),
        *(Column("digit_group_recall", f"{side} recall %", part=side) for side in SIDES),
        Column("tokens_per_digit", "tok/digit"),
        Column("value_token_correlation", "value-tokens"),
        Column("number_split_entropy", "entropy"),
    ),
    notes=(
        "right, left: groups of three digits from that side. value-tokens: rank correlation of value and tokens.",
        f"entropy: of the cuts of one length, mean over {_SHORTEST} to {LONGEST} digits, in bits.",
        "Numbers are drawn; a CI is about other draws of as many.",
    ),
)
LENGTHS = Table(
    "Entropy of cuts by digits",
    columns=tuple(_columns([str(length) for length in range(2, LONGEST + 1)], str, "number_split_entropy")),
)
WRITTEN = Table(
    "Decimals and dates",
    columns=(
        *_columns(tuple(FORMS), "{}: aligned %".format, "number_fields_aligned"),
        *_columns(tuple(FORMS), "{}: whole %".format, "whole_number_fields"),
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
        metrics=tuple(metric.name for metric in REPORTED),
        tables=(WHOLE, LENGTHS, WRITTEN),
        rederive=rederive,
    ),
)
