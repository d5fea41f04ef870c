"""Are planted untrained rows found, and others not? Checkpoints of eight kinds, in several sizes, dtypes and shares.

    PYTHONPATH=studies python -m boards.planted_rows --seeds 3

Each checkpoint is written as safetensors and read by the code of the benchmark ``glitch``; ``checkpoints.planted`` in
the tests says how rows are drawn. Large ones have one width and one dtype. The exit status is 1 where under 99 % are
found or over 1 % of the others are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import click
import numpy as np

sys.path[:0] = [str(Path(__file__).parents[2] / "tests" / "support")]

from boards import table  # noqa: E402
from checkpoints.planted import DTYPES, FRACTIONS, KINDS, PlantedRows  # noqa: E402
from pyharness.features.glitch.indicators import UnusedIds, measure_rows  # noqa: E402
from pyharness.features.glitch.matrices import IdMatrices  # noqa: E402
from pyharness.features.language_models.folder import ModelFolder  # noqa: E402

WIDTHS = (32, 256, 1024)
ROWS = (400, 4000, 50_000, 200_000)
MOST_NUMBERS, LARGE = 1 << 23, 10_000
LEAST_FOUND, MOST_WRONG = 0.99, 0.01


def shares(planted: PlantedRows, dtype: str) -> tuple[float, float]:
    """Shares of the planted rows and of the others that are candidates."""
    with tempfile.TemporaryDirectory() as name:
        folder = planted.write(Path(name), dtype)
        matrices = IdMatrices.of(ModelFolder.read(name, folder), len(planted.rows))
        tested = np.ones(len(planted.rows), np.bool_)
        measured = measure_rows(matrices, UnusedIds(planted.unused, "given"), tested)
    return planted.shares(measured.candidates(tested))


def drawn(kind: str, rows: int, seeds: int) -> Iterator[tuple[float, float]]:
    """Shares of all checkpoints of a kind and size."""
    widths = [width for width in WIDTHS if rows * width <= MOST_NUMBERS]
    for width, fraction, seed in product(widths, FRACTIONS, range(seeds)):
        planted = PlantedRows.draw(kind, rows, width, fraction, seed)
        for dtype in DTYPES if rows < LARGE else (DTYPES[seed % len(DTYPES)],):
            yield shares(planted, dtype)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the worst of all checkpoints of a kind and size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    given = parser.parse_args(arguments)
    cells, worst = [], []
    for kind, rows in product(KINDS, given.rows):
        found, wrong = zip(*drawn(kind, rows, given.seeds), strict=True)
        failing = sum(a < LEAST_FOUND or b > MOST_WRONG for a, b in zip(found, wrong, strict=True))
        worst.append(failing)
        cells.append([kind, f"{rows:,}", str(len(found)), f"{min(found):.2%}", f"{max(wrong):.2%}", str(failing)])
    click.echo(table(["kind", "rows", "checkpoints", "least found", "most wrong", "failing"], cells))
    return int(any(worst))


if __name__ == "__main__":
    sys.exit(main())
