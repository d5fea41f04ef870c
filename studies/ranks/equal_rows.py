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

``--lacking``: tables of real rows in which some pair has no interval, and those with a second rank where signs at
random and the interval, if there is one, tell a pair apart; where groups have to agree without an interval (the rule
before); where, on text of unequal documents, a difference has to be clear, too (the rule); and by the rule
without the pairs that have no interval. Thirty rows are the 15 files and as many others, of which 11 are the first
tokens of a file. Then what is left for rows that differ, by the rule before and by the rule: of ten rows as above, how
often one that is worse by a share is told apart from the best of the others; and rows as they are, two by two. The rule
was chosen on JavaScript, C++, books and Hindi.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from pyharness import corpora, tokenizers
from pyharness.report.ranking import ranks_of
from pyharness.statistics.family import agreed, bound, clear, needs_clarity, parts_of, told_apart
from pyharness.statistics.jackknife import GROUPS, T_QUANTILES, half_width, paired_interval, unequal
from pyharness.types import Measurement, Tally, Tokenizer

Counts = NDArray[np.float64]  # [documents, 1 + rows]: bytes, then tokens of each row
Draw = Callable[[np.random.Generator], Counts]

FILES = (
    "gpt2/tokenizer.json", "tiktoken/p50k_base.tiktoken", "tiktoken/cl100k_base.tiktoken",
    "tiktoken/o200k_base.tiktoken", "kimi_k2/kimi_k2.tiktoken", "deepseek_v3/tokenizer.json", "yi/tokenizer.json",
    "claude_legacy/tokenizer.json", "mistral/tokenizer.model.v1", "gpt_neox/tokenizer.json", "clip/tokenizer.json",
    "bert_base_cased/tokenizer.json", "bert_uncased_gte/tokenizer.json", "xlnet/xlnet_base_cased.model",
    "pegasus/tokenizer.json",
)  # fmt: skip
MORE = (
    "tiktoken/qwen.tiktoken?pattern=cl100k_base", "tiktoken/whisper_multilingual.tiktoken?pattern=gpt2",
    "mistral/mistral_instruct_tokenizer_240323.model.v3", "modernbert/tokenizer.json",
)  # fmt: skip
FRONTS = {
    "tiktoken/o200k_base.tiktoken": ("o200k_base", (16_000, 32_000, 64_000, 128_000)),
    "tiktoken/cl100k_base.tiktoken": ("cl100k_base", (16_000, 32_000, 64_000)),
    "kimi_k2/kimi_k2.tiktoken": ("cl100k_base", (24_000, 80_000)),
    "tiktoken/qwen.tiktoken": ("cl100k_base", (50_000,)),
    "tiktoken/p50k_base.tiktoken": ("gpt2", (25_000,)),
}  # rows of the first tokens of a file, with the pattern that it is split by
TEXTS = {
    "laws": "path:{data}/corpora/multilingual/et/riigiteataja_laws.jsonl.xz?max_bytes=3MB",
    "news": "path:{data}/corpora/multilingual/th/thaigov_news.jsonl.xz?max_bytes=2MB",
    "code": "path:{data}/corpora/code/cpp.jsonl.xz?max_bytes=3MB",
    "Rust": "path:{data}/corpora/code/rust.jsonl.xz?max_bytes=3MB",
    "Go": "path:{data}/corpora/code/go.jsonl.xz?max_bytes=3MB",
    "Java": "path:{data}/corpora/code/java.jsonl.xz?max_bytes=3MB",
    "JavaScript": "path:{data}/corpora/code/javascript.jsonl.xz?max_bytes=3MB",
    "books": "path:{data}/corpora/english/books.jsonl.xz?max_bytes=6MB",
    "Hindi": "path:{data}/corpora/multilingual/hi/classic_novels.jsonl.xz?max_bytes=3MB",
    "Kotlin": "path:{data}/corpora/code/kotlin.jsonl.xz?max_bytes=3MB",
    "TypeScript": "path:{data}/corpora/code/typescript.jsonl.xz?max_bytes=3MB",
    "Python": "path:{data}/corpora/code/python.jsonl.xz?max_bytes=3MB",
    "messages": "path:{data}/corpora/multilingual/th/wisesight_social.jsonl.xz?max_bytes=3MB",
    "reviews": "path:{data}/corpora/multilingual/ko/nsmc_reviews.jsonl.xz?max_bytes=3MB",
    "help": "path:{data}/corpora/multilingual/fi/gnome_help.jsonl.xz?max_bytes=3MB",
    "classical": "path:{data}/corpora/multilingual/ar/tashkeela_diacritized.jsonl.xz?max_bytes=3MB",
}
FIRST = ("laws", "news", "code")  # without --lacking
ROWS = (5, 10, 30)
DOCUMENTS = (64, 100, 1000)
LACKING = (64, 100, 300)  # documents of texts whose pairs may lack an interval
BETTER = (0.005, 0.01, 0.02, 0.05)
WORSE = (0.05, 0.1, 0.2)  # shares by which a row of tables whose pairs may lack an interval is worse
UNLIKE = {"raw_bytes, gpt2": (0, 1), "raw_bytes, o200k": (0, 4), "gpt2, o200k": (1, 4)}  # places in raw_bytes and FILES


