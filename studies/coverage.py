"""How often a 95 % interval holds what it is about: the coverage of single and paired intervals on real text.

    PYHARNESS_DATA=... python studies/coverage.py --output coverage.md

Sub-corpora of whole documents are drawn, with replacement, from a pool of real ones, until they have the text of as
many mean documents as ``--sizes`` says; those of fewer than 64 documents have no interval, and are drawn again. Each is
grouped by the library's hash, and has the library's replicates and intervals, of two tokenizers and of their
difference. What an interval should hold is the value on the whole pool; of a metric that grows with the text, which has
another value there, the mean over all sub-corpora of that size.

Cut, documents are pieces of at most some kB, which share a group. ``--apart`` hashes every piece by itself and counts
it as a document, to show what comes of that. ``--works`` draws the works that a corpus names in place of documents.

With 400 draws a true 95 % shows as 93 to 97 %, nineteen times in twenty.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from document_states import Documents, DocumentStates
from pyharness import corpora, tokenizers
from pyharness.corpora.files.splitting import Fragment
from pyharness.corpora.options import MAX_DOCUMENT_BYTES
from pyharness.corpora.streaming import TextCorpus
from pyharness.metrics import all_metrics, corpus_metrics, fairness
from pyharness.metrics.counting.state import measure
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, MIN_DOCUMENTS, group_of
from pyharness.statistics.samples import interval_of
from pyharness.types import Corpus, InputError, Measurement, ParallelCorpus, Tally, digest_of

HELD = (93, 97)  # per cent: what counts as holding its level
ROWS = (
    "file:{data}/tokenizers/gpt2/tokenizer.json",
    "file:{data}/tokenizers/tiktoken/o200k_base.tiktoken?pattern=o200k_base",
)
LANGUAGES = ("eng_Latn", "deu_Latn", "est_Latn", "hin_Deva", "tha_Thai", "zho_Hans")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of text: where its documents are, and at what size they are cut."""

    name: str
    spec: str
    cut: int
    between: str = ""  # what divides the documents of a file that holds many


KINDS = (
    Kind("books", "path:{data}/corpora/english/books.jsonl.xz", 4000),
    Kind("laws", "path:{data}/corpora/multilingual/et/riigiteataja_laws.jsonl.xz", 4000),
    Kind("code", "path:{data}/corpora/code/*.jsonl.xz", 1000),
    Kind("Wikipedia", "path:{data}/corpora/english/enwiki_xml_sample.xml.xz", 4000, between="<page>"),
    Kind("Hindi", "path:{data}/corpora/multilingual/hi/classic_novels.jsonl.xz", 4000),
)
OF_WORKS = (
    KINDS[0],
    Kind("German", "path:{data}/corpora/multilingual/de/eltec_novels.jsonl.xz", 4000),
    Kind("Russian", "path:{data}/corpora/multilingual/ru/dracor_plays.jsonl.xz", 4000),
    Kind("Japanese", "path:{data}/corpora/multilingual/ja/aozora.jsonl.xz", 4000),
)
FLORES = "parallel:{data}/corpora/parallel/flores200?languages=" + ",".join(LANGUAGES)
CAP = 30_000_000  # bytes of a pool


def opened(kind: Kind, data: str, limit: int, cap: int = CAP, works: bool = False) -> Corpus:
    """Open the documents of a kind, cut at ``limit`` bytes; ``works``: with the works that they are of."""
    spec = kind.spec.format(data=data)
    if not kind.between:
        return corpora.open_corpus(f"{spec}?max_document_bytes={limit}&max_bytes={cap}{'&work=id' * works}")
    texts = corpora.open_corpus(f"{spec}?max_document_bytes=1GB").documents(Tally())
    documents = [part for text in texts for part in text.split(kind.between)[1:]]
    return TextCorpus(kind.name, lambda: map(Fragment, documents), "", "", "", kind.name, cap, limit)


# ---------------------------------------------------------------------------------------------- one draw after another


