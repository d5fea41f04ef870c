"""Delete-a-group jackknife: one method of intervals for ratios and entropies alike.

Documents fall, whole, into G = 32 groups by a hash of their content. A metric is computed once from all groups and once
without each. The replicates are kept, so the difference of two tokenizers on the same text gets a *paired* interval,
far narrower than two separate ones. Pieces of a document that was cut share its group and count once: hashed one by
one they would seem independent, and the interval would be too narrow.

An interval is about as much other text of the same kind. A metric that grows with the text
(``Metric.grows_with_text``) has other values in more of it. There, replicates are corrected to one size, and values on
nested parts are kept with them. How often intervals cover what they claim to is measured: docs/measuring.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from numbers import Real
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pyharness.types import Measurement

GROUPS = 32  # documents fall, whole, into groups by a hash of their content: the unit of the jackknife
MIN_GROUPS = 16  # fewer groups with documents, or fewer documents, and there is no interval
MIN_DOCUMENTS = 64
UNEQUAL = 3.0  # least ratio of the variation of groups in bytes to that in documents, for documents of unequal size
MIN_WORKS = 6  # fewer works that are groups of their own, and there is no interval
# Fewest effective groups for an interval: as many equal groups would have the concentration of the variance. It and the
# share of what matching moments gives were chosen on six pools of studies/shown/concentration.py.
LEAST_EFFECTIVE = 6.0
FREEDOM_SHARE = 0.3
# Significant digits of a replicate. More do not change an interval; with 17, they would be half of a record.
DIGITS = 9

NO_SPREAD = "the result is the same whichever group of documents is left out: the variance comes out as 0, no usable CI"

Groups: TypeAlias = NDArray[np.bool_]  # [GROUPS], those that count

NESTED = (GROUPS // 8, GROUPS // 4, GROUPS // 2, GROUPS)  # groups from the first on: nested parts of the text
# 97.5 % quantiles of Student's t for 1..31 degrees of freedom (checked against scipy.stats.t in the tests).
T_QUANTILES = (12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004,
               2.262157, 2.228139, 2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905,
               2.109816, 2.100922, 2.093024, 2.085963, 2.079614, 2.073873, 2.068658, 2.063899,
               2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272, 2.039513)  # fmt: skip


class Undefined(Exception):
    """A metric does not apply, for this reason; the number is null, which is not 0."""


def groups_of(digests: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return ``group_of`` of all digests, uint8 [documents, 16]."""
    return digests[:, 0] % GROUPS


def group_of(digest: bytes) -> int:
    """Return the group of a document, from the digest of its content."""
    return digest[0] % GROUPS


def too_few(documents: Sequence[int]) -> str | None:
    """Return why there are too few documents for a CI, or None. ``documents``: source documents per group."""
    total, used = sum(documents), sum(count > 0 for count in documents)
    if total >= MIN_DOCUMENTS and used >= MIN_GROUPS:
        return None
    read = f"{total:,} document" + "s" * (total != 1)
    if total < MIN_DOCUMENTS:
        return f"{read} (minimum {MIN_DOCUMENTS})"
    return f"{read} in {used} of {GROUPS} groups (minimum {MIN_GROUPS}): equal ones and those of one work share a group"


def unequal(documents: Sequence[int], sizes: Sequence[int]) -> str | None:
    """Return why documents of very unequal size give no CI, or None. ``sizes``: bytes per group.

    Groups of n equal documents differ in bytes by chance: the squared coefficient of variation is GROUPS / n. A
    larger one corresponds to fewer documents, and their number counts. The exception: groups differ as much in their
    number of documents, as they do where works are few. docs/measuring.md, "How it is computed".
    """
    if not uneven(documents, sizes, MIN_DOCUMENTS, UNEQUAL):
        return None
    effective = f"{GROUPS / _variation(sizes):.0f} (minimum {MIN_DOCUMENTS})"
    return f"{sum(documents):,} documents, so unequal in size that they count as {effective}"


def uneven(documents: Sequence[int], sizes: Sequence[int], alike: int, times: float) -> bool:
    """Return whether groups vary more in bytes than ``alike`` equal documents would.

    And ``times`` as much as they vary in numbers of documents (squared coefficients of variation).
    """
    return _variation(sizes) > max(GROUPS / alike, times * _variation(documents))


def _variation(sums: Sequence[int]) -> float:
    """Return the squared coefficient of variation; 0 for a sum of 0."""
    mean = sum(sums) / len(sums)
    return math.fsum((one / mean - 1) ** 2 for one in sums) / (len(sums) - 1) if mean else 0.0


