"""How often a 95 % interval is shown, and how often one that is shown holds: many pairs of rows on many kinds of text.

    PYHARNESS_DATA=... python studies/shown/concentration.py --output concentration.md

Documents are counted once: bytes, and the tokens of every row. Then samples are drawn from a pool, with
replacement: documents or, where they say which work they are of, works. A sample has the library's groups, replicates
and rule (``pyharness/statistics/jackknife.py``, here of all samples at once; tests compare them), and what an interval
should hold is the figure of the whole pool.

The least concentration that shows an interval, and how many degrees of freedom it has, were chosen on the pools that
say ``chosen``; all others tell how well that does on text which had no say.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pools_of_text import POOLS, Document, Pool
from pyharness import kernels, tokenizers
from pyharness.kernels import TextColumn
from pyharness.statistics.jackknife import (
    GROUPS,
    LEAST_EFFECTIVE,
    MIN_DOCUMENTS,
    MIN_GROUPS,
    T_QUANTILES,
    UNEQUAL,
    degrees_of_freedom,
)
from pyharness.types import Tokenizer

Floats = NDArray[np.float64]
Arrays = Mapping[str, NDArray[Any]]  # of the documents of a pool

ROWS = {
    "gpt2": "gpt2/tokenizer.json",
    "neox": "gpt_neox/tokenizer.json",
    "cl100k": "tiktoken/cl100k_base.tiktoken?pattern=cl100k_base",
    "o200k": "tiktoken/o200k_base.tiktoken?pattern=o200k_base",
    "qwen2_5": "qwen2_5/tokenizer.json",
    "deepseek": "deepseek_v3/tokenizer.json",
    "yi": "yi/tokenizer.json",
    "mistral3": "mistral/mistral_instruct_tokenizer_240323.model.v3",
    "claude": "claude_legacy/tokenizer.json",
    "bert": "bert_base_cased/tokenizer.json",
}
SINGLE = ("gpt2", "cl100k", "o200k", "mistral3", "bert")
PAIRS = (
    ("cl100k", "qwen2_5"), ("gpt2", "o200k"), ("cl100k", "o200k"), ("gpt2", "neox"), ("deepseek", "qwen2_5"),
    ("yi", "mistral3"), ("claude", "o200k"), ("deepseek", "o200k"), ("cl100k", "deepseek"), ("mistral3", "o200k"),
)  # fmt: skip
MOST_BYTES = 3_000_000  # of a pool
LONGEST = 2_000_000  # characters of a document: longer ones are left out
FEWEST_WORKS = 20  # fewer works than this are no pool of works


@dataclass(frozen=True, slots=True)
class Counts:
    """Documents or works: bytes, tokens of every row, and how many documents, float64 [documents] each."""

    bytes: Floats
    tokens: Mapping[str, Floats]
    documents: Floats

    def of_works(self, works: NDArray[np.int64]) -> Counts:
        """Add up the documents of every work; ``works`` [documents], from 0."""
        sums = (self.documents, self.bytes, *self.tokens.values())
        added = [np.bincount(works, one).astype(np.float64) for one in sums]
        return Counts(added[1], dict(zip(self.tokens, added[2:], strict=True)), added[0])


def counted(pool: Pool, data: Path, rows: Mapping[str, Tokenizer], cut: int | None = None) -> Arrays:
    """Count a sample of a pool: bytes and tokens of documents, and the numbers of their works, -1 without any.

    ``cut``: characters of a piece, with which documents are encoded piece by piece.
    """
    documents = sampled(pool.documents(data))
    pieces = [(number, piece) for number, (text, _) in enumerate(documents) for piece in cut_up(text, cut)]
    owners, texts = np.array([number for number, _ in pieces]), [piece for _, piece in pieces]
    statistics = kernels.text_statistics(texts)
    named = {work: number for number, work in enumerate(dict.fromkeys(work for _, work in documents if work))}
    return {
        "works": np.array([-1 if work is None else named[work] for _, work in documents]),
        "bytes": np.bincount(owners, statistics[:, TextColumn.BYTES]),
        **{name: np.bincount(owners, np.diff(row.encode_batch(texts).offsets)) for name, row in rows.items()},
    }


def sampled(documents: Iterable[Document]) -> list[Document]:
    """Different documents by chance, of ``MOST_BYTES`` in all."""
    distinct = list(dict(document for document in documents if 0 < len(document[0]) <= LONGEST).items())
    random.Random(1).shuffle(distinct)
    ends = np.cumsum([len(text.encode()) for text, _ in distinct])
    return distinct[: int(np.searchsorted(ends, MOST_BYTES, "right")) + 1]


def by_unit(arrays: Arrays) -> Iterator[tuple[str, Counts]]:
    """Counts of documents, and of works if there are enough of them."""
    tokens = {name: arrays[name].astype(np.float64) for name in ROWS}
    whole = Counts(arrays["bytes"].astype(np.float64), tokens, np.ones(len(arrays["bytes"])))
    yield "documents", whole
    works = arrays["works"]
    if works.min() >= 0 and FEWEST_WORKS <= works.max() + 1 < len(works):
        yield "works", whole.of_works(works)


def cut_up(text: str, size: int | None) -> list[str]:
    """Pieces of about ``size`` bytes that end at a line, or the whole text."""
    if size is None:
        return [text]
    return re.findall(rf"(?s).{{{size}}}.*?(?:\n|\Z)|.+\Z", text)


# ------------------------------------------------------------------------------- intervals of all samples at once


@dataclass(frozen=True, slots=True)
class Samples:
    """Sums of samples by group, float64 [samples, GROUPS], which groups hold documents, and whose text will do."""

    bytes: Floats
    tokens: Mapping[str, Floats]
    held: NDArray[np.bool_]
    fit: NDArray[np.bool_]  # [samples]: documents are not of very unequal size

    @classmethod
    def drawn(cls, counts: Counts, size: int, samples: int, generator: np.random.Generator) -> Samples:
        """Draw ``size`` documents, with replacement, for each sample; each falls into a group by chance."""
        chosen = generator.integers(0, len(counts.bytes), (samples, size))
        places = (np.arange(samples)[:, None] * GROUPS + generator.integers(0, GROUPS, (samples, size))).ravel()

        def sums(values: Floats) -> Floats:
            return np.bincount(places, values[chosen].ravel(), samples * GROUPS).astype(np.float64).reshape(-1, GROUPS)

        tokens = {name: sums(values) for name, values in counts.tokens.items()}
        documents, size_of = sums(counts.documents), sums(counts.bytes)
        return cls(size_of, tokens, documents > 0, alike(documents, size_of))


def alike(documents: Floats, sizes: Floats) -> NDArray[np.bool_]:
    """Which samples have documents of sizes that give an interval: as ``jackknife.unequal``, of all samples at once."""
    few, varies = (one.var(axis=1, ddof=1) / one.mean(axis=1) ** 2 for one in (documents, sizes))
    return np.asarray(varies <= np.maximum(GROUPS / MIN_DOCUMENTS, UNEQUAL * few), np.bool_)


@dataclass(frozen=True, slots=True)
class Estimates:
    """Values [samples] with their replicates [samples, GROUPS]."""

    values: Floats
    replicates: Floats

    @classmethod
    def ratio(cls, top: Floats, bottom: Floats) -> Estimates:
        """Ratio of sums by group."""
        (above, below) = (one.sum(axis=1, keepdims=True) for one in (top, bottom))
        return cls((above / below)[:, 0], (above - top) / (below - bottom))

    def minus(self, other: Estimates) -> Estimates:
        """Difference of two of the same samples."""
        return Estimates(self.values - other.values, self.replicates - other.replicates)


def widths(estimates: Estimates, held: NDArray[np.bool_]) -> tuple[Floats, NDArray[np.bool_]]:
    """Half of each interval, and which the library shows: as ``jackknife.interval``, of all samples at once."""
    groups = held.sum(axis=1)
    known = np.where(held, estimates.replicates, 0.0)
    squares = np.where(held, known - (known.sum(axis=1) / groups)[:, None], 0.0) ** 2
    total = squares.sum(axis=1)
    effective = total**2 / np.maximum((squares**2).sum(axis=1), np.finfo(float).tiny)
    shown = (groups >= MIN_GROUPS) & (total > 0) & (effective >= LEAST_EFFECTIVE)
    freedom = [degrees_of_freedom(row[kept].tolist()) for row, kept in zip(squares, held, strict=True)]
    steps = 1 / np.arange(1, len(T_QUANTILES) + 1)
    quantiles = np.exp(np.interp(1 / np.array(freedom), steps[::-1], np.log(T_QUANTILES)[::-1]))
    return quantiles * np.sqrt((groups - 1) / groups * total), shown


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure on one pool at one size: how many intervals of the samples are shown, and how many of these hold."""

    pool: str
    unit: str
    size: int
    what: str
    samples: int
    shown: int
    holding: int
    all_holding: int  # of all samples, were every interval shown

    @classmethod
    def of(
        cls,
        where: tuple[str, str, int],
        what: str,
        estimates: Estimates,
        truth: float,
        held: NDArray[np.bool_],
        fit: NDArray[np.bool_],
    ) -> Cell:
        """Count the samples of one figure."""
        half, shown = widths(estimates, held)
        shown &= fit
        holds = np.abs(estimates.values - truth) <= half
        return cls(*where, what, len(shown), int(shown.sum()), int((holds & shown).sum()), int(holds.sum()))


