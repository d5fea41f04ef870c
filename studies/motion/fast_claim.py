"""Does FAST write a chunk in 30 to 60 ids, ten times fewer than bins?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m motion.fast_claim

The paper (arXiv 2501.09747) speaks of teleoperated robots, of which no data are here: about those the claim is not
testable. Measured are the reference motions of the data folder, with the paper's scale (10) and vocabulary (1,024), by
clip: fitted to some, measured on others; and fitted to the very clips that are measured, which flatters, so that few
clips to fit to are no excuse. Two readings: 30 to 60 ids a chunk, as the paper has it; and at least 9 times fewer than
bins, which is its ten, less a tenth. Each is confirmed where the whole interval over clips is inside, refuted
where it is outside.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from claims.verdicts import Row, overall, shown, within
from pyharness.corpora import open_corpus
from pyharness.features.actions import motions
from pyharness.features.actions.benchmark import add_chunk
from pyharness.features.actions.codecs.recipe import CodecRecipe
from pyharness.features.actions.metrics import ActionState, measure
from pyharness.statistics.jackknife import interval
from pyharness.types import InputError, Measurement, Tally

LOW, HIGH, TIMES = 30.0, 60.0, 9.0
CHUNKS = (16, 32)
ROBOTS = (
    ("humanoid", "shard:0/2:", "shard:1/2:", "?dims=44&skip=1"),
    ("quadruped", "shard:6-7/8:", "shard:0-5/8:", "?dims=19"),
)


def measured(learnt: str, other: str) -> dict[str, Measurement]:
    """Fit to clips and measure others, or the same."""
    codec = replace(CodecRecipe().fit([learnt]).codec, trained_on=frozenset())
    state = ActionState.empty(codec.half_widths)
    for chunk in motions.read_chunks(open_corpus(other), Tally()):
        add_chunk(state, codec, chunk)
    return {one.metric: one for one in measure(state) if one.part is None}


def rows(clips: str) -> Iterator[tuple[Row, Row]]:
    """Ids of a chunk, and how many times fewer than bins."""
    for robot, first, second, options in ROBOTS:
        for chunk in CHUNKS:
            spec = f"{clips}{options}&chunk={chunk}"
            for how, learnt in (("other clips", first), ("the same clips", second)):
                found = measured(learnt + spec, second + spec)
                name = f"{robot}, chunks of {chunk}, fitted to {how}"
                yield (
                    _row(name, "ids a chunk", found["tokens_per_chunk"], LOW, HIGH),
                    _row(name, "times fewer than bins", found["values_per_token"], TIMES, math.inf),
                )


def _row(name: str, what: str, found: Measurement, low: float, high: float) -> Row:
    bounds = interval(found.value, found.replicates)
    return Row(name, what, f"{found.value:.2f}", shown(bounds, ".2f"), within(bounds, low, high))


def main() -> None:
    """Print the figures and verdicts."""
    folder, start = os.environ.get("PYHARNESS_DATA"), time.perf_counter()
    if not folder:
        raise InputError("PYHARNESS_DATA names no folder of data: the reference motions are there")
    found = list(rows(f"motions:{Path(folder) / 'corpora' / 'actions' / 'motion_clips.jsonl.xz'}"))
    for row in (one for pair in found for one in pair):
        click.echo(f"{row.text} | {row.what} | {row.figure} | {row.interval} | {row.verdict}")
    for number, what in enumerate((f"{LOW:.0f} to {HIGH:.0f} ids a chunk", f"at least {TIMES:.0f} times fewer")):
        click.echo(f"{what}: {overall([pair[number].verdict for pair in found])}")
    click.echo(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