def made_up(documents: int, rows: int, spread: float = 1.0, better: float = 0.0) -> Draw:
    """Rows that tokenize documents alike on average; the first half has fewer tokens by a share."""

    def draw(generator: np.random.Generator) -> Counts:
        sizes = np.exp(generator.normal(7, spread, documents))
        rates = np.exp(generator.normal(0, 0.3, documents)[:, None] + generator.normal(0, 0.1, (documents, rows)))
        rates[:, : rows // 2] /= 1 + better
        return np.column_stack([sizes, sizes[:, None] * rates / 4])

    return draw


def real(pool: Counts, documents: int, rows: int) -> Draw:
    """Documents of a pool with replacement, in the tokens of some of its rows: of ``FILES``, if these are enough."""
    pool = pool[:, : 1 + len(FILES)] if rows <= len(FILES) else pool

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


def scaled(pool: Counts) -> Counts:
    """The same documents, where all rows have as many tokens as the first."""
    pool = pool.copy()
    pool[:, 1:] *= pool[:, 1].sum() / pool[:, 1:].sum(axis=0)
    return pool


def pool_of(spec: str, data: str, kept: Path | None = None) -> Counts:
    """Count the documents of a text in all rows; ``kept``: the file that has the counts for another run."""
    if kept is not None and kept.exists():
        return np.asarray(np.load(kept), np.float64)
    texts = list(corpora.open_corpus(spec).documents(Tally()))
    counts = [np.diff(row.encode_batch(texts).offsets) for row in _rows(data)]
    pool = np.column_stack([[len(text.encode()) for text in texts], *counts]).astype(np.float64)
    if kept is not None:
        np.save(kept, pool)
    return pool


@cache
def _rows(data: str) -> list[Tokenizer]:
    with TemporaryDirectory() as folder:
        specs = [*(f"{data}/tokenizers/{file}" for file in (*FILES, *MORE)), *_fronts(data, Path(folder))]
        return [tokenizers.load(f"file:{spec}") for spec in specs]


def _fronts(data: str, folder: Path) -> Iterator[str]:
    for file, (pattern, sizes) in FRONTS.items():
        lines = (Path(data) / "tokenizers" / file).read_bytes().splitlines(keepends=True)
        for size in sizes:
            written = folder / f"{Path(file).stem}-{size}.tiktoken"
            written.write_bytes(b"".join(lines[:size]))
            yield f"{written}?pattern={pattern}"


# ---------------------------------------------------------------------------------------------- one table


def measured(drawn: Counts, groups: NDArray[np.int64]) -> tuple[list[Measurement], list[list[float]], bool]:
    """Rows as a record has them, their tokens by group, and whether a difference has to be clear."""
    byte, *counts = (np.bincount(groups, column, GROUPS) for column in drawn.T)
    documents = np.bincount(groups, minlength=GROUPS)
    about = documents.tolist(), byte.tolist()
    lack, rows = unequal(*about), []
    for of in counts:
        without = (byte.sum() - byte) / (of.sum() - of)
        replicates = tuple(float(one) if held else None for one, held in zip(without, documents, strict=True))
        value = float(byte.sum() / of.sum())
        rows.append(Measurement("bytes_per_token", value, replicates=replicates, no_interval=lack, no_pair=lack))
    return rows, [of.tolist() for of in counts], needs_clarity(*about)


def excludes_zero(a: Measurement, b: Measurement) -> bool:
    """Whether the paired interval tells two rows apart."""
    return paired_interval(a, b) is not None and exceeds(a, b)


def exceeds(a: Measurement, b: Measurement) -> bool:
    """Whether two rows differ by more than half of their interval, were it shown."""
    both = zip(a.replicates, b.replicates, strict=True)
    known = [y - x for x, y in both if x is not None and y is not None]
    return abs((b.value or 0) - (a.value or 0)) > half_width(known)


class Table:
    """Rows that are measured, and the rules that tell two of them apart, by their places."""

    def __init__(self, drawn: Counts, generator: np.random.Generator) -> None:
        self.rows, counts, strict = measured(drawn, generator.integers(0, GROUPS, len(drawn)))
        self.parts = parts_of(self.rows, counts)  # type: ignore[arg-type]
        self._told, self._agreed = told_apart(self.parts), agreed(self.parts)
        self._sure = clear(self.parts) if strict else self._told

    def shown(self, a: int, b: int) -> bool:
        """Whether two rows have a paired interval."""
        return paired_interval(self.rows[a], self.rows[b]) is not None

    def signs(self, a: int, b: int) -> bool:
        """By signs at random, and by the interval if there is one."""
        return bool(self._told[a, b]) and (not self.shown(a, b) or exceeds(self.rows[a], self.rows[b]))

    def before(self, a: int, b: int) -> bool:
        """By signs at random, and by the interval or, without one, by groups that agree."""
        return self.signs(a, b) and (bool(self._agreed[a, b]) or self.shown(a, b))

    def rule(self, a: int, b: int) -> bool:
        """As reports do: a difference is clear, too, where documents are of unequal size."""
        return self.before(a, b) and bool(self._sure[a, b])

    def tied(self, a: int, b: int) -> bool:
        """By the rule; never without an interval."""
        return self.rule(a, b) and self.shown(a, b)

    def single(self, a: int, b: int) -> bool:
        """By the paired interval alone."""
        return excludes_zero(self.rows[a], self.rows[b])

    def ranks(self, apart: Callable[[int, int], bool]) -> list[int]:
        """Ranks of the rows by a rule, in their order."""
        order = sorted(range(len(self.rows)), key=lambda row: -(self.rows[row].value or 0))
        found = ranks_of(order, apart)
        return [found[place] for place in np.argsort(order)]


def ranks(drawn: Counts, generator: np.random.Generator) -> tuple[list[int], list[int], float]:
    """Ranks of rows in their order, by both rules, and how many times as wide as an interval the new one is."""
    table = Table(drawn, generator)
    statistic = bound(table.parts)
    as_t = statistic * math.sqrt((GROUPS - 1) / (GROUPS - statistic**2))
    return table.ranks(table.rule), table.ranks(table.single), as_t / T_QUANTILES[-1]


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
    """Tables with a pair without an interval, as cells; and with a second rank, by four rules for such pairs."""
    generator, found = np.random.default_rng(20261126), []
    for _ in range(tables):
        table = Table(draw(generator), generator)
        some = not all(table.shown(*pair) for pair in combinations(range(len(table.rows)), 2))
        rules = (table.signs, table.before, table.rule, table.tied)
        found.append([some, *(max(table.ranks(apart)) > 1 for apart in rules)])
    return " | ".join(f"{share:.1%}" for share in np.mean(found, axis=0))


def found_worse(pool: Counts, documents: int, worse: float, tables: int) -> str:
    """How often a row that is worse by a share is told apart from the best of nine others, by two rules."""
    generator, found = np.random.default_rng(20261127), []
    draw = real(pool, documents, 10)
    for _ in range(tables):
        drawn = draw(generator)
        drawn[:, -1] *= 1 + worse
        table = Table(drawn, generator)
        best = max(range(len(table.rows)), key=lambda row: table.rows[row].value or 0)
        found.append([best != 9 and apart(best, 9) for apart in (table.before, table.rule)])
    return _before_and_after(found)


def found_unlike(pool: Counts, documents: int, tables: int) -> str:
    """How often rows as they are are told apart, in the table of all of them and of raw_bytes, as cells."""
    generator, found = np.random.default_rng(20261128), []
    pool = np.column_stack([pool[:, 0], pool[:, : 1 + len(FILES)]])  # a token of raw_bytes is a byte
    for _ in range(tables):
        table = Table(pool[generator.integers(0, len(pool), documents)], generator)
        found.append([[apart(*pair) for apart in (table.before, table.rule)] for pair in UNLIKE.values()])
    return " | ".join(map(_before_and_after, np.swapaxes(found, 0, 1)))


def _before_and_after(found: Sequence[Sequence[bool]] | NDArray[np.bool_]) -> str:
    return " / ".join(f"{share:.0%}" for share in np.mean(found, axis=0))


def lacking(given: argparse.Namespace) -> Iterator[str]:
    """Tables of what comes of pairs without an interval, on real text, in Markdown."""
    pools = dict(_pools(given, TEXTS))
    yield "| text | documents | rows | some lack it | signs alone | before | the rule | tied |\n| :-- |" + " --: |" * 7
    for name, pool in pools.items():
        for documents in LACKING:
            for rows in ROWS:
                cells = without_interval(real(scaled(pool), documents, rows), given.tables)
                yield f"| {name} | {documents} | {rows} | {cells} |"
    heads = [*(f"{worse:.0%} worse" for worse in WORSE), *UNLIKE]
    yield f"\n| text | documents | {' | '.join(heads)} |\n| :-- |" + " --: |" * (1 + len(heads))
    for name, pool in pools.items():
        for documents in LACKING:
            cells = " | ".join(found_worse(scaled(pool), documents, worse, given.tables) for worse in WORSE)
            yield f"| {name} | {documents} | {cells} | {found_unlike(pool, documents, given.tables)} |"


def _pools(given: argparse.Namespace, texts: Iterable[str]) -> Iterator[tuple[str, Counts]]:
    """Counts of the texts that were asked for, or of all of ``texts``."""
    for name in given.texts or texts if given.data else ():
        yield (
            name,
            pool_of(TEXTS[name].format(data=given.data), given.data, given.counts and given.counts / f"{name}.npy"),
        )


def lines(given: argparse.Namespace) -> Iterator[str]:
    """Two tables in Markdown."""
    yield "| text | documents | rows | family-wise | single | bound |\n| :-- | --: | --: | --: | --: | --: |"
    for name, spread in (("made-up", 1.0), ("made-up, sizes very unequal", 2.0)):
        for documents in DOCUMENTS:
            for rows in ROWS:
                cells = false_ranks(made_up(documents, rows, spread), given.tables)
                yield f"| {name} | {documents:,} | {rows} | {cells} |"
    for name, rows_of_all in _pools(given, FIRST):
        pool = rows_of_all[:, : 1 + len(FILES)]
        for how in (swapped, real):
            for documents in DOCUMENTS[:2]:
                for rows in (*ROWS[:2], ROWS[2] if how is swapped else len(FILES)):
                    cells = false_ranks(how(scaled(pool), documents, rows), given.tables)
                    yield f"| {name}, {how.__name__} | {documents:,} | {rows} | {cells} |"
    yield "\n| better by | documents | ranked | false | split | single: ranked | false | split |\n|" + " --: |" * 8
    for documents in DOCUMENTS[1:]:
        for better in BETTER:
            yield f"| {better:.1%} | {documents:,} | {some_better(better, documents, given.tables)} |"


def main(arguments: Sequence[str] | None = None, emit: Callable[[str], object] = sys.stdout.write) -> None:
    """Print the tables, a line as soon as it is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=1000, help="of each line")
    parser.add_argument("--texts", nargs="*", choices=list(TEXTS), help="all; without --lacking: " + ", ".join(FIRST))
    parser.add_argument("--lacking", action="store_true", help="what comes of pairs without an interval, instead")
    parser.add_argument("--counts", type=Path, help="a folder that keeps the counts of documents for another run")
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