def singles_and_pairs(samples: Samples, counts: Counts, where: tuple[str, str, int]) -> Iterator[Cell]:
    """Bytes per token of rows, and differences of pairs."""
    rates = {name: Estimates.ratio(samples.bytes, tokens) for name, tokens in samples.tokens.items()}
    truth = {name: float(counts.bytes.sum() / tokens.sum()) for name, tokens in counts.tokens.items()}
    for name in SINGLE:
        yield Cell.of(where, name, rates[name], truth[name], samples.held, samples.fit)
    for a, b in PAIRS:
        yield Cell.of(where, f"{a} -> {b}", rates[b].minus(rates[a]), truth[b] - truth[a], samples.held, samples.fit)


def overall(drawn: Sequence[Samples], pools: Sequence[Counts], where: tuple[str, str, int]) -> Iterator[Cell]:
    """Geometric means over several texts of the ratio of two rows, as ``pyharness/statistics/family.py`` has them."""
    for a, b in PAIRS:
        values, replicates, truths = [], [], []
        for samples, counts in zip(drawn, pools, strict=True):
            ratio = Estimates.ratio(samples.tokens[a], samples.tokens[b])
            values.append(np.log(ratio.values))
            replicates.append(np.log(np.where(samples.held, ratio.replicates, ratio.values[:, None])))
            truths.append(np.log(counts.tokens[a].sum() / counts.tokens[b].sum()))
        means = Estimates(np.mean(values, axis=0), np.mean(replicates, axis=0))
        everywhere, fit = np.ones_like(drawn[0].held), np.all([samples.fit for samples in drawn], axis=0)
        yield Cell.of(where, f"{a} -> {b}", means, float(np.mean(truths)), everywhere, fit)


