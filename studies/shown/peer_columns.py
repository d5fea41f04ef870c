"""Are the columns of ``code`` and ``numbers`` those of TokEval, on TokEval's own samples?

    PYHARNESS_DATA=... python studies/shown/peer_columns.py --checkout DIR

DIR is a checkout of github.com/cimeister/tokenizer-intrinsic-evals; only its samples are read. ``NUMBERS`` and the file
``CODE`` have what its own code (commit 1e6a307f, tree-sitter-language-pack 0.13.0) gives for them. A line for each
number has ours, that of TokEval, and whether they are equal; docs/metrics.md has the reasons where they are not.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pyharness import tokenizers
from pyharness.features.code.alignment import count_document
from pyharness.features.code.lexing import lexer_of
from pyharness.features.robustness.drawn_numbers import cut_of, scores
from pyharness.tokenizers.segmenting import segmenter_of
from pyharness.types import HasSegments

SAMPLES = "tokenizer_analysis/sample_data/{}_samples.json"
ROW = "file:{data}/tokenizers/{row}/tokenizer.json"
# Mean precision, recall and F1 of 627 numbers.
NUMBERS: Mapping[str, tuple[float, ...]] = {
    "gpt2": (0.7385699096225412, 0.692849548112706, 0.6802589577709195),
    "gpt_neox": (0.7706539074960127, 0.6843434343434344, 0.6781385281385282),
    "deepseek_v3": (0.6427432216905901, 0.6427432216905901, 0.6427432216905901),
}
CODE = Path(__file__).with_name("peer_leaves.csv")  # of gpt2; both: leaves that start and end at boundaries
ENDS = ("", " starts", " ends", " both")


class Compared(NamedTuple):
    """One number of both."""

    name: str
    ours: float
    theirs: float

    def __str__(self) -> str:
        return f"{self.name}: {self.ours!r}, TokEval {self.theirs!r}, {'equal' if self.equal else 'differs'}"

    @property
    def equal(self) -> bool:
        """Whether they are equal but for the order of a sum."""
        return abs(self.ours - self.theirs) <= 1e-14


def compare_numbers(row: str, cutter: HasSegments, texts: Sequence[str]) -> Iterator[Compared]:
    """Compare the means over all numbers of texts."""
    segments = cutter.segment_batch(texts)
    cuts = [
        (cut_of(segments.document(index), len(text[: match.start()].encode()), len(match[0])), len(match[0]))
        for index, text in enumerate(texts)
        for match in re.finditer(r"[0-9]+", text)
    ]
    actual, digits = np.array(cuts).T
    for name, values, theirs in zip(
        ("precision", "recall", "F1"), scores(actual, digits, "right"), NUMBERS[row], strict=True
    ):
        yield Compared(f"{row}, {name}", float(values.mean()), theirs)


def compare_code(cutter: HasSegments, snippets: Mapping[str, Sequence[str]]) -> Iterator[Compared]:
    """Compare the counts of every kind of leaf of every language."""
    _, *rows = csv.reader(CODE.read_text("utf-8").splitlines())
    counts = {language: leaf_counts(language, cutter, snippets[language]) for language, *_ in rows}
    for language, kind, *theirs in rows:
        for end, number in zip(ENDS, theirs, strict=True):
            yield Compared(f"{language}, {kind}{end}", counts[language][kind + end], int(number))


def leaf_counts(language: str, cutter: HasSegments, texts: Sequence[str]) -> Counter[str]:
    """Count leaves of texts; operators of one character and compound ones together."""
    lex, segments, counts = lexer_of(language), cutter.segment_batch(texts), Counter[str]()
    for index, text in enumerate(texts):
        if (leaves := lex(text)) is not None:
            counts.update(count_document(text.encode(), segments.document(index), leaves))
    for end in ENDS:
        counts[f"operator{end}"] += counts[f"compound operator{end}"]
    return counts


def main(arguments: Sequence[str] | None = None) -> None:
    """Print every comparison, and how many are equal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True, help="of TokEval")
    parser.add_argument("--data", default=os.environ.get("PYHARNESS_DATA"), help="default: PYHARNESS_DATA")
    given = parser.parse_args(arguments)
    if not given.data:
        parser.error("set PYHARNESS_DATA to the folder of data, or give --data")
    try:
        math, code = (
            json.loads((given.checkout / SAMPLES.format(name)).read_text("utf-8")) for name in ("math", "code")
        )
    except OSError as error:
        parser.error(f"--checkout has no samples: {error}")
    cutters = {row: segmenter_of(tokenizers.load(ROW.format(data=given.data, row=row))) for row in NUMBERS}
    compared = [one for row, cutter in cutters.items() for one in compare_numbers(row, cutter, math["texts"])]
    compared += compare_code(cutters["gpt2"], code)
    equal = sum(one.equal for one in compared)
    sys.stdout.write("\n".join([*map(str, compared), f"{equal} of {len(compared)} are equal"]) + "\n")


if __name__ == "__main__":
    main()
