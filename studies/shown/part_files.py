"""What runs in parts take: ``python studies/shown/part_files.py merge|costs``.

``merge``: the time and memory that many parts take to be added up. ``costs``: what 1 GB to 1 PB take, as a table.
docs/parts.md has the figures.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pyharness import corpora, store, tokenizers
from pyharness.benchmarks import Work, benchmarks
from pyharness.corpora.parts import FileListing, part_name, whole_of
from pyharness.features.parts import costs
from pyharness.features.parts.costs import PartCost
from pyharness.running.progress import in_words
from pyharness.running.workers import parts
from pyharness.types import Case, State

KEYS = ("pairs documents digests", "words documents digests", "ids keys")
PART_BYTES = 13_000_000


def renamed(arrays: State, index: int, count: int) -> State:
    """Return the arrays of a part as if other documents of these counts were part ``index`` of ``count``."""
    generator, changed = np.random.default_rng(index), dict(arrays)
    for name in KEYS[:2]:
        keys = generator.integers(0, 256, arrays[name].shape, np.uint8)
        changed[name] = keys[np.lexsort(keys.T[::-1])]
    changed[KEYS[2]] = generator.integers(0, 1 << 64, arrays[KEYS[2]].shape, np.uint64)
    thresholds = arrays["pairs documents threshold"], arrays["words documents threshold"]
    for name, threshold in zip(KEYS[:2], thresholds, strict=True):
        changed[name.replace("digests", "threshold")] = np.full_like(threshold, 255)
    return {**changed, "part": np.array([index, count], np.int64)}


@dataclass(frozen=True)
class PartRead:
    """A part of about 13 MB, read by one thread."""

    work: Work
    text: int  # bytes
    seconds: float  # of a core
    file: Path


def read_part(row: str, text: str, folder: Path) -> PartRead:
    """Read the first part of a text with a row, and keep it."""
    spec, case = tokenizers.resolve(row), Case("compression", row, "text", {})
    tokenizer = tokenizers.load(spec)
    share = max(1, round(FileListing.of(whole_of(corpora.open_corpus(text))).size / PART_BYTES))
    part = Work(case, spec, lambda: tokenizer, corpora.open_corpus(part_name(text, 0, share)), 1)
    began, file = time.process_time(), folder / "first.part.zip"
    read = parts.read(benchmarks()["compression"], part, file)
    assert read.tally is not None
    return PartRead(part, read.tally.bytes, time.process_time() - began, file)


def merge(row: str, text: str, count: int) -> Iterator[str]:
    """Say what it takes to add up ``count`` parts, made from one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = read_part(row, text, folder)
        key, paths = first.work.case.key, [str(folder / f"{index}.part.zip") for index in range(count)]
        with store.StateReader(first.file) as states:
            arrays = states.of(key)
        began = time.process_time()
        for index, path in enumerate(paths):
            store.write_case_state(Path(path), key, renamed(arrays, index, count))
        wrote = (time.process_time() - began) / count
        yield f"{first.text / 1e6:.1f} MB leave {first.file.stat().st_size / 1e6:.2f} MB in {wrote:.3f} s of a core"
        began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        whole = replace(first.work, corpus=corpora.open_corpus(text))
        parts.added_up(benchmarks()["compression"], whole, paths)
    took, peak = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield f"{count} parts added up in {took:.1f} s of a core; {peak:.2f} GB at most, {before:.2f} GB before"


# ------------------------------------------------------------------------------------------------ costs


SIZES = (("1 GB", 1e9), ("100 GB", 1e11), ("1 TB", 1e12), ("100 TB", 1e14), ("1 PB", 1e15))


def cost_table(row: str, text: str, part_bytes: float = 1e9) -> Iterator[str]:
    """Say what texts up to 1 PB take with one row, a gigabyte a part, at the rate of a part of a text."""
    with tempfile.TemporaryDirectory() as folder:
        read = read_part(row, text, Path(folder))
        seconds, files = read.seconds / read.text * part_bytes, read.file.stat().st_size
    part = PartCost(measured=1, cases=1, seconds=seconds, threads=1, text=part_bytes, files=files)
    yield "| text | parts | core hours | 16 cores | 1,000 cores | folder | merge |\n" + "| --: " * 7 + "|"
    for name, size in SIZES:
        count = max(1, round(size / part_bytes))
        few, many = (costs.cost(part, count, count, cores) for cores in (16, 1000))
        cells = (name, f"{count:,}", f"{few.core_seconds / 3600:,.1f}", _days(few.seconds), _days(many.seconds))
        yield f"| {' | '.join(cells)} | {few.folder / 1e9:,.2f} GB | {_days(few.merge_seconds)} |"


def _days(seconds: float) -> str:
    return f"{seconds / 86400:,.0f} days" if seconds > 2 * 86400 else in_words(seconds)


def main(words: Sequence[str] | None = None) -> None:
    """Run one of the studies."""
    parser = argparse.ArgumentParser(description=__doc__)
    studies = parser.add_subparsers(dest="study", required=True)
    for name in ("merge", "costs"):
        of_a_part = studies.add_parser(name)
        of_a_part.add_argument("--row", default="tiktoken:o200k_base")
        of_a_part.add_argument("--text", required=True)
        if name == "merge":
            of_a_part.add_argument("--parts", type=int, default=1000)
    asked = parser.parse_args(words)
    lines = merge(asked.row, asked.text, asked.parts) if asked.study == "merge" else cost_table(asked.row, asked.text)
    for line in lines:
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
