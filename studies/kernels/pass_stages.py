"""Where a corpus pass spends its time: ``python studies/kernels/pass_stages.py [--row ROW]... [--rounds N] CORPUS...``.

The stages of ``CorpusPass.read`` are timed by clocks around the functions that do their work. The same documents are
then encoded alone, in the batches of the pass. Rounds take turns with the rows. Printed are medians: seconds of
processor time, shares, and the speed of the pass over that of encoding alone. docs/performance.md "A corpus pass" has
the table.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from pyharness import corpora, kernels, tokenizers
from pyharness.benchmarks.compression import CorpusPass
from pyharness.corpora.streaming import BATCH_SIZE, batches, read_batches
from pyharness.kernels.text import ReadTexts
from pyharness.metrics.counting.id_digests import IdDigests
from pyharness.types import Tally, Tokenizer

ROWS = ("native+tiktoken:o200k_base", "tiktoken:o200k_base")
WATCHED: tuple[tuple[Any, str, str], ...] = (  # owner, its function, the stage
    (kernels, "text_statistics", "statistics of the text"),
    (kernels, "token_frequency", "frequency of ids by group"),
    (kernels, "character_splits", "split characters"),
    (IdDigests, "batch", "digests of ids"),
    (ReadTexts, "digests", "digests of documents"),
)
READING, ENCODING, REST = "reading", "encoding", "samples, sums and the rest"


class Clock:
    """Processor seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        """Add the time of a block to a stage."""
        start = time.process_time()
        yield
        self.seconds[stage] += time.process_time() - start

    def around(self, function: Callable[..., Any], stage: str) -> Callable[..., Any]:
        """Return the function with a clock around each call."""

        def timed(*given: Any, **named: Any) -> Any:
            with self.of(stage):
                return function(*given, **named)

        return timed

    def items(self, stream: Iterator[Any], stage: str) -> Iterator[Any]:
        """Pass items on; the time until each of them comes belongs to the stage."""
        while True:
            with self.of(stage):
                batch = next(stream, None)
            if batch is None:
                return
            yield batch


def stages(tokenizer: Tokenizer, spec: str, threads: int) -> dict[str, float]:
    """Time one pass by stage."""
    clock, started = Clock(), CorpusPass.start(tokenizer)
    with ExitStack() as watched:
        for owner, name, stage in WATCHED:
            watched.enter_context(mock.patch.object(owner, name, clock.around(getattr(owner, name), stage)))
        encode = clock.around(tokenizer.encode_batch, ENCODING)
        watched.enter_context(mock.patch.object(type(tokenizer), "encode_batch", lambda _, *given: encode(*given)))
        timed = lambda *given: clock.items(read_batches(*given), READING)  # noqa: E731
        watched.enter_context(mock.patch.object(corpora, "read_batches", timed))
        with clock.of("all"):
            started.read(corpora.open_corpus(spec), threads)
    clock.seconds[REST] = 2 * clock.seconds["all"] - sum(clock.seconds.values())
    return dict(clock.seconds)


def alone(tokenizer: Tokenizer, spec: str, threads: int) -> tuple[float, int]:
    """Encode the same batches, read before: seconds, and bytes of the text."""
    tally = Tally()
    documents = (one.text for one in corpora.read(corpora.open_corpus(spec), tally))
    texts = list(batches(documents, size=BATCH_SIZE))
    clock = Clock()
    for batch in texts:
        with clock.of(ENCODING):
            tokenizer.encode_batch(batch, threads)
    return clock.seconds[ENCODING], tally.bytes


def main() -> None:
    """Print a table for every corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--row", action="append", dest="rows")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    for spec in options.corpora:
        rounds: dict[str, list[dict[str, float]]] = {row: [] for row in options.rows or ROWS}
        for _ in range(options.rounds):
            for row, times in rounds.items():  # each time a new tokenizer, whose cache of pieces is empty
                seconds, size = alone(tokenizers.load(row), spec, options.threads)
                of_pass = stages(tokenizers.load(row), spec, options.threads)
                times.append({**of_pass, "alone": seconds, "bytes": size})
        for row, times in rounds.items():
            sys.stdout.write("\n".join(report(spec, row, times)))


def report(spec: str, row: str, rounds: list[dict[str, float]]) -> Iterator[str]:
    """Yield the lines about the stages of one row."""
    median = {stage: statistics.median(one[stage] for one in rounds) for stage in rounds[0]}
    ratios = sorted(one["alone"] / one["all"] for one in rounds)
    size, total = median.pop("bytes") / 1e6, median["all"]
    yield f"\n{spec}, {row}: {size:.1f} MB, {size / total:.0f} MB/s; alone {size / median['alone']:.0f} MB/s;"
    yield f"pass over encoding alone: {statistics.median(ratios):.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}]"
    for stage, seconds in sorted(median.items(), key=lambda one: -one[1]):
        yield f"| {stage} | {seconds:.3f} | {seconds / total:.0%} |"
    yield ""


if __name__ == "__main__":
    main()