def estimate(
    metric: str,
    documents: Sequence[int],
    of: Callable[[Groups], float | int],
    part: str | None = None,
    sizes: Sequence[int] | None = None,
    grows: bool = False,
) -> Measurement:
    """Estimate a metric with the replicates of its interval, or with the reason why it has no interval.

    ``documents``: uncut documents of every group. ``of(groups)`` is the metric of some groups; it raises ``Undefined``
    where there is no number. ``sizes``: bytes of every group, unless each document counts alike. ``grows``: with the
    text, as ``Metric.grows_with_text`` says; it needs ``sizes``.
    """
    try:
        value = of(np.ones(GROUPS, np.bool_))
    except Undefined as reason:
        return Measurement(metric, None, reason=str(reason), part=part)
    if (lack := too_few(documents)) is not None:
        return Measurement(metric, value, part=part, no_interval=lack)
    numbers, held = np.arange(GROUPS), np.array(documents) > 0
    replicates = [value_or_none(of, numbers != group) if held[group] else None for group in range(GROUPS)]
    lack = None if sizes is None else unequal(documents, sizes)
    if sizes is None or not grows:
        return with_replicates(Measurement(metric, value, part=part, no_pair=lack), replicates)
    curve = tuple(value_or_none(of, numbers < count) if held[:count].any() else None for count in NESTED)
    return with_replicates(
        Measurement(metric, value, part=part, curve=curve, no_pair=lack), at_one_size(value, replicates, sizes)
    )


def with_replicates(measured: Measurement, replicates: Sequence[float | None]) -> Measurement:
    """Add replicates. They are kept even where they give no interval: differences from other rows may have one."""
    kept = rounded(replicates)
    if not all(one is None or isinstance(one, Real) for one in kept):
        return replace(measured, replicates=kept)  # a third-party metric: the check of its value names it
    return replace(measured, replicates=kept, no_interval=measured.no_pair or lack(kept))


def without_interval(metric: str, of: Callable[[Groups], float | int], reason: str) -> Measurement:
    """Measure a metric whose replicates would not keep the promise of an interval, with the reason."""
    try:
        return Measurement(metric, of(np.ones(GROUPS, np.bool_)), no_interval=reason)
    except Undefined as undefined:
        return Measurement(metric, None, reason=str(undefined))


def rounded(replicates: Sequence[float | None]) -> tuple[float | None, ...]:
    """Round replicates to the digits that a record keeps; integers stay integers.

    >>> rounded([1 / 3, None, 10_000_000_000_001])
    (0.333333333, None, 10000000000001)
    """
    return tuple(
        float(f"{replicate:.{DIGITS}g}") if isinstance(replicate, float) else replicate for replicate in replicates
    )


def value_or_none(of: Callable[[Groups], float | int], groups: Groups) -> float | None:
    """Return a metric of some groups; None where there is no number."""
    try:
        return of(groups)
    except Undefined:
        return None


def at_one_size(value: float, replicates: Sequence[float | None], sizes: Sequence[int]) -> tuple[float | None, ...]:
    """Correct every replicate, to first order, to the size of the whole text.

    Without a group there is less text, and a growing metric is smaller for that alone, the more so the larger the
    group. All groups together give the rate of growth; what a group removes beyond its share of the text is its own
    effect. Without this correction the interval is up to twice too wide: it would be about texts of any size.
    """
    defined = [(replicate, size) for replicate, size in zip(replicates, sizes, strict=True) if replicate is not None]
    lost = math.fsum(value - replicate for replicate, _ in defined)
    total = sum(size for _, size in defined)
    slope = lost / total if total else 0.0
    return tuple(
        None if replicate is None else replicate + size * slope
        for replicate, size in zip(replicates, sizes, strict=True)
    )


def lack(replicates: Sequence[float | None]) -> str | None:
    """Return why replicates give no interval; None if they do.

    Of 32 groups that documents fall into by their hash, 16 are needed. Fewer replicates than 32 are of works that are
    groups of their own; of these, 6 are needed. Equal replicates do not show how far a number would move: a constant
    does not, and a rare event may not have occurred yet. Where a few groups carry the variance, a few documents differ
    from all others; other text may have more of these or none.
    """
    defined = [replicate for replicate in replicates if replicate is not None]
    needed = MIN_GROUPS if len(replicates) == GROUPS else MIN_WORKS
    if len(defined) < needed:
        return f"only {len(defined)} of {len(replicates)} values without one group are defined (minimum {needed})"
    if math.isclose(min(defined), max(defined), rel_tol=10**-DIGITS):
        return NO_SPREAD
    squares = _squares(defined)
    if len(replicates) < GROUPS or effective(squares) >= LEAST_EFFECTIVE:
        return None
    return _few_carry(squares)


