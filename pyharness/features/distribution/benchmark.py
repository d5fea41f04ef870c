"""The benchmark ``distribution``: how the tokens of a text are spread over types, windows, successors and documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pyharness.benchmarks import Benchmark, Findings, Pace, Work
from pyharness.benchmarks.compression import PAIR_SAMPLE_BYTES
from pyharness.corpora.streaming import BATCH_SIZE, Read, batches, read
from pyharness.features.distribution import token_kinds
from pyharness.features.distribution.documents import DocumentRows, quantiles
from pyharness.features.distribution.sequences import WIDTHS, Successors, cut_characters, window_types
from pyharness.features.distribution.token_kinds import TokenKindTable
from pyharness.metrics.counting.sampling import DocumentSample
from pyharness.metrics.counting.state import CorpusMetric, CorpusState, Counter, Counts, Facts, measure
from pyharness.metrics.counting.state_arrays import corpus_state_of, of_corpus_state
from pyharness.metrics.distribution import efficiency, renyi_entropy
from pyharness.statistics.jackknife import Undefined, group_of
from pyharness.types import (
    Case,
    Column,
    Ids,
    InputError,
    Measurement,
    Metric,
    Plot,
    State,
    Table,
    Tally,
    Tokenizer,
    TokenizerSpec,
    Tokens,
)

NAME = "distribution"
MOST_ALPHA, MOST_WINDOW = 50.0, 1 << 20  # p is at least 1 / V_obs: p**50 is a normal float up to a million ids
_COUNTERS = (
    Counter("documents", lambda batch: batch.opens.astype(np.int64)),
    Counter("pieces", lambda batch: np.ones(len(batch.texts), np.int64)),
    Counter("tokens", lambda batch: batch.lengths),
)
_RARE = "cut characters are rare: too few samples gave a CI to say how often it holds"
_WIDE_RANKS = "CIs of mean ranks are too wide: they hold in 98 % of samples, those of differences in 99 %"
_WIDE_ENTROPIES = "CIs of differences in this entropy are too wide: they hold in 98 % of samples of Wikipedia"
_SAMPLED = "successors are counted on one sample of documents, not by group"


def settle(parameters: Mapping[str, Any], row: TokenizerSpec, device: str) -> Mapping[str, Any]:
    """Check the order of the entropy and the window; raise ``InputError``."""
    del row, device
    alpha, window = parameters["alpha"], parameters["window"]
    if not 0 <= alpha <= MOST_ALPHA:
        raise InputError(f"alpha={alpha!r} is no order of an entropy: a number from 0 to {MOST_ALPHA:g}")
    if not 1 <= window <= MOST_WINDOW:
        raise InputError(f"window={window!r} is no number of tokens from 1 to {MOST_WINDOW:,}")
    return parameters


@dataclass(slots=True)
class SpreadCounts:
    """All counts of a text: integers, from which the numbers follow."""

    state: CorpusState
    documents: DocumentRows = field(default_factory=DocumentRows)
    successors: Successors = field(default_factory=lambda: Successors.of(Tokens.from_lists([])))

    def arrays(self) -> State:
        """Return arrays to keep with a record."""
        return {**of_corpus_state(self.state), **self.documents.arrays(), **self.successors.arrays()}

    @classmethod
    def of_arrays(cls, arrays: State) -> SpreadCounts:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        return cls(corpus_state_of(arrays), DocumentRows.of_arrays(arrays), Successors.of_arrays(arrays))


def run(work: Work) -> Findings:
    """Read the text once."""
    tokenizer, tally = work.load(), Tally()
    counts = SpreadCounts(CorpusState.empty(facts := Facts.of(tokenizer)))
    kinds = None if facts.vocabulary is None else TokenKindTable.of(facts.vocabulary)
    sample: DocumentSample[Ids] = DocumentSample(PAIR_SAMPLE_BYTES)
    for batch in batches(read(work.text, tally), size=BATCH_SIZE, size_of=lambda one: len(one.text)):
        _add(counts, sample, batch, tokenizer, work, kinds)
        work.progress(tally.bytes)
    counts.successors = Successors.of(Tokens.from_lists(sample.documents()), work.threads)
    return replace(_findings(counts, work.case), tally=tally, state=counts.arrays())


def _add(
    counts: SpreadCounts, sample: DocumentSample[Ids], batch: list[Read], tokenizer: Tokenizer, work: Work,
    kinds: TokenKindTable | None,
) -> None:  # fmt: skip
    texts = [one.text for one in batch]
    tokens = tokenizer.encode_batch(texts, work.threads)
    groups = np.array([group_of(one.key) for one in batch], np.uint8)
    opens = np.array([one.opens for one in batch], np.bool_)
    window = int(work.case.parameters["window"])
    types, windows = window_types(tokens, window)
    sizes = np.array([len(text.encode()) for text in texts], np.int64)
    more = {"window_types": types, "windows": windows, "bytes": sizes}
    if (vocabulary := counts.state.facts.vocabulary) is not None:
        wide, cut = cut_characters(tokens, texts, vocabulary)
        for column, width in enumerate(WIDTHS):
            more |= {f"wide_{width}": wide[:, column], f"cut_{width}": cut[:, column]}
    more |= {} if kinds is None else dict(kinds.count(tokens))
    given = [Counter(name, lambda _, values=values: values) for name, values in more.items()]  # type: ignore[misc]
    counts.state.update(texts, tokens, groups, [*_COUNTERS, *given], work.threads, opens)
    for one, size, start, stop in zip(batch, sizes.tolist(), tokens.offsets, tokens.offsets[1:], strict=False):
        counts.documents.add(one.key, one.opens, size, int(stop - start))
        if sample.wants(one.digest):
            sample.add(one.digest, size, tokens.ids[start:stop].copy())


def rederive(state: State, case: Case) -> Findings:
    """Compute every number again, from the counts."""
    return _findings(SpreadCounts.of_arrays(state), case)


def _findings(counts: SpreadCounts, case: Case) -> Findings:
    alpha, window = float(case.parameters["alpha"]), int(case.parameters["window"])
    groups = {name: counts.state.counters[name].tolist() for name in ("documents", "pieces")}
    details = {"documents with a row": len(counts.documents.keys), "groups": groups}
    return Findings(tuple(measurements(counts, alpha, window)), details)


def measurements(counts: SpreadCounts, alpha: float, window: int) -> Iterator[Measurement]:
    """Yield every metric."""
    of_alpha = [
        CorpusMetric(_ABOUT["renyi_entropy_alpha"], lambda total: renyi_entropy(total.shares, alpha)),
        CorpusMetric(
            _ABOUT["renyi_efficiency_alpha"], lambda total: efficiency(renyi_entropy(total.shares, alpha), total.types)
        ),
    ]
    for one in measure(counts.state, of_alpha):
        yield replace(one, part=f"alpha={alpha:g}", no_pair=one.no_pair or _WIDE_ENTROPIES)
    (ratio,) = measure(counts.state, [CorpusMetric(_ABOUT["mattr"], _mattr(window))])
    yield replace(ratio, part=f"{window} tokens")
    (rank,) = measure(counts.state, [CorpusMetric(_ABOUT["mean_rank"], mean_rank)])
    yield replace(rank, no_interval=rank.no_interval or _WIDE_RANKS, no_pair=rank.no_pair or _WIDE_RANKS)
    yield _successors(counts)
    for width in WIDTHS:
        (one,) = measure(counts.state, [CorpusMetric(_ABOUT["wide_character_splits"], _cut(width), _RARE)])
        yield replace(one, part=f"{width} bytes")
    yield from token_kinds.measurements(counts.state)
    yield from quantiles(counts.documents)


def _mattr(window: int) -> Callable[[Counts], float]:
    def ratio(counts: Counts) -> float:
        if not counts["windows"]:
            raise Undefined(f"no text has {window:,} tokens; choose a smaller window (window=)")
        return counts["window_types"] / (counts["windows"] * window)  # all have one size: the mean of their ratios

    return ratio


def mean_rank(counts: Counts) -> float:
    """Return the mean rank of a token, from 1 for the commonest type; the order of equal counts does not matter."""
    ordered = np.sort(counts.histogram[counts.histogram > 0])[::-1].astype(np.float64)
    if not len(ordered):
        raise Undefined("no tokens were produced")
    return float((ordered * np.arange(1, len(ordered) + 1)).sum() / ordered.sum())


def _successors(counts: SpreadCounts) -> Measurement:
    if (value := counts.successors.efficiency()) is None:
        return Measurement("successor_entropy", None, reason="no token of the sample occurs three times before another")
    return Measurement("successor_entropy", value, no_interval=_SAMPLED)


def _cut(width: int) -> Callable[[Counts], float]:
    def share(counts: Counts) -> float:
        if counts.facts.vocabulary is None:
            raise Undefined("this engine does not expose the bytes of its tokens: where they end is unknown")
        if not counts[f"wide_{width}"]:
            raise Undefined(f"no text that its tokens spell has a character of {width} bytes")
        return counts[f"cut_{width}"] / counts[f"wide_{width}"]

    return share


REPORTED = (
    Metric("renyi_entropy_alpha", "bit", "none", "Rényi entropy of the order of the part", grows_with_text=True),
    Metric("renyi_efficiency_alpha", "share", "none", "this entropy / log2 of observed types", grows_with_text=True),
    Metric("mattr", "type/token", "none", "mean of types / tokens in all windows of consecutive tokens", primary=True),
    Metric("mean_rank", "rank", "none", "mean frequency rank of a token", grows_with_text=True),
    Metric("successor_entropy", "share", "none", "mean entropy of what follows a token, as a share of the largest",
           grows_with_text=True),
    Metric("wide_character_splits", "share", "lower", "characters of 2, 3 or 4 bytes inside which a token ends"),
    Metric("document_bytes_per_token", "byte/token", "higher", "quantile over documents of their bytes per token"),
    *token_kinds.REPORTED,
)  # fmt: skip

_ABOUT = {metric.name: metric for metric in REPORTED}

_SETTLED = ("alpha", "window")
_MATTR = Column("mattr", "MATTR, {part}", each=True, interval=True)
TABLES = (
    Table(
        "Variety of tokens",
        (_MATTR, Column("mean_rank", "mean rank"), Column("successor_entropy", "successors")),
        ("MATTR: mean over windows of a text of different ids / tokens; -: no text is as long as a window.",
         "mean rank: of a token; the commonest id has 1. successors: entropy of what follows, of the largest."),
        joined=_SETTLED,
    ),
    Table(
        "Spread of tokens",
        tuple(Column(f"renyi_{metric}_alpha", f"{title}, {{part}}", each=True, interval=True)
              for metric, title in (("entropy", "Rényi bits"), ("efficiency", "efficiency"))),
        ("efficiency: Rényi bits / log2 of the different ids in the text.",), joined=_SETTLED,
    ),
    Table(
        "Cut characters",
        tuple(Column("wide_character_splits", f"{width} bytes", part=f"{width} bytes") for width in WIDTHS),
        ("Share of characters inside which a token ends. -: the text has none, or ends of tokens are unknown.",),
        joined=_SETTLED,
    ),
    *token_kinds.TABLES,
    Table(
        "Bytes/token by document", (Column("document_bytes_per_token", "{part}", each=True),),
        ("p10, p50, p90: quantiles over documents, each counted once.",), joined=_SETTLED,
    ),
)  # fmt: skip
PLOTS = (
    Plot(
        Table("Types in windows", (_MATTR,), joined=_SETTLED),
        "Different ids in windows of consecutive tokens, as a share of the tokens.",
    ),
    Plot(TABLES[2], "Share of characters that tokens cut, by their width.", drawing="dots by column"),
    Plot(TABLES[-1], "Quantiles over documents of their bytes per token.", drawing="dots by column"),
)

BENCHMARKS = (
    Benchmark(
        NAME,
        "Rényi of any order, MATTR, ranks, successors, characters of tokens, documents",
        run,
        corpus="required",
        parameters={"alpha": 2.5, "window": 100},
        metrics=REPORTED,
        pace=Pace(0.5, 1.0),
        tables=TABLES,
        plots=PLOTS,
        rederive=rederive,
        settle=settle,
    ),
)
