"""What runs in parts cost and keep: ``python studies/parts.py merge|costs|until``.

``merge``: the time and memory that many parts take to be added up. ``costs``: the cost of 1 GB to 1 PB as a table, and
what is foretold against what it took. ``until``: how often the interval of a run that stops early holds the whole.
docs/parts.md has the figures.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pyharness import corpora, store, tokenizers
from pyharness.benchmarks import Work, benchmarks
from pyharness.corpora.parts import part_name
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


def merge(row: str, text: str, count: int) -> None:
    """Print what it takes to add up ``count`` parts of the size of a text, made from one of its parts."""
    spec, benchmark = tokenizers.resolve(row), benchmarks()["compression"]
    tokenizer, case = tokenizers.load(spec), Case("compression", row, "text", {})
    whole = corpora.open_corpus(text)
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first.part.zip"
        share = max(1, round(whole_bytes(text) / PART_BYTES))
        part = corpora.open_corpus(part_name(text, 0, share))
        began = time.process_time()
        read = parts.read(benchmark, Work(case, spec, lambda: tokenizer, part, 1), first)
        assert read.tally is not None
        print(f"read a part of {read.tally.bytes / 1e6:.1f} MB in {time.process_time() - began:.2f} s of a core")
        with store.StateReader(first) as states:
            arrays = states.of(case.key)
        began, paths = time.process_time(), []
        for index in range(count):
            paths.append(str(Path(folder) / f"{index}.part.zip"))
            store.write_case_state(Path(paths[-1]), case.key, renamed(arrays, index, count))
        size, wrote = Path(paths[0]).stat().st_size, time.process_time() - began
        print(f"a file of {size / 1e6:.2f} MB, written in {wrote / count:.3f} s of a core")
        began, clock = time.process_time(), time.monotonic()
        parts.added_up(benchmark, Work(case, spec, lambda: tokenizer, whole, 1), paths)
        took, wall = time.process_time() - began, time.monotonic() - clock
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{count} parts added up in {took:.1f} s of a core, {wall:.1f} s by the clock, {peak:.2f} GB at most")


def whole_bytes(text: str) -> int:
    """Return the bytes of the files of a text."""
    from pyharness.corpora.parts import FileListing, whole_of

    return sum(FileListing.of(whole_of(corpora.open_corpus(text))).sizes)


def main(words: Sequence[str] | None = None) -> None:
    """Run one of the studies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", choices=["merge"])
    parser.add_argument("--row", default="tiktoken:o200k_base")
    parser.add_argument("--text", required=True)
    parser.add_argument("--parts", type=int, default=1000)
    asked = parser.parse_args(words)
    merge(asked.row, asked.text, asked.parts)


if __name__ == "__main__":
    main()
