"""Claims on patches and sentences as units, decided by a record of the suite segmentation-full.

    PYHARNESS_DATA=... pyharness run segmentation-full --output record.json
    PYTHONPATH=studies python -m claims.units record.json

- BPE is not incremental: of each row with a vocabulary of merges, the share of prefixes whose units start where those
  of the whole do is below 1, the whole interval. Entropy patches are: their share is 1, and one other prefix refutes.
- Space patching cuts text outside Latin at each character: its units are those of ``units:character``, within 5 %.
- A sentence is the same unit in every language: units of aligned text, over English, are within 10 % of 1.

A row that the record lacks decides nothing, and the verdict names it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from claims.verdicts import CONFIRMED, REFUTED, Row, not_testable, overall, shown, within
from pyharness import store
from pyharness.statistics import jackknife
from pyharness.store import Record
from pyharness.types import InputError, Measurement

MERGED = ("gpt2", "cl100k_base", "o200k_base")
SCRIPTS = ("ar", "hi", "ja", "ko", "ru", "th", "zh")  # corpora of the suite that are not in Latin letters
SPACE, CHARACTERS, SENTENCES, ENTROPY = "patches:space", "units:character", "units:sentence", "patches:entropy"
SAME_UNITS, SAME_LANGUAGES = 0.05, 0.10
Found = dict[str, Measurement]  # by corpus, or by language


def labels(record: Record, row: str) -> list[str]:
    """Labels of the rows that are named so, or whose specifications begin so."""
    rows = record.data["tokenizers"]
    return [label for label, about in rows.items() if label == row or str(about.get("spec")).startswith(row)]


def measured(record: Record, benchmark: str, row: str, metric: str) -> Found:
    """What a record says of a row, by part of the case or else by corpus; of several, the first counts."""
    found: Found = {}
    chosen = labels(record, row)[:1]
    for result in record.of(benchmark):
        for one in result.measurements:
            if result.case.tokenizer in chosen and one.metric == metric and one.value is not None:
                found.setdefault(one.part or result.case.corpus or "", one)
    return found


def interval(one: Measurement) -> tuple[float, float] | None:
    return None if one.value is None else jackknife.interval(one.value, one.replicates)


def about(what: str, row: str, found: Found, decide: Callable[[Measurement], str]) -> Iterator[Row]:
    """A row for each corpus or language; one that says so where there is none."""
    if not found:
        yield Row("", what, "", "", not_testable(f"the record has no figure of {row}"))
    for name, one in found.items():
        assert one.value is not None  # those without were left out
        yield Row(name, f"{what}: {row}", f"{one.value:.4f}", shown(interval(one), ".4f"), decide(one))


def is_incremental(one: Measurement) -> str:
    return CONFIRMED if one.value == 1 else REFUTED


def is_not_incremental(one: Measurement) -> str:
    if one.value == 1 and set(one.replicates) == {1.0}:  # no prefix of any document was lost: it needs no interval
        return REFUTED
    return within(interval(one), -math.inf, np.nextafter(1, 0))


def ratios(of: Found, over: Found) -> Found:
    """Ratios of paired measurements, with their replicates."""
    found: Found = {}
    for name in of.keys() & over.keys():
        a, b = of[name], over[name]
        assert a.value is not None and b.value is not None  # noqa: PT018 - those without were left out
        pairs = zip(a.replicates, b.replicates, strict=False)
        each = tuple(None if x is None or y is None else x / y for x, y in pairs)
        found[name] = Measurement("ratio", a.value / b.value, replicates=each, part=name)
    return dict(sorted(found.items()))


def claims(record: Record) -> Iterator[tuple[str, list[Row]]]:
    def stability(row: str) -> Found:
        return measured(record, "segmentation", row, "prefix_stability")

    def lengths(row: str) -> Found:
        found = measured(record, "segmentation", row, "bytes_per_unit")
        return {corpus: one for corpus, one in found.items() if corpus in SCRIPTS}

    merged = [row for name in MERGED for row in about("stable prefixes", name, stability(name), is_not_incremental)]
    yield "BPE is not incremental: a prefix is cut otherwise than the whole text", merged
    patches = [row for name in labels(record, ENTROPY) or [ENTROPY]
               for row in about("stable prefixes", name, stability(name), is_incremental)]  # fmt: skip
    yield "entropy patches are incremental", patches
    space = ratios(lengths(SPACE), lengths(CHARACTERS))
    yield "space patching cuts text outside Latin at each character", list(
        about("bytes/unit over those of characters", SPACE, space,
              lambda one: within(interval(one), 1 - SAME_UNITS, 1 + SAME_UNITS))
    )  # fmt: skip
    parity = measured(record, "fairness", SENTENCES, "parity")
    yield "a sentence is the same unit in every language", list(
        about("units over English", SENTENCES, parity,
              lambda one: within(interval(one), 1 - SAME_LANGUAGES, 1 + SAME_LANGUAGES))
    )  # fmt: skip


def report(record: Record) -> str:
    lines = []
    for said, rows in claims(record):
        lines += [f"claim: {said}", "", "| text | what | figure | 95 % | verdict |", "| :-- | :-- | --: | --: | :-- |"]
        lines += [f"| {row.text} | {row.what} | {row.figure} | {row.interval} | {row.verdict} |" for row in rows]
        verdicts = [row.verdict for row in rows]
        lines += ["", f"verdict: {verdicts[0] if len(rows) == 1 else overall(verdicts)}", ""]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path, help="of the suite segmentation-full")
    try:
        sys.stdout.write(report(store.read(parser.parse_args().record)))
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
