"""Do bytes per token grow with the logarithm of the vocabulary, from 1k tokens to 256k?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m claims.growth

The claim says that each doubling of V gains as much as the one before. The figure is the mean gain of a doubling in the
upper half of the doublings over that in the lower half: 1 where growth is logarithmic, less where it saturates. A
straight line in log V is fitted too, beside a saturating curve c - a V^-k; their largest residuals are printed, and how
far both miss the largest size when fitted to the lower half of the sizes and one beyond.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from claims.bpe_sizes import Curve, published_curve, trained_curve
from claims.texts import EVERYTHING, TEXTS, Text
from claims.verdicts import Claim, Row, estimated, run, shown, within
from pyharness.statistics.jackknife import Groups

Values = NDArray[np.float64]
MARGIN = 0.1  # a doubling gains as much, if within this share
POWERS = np.arange(0.01, 2.0, 0.01)
LEAST_SIZES = 5


def gain_ratio(values: Values) -> float:
    """Gain per doubling in the upper half of the doublings over that in the lower half."""
    gains = np.diff(values)
    half = len(gains) // 2
    return float(gains[-half:].mean() / gains[:half].mean())


def line(steps: Values, values: Values) -> Values:
    """Intercept and slope of the least squares."""
    return np.asarray(np.linalg.lstsq(np.stack((np.ones_like(steps), steps), 1), values, rcond=None)[0], np.float64)


def saturating(steps: Values, values: Values) -> tuple[float, Values]:
    """Exponent k and coefficients (c, -a) of c - a 2^(-k step), the least squares over a grid of k."""
    fits = [(float(power), line(np.asarray(2.0 ** (-power * steps)), values)) for power in POWERS]
    return min(fits, key=lambda fit: float(((values - predicted(fit, steps)) ** 2).sum()))


def predicted(fit: tuple[float, Values], steps: Values) -> Values:
    return np.asarray(fit[1][0] + fit[1][1] * 2.0 ** (-fit[0] * steps))


def misses(steps: Values, values: Values) -> tuple[float, float]:
    """How far the line and the saturating curve of the lower sizes are from the largest one, relative to it."""
    few = len(steps) // 2 + 2
    constant, slope = line(steps[:few], values[:few])
    curve = predicted(saturating(steps[:few], values[:few]), steps)[-1]
    return float((constant + slope * steps[-1]) / values[-1] - 1), float(curve / values[-1] - 1)


def residuals(values: Values) -> Values:
    """Of the line through all sizes, relative to the values."""
    steps = np.arange(len(values), dtype=np.float64)
    constant, slope = line(steps, values)
    return np.asarray(values / (constant + slope * steps) - 1)


def _residual(curve: Curve, groups: Groups, size: int) -> float:
    return float(residuals(curve.bytes_per_token(groups))[size])


def curve_rows(name: str, curve: Curve) -> Iterator[Row]:
    if len(curve.sizes) < LEAST_SIZES:
        return
    everything = np.ones(len(curve.bytes), np.bool_)
    values = curve.bytes_per_token(everything)
    steps = np.arange(len(values), dtype=np.float64)
    said = f"{curve.name}, {curve.sizes[0]:,} to {curve.sizes[-1]:,}"
    ratio, interval = estimated("gains", curve.documents, lambda groups: gain_ratio(curve.bytes_per_token(groups)))
    verdict = within(interval, 1 - MARGIN, 1 + MARGIN)
    yield Row(name, f"{said}: upper gains over lower", f"{ratio:.3f}", shown(interval, ".3f"), verdict)
    yield Row(name, "bytes/token by V", " ".join(f"{value:.2f}" for value in values), "", "")
    for index in (0, len(values) // 2, len(values) - 1):
        miss, about = estimated("residual", curve.documents, partial(_residual, curve, size=index))
        yield Row(name, f"residual of the line at {curve.sizes[index]:,}", f"{miss:+.2%}", shown(about, "+.2%"), "")
    straight, bent = misses(steps, values)
    fit = predicted(saturating(steps, values), steps) / values - 1
    both = f"{abs(residuals(values)).max():.2%} / {abs(fit).max():.2%}"
    yield Row(name, "largest residual, line / saturating", both, "", "")
    what = "miss of the largest size, fitted to the lower ones, line / saturating"
    yield Row(name, what, f"{straight:+.2%} / {bent:+.2%}", "", "")


def rows(text: Text) -> Iterator[Row]:
    for curve in (trained_curve(text), published_curve(text)):
        if curve is not None:
            yield from curve_rows(text.name, curve)


CLAIM = Claim(
    "bytes per token grow with log V: each doubling of the vocabulary gains as much as the one before",
    f"mean gain of the upper doublings over that of the lower ones: confirmed within {MARGIN:.0%} of 1, else refuted",
    rows,
    (*TEXTS, EVERYTHING),
)

if __name__ == "__main__":
    run(CLAIM)