SEVERAL = {
    "overall, four kinds": ("code, nine languages", "books", "laws, Estonian", "Wikipedia"),
    "overall, four languages": ("novels, German", "plays, Russian", "books, Japanese", "news, Thai"),
    "overall, four languages of code": ("Python's library", "Perl's library", "C headers", "JavaScript packages"),
}


# ------------------------------------------------------------------------------- the study


def kept(pool: Pool, data: Path, given: argparse.Namespace) -> Arrays | None:
    """Counts of a pool, from the folder where they are kept, if any; None where its text is not on this machine."""
    file = None if given.counts is None else given.counts / f"{pool.name}{given.cut or ''}.npz"
    if file is not None and file.exists():
        return dict(np.load(file))
    if next(pool.documents(data), None) is None:
        return None
    arrays = counted(pool, data, _rows(data), given.cut)
    if file is not None:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # its stub takes them for allow_pickle
    return arrays


@cache
def _rows(data: Path) -> dict[str, Tokenizer]:
    return {name: tokenizers.load(f"file:{data}/tokenizers/{file}") for name, file in ROWS.items()}


def study(given: argparse.Namespace, say: Callable[[str], object]) -> list[Cell]:
    """All cells of all pools, then of several texts at once."""
    data = Path(given.data)
    known: dict[str, Counts] = {}
    cells: list[Cell] = []
    for number, pool in enumerate(POOLS):
        if pool.name not in given.pools:
            continue
        arrays = kept(pool, data, given)
        if arrays is None:
            say(f"{pool.name}: not on this machine\n")
            continue
        for unit, counts in by_unit(arrays):
            known.setdefault(pool.name, counts)
            for size in given.sizes:
                samples = Samples.drawn(counts, size, given.samples, np.random.default_rng([number, size]))
                cells += singles_and_pairs(samples, counts, (pool.name, unit, size))
            say(f"{pool.name}: {len(counts.bytes):,} {unit}\n")
    for number, (name, texts) in enumerate(SEVERAL.items()):
        pools = [known[text] for text in texts if text in known]
        for size in given.sizes if len(pools) == len(texts) else ():
            generator = np.random.default_rng([len(POOLS) + number, size])
            drawn = [Samples.drawn(counts, size, given.samples, generator) for counts in pools]
            cells += overall(drawn, pools, (name, "documents", size))
    return cells


