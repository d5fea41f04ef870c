"""Is there a best vocabulary size: where are operations per byte, (V d + 12 d^2 layers) / bytes per token, smallest?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m claims.costs

Input and output embeddings have 2 V d parameters, and the output matrix costs V d multiplications a token, while longer
tokens are fewer. The claim: both ends lose, so that the best size is between. It is confirmed of a model and a text
where both the smallest and the largest size of o200k_base's first ids cost more than the best one, the intervals of
the excess above 0; it is refuted where the largest size is the best, against the next smaller one, with its interval.
The formula leaves out attention over the context, and widths of later architectures (12 d^2 is that of a GPT-2 block).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from claims.bpe_sizes import Curve, published_curve, trained_curve
from claims.texts import Text
from claims.verdicts import CONFIRMED, REFUTED, Claim, Interval, Row, estimated, not_testable, run, shown
from pyharness.statistics.jackknife import GROUPS, Groups

MODELS = {  # width, layers: as the published configurations of models of these sizes have them
    "Pythia 70M": (512, 6),
    "GPT-2 124M": (768, 12),
    "GPT-2 1.5B": (1600, 48),
    "Llama 3 8B": (4096, 32),
    "Llama 3 70B": (8192, 80),
}


def parameters(size: int, width: int, layers: int) -> tuple[int, int]:
    """Of the embeddings (not tied), and of the blocks."""
    return 2 * size * width, 12 * width**2 * layers


def per_byte(curve: Curve, width: int, layers: int, groups: Groups) -> NDArray[np.float64]:
    """Multiplications per byte by size."""
    return (curve.sizes * width + 12 * width**2 * layers) / curve.bytes_per_token(groups)


def excess(curve: Curve, width: int, layers: int, a: int, b: int, groups: Groups) -> float:
    """How much more size ``a`` costs than size ``b``, relative to it."""
    costs = per_byte(curve, width, layers, groups)
    return float(costs[a] / costs[b] - 1)


def decided(best: int, sizes: int, small: Interval, large: Interval) -> str:
    """Verdict from the place of the best size and the excess of both ends; of a best end, against its neighbour."""
    if small is None or large is None:
        return not_testable("there is no interval: documents are few, or a few of them decide")
    if best == sizes - 1:
        return REFUTED if large[0] > 0 else not_testable("the largest two sizes cost the same")
    if best == 0:
        return REFUTED if small[0] > 0 else not_testable("the smallest two sizes cost the same")
    return CONFIRMED if small[0] > 0 and large[0] > 0 else not_testable("an end costs no more than the best size")


def rows(text: Text) -> Iterator[Row]:
    curve = published_curve(text) or trained_curve(text)
    last = len(curve.sizes) - 1
    for name, (width, layers) in MODELS.items():
        best = int(per_byte(curve, width, layers, np.ones(GROUPS, np.bool_)).argmin())
        ends = [(0 if best else 1, best), (last if best < last else last - 1, best)]
        (_, small), (value, large) = (
            estimated("excess", curve.documents, partial(excess, curve, width, layers, a, b)) for a, b in ends
        )
        embedding, body = parameters(int(curve.sizes[best]), width, layers)
        what = f"{name}: best V {curve.sizes[best]:,}, 2Vd there {embedding / (embedding + body):.1%} of parameters"
        against = f"; {curve.sizes[ends[1][0]]:,} costs more by"
        yield Row(text.name, what + against, f"{value:+.2%}", shown(large, "+.2%"),
                  decided(best, last + 1, small, large))  # fmt: skip


CLAIM = Claim(
    "embeddings of 2 V d parameters and an output of V d operations make a vocabulary that is too large cost more than "
    "its shorter sequences save: the best size is between 1k and 128k, whatever the model",
    "confirmed where both ends cost more than the best size, refuted where the largest (or smallest) size is the best",
    rows,
    ("English", "code", "Estonian", "Thai", "Chinese"),
)

if __name__ == "__main__":
    run(CLAIM)
