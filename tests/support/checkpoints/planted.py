"""Checkpoints with planted untrained rows: what training leaves, drawn from the stated distributions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkpoints.made import weights

TIED = {"tied": 0.0, "tied, wide": 0.3, "tied, skewed": 2.0}  # most of the untrained rows' direction in trained ones
KINDS = ("near zero", "as initialised", "half trained", "skewed", "decayed", *TIED)
FRACTIONS = (0.001, 0.01, 0.05, 0.2)
DTYPES = ("F32", "BF16", "F16")


@dataclass(frozen=True)
class PlantedRows:
    """A matrix [rows, width], and which of its rows are planted; the unused ids are some of these."""

    rows: NDArray[np.float64]
    planted: NDArray[np.bool_]
    unused: NDArray[np.int64]
    tied: bool

    @classmethod
    def draw(cls, kind: str, rows: int, width: int, fraction: float, seed: int) -> PlantedRows:
        """Draw trained rows of random direction and log-normal norm around 1 (15 %), and plant others.

        near zero: norms of 1e-6, as weight decay leaves them. as initialised: norms of 0.4. half trained: 0.1 to 0.25,
        with unused ids near zero. skewed: norms of 0.1, and trained ones from 0.15 to many times that. decayed: norms
        began at 0.4 (2 %) and lost 10 to 70 %, and trained ones vary more (30 %). tied: all trained rows share a
        direction, and untrained rows share another with 10 % of noise. tied, wide: trained rows have 0.3 of the latter,
        too. tied, skewed: 0 to 2 of it.
        """
        rng = np.random.default_rng([seed, rows, width, KINDS.index(kind)])
        norms = np.exp(rng.normal(0, 0.15, rows))
        table = _directions(rng, rows, width)
        planted = np.zeros(rows, np.bool_)
        chosen = rng.permutation(rows)[: max(round(fraction * rows), 1) + 13]
        planted[chosen] = True
        unused = np.sort(chosen[:13])
        scales = {"near zero": np.full(rows, 1e-6), "as initialised": 0.4 * np.exp(rng.normal(0, 0.02, rows)),
                  "half trained": rng.uniform(0.1, 0.25, rows), "skewed": 0.1 * np.exp(rng.normal(0, 0.02, rows)),
                  "decayed": 0.4 * rng.uniform(0.3, 0.9) * np.exp(rng.normal(0, 0.02, rows))}  # fmt: skip
        scale = scales.get(kind, 0.9 * norms)
        if kind == "half trained":
            scale[unused] = 1e-6
        if kind == "skewed":
            norms = 0.15 * np.exp(np.abs(rng.normal(0, 1, rows)))
        if kind == "decayed":
            norms = np.exp(rng.normal(0, 0.3, rows))
        if kind in TIED:
            common, drift = _directions(rng, 2, width)
            part = TIED[kind] * (rng.uniform(0, 1, rows) if kind == "tied, skewed" else np.ones(rows))
            trained = 0.5 * common + part[:, None] * drift + table
            table = np.where(planted[:, None], drift + 0.1 * table, trained)
            table /= np.linalg.norm(table, axis=1, keepdims=True)
        return cls(table * np.where(planted, scale, norms)[:, None], planted, unused, kind in TIED)

    def shares(self, ids: NDArray[np.int64]) -> tuple[float, float]:
        """Shares of the planted rows, and of the others, that are among ids."""
        among = np.isin(np.arange(len(self.rows)), ids)
        return float(among[self.planted].mean()), float(among[~self.planted].mean())

    def write(self, folder: Path, dtype: str) -> Path:
        """Write the matrix as a checkpoint; an untied one has an output matrix of other rows."""
        tensors = {"model.embed_tokens.weight": _stored(self.rows, dtype)}
        if not self.tied:
            other = np.random.default_rng(0).standard_normal(self.rows.shape)
            tensors["lm_head.weight"] = _stored(other, dtype)
        folder.mkdir(exist_ok=True)
        (folder / "model.safetensors").write_bytes(weights(tensors))
        (folder / "config.json").write_text(json.dumps({"model_type": "planted", "vocab_size": len(self.rows)}))
        return folder


def _directions(rng: np.random.Generator, rows: int, width: int) -> NDArray[np.float64]:
    drawn = rng.standard_normal((rows, width))
    directions: NDArray[np.float64] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return directions


def _stored(rows: NDArray[np.float64], dtype: str) -> NDArray[Any]:
    single = rows.astype("<f4")
    if dtype == "BF16":
        bits = single.view("<u4")
        rounded: NDArray[Any] = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return rounded.astype("<u2")
    return single.astype("<f2") if dtype == "F16" else single
