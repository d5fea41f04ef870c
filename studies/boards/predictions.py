"""Which intrinsic metric predicts a model's score? The 77 points of TokLens: 7 models, 5 tokenizers, 11 languages.

    PYTHONPATH=studies python -m boards.predictions

The points are published (scores: MMLU-ProX). Their pooled rank correlations are computed again, which must agree. Then
a slope of the score on the standardised metric, by least squares:

- within models: a constant for each model. It compares languages, which differ in more than their tokens.
- within languages: a constant for each language, and log(parameters). It compares tokenizers on the same language.
- within both.

A 95 % CI is that of the jackknife that leaves out one language (10 degrees of freedom), or one tokenizer (4). A slope
is resolved where both exclude 0 with the same sign. ``gain`` is the share of the squared error that the metric takes
away in a language left out of the fit, where each model keeps its constant: below 0, it predicts worse than nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import click
import numpy as np
from numpy.typing import NDArray

from boards import published, table

METRICS = ("fertility", "cpt", "compression_ratio", "strr", "nsl", "parity")
Within: TypeAlias = Literal["models", "languages", "both"]
WITHIN: tuple[Within, ...] = ("models", "languages", "both")
STUDENT = {4: 2.776, 10: 2.228}  # 97.5 % points of t
AGREES = 5e-4  # the published correlations have four decimals
Points: TypeAlias = Sequence[Mapping[str, Any]]
Values: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Slope:
    """A slope in points of score per standard deviation of the metric, with two half-widths."""

    value: float
    by_language: float
    by_tokenizer: float

    @property
    def resolved(self) -> bool:
        """Whether both intervals exclude 0."""
        return abs(self.value) > max(self.by_language, self.by_tokenizer)


def ranks(values: Values) -> Values:
    """Mean ranks, from 1."""
    return np.array([(np.sum(values < one) + np.sum(values <= one) + 1) / 2 for one in values])


def rank_correlation(points: Points, metric: str) -> float:
    """Spearman's correlation of a metric with the score, all points pooled."""
    return float(np.corrcoef(ranks(column(points, metric)), ranks(column(points, "score")))[0, 1])


def column(points: Points, name: str) -> Values:
    """The numbers of a name, one for each point."""
    return np.array([point[name] for point in points], np.float64)


def dummies(points: Points, name: str) -> Values:
    """One column of 0 and 1 for each value of a name."""
    values = sorted({point[name] for point in points})
    return np.array([[point[name] == value for value in values] for point in points], np.float64)


def slope(points: Points, metric: str, within: Within) -> float:
    """The slope of the score on the standardised metric."""
    numbers = column(points, metric)
    parts = [((numbers - numbers.mean()) / numbers.std())[:, None]]
    if within != "languages":
        parts.append(dummies(points, "model"))
    if within != "models":
        parts.append(dummies(points, "lang"))
    if within == "languages":
        parts.append(np.log(column(points, "params_b"))[:, None])
    return float(np.linalg.lstsq(np.hstack(parts), column(points, "score"), rcond=None)[0][0])


def tokenizer_of(point: Mapping[str, Any]) -> str:
    """Models whose numbers are the same for a language have one tokenizer."""
    return "Qwen2.5" if "Qwen2.5" in point["model"] else str(point["model"])


def half_width(points: Points, metric: str, within: Within, key: Any) -> float:
    """Half of the 95 % CI of the slope, leaving out all points of one key at a time."""
    groups = sorted({key(point) for point in points})
    left = np.array([slope([one for one in points if key(one) != group], metric, within) for group in groups])
    count = len(groups)
    variance = (count - 1) / count * float(np.square(left - left.mean()).sum())
    return float(STUDENT[count - 1] * np.sqrt(variance))


def estimated(points: Points, metric: str, within: Within) -> Slope:
    """The slope with both of its half-widths."""
    widths = (half_width(points, metric, within, key) for key in (lambda one: one["lang"], tokenizer_of))
    return Slope(slope(points, metric, within), *widths)


def gain(points: Points, metric: str) -> float:
    """Share of the squared error that the metric takes away in languages left out of the fit."""
    errors, models, scores = np.zeros(2), dummies(points, "model"), column(points, "score")
    for language in sorted({point["lang"] for point in points}):
        inside = np.array([one["lang"] != language for one in points])
        for place, design in enumerate((models, np.column_stack((models, column(points, metric))))):
            weights = np.linalg.lstsq(design[inside], scores[inside], rcond=None)[0]
            errors[place] += float(np.square(scores[~inside] - design[~inside] @ weights).sum())
    return float(1 - errors[1] / errors[0])


def main() -> int:
    """Print the correlations, then the slopes."""
    board = published("toklens_points")
    points, theirs = board["points"], board["spearman"]
    ours = {metric: rank_correlation(points, metric) for metric in METRICS}
    click.echo(
        table(["metric", "Spearman", "published"], [[m, f"{ours[m]:+.4f}", f"{theirs[m]:+.4f}"] for m in METRICS])
    )
    rows = []
    for metric in METRICS:
        cells = [estimated(points, metric, within) for within in WITHIN]
        shown = [
            f"{one.value:+.2f} ±{one.by_language:.2f} ±{one.by_tokenizer:.2f}" + " *" * one.resolved for one in cells
        ]
        rows.append([metric, *shown, f"{board['mixed'][metric][0]:+.2f}", f"{gain(points, metric):+.1%}"])
    click.echo(table(["metric", *(f"within {one}" for one in WITHIN), "published, mixed", "gain"], rows))
    return int(any(abs(ours[metric] - theirs[metric]) > AGREES for metric in METRICS))


if __name__ == "__main__":
    sys.exit(main())