@dataclass(slots=True)
class Draws:
    """Values and half-widths of one metric over all draws, of each of two rows and of their difference."""

    grows: bool
    truth: tuple[float, float]  # of both rows on the whole pool
    values: list[tuple[float, float]] = field(default_factory=list)
    halves: list[tuple[float, float, float]] = field(default_factory=list)
    drawn: int = 0  # of which those with intervals of both rows and of their difference count

    def coverage(self) -> tuple[float | None, float | None]:
        """Per cent of single (of both rows) and of paired intervals that hold what they should.

        None: a constant, or a metric without such intervals.
        """
        values, halves = np.array(self.values), np.array(self.halves)
        aims = values.mean(axis=0) if self.grows else np.array(self.truth)
        given = ~np.isnan(halves).any(axis=0)
        single = np.abs(values - aims)[:, moves := given[:2] & (np.ptp(values, axis=0) > 0)] <= halves[:, :2][:, moves]
        differences = np.diff(values, axis=1)[:, 0]
        paired = np.abs(differences - np.diff(aims)) <= halves[:, 2]
        return (
            100 * float(single.mean()) if moves.any() else None,
            100 * float(paired.mean()) if given[2] and np.ptp(differences) > 0 else None,
        )

    def misleading(self) -> float:
        """Per cent of all draws that show an interval, of a row or of the pair, that does not hold."""
        worst = min((one for one in self.coverage() if one is not None), default=100.0)
        return (100 - worst) * len(self.values) / max(self.drawn, len(self.values))


DrawsByName = dict[str, Draws]
Pair = tuple[Sequence[Measurement], Sequence[Measurement]]


def collect(truth: Pair, drawn: Iterator[Pair]) -> DrawsByName:
    """Measure all draws. A draw that gives a metric no interval is left out of it, and a metric of few draws.

    A metric of which single or paired intervals alone are given on the whole pool needs no others of a draw.
    """
    grows = {name for name, metric in all_metrics().items() if metric.grows_with_text}
    draws_of: DrawsByName = {}
    wanted: dict[str, list[bool]] = {}
    for a, b in zip(*truth, strict=True):
        if a.value is not None and b.value is not None:
            draws_of[_name(a)] = Draws(a.metric in grows, (float(a.value), float(b.value)))
            given = [width is not None for width in _widths(a, b)]
            wanted[_name(a)] = given if any(given) else [True] * len(given)
    count = 0
    for count, pair in enumerate(drawn, 1):  # noqa: B007
        for a, b in zip(*pair, strict=True):
            if (draws := draws_of.get(_name(a))) is None or a.value is None or b.value is None:
                continue
            widths = [width if want else np.nan for width, want in zip(_widths(a, b), wanted[_name(a)], strict=True)]
            if None not in widths:
                draws.values.append((float(a.value), float(b.value)))
                draws.halves.append(tuple(widths))  # type: ignore[arg-type]
    for draws in draws_of.values():
        draws.drawn = count
    return {name: draws for name, draws in draws_of.items() if 5 * len(draws.values) >= max(count, 1)}


def _name(measurement: Measurement) -> str:
    return measurement.metric if measurement.part is None else f"{measurement.metric} {measurement.part}"


def _widths(a: Measurement, b: Measurement) -> list[float | None]:
    return [_half(one) for one in (interval_of(a), interval_of(b), jackknife.paired_interval(a, b))]


def _half(interval: tuple[float, float] | None) -> float | None:
    return None if interval is None else (interval[1] - interval[0]) / 2


def simulate(
    documents: Documents,
    pair: Sequence[DocumentStates],
    size: int,
    draws: int,
    seed: int = 1,
    apart: bool = False,
    least: int = MIN_DOCUMENTS,
) -> DrawsByName:
    """Draw sub-corpora of the text of ``size`` mean documents, and of ``least`` documents or more."""
    generator = np.random.default_rng(seed)
    metrics = corpus_metrics().values()

    def measured() -> Iterator[Pair]:
        while True:
            drawn = documents.draw(size, generator, apart)
            if len(drawn.documents) < least:
                continue
            first, second = (measure(states.state(drawn, apart), metrics) for states in pair)
            yield first, second

    everything = documents.whole()
    first, second = (measure(states.state(everything, apart), metrics) for states in pair)
    drawn = measured()
    return collect((first, second), (next(drawn) for _ in range(draws)))


