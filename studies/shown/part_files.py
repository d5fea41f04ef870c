"""What runs in parts take: ``python studies/shown/part_files.py size|merge|costs``.

``size``: the bytes of the file of a part, array by array. ``merge``: the time and memory that many parts take to be
added up. ``costs``: what 1 GB to 1 PB take, as a table. docs/parts.md has the figures.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pyharness import corpora, store, tokenizers
from pyharness.benchmarks import Work, benchmarks
from pyharness.corpora.parts import FileListing, part_name, whole_of
from pyharness.features.parts import costs, passes
from pyharness.features.parts.costs import PartCost
from pyharness.running.progress import in_words
from pyharness.types import Case, State

PART_BYTES = 13_000_000
DIFFERENT = 8  # parts that are read, if the text has as many; the others are these with other documents


def renamed(arrays: State, index: int, count: int) -> State:
    """Return the arrays of a part as if other documents of these counts were part ``index`` of ``count``."""
    generator, pairs = np.random.default_rng(index), "pairs documents"
    plain = passes.of_planes({name: array for name, array in arrays.items() if name not in passes.ABOUT})
    digests = generator.integers(0, 256, plain[f"{pairs} digests"].shape, np.uint8)
    digests = digests[np.lexsort(digests.T[::-1])]
    words = len(plain["words documents counts"])
    changed = {
        f"{pairs} digests": digests,
        f"{pairs} threshold": np.full_like(plain[f"{pairs} threshold"], 255),
        "words documents threshold": digests[words : words + 1],
        "ids keys": generator.integers(0, 1 << 64, plain["ids keys"].shape, np.uint64),
    }
    about = {name: arrays[name] for name in passes.ABOUT} | {"part": np.array([index, count, passes.FORM], np.int64)}
    return {**passes.in_planes({**plain, **changed}), **about}


@dataclass(frozen=True)
class PartRead:
    """A part of about 13 MB, read by one thread."""

    work: Work
    text: int  # bytes
    documents: int
    seconds: float  # of a core
    file: Path


def read_parts(row: str, text: str, folder: Path, most: int = 1) -> Iterator[PartRead]:
    """Read the first parts of a text with a row, and keep them."""
    spec, case = tokenizers.resolve(row), Case("compression", row, "text", {})
    tokenizer = tokenizers.load(spec)
    share = max(1, round(FileListing.of(whole_of(corpora.open_corpus(text))).size / PART_BYTES))
    for index in range(min(most, share)):
        part = Work(case, spec, lambda: tokenizer, corpora.open_corpus(part_name(text, index, share)), 1)
        began, file = time.process_time(), folder / f"read{index}.zip"
        read = passes.read(benchmarks()["compression"], part, file)
        if read.tally is not None and read.tally.bytes:
            seconds = time.process_time() - began
            yield PartRead(part, read.tally.bytes, read.tally.documents, seconds, file)


def size(row: str, text: str) -> Iterator[str]:
    """Say how large the file of a part is, and what it takes to write it once the part is read."""
    with tempfile.TemporaryDirectory() as name:
        (read,) = read_parts(row, text, Path(name))
        passed = benchmarks()["compression"].run.starts(read.work)  # type: ignore[attr-defined]
        passed.read(read.work.text, 1, read.work.progress)
        began = time.process_time()
        kept = passes.in_planes(passed.arrays())
        made = time.process_time()
        store.write_case_state(Path(name) / "again.zip", read.work.case.key, kept)
        wrote = time.process_time()
        sizes = {array: len(zlib.compress(planes.tobytes(), 1)) for array, planes in kept.items()}
        for array, packed in sorted(sizes.items(), key=lambda one: -one[1])[:14]:
            yield f"{packed:>10,} {array}"
        yield (
            f"{read.text / 1e6:.1f} MB in {read.documents:,} documents leave {read.file.stat().st_size / 1e6:.2f} MB; "
            f"arrays {made - began:.2f} s, archive {wrote - made:.2f} s of a core"
        )


def merge(row: str, text: str, count: int) -> Iterator[str]:
    """Say what it takes to add up ``count`` parts, made from the first ``DIFFERENT`` of the text."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reads = list(read_parts(row, text, folder, DIFFERENT))
        first, kept = reads[0], []
        key, paths = first.work.case.key, [str(folder / f"{index}.part.zip") for index in range(count)]
        for read in reads:
            with store.StateReader(read.file) as states:
                kept.append(states.of(key))
        for index, path in enumerate(paths):
            store.write_case_state(Path(path), key, renamed(kept[index % len(kept)], index, count))
        text_mean, file_mean = (sum(values) / len(reads) / 1e6 for values in (
            [one.text for one in reads], [one.file.stat().st_size for one in reads]))  # fmt: skip
        yield f"{len(reads)} parts of {text_mean:.1f} MB leave {file_mean:.2f} MB each"
        began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        whole = replace(first.work, corpus=corpora.open_corpus(text))
        passes.added_up(benchmarks()["compression"], whole, paths)
    took, peak = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    yield f"{count} parts added up in {took:.1f} s of a core; {peak:.2f} GB at most, {before:.2f} GB before"


# ------------------------------------------------------------------------------------------------ costs


SIZES = (("1 GB", 1e9), ("100 GB", 1e11), ("1 TB", 1e12), ("100 TB", 1e14), ("1 PB", 1e15))


def cost_table(row: str, text: str, part_bytes: float = 1e9) -> Iterator[str]:
    """Say what texts up to 1 PB take with one row, a gigabyte a part, at the rate of a part of a text."""
    with tempfile.TemporaryDirectory() as folder:
        (read,) = read_parts(row, text, Path(folder))
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
    for name in ("size", "merge", "costs"):
        of_a_part = studies.add_parser(name)
        of_a_part.add_argument("--row", default="tiktoken:o200k_base")
        of_a_part.add_argument("--text", required=True)
        if name == "merge":
            of_a_part.add_argument("--parts", type=int, default=1000)
    asked = parser.parse_args(words)
    if asked.study == "merge":
        lines = merge(asked.row, asked.text, asked.parts)
    else:
        lines = {"size": size, "costs": cost_table}[asked.study](asked.row, asked.text)
    for line in lines:
        print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