def effective(squares: Sequence[float]) -> float:
    """Return the effective number of groups: as many with equal shares would concentrate the variance as much.

    The squared sum of the squared deviations over the sum of their squares (Kish 1965): G over the kurtosis. About 11
    of 32 where documents are many and alike; 1 where one group has all.
    """
    total = math.fsum(squares)
    return 1 / math.fsum((square / total) ** 2 for square in squares) if total else float(len(squares))


def _squares(known: Sequence[float]) -> list[float]:
    mean = math.fsum(known) / len(known)
    return [(replicate - mean) ** 2 for replicate in known]


def _few_carry(squares: Sequence[float]) -> str:
    """Describe which share of the groups carries over half of the variance."""
    total, carried, count = math.fsum(squares), 0.0, 0
    for square in sorted(squares, reverse=True):
        carried, count = carried + square / total, count + 1
        if carried > 1 / 2:
            break
    share, size = 100 * carried, 100 * count / len(squares)
    return f"about {size:.0f} % of the documents cause {share:.0f} % of the variance: a CI from so few is not reliable"


def interval(value: float | None, replicates: Sequence[float | None]) -> tuple[float, float] | None:
    """Return the 95 % interval around ``value``; None if there is no value, or the replicates give none (``lack``).

    It is about as much other text of the same kind. Degrees of freedom fall from G - 1 where few groups carry the
    variance, as they do when a few documents are far larger than the others.
    """
    if value is None or lack(replicates) is not None:
        return None
    half = half_width(replicates)
    return value - half, value + half


def half_width(replicates: Sequence[float | None]) -> float:
    """Return half of the interval from replicates, whether it is shown or not; at least two must be known."""
    squares = _squares([replicate for replicate in replicates if replicate is not None])
    variance = (len(squares) - 1) / len(squares) * math.fsum(squares)
    return t_quantile(degrees_of_freedom(squares)) * math.sqrt(variance)


def degrees_of_freedom(squares: Sequence[float]) -> float:
    """Return the degrees of freedom of a variance, from its squared deviations.

    Matching moments (Satterthwaite 1946) gives 2 G / (kurtosis - 1). The kurtosis of 32 values is less than that of
    their heavy-tailed distribution, the more so where an interval is shown only if it is small. So three tenths of it
    are taken. docs/measuring.md gives the coverage.
    """
    most, total = len(squares) - 1, math.fsum(squares)
    kurtosis = len(squares) / effective(squares) if total else 1.0
    return most if kurtosis <= 1 else max(1.0, min(most, 2 * FREEDOM_SHARE * len(squares) / (kurtosis - 1)))


def t_quantile(freedom: float) -> float:
    """Return the 97.5 % quantile of Student's t for 1 to 31 degrees of freedom, integer or not; for more, that of 31.

    Between integers its logarithm is taken as linear in 1 / ``freedom``: up to 0.5 % too large from 2 on, 3 % below.
    """
    steps = [(1 / whole, math.log(quantile)) for whole, quantile in enumerate(T_QUANTILES, 1)]
    for (above, higher), (below, lower) in pairwise(steps):
        if 1 / freedom >= below:
            return math.exp(lower + (higher - lower) * (1 / freedom - below) / (above - below))
    return T_QUANTILES[-1]


def paired_interval(a: Measurement, b: Measurement) -> tuple[float, float] | None:
    """Return the 95 % interval of ``b - a``, measured on the same documents (the caller checks the digests)."""
    if a.value is None or b.value is None or a.no_pair or b.no_pair:
        return None
    return interval(b.value - a.value, _differences(a, b))


def paired_lack(a: Measurement, b: Measurement) -> str | None:
    """Return why ``b - a`` has no interval; None if it has, or if one lacks replicates without a reason."""
    if no_pair := a.no_pair or b.no_pair:
        return no_pair
    if a.replicates and b.replicates:
        return lack(_differences(a, b))
    return next((one.no_interval for one in (a, b) if not one.replicates and one.no_interval), None)


def _differences(a: Measurement, b: Measurement) -> list[float | None]:
    pairs = zip(a.replicates, b.replicates, strict=False)
    return [y - x if x is not None and y is not None else None for x, y in pairs]