# ---------------------------------------------------------------------------------------------- aligned rows


def simulate_rows(corpus: ParallelCorpus, rows: Sequence[str], size: int, draws: int, seed: int = 1) -> DrawsByName:
    """Draw aligned rows, and measure fairness."""
    texts = [[row[language] for language in corpus.languages] for row in corpus.rows(Tally())]
    flat = [text for row in texts for text in row]
    shape = (len(texts), len(corpus.languages))
    tokens = [np.diff(tokenizers.load(row).encode_batch(flat).offsets).reshape(shape) for row in rows]
    sizes = np.array([len(text.encode()) for text in flat], np.int64).reshape(shape)
    generator = np.random.default_rng(seed)

    def measured(chosen: np.typing.NDArray[np.int64]) -> Pair:
        salt = int(generator.integers(1 << 62))
        groups = np.array([group_of(digest_of(f"{salt} {place}")) for place in range(len(chosen))], np.uint8)
        states = []
        for counts in tokens:
            state = fairness.FairnessState.empty(corpus.languages, corpus.reference)
            for group in range(GROUPS):
                inside = chosen[groups == group]
                state.tokens[group] = counts[inside].sum(axis=0)
                state.bytes[group] = sizes[inside].sum(axis=0)
                state.rows[group] = len(inside)
            states.append(fairness.measure(state))
        return states[0], states[1]

    whole = measured(np.arange(len(texts)))
    return collect(whole, (measured(generator.integers(0, len(texts), size)) for _ in range(draws)))


# ---------------------------------------------------------------------------------------------- the study


@dataclass(frozen=True, slots=True)
class Setting:
    """One column of the table."""

    kind: str
    how: str  # uncut, cut, apart, works, rows
    size: int


def study(given: argparse.Namespace, name: str) -> dict[Setting, tuple[int, DrawsByName]]:
    """All settings of one kind of text, with the number of documents in its pool."""
    rows = [row.format(data=given.data) for row in given.rows]
    simulated: dict[Setting, tuple[int, DrawsByName]] = {}
    if name == "FLORES":
        corpus = corpora.open_corpus(FLORES.format(data=given.data))
        if not isinstance(corpus, ParallelCorpus):
            raise InputError(f"{corpus.name} is not aligned")
        count = sum(1 for _ in corpus.rows(Tally()))
        for size in fitting(given.sizes, count):
            simulated[Setting(name, "rows", size)] = count, simulate_rows(corpus, rows, size, given.draws)
        return simulated
    kind = next(kind for kind in (*KINDS, *OF_WORKS) if kind.name == name)
    if given.works:
        documents = Documents.read(opened(kind, given.data, kind.cut, works=True), works=True)
        pair = [DocumentStates.of(tokenizers.load(row), documents) for row in rows]
        for size in given.works:
            drawn = simulate(documents, pair, size, given.draws, least=1)
            simulated[Setting(name, "works", size)] = len(documents), drawn
        return simulated
    for how, limit in (("uncut", MAX_DOCUMENT_BYTES), ("cut", kind.cut)):
        documents = Documents.read(opened(kind, given.data, limit))
        pair = [DocumentStates.of(tokenizers.load(row), documents) for row in rows]
        for size in fitting(given.sizes, len(documents)):
            apart = given.apart and how == "cut"
            setting = Setting(name, "apart" if apart else how, size)
            if given.apart and not apart:
                continue
            simulated[setting] = len(documents), simulate(documents, pair, size, given.draws, apart=apart)
    return simulated


def fitting(sizes: Sequence[int], documents: int) -> list[int]:
    """Sizes that leave most of the pool out of a draw; always the smallest."""
    return [size for size in sorted(sizes) if size == min(sizes) or 2 * size <= documents]


