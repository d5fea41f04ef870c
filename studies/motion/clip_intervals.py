"""How often intervals over few clips of motion hold what they claim: ``python studies/motion/clip_intervals.py``.

Clips are drawn with replacement from those of a corpus; the truth is the ratio over all of them. With PYHARNESS_DATA
the reference motions of the data folder are drawn from, too.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from pyharness.corpora import open_corpus
from pyharness.features.actions import motions
from pyharness.features.actions.codecs.recipe import CodecRecipe
from pyharness.statistics import jackknife
from pyharness.types import Tally

SIZES = (3, 4, 5, 6, 8, 12, 16, 24)
SEED = 1


def by_clip(train: str, measured: str) -> NDArray[np.float64]:
    """Ids, squared errors and chunks of each clip, float64 [clips, 3]."""
    codec = CodecRecipe().fit([train]).codec
    sums: list[NDArray[np.float64]] = []
    for one in motions.read_chunks(open_corpus(measured), Tally()):
        if one.opens:
            sums.append(np.zeros(3))
        numbers = codec.quantised(one.frames)
        errors = codec.normalised(codec.restored(numbers, len(one.frames))) - codec.normalised(one.frames)
        sums[-1] += [len(codec.encode(numbers)), float((errors**2).sum()), 1]
    return np.array(sums)


def coverage(above: NDArray[np.float64], below: NDArray[np.float64], clips: int, draws: int) -> float:
    """Share of intervals over ``clips`` drawn clips that hold the ratio over all."""
    random, truth = np.random.default_rng((SEED, clips)), above.sum() / below.sum()
    held = 0
    for _ in range(draws):
        drawn = random.integers(0, len(above), clips)
        a, b = above[drawn], below[drawn]
        replicates = (a.sum() - a) / (b.sum() - b)
        squares = ((replicates - replicates.mean()) ** 2).tolist()
        spread = np.sqrt((clips - 1) / clips * sum(squares))
        half = jackknife.t_quantile(jackknife.degrees_of_freedom(squares)) * spread
        held += abs(a.sum() / b.sum() - truth) <= half
    return held / draws


def sources() -> Iterator[tuple[str, str, str]]:
    """Name, training part and what is measured."""
    made = "motions:made?clips=1200&chunk=32"
    yield "made", f"shard:0/4:{made}", f"shard:1-3/4:{made}"
    if folder := os.environ.get("PYHARNESS_DATA"):
        path = Path(folder) / "corpora" / "actions" / "motion_clips.jsonl.xz"
        for name, options in (("humanoid", "dims=44&skip=1&chunk=16"), ("quadruped", "dims=19&chunk=16")):
            yield name, f"shard:0/2:motions:{path}?{options}", f"motions:{path}?{options}"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    click.echo("| corpus | clips of it | ratio | " + " | ".join(map(str, SIZES)) + " |")
    click.echo("|---|---|---|" + "---|" * len(SIZES))
    for name, train, measured in sources():
        sums = by_clip(train, measured)
        for what, column in (("ids per chunk", 0), ("squared error", 1)):
            shares = (f"{coverage(sums[:, column], sums[:, 2], clips, draws):.3f}" for clips in SIZES)
            click.echo(f"| {name} | {len(sums)} | {what} | " + " | ".join(shares) + " |")


if __name__ == "__main__":
    main()
