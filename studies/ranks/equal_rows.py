"""How often rows that are equally good have two ranks, and what is left of ranks that rows deserve.

    PYHARNESS_DATA=... python studies/ranks/equal_rows.py --output ranks.md    # without data: made-up text alone

Texts of so many documents are drawn, grouped at random, measured by a ratio of sums as bytes per token are, and ranked,
by the rule of reports (``family-wise``) and by single intervals (``single``: the same rule, where a pair is told apart
by its own paired 95 % interval). Counted are tables with any rank but the first.

made-up     documents of lognormal sizes, rows of one expectation
swapped     real documents; each document's counts, relative to those of the rows on all of the text, are dealt out to
            the rows anew, so that rows are exchangeable
real        real documents and rows, each row's counts scaled to one mean over the pool: rows differ in how they vary,
            and pairs that differ in a few documents alone are as skewed as they are

``bound`` is how many times as wide as a paired interval one would be that the family-wise rule is by, the median.

Some better: 30 made-up rows, of which half are better by a share. ``ranked`` is how many rows of the worse half have a
rank behind that of the first; ``false``: tables in which the first of a rank is no better than a row of a rank below;
``split``: tables in which any rows that are equally good have two ranks.

``--lacking``: tables of real rows in which some pair has no interval, and those with a second rank where such a pair is
told apart by signs alone, by the width that is not shown as well (the rule), or never.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyharness import corpora, tokenizers
from pyharness.report.ranking import ranks_of
from pyharness.statistics.family import bound, parts_of, told_apart
from pyharness.statistics.jackknife import GROUPS, T_QUANTILES, exceeds, paired_interval
from pyharness.types import Measurement, Tally

Counts = NDArray[np.float64]  # [documents, 1 + rows]: bytes, then tokens of each row
Draw = Callable[[np.random.Generator], Counts]

FILES = (
    "gpt2/tokenizer.json", "tiktoken/p50k_base.tiktoken", "tiktoken/cl100k_base.tiktoken",
    "tiktoken/o200k_base.tiktoken", "kimi_k2/kimi_k2.tiktoken", "deepseek_v3/tokenizer.json", "yi/tokenizer.json",
    "claude_legacy/tokenizer.json", "mistral/tokenizer.model.v1", "gpt_neox/tokenizer.json", "clip/tokenizer.json",
    "bert_base_cased/tokenizer.json", "bert_uncased_gte/tokenizer.json", "xlnet/xlnet_base_cased.model",
    "pegasus/tokenizer.json",
)  # fmt: skip
TEXTS = {
    "laws": "path:{data}/corpora/multilingual/et/riigiteataja_laws.jsonl.xz?max_bytes=3MB",
    "news": "path:{data}/corpora/multilingual/th/thaigov_news.jsonl.xz?max_bytes=2MB",
    "code": "path:{data}/corpora/code/cpp.jsonl.xz?max_bytes=3MB",
}
ROWS = (5, 10, 30)
DOCUMENTS = (64, 100, 1000)
LACKING = (64, 100, 300)  # documents of texts whose pairs may lack an interval
BETTER = (0.005, 0.01, 0.02, 0.05)


def made_up(documents: int, rows: int, spread: float = 1.0, better: float = 0.0) -> Draw:
    """Rows that tokenize documents alike on average; the first half has fewer tokens by a share."""

    def draw(generator: np.random.Generator) -> Counts:
        sizes = np.exp(generator.normal(7, spread, documents))
        rates = np.exp(generator.normal(0, 0.3, documents)[:, None] + generator.normal(0, 0.1, (documents, rows)))
        rates[:, : rows // 2] /= 1 + better
        return np.column_stack([sizes, sizes[:, None] * rates / 4])

    return draw


def real(pool: Counts, documents: int, rows: int) -> Draw:
    """Documents of a pool with replacement, in the tokens of some of its rows."""

    def draw(generator: np.random.Generator) -> Counts:
        chosen = pool[generator.integers(0, len(pool), documents)]
        return chosen[:, [0, *generator.permutation(np.arange(1, pool.shape[1]))[:rows]]]

    return draw


def swapped(pool: Counts, documents: int, rows: int) -> Draw:
    """The same, where what a document has of a row is that of any."""

    def draw(generator: np.random.Generator) -> Counts:
        chosen = pool[generator.integers(0, len(pool), documents)]
        dealt = generator.integers(1, pool.shape[1], (documents, rows))
        return np.column_stack([chosen[:, 0], np.take_along_axis(chosen, dealt, axis=1)])

    return draw


def pool_of(spec: str, data: str) -> Counts:
    """Count the documents of a text in all rows, each scaled to as many tokens as the first has."""
    texts = list(corpora.open_corpus(spec.format(data=data)).documents(Tally()))
    columns = [np.array([len(text.encode()) for text in texts], np.float64)]
    for file in FILES:
        tokens = tokenizers.load(f"file:{data}/tokenizers/{file}").encode_batch(texts)
        columns.append(np.diff(tokens.offsets.astype(np.float64)))
        columns[-1] *= columns[1].sum() / columns[-1].sum()
    return np.column_stack(columns)


# ---------------------------------------------------------------------------------------------- one table


def measured(drawn: Counts, groups: NDArray[np.int64]) -> tuple[list[Measurement], list[list[float]]]:
    """Rows as a record has them, and their tokens by group."""
    byte, *counts = (np.bincount(groups, column, GROUPS) for column in drawn.T)
    held = np.bincount(groups, minlength=GROUPS) > 0
    rows = []
    for of in counts:
        without = (byte.sum() - byte) / (of.sum() - of)
        replicates = tuple(float(one) if there else None for one, there in zip(without, held, strict=True))
        rows.append(Measurement("bytes_per_token", float(byte.sum() / of.sum()), replicates=replicates))
    return rows, [of.tolist() for of in counts]


def excludes_zero(a: Measurement, b: Measurement) -> bool:
    """Whether the paired interval tells two rows apart."""
    return paired_interval(a, b) is not None and exceeds(a, b)


def ranks(drawn: Counts, generator: np.random.Generator) -> tuple[list[int], list[int], float]:
    """Ranks of rows in their order, by both rules, and how many times as wide as an interval the new one is."""
    rows, counts = measured(drawn, generator.integers(0, GROUPS, len(drawn)))
    parts = parts_of(rows, counts)  # type: ignore[arg-type]
    told, statistic = told_apart(parts), bound(parts)
    order = sorted(range(len(rows)), key=lambda row: -(rows[row].value or 0))
    family = ranks_of(order, lambda a, b: bool(told[a, b]) and exceeds(rows[a], rows[b]))
    single = ranks_of(order, lambda a, b: excludes_zero(rows[a], rows[b]))
    as_t = statistic * math.sqrt((GROUPS - 1) / (GROUPS - statistic**2))
    places = np.argsort(order)
    return [family[place] for place in places], [single[place] for place in places], as_t / T_QUANTILES[-1]


# ---------------------------------------------------------------------------------------------- the study


def false_ranks(draw: Draw, tables: int) -> str:
    """Tables with a second rank, as cells: by both rules, with the standard error, and the bound."""
    generator = np.random.default_rng(20261124)
    family, single, times = zip(*(ranks(draw(generator), generator) for _ in range(tables)), strict=True)
    share = float(np.mean([max(one) > 1 for one in family]))
    error = math.sqrt(max(share * (1 - share), 0.01) / tables)
    return f"{share:.1%} (±{error:.1%}) | {np.mean([max(one) > 1 for one in single]):.0%} | {np.median(times):.2f}"


def some_better(better: float, documents: int, tables: int) -> str:
    """What comes of rows of which half are better, as cells, by both rules."""
    generator = np.random.default_rng(20261125)
    drawn = made_up(documents, 30, better=better)
    family, single, _ = zip(*(ranks(drawn(generator), generator) for _ in range(tables)), strict=True)
    return " | ".join(cell for found in (family, single) for cell in _better(found))


def _better(found: Sequence[list[int]]) -> Iterator[str]:
    behind = np.array(found)[:, 15:] > 1
    yield f"{behind.mean():.0%}"
    yield f"{np.mean([max(one[:15]) > 1 or len(set(one[15:]) - {1}) > 1 for one in found]):.1%}"
    yield f"{np.mean([max(one[:15]) > 1 or len(set(one[15:])) > 1 for one in found]):.0%}"


def without_interval(draw: Draw, tables: int) -> str:
    """Tables with a pair without an interval, as cells; and with a second rank, by three rules for such pairs."""
    generator = np.random.default_rng(20261126)
    found = np.array([_second_ranks(draw(generator), generator) for _ in range(tables)])
    return " | ".join(f"{share:.1%}" for share in found.mean(axis=0))


def _second_ranks(drawn: Counts, generator: np.random.Generator) -> tuple[bool, bool, bool, bool]:
    rows, counts = measured(drawn, generator.integers(0, GROUPS, len(drawn)))
    told = told_apart(parts_of(rows, counts))  # type: ignore[arg-type]
    shown = {
        pair: paired_interval(rows[pair[0]], rows[pair[1]]) is not None for pair in permutations(range(len(rows)), 2)
    }
    order = sorted(range(len(rows)), key=lambda row: -(rows[row].value or 0))

    def second(apart: Callable[[int, int], bool]) -> bool:
        return max(ranks_of(order, lambda a, b: bool(told[a, b]) and apart(a, b))) > 1

    return (
        not all(shown.values()),
        second(lambda a, b: not shown[a, b] or exceeds(rows[a], rows[b])),
        second(lambda a, b: exceeds(rows[a], rows[b])),
        second(lambda a, b: shown[a, b] and exceeds(rows[a], rows[b])),
    )


def lacking(given: argparse.Namespace) -> Iterator[str]:
    """Table of what comes of pairs without an interval, on real text, in Markdown."""
    yield "| text | documents | rows | some lack it | signs alone | the rule | tied |\n| :-- |" + " --: |" * 6
    for name in given.texts if given.data else ():
        pool = pool_of(TEXTS[name], given.data)
        for documents in LACKING:
            for rows in ROWS[:2]:
                cells = without_interval(real(pool, documents, rows), given.tables)
                yield f"| {name} | {documents} | {rows} | {cells} |"


def lines(given: argparse.Namespace) -> Iterator[str]:
    """Two tables in Markdown."""
    yield "| text | documents | rows | family-wise | single | bound |\n| :-- | --: | --: | --: | --: | --: |"
    for name, spread in (("made-up", 1.0), ("made-up, sizes very unequal", 2.0)):
        for documents in DOCUMENTS:
            for rows in ROWS:
                cells = false_ranks(made_up(documents, rows, spread), given.tables)
                yield f"| {name} | {documents:,} | {rows} | {cells} |"
    for name in given.texts if given.data else ():
        pool = pool_of(TEXTS[name], given.data)
        for how in (swapped, real):
            for documents in DOCUMENTS[:2]:
                for rows in (*ROWS[:2], ROWS[2] if how is swapped else len(FILES)):
                    cells = false_ranks(how(pool, documents, rows), given.tables)
                    yield f"| {name}, {how.__name__} | {documents:,} | {rows} | {cells} |"
    yield "\n| better by | documents | ranked | false | split | single: ranked | false | split |\n|" + " --: |" * 8
    for documents in DOCUMENTS[1:]:
        for better in BETTER:
            yield f"| {better:.1%} | {documents:,} | {some_better(better, documents, given.tables)} |"


def main(arguments: Sequence[str] | None = None, emit: Callable[[str], object] = sys.stdout.write) -> None:
    """Print the tables, a line as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1000, help="of each line")
    parser.add_argument("--texts", nargs="*", default=list(TEXTS), choices=list(TEXTS))
    parser.add_argument("--lacking", action="store_true", help="what comes of pairs without an interval, instead")
    parser.add_argument("--output", type=Path, help="Markdown; standard output too")
    parser.add_argument("--data", default=os.environ.get("PYHARNESS_DATA"), help="default: PYHARNESS_DATA")
    given, said = parser.parse_args(arguments), []
    for line in lacking(given) if given.lacking else lines(given):
        said.append(f"{line}\n")
        emit(said[-1])
    if given.output:
        given.output.write_text("".join(said), encoding="utf-8")


if __name__ == "__main__":
    main()