def markdown(simulated: Mapping[Setting, tuple[int, DrawsByName]], draws: int) -> str:
    """One table per size: coverage in per cent, single / paired, and per cent of draws that have both intervals.

    Shares outside of 93 to 97 % are bold.
    """
    lines = []
    unit = "works" if any(setting.how == "works" for setting in simulated) else "documents"
    for size in sorted({setting.size for setting in simulated}):
        chosen = {setting: draws for setting, (_, draws) in simulated.items() if setting.size == size}
        names = dict.fromkeys(name for draws in chosen.values() for name in draws)
        lines += ["", f"Text of {size} {unit}, {draws} draws", ""]
        lines.append("| metric | " + " | ".join(f"{one.kind}, {one.how}" for one in chosen) + " |")
        lines.append("| :-- |" + " --: |" * len(chosen))
        for name in names:
            cells = [_cell(draws[name]) if name in draws else "" for draws in chosen.values()]
            if set(cells) != {""}:
                grows = any(name in draws and draws[name].grows for draws in chosen.values())
                lines.append(f"| {name}{' *' if grows else ''} | " + " | ".join(cells) + " |")
        ranked = sorted((draws[name].misleading(), name, one.kind) for one, draws in chosen.items() for name in draws)
        worst = ", ".join(f"{share:.1f} % ({name}, {kind})" for share, name, kind in ranked[:-4:-1])
        lines += ["", f"Most intervals of one metric that do not hold, of all draws: {worst}."]
    pools = {setting.kind: count for setting, (count, _) in simulated.items()}
    lines += ["", "Pools: " + ", ".join(f"{kind} {count:,}" for kind, count in pools.items()) + f" {unit}."]
    return "\n".join(lines[1:]) + "\n"


def _cell(draws: Draws) -> str:
    if (coverage := draws.coverage()) == (None, None):
        return ""
    return f"{' / '.join(map(_marked, coverage))} ({100 * len(draws.values) / max(draws.drawn, len(draws.values)):.0f})"


def _marked(coverage: float | None) -> str:
    if coverage is None:
        return "-"
    return f"{coverage:.0f}" if HELD[0] <= round(coverage) <= HELD[1] else f"**{coverage:.0f}**"


def main(arguments: Sequence[str] | None = None, emit: Callable[[str], object] = sys.stdout.write) -> None:
    """Simulate every kind of text, each in a process of its own, and print the table."""
    names = [*(kind.name for kind in KINDS), "FLORES"]
    of_works = [kind.name for kind in OF_WORKS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=400)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 400], help="documents of a sub-corpus")
    parser.add_argument("--works", type=int, nargs="+", help="works of a sub-corpus; leave out for documents")
    parser.add_argument("--kinds", nargs="+", help=f"of {', '.join(names)}; of works {', '.join(of_works)}; all")
    parser.add_argument("--rows", nargs=2, default=list(ROWS), help="two tokenizers; {data} is the data folder")
    parser.add_argument("--apart", action="store_true", help="hash pieces of cut documents as if they were documents")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--output", type=Path, help="Markdown; standard output too")
    parser.add_argument("--data", default=os.environ.get("PYHARNESS_DATA"), help="default: PYHARNESS_DATA")
    given = parser.parse_args(arguments)
    if not given.data:
        parser.error("set PYHARNESS_DATA to the folder of data, or give --data")
    known = of_works if given.works else names
    if unknown := set(given.kinds or known).difference(known):
        parser.error(f"--kinds: {', '.join(sorted(unknown))}: one of {', '.join(known)}")
    simulated: dict[Setting, tuple[int, DrawsByName]] = {}
    with get_context("spawn").Pool(given.processes) as pool:
        for part in pool.imap(partial(study, given), given.kinds or known):
            simulated |= part
    text = markdown(simulated, given.draws)
    if given.output:
        given.output.write_text(text, encoding="utf-8")
    emit(text)


if __name__ == "__main__":
    main()
