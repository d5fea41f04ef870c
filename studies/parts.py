"""What runs in parts take, and how often one that stops early is right: ``python studies/parts.py merge|costs|until``.

``merge``: the time and memory that many parts take to be added up. ``costs``: the cost of 1 GB to 1 PB as a table, from
a folder of which some parts are done. ``until``: how often the interval of a run that stops early holds the whole.
docs/parts.md has the figures.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pyharness import corpora, store, tokenizers
from pyharness.benchmarks import Work, benchmarks
from pyharness.corpora.parts import FileListing, part_name, whole_of
from pyharness.features.parts import costs, looks, planning
from pyharness.running.progress import in_words
from pyharness.running.workers import parts
from pyharness.types import Case, State, Tally

Tokens = NDArray[np.int64]

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
    return sum(FileListing.of(whole_of(corpora.open_corpus(text))).sizes)


# ------------------------------------------------------------------------------------------------ until


ROWS = ("tiktoken:cl100k_base", "tiktoken:o200k_base")
PIECE = 4000  # characters: parts begin and end at them
WIDTHS, PARTS, DRAWS = (0.005, 0.02), (480, 1000, 3000), 500


def counted(text: str) -> Tokens:
    """Return the bytes and tokens of the pieces of a text, int64 [3, pieces]."""
    documents = corpora.open_corpus(text).documents(Tally())
    pieces = [one[start : start + PIECE] for one in documents for start in range(0, len(one), PIECE)]
    sizes = [np.array([len(piece.encode()) for piece in pieces])]
    for row in ROWS:
        tokenizer = tokenizers.load(tokenizers.resolve(row))
        batches = (pieces[start : start + 500] for start in range(0, len(pieces), 500))
        sizes.append(np.concatenate([np.diff(tokenizer.encode_batch(batch).offsets) for batch in batches]))
    return np.array(sizes, np.int64)


def divided(pieces: Tokens, parts: int) -> Tokens:
    """Add pieces up to parts of equal ranges of bytes; return the tokens of both rows, int64 [2, parts]."""
    begins = np.cumsum(pieces[0]) - pieces[0]
    part = begins * parts // pieces[0].sum()
    return np.array([np.bincount(part, row, parts) for row in pieces[1:]], np.int64)


def stop(row: Tokens, reference: Tokens, width: float) -> tuple[float, bool]:
    """Return the share at which a run stops, and whether its interval holds the ratio of the whole."""
    of, before = len(row), False
    for size in looks.sizes(of):
        first = reference[:size].sum() / row[:size].sum()
        half = looks.half_width(row[:size].astype(float), reference[:size].astype(float), of)
        if half <= width and before:
            return size / of, abs(reference.sum() / row.sum() - first) <= half * first
        before = half <= width
    return 1.0, True


def until(kinds: dict[str, Tokens]) -> None:
    """Print how often runs that stop early hold the whole, and how much they read."""
    print("| text | parts | width | stopped early | held | read |\n| :-- | --: | --: | --: | --: | --: |")
    for name, pieces in kinds.items():
        for count in PARTS:
            row, reference = divided(pieces, count)
            for width in WIDTHS:
                generator = np.random.default_rng(1)
                orders = (generator.permutation(count) for _ in range(DRAWS))
                runs = [stop(row[order], reference[order], width) for order in orders]
                early, share = sum(share < 1 for share, _ in runs), np.mean([share for share, _ in runs])
                held = np.mean([held for _, held in runs])
                print(f"| {name} | {count:,} | {width:.1%} | {early} of {DRAWS} | {held:.1%} | {share:.0%} |")


def kinds_of_text(data: Path) -> dict[str, Tokens]:
    """Return pieces of one kind, of many, and of one kind with a twentieth of many."""
    books, *others = (
        counted(f"path:{data}/corpora/{name}") for name in ("english/books.jsonl.xz", "multilingual", "code")
    )
    many = np.concatenate([books, *others], axis=1)
    kinds = {"books": books, "books, languages, code": many}
    for percent in (5, 2):
        few = others[0][:, :: max(1, round(100 / percent * others[0][0].sum() / books[0].sum()))]
        kinds[f"books, {percent} % languages"] = np.concatenate([books, few], axis=1)
    return kinds


# ------------------------------------------------------------------------------------------------ costs


SIZES = (("1 GB", 1e9), ("100 GB", 1e11), ("1 TB", 1e12), ("100 TB", 1e14), ("1 PB", 1e15))


def cost_table(folder: Path, part_bytes: float = 1e9) -> None:
    """Print what texts up to 1 PB take, a gigabyte a part, at the rates of the finished parts of a folder."""
    run = planning.opened(folder)
    measured, _ = costs.of_the_rest(run, 1)
    factor = part_bytes * len(run.cases) / measured.text
    part = replace(measured, text=measured.text * factor, seconds=measured.seconds * factor)
    print("| text | parts | core hours | 1 machine | 100 machines | folder | merge |\n" + "| --: " * 7 + "|")
    for name, size in SIZES:
        parts = max(1, round(size / part_bytes))
        one, hundred = (costs.cost(part, parts, parts, workers) for workers in (1, 100))
        cells = (name, f"{parts:,}", f"{one.core_seconds / 3600:,.1f}", _days(one.seconds), _days(hundred.seconds))
        print(f"| {' | '.join(cells)} | {one.folder / 1e9:,.2f} GB | {_days(one.merge_seconds)} |")


def _days(seconds: float) -> str:
    return f"{seconds / 86400:,.0f} days" if seconds > 2 * 86400 else in_words(seconds)


def main(words: Sequence[str] | None = None) -> None:
    """Run one of the studies."""
    parser = argparse.ArgumentParser(description=__doc__)
    studies = parser.add_subparsers(dest="study", required=True)
    merging = studies.add_parser("merge")
    merging.add_argument("--row", default="tiktoken:o200k_base")
    merging.add_argument("--text", required=True)
    merging.add_argument("--parts", type=int, default=1000)
    studies.add_parser("until")
    studies.add_parser("costs").add_argument("folder", type=Path)
    asked = parser.parse_args(words)
    if asked.study == "merge":
        merge(asked.row, asked.text, asked.parts)
    elif asked.study == "until":
        until(kinds_of_text(Path(os.environ["PYHARNESS_DATA"])))
    else:
        cost_table(asked.folder)


if __name__ == "__main__":
    main()
