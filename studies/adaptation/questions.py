"""What do more text, whole-piece lookup and several languages at once give an extension?

usage: PYHARNESS_DATA=DIR pyharness run adaptation-curves --output RECORD
       python studies/adaptation/questions.py RECORD

Every line is the gain in bytes/token of a row over another on one held-out text, with a paired interval of 95 % over
its documents. The verdict is `more` or `less` where that excludes 0, and `same` where no part of the text differs. What
is published stands below, labelled.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from pyharness import store
from pyharness.features.adaptation.benchmark import PAPER
from pyharness.statistics import jackknife
from pyharness.store import Record
from pyharness.types import Measurement

METRIC = "bytes_per_token"
BASES = ("gpt2", "cl100k_base")
LANGUAGES = ("et", "ja", "th")
AMOUNTS = {  # rows by amount of text -> held-out text, amounts
    "gpt2 et {} 8192": ("et laws", ("1 MB", "3 MB", "all")),
    "mistral_v1 en {} 8192": ("en", ("1 MB", "3 MB", "10 MB", "all")),
}
TOGETHER = "et+ja+th balanced 12288"
PAIRS = (  # what is asked, the row, what it is compared with; {} is the language
    ("three at once, a third of it for one", TOGETHER, "{} 4096"),
    ("three at once, all of it for one", TOGETHER, "{} 12288"),
    ("balanced, as they are", TOGETHER, "et+ja+th as they are 12288"),
    ("three at once, a new tokenizer", TOGETHER, "new"),
)


def gain(row: Measurement, other: Measurement) -> Measurement:
    """Gain in bytes/token, with the replicates of both on the same groups."""
    if row.value is None or other.value is None:
        return Measurement("gain", None, reason=row.reason or other.reason)
    pairs = zip(row.replicates, other.replicates, strict=False)
    ratios = tuple(None if a is None or b is None else a / b - 1 for a, b in pairs)
    return Measurement("gain", row.value / other.value - 1, replicates=ratios)


def verdict(found: Measurement) -> tuple[str, str]:
    """The gain with its interval, and what follows from it."""
    if found.value is None:
        return "-", found.reason or ""
    if found.replicates and not any((found.value, *found.replicates)):
        return "0", "same"
    bounds = jackknife.interval(found.value, found.replicates)
    if bounds is None:
        return f"{found.value:+.2%}", "no interval"
    said = "more" if bounds[0] > 0 else "less" if bounds[1] < 0 else "not resolved"
    return f"{found.value:+.2%} ({bounds[0]:+.2%} to {bounds[1]:+.2%})", said


def measured(record: Record, row: str, text: str) -> Measurement:
    """Bytes per token of a row on a text."""
    for result in record.of("compression"):
        if (result.case.tokenizer, result.case.corpus) == (row, text):
            for one in result.measurements:
                if one.metric == METRIC:
                    return one
            return Measurement(METRIC, None, reason=result.reason)
    return Measurement(METRIC, None, reason="not in the record")


def lines() -> Iterator[tuple[str, str, str, str]]:
    """Question, text, row and what it is compared with."""
    for rows, (text, amounts) in AMOUNTS.items():
        yield "more text", text, rows.format(amounts[0]), rows.partition(" ")[0]
        yield from (("more text", text, rows.format(more), rows.format(less)) for less, more in pairwise(amounts))
    for base in BASES:
        for language in LANGUAGES:
            looked_up, merged = (f"{base} {language} {how} 8192" for how in ("looked up", "merged"))
            yield "merged, looked up", language, merged, looked_up
    for question, row, other in PAIRS:
        for base in BASES:
            for language in LANGUAGES:
                yield question, language, f"{base} {row}", f"{base} {other.format(language)}"
    for base in BASES:
        yield "new English", "en", f"{base} {TOGETHER}", base
        yield "new English", "en", f"{base} new", base


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path)
    record = store.read(parser.parse_args().record)
    sys.stdout.write("| asked | held-out text | row | over | bytes/token | gain | verdict |\n")
    sys.stdout.write("| :-- | :-- | :-- | :-- | --: | --: | :-- |\n")
    for question, text, row, other in lines():
        mine, theirs = (measured(record, name, text) for name in (row, other))
        size = "-" if mine.value is None else f"{mine.value:.4f}"
        cells = (question, text, row, other, size, *verdict(gain(mine, theirs)))
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.write(f"\n{PAPER.source}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
