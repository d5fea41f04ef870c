"""A plug-in in one file: a tokenizer, a metric of the corpus pass, and a benchmark with its own metric and table.

PYTHONPATH=examples PYHARNESS_PLUGINS=my_plugin pyharness run -t mine -t raw_bytes -c sample -b compression -b repeats
"""

import numpy as np

from pyharness import corpora
from pyharness.benchmarks import Benchmark, Findings, Work
from pyharness.metrics.counting.state import CorpusMetric
from pyharness.statistics.jackknife import GROUPS, estimate, group_of
from pyharness.types import PERCENT, Column, Metric, Table, Tally, TokenizerSpec, Tokens


class CodeUnits:
    """A tokenizer: UTF-16 code units as tokens."""

    id_limit = vocab_size = 65536
    round_trip = "exact"  # a promise that is checked
    notes = ()

    def encode_batch(self, texts, threads=1):
        """Encode texts, each on its own."""
        return Tokens.from_lists([np.frombuffer(text.encode("utf-16-le"), "<u2") for text in texts])

    def decode(self, ids):
        """Give the text of ids back, as UTF-8."""
        return ids.astype("<u2").tobytes().decode("utf-16-le").encode()


TOKENIZERS = (TokenizerSpec("mine", load=lambda _: CodeUnits(), library="my-plugin"),)

# pyharness counts over a corpus; a metric is a function of these counts. Intervals, shards and merging come with it.
METRICS = (
    CorpusMetric(
        Metric("tokens_per_document", "token", "none", "mean document length", primary=True),
        lambda counts: counts["tokens"] / counts["documents"],
    ),
)

# A benchmark reads what it wants and reports metrics of its own; here sums by group of documents give an interval.
REPORTED = (Metric("repeated_share", "share", "lower", "tokens that repeat the one before them", format=PERCENT),)


def repeats(work: Work) -> Findings:
    """Count tokens that repeat the one before them."""
    tokenizer, tally = work.load(), Tally()
    repeated, counted, documents = np.zeros((3, GROUPS), np.int64)
    for piece in corpora.read(work.text, tally):
        group, ids = group_of(piece.key), tokenizer.encode_batch([piece.text], work.threads).ids
        repeated[group] += (ids[1:] == ids[:-1]).sum()
        counted[group] += len(ids)
        documents[group] += piece.opens
    share = estimate(
        "repeated_share", documents.tolist(), lambda groups: repeated[groups].sum() / counted[groups].sum()
    )
    return Findings((share,), tally=tally)


TABLE = Table(
    "Repeats",
    columns=(Column("repeated_share", "repeated %", interval=True), Column("tokens_per_document", "tok/doc")),
    notes=("tok/doc: from the benchmark compression, where that was run on the same text.",),
)
BENCHMARKS = (
    Benchmark(
        "repeats", "tokens that repeat the one before them", repeats, "required", ("repeated_share",), tables=(TABLE,)
    ),
)
