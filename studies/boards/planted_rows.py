"""Are planted untrained rows found, and others not? Checkpoints of five kinds, in several widths, dtypes and shares.

    PYTHONPATH=studies python -m boards.planted_rows --seeds 3

Each checkpoint is written as safetensors and read by the code of the benchmark ``glitch``; ``checkpoints.planted`` in
the tests says how rows are drawn. The exit status is 1 where under 99 % are found or over 1 % of the others are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
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
ROWS = 4000
LEAST_FOUND, MOST_WRONG = 0.99, 0.01


def shares(planted: PlantedRows, dtype: str) -> tuple[float, float]:
    """Shares of the planted rows and of the others that are candidates."""
    with tempfile.TemporaryDirectory() as name:
        folder = planted.write(Path(name), dtype)
        matrices = IdMatrices.of(ModelFolder.read(name, folder), len(planted.rows))
        tested = np.ones(len(planted.rows), np.bool_)
        measured = measure_rows(matrices, UnusedIds(planted.unused, "given"), tested)
    return planted.shares(measured.candidates(tested))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the worst of all checkpoints of a kind and share."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=ROWS)
    given = parser.parse_args(arguments)
    cells, worst = [], []
    for kind, fraction in product(KINDS, FRACTIONS):
        drawn = [
            shares(PlantedRows.draw(kind, given.rows, width, fraction, seed), dtype)
            for width, dtype, seed in product(WIDTHS, DTYPES, range(given.seeds))
        ]
        least, most = min(one for one, _ in drawn), max(other for _, other in drawn)
        worst.append((least, most))
        cells.append([kind, f"{fraction:.1%}", str(len(drawn)), f"{least:.2%}", f"{most:.2%}"])
    click.echo(table(["rows", "planted", "checkpoints", "least found", "most wrong"], cells))
    return int(any(least < LEAST_FOUND or most > MOST_WRONG for least, most in worst))


if __name__ == "__main__":
    sys.exit(main())