def table(cells: Sequence[Cell]) -> str:
    """A line per pool and unit: of single rows and of pairs, per cent that are shown, and of these that hold."""
    chosen = {pool.name for pool in POOLS if pool.chosen}
    sizes = sorted({cell.size for cell in cells})
    heads = [f"{what}, {size:,}" for what in ("rows", "pairs") for size in sizes]
    lines = [f"| pool | unit | {' | '.join(heads)} |", "| :-- | :-- |" + " --: |" * len(heads)]
    for pool, unit in dict.fromkeys((cell.pool, cell.unit) for cell in cells):
        own = [cell for cell in cells if (cell.pool, cell.unit) == (pool, unit)]
        shares = [
            _shares([cell for cell in own if cell.size == size and (" -> " in cell.what) == paired])
            for paired in (False, True)
            for size in sizes
        ]
        lines.append(f"| {pool}{' (chosen on)' if pool in chosen else ''} | {unit} | {' | '.join(shares)} |")
    return "\n".join(lines) + "\n"


def _shares(cells: Sequence[Cell]) -> str:
    """Per cent of samples that show an interval, and of these that hold, with the standard error of one cell."""
    samples, shown, holding = (sum(getattr(cell, name) for cell in cells) for name in ("samples", "shown", "holding"))
    if not shown:
        return "0" if samples else ""
    share = holding / shown
    error = 100 * (share * (1 - share) / (shown / len(cells))) ** 0.5  # cells of one sample are not independent
    return f"{100 * shown / samples:.0f}: {100 * share:.1f} ±{error:.1f}"


def summary(cells: Sequence[Cell]) -> str:
    """How many figures that are shown in most samples hold their level, and how often what is shown misleads."""
    chosen = {pool.name for pool in POOLS if pool.chosen}
    said = []
    for name, some in (("chosen on", [one for one in cells if one.pool in chosen]),
                       ("others", [one for one in cells if one.pool not in chosen])):  # fmt: skip
        often = [one for one in some if 2 * one.shown >= one.samples]
        shares = [one.holding / one.shown for one in often]
        errors = [2 * (0.95 * 0.05 / one.shown) ** 0.5 for one in often]
        low = sum(share < 0.93 - error for share, error in zip(shares, errors, strict=True))
        high = sum(share > 0.97 + error for share, error in zip(shares, errors, strict=True))
        missed = [(one.shown - one.holding) / one.samples for one in some]
        said.append(
            f"{name}: {len(some)} figures, {len(often)} shown in at least half of the samples; of these hold "
            f"{100 * float(np.mean(shares)):.1f} % on average, {low} below 93 and {high} above 97 % by more than two "
            f"standard errors. Shown and not holding, of all samples: {100 * float(np.mean(missed)):.1f} % on "
            f"average, above 5 % in {sum(one > 0.05 for one in missed)} figures, at most {100 * max(missed):.1f} %."
        )
    return "\n".join(said) + "\n"


def main(arguments: Sequence[str] | None = None, emit: Callable[[str], object] = sys.stdout.write) -> None:
    """Count all pools, draw, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1000, help="of each pool and size")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[64, 200, 1000], help="documents, or works, of a sample"
    )
    names = [pool.name for pool in POOLS]
    parser.add_argument("--pools", nargs="+", default=names, choices=names, metavar="POOL", help="by name; all")
    parser.add_argument("--cut", type=int, help="cut documents at so many characters, at the end of a line")
    parser.add_argument("--counts", type=Path, help="a folder that keeps the counts of documents for another run")
    parser.add_argument("--output", type=Path, help="Markdown; standard output too")
    parser.add_argument("--data", default=os.environ.get("PYHARNESS_DATA"), help="default: PYHARNESS_DATA")
    given = parser.parse_args(arguments)
    if not given.data:
        parser.error("set PYHARNESS_DATA to the folder of data, or give --data")
    cells = study(given, sys.stderr.write)
    text = table(cells) + "\n" + summary(cells)
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    emit(text)


if __name__ == "__main__":
    main()
