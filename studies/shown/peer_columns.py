"""Are the columns of ``code`` and ``numbers`` those of TokEval, on TokEval's own samples?

    PYHARNESS_DATA=... python studies/shown/peer_columns.py --checkout DIR

DIR is a checkout of github.com/cimeister/tokenizer-intrinsic-evals; only its samples are read. ``NUMBERS`` and ``CODE``
have what its own code (commit 1e6a307f, tree-sitter-language-pack 0.13.0) gives for them. A line for each number says
ours and its and whether they are equal; docs/metrics.md has the reasons where they are not.
"""

from __future__ import annotations

import argparse
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
# Of gpt2: leaves of a kind, those that start and end at boundaries, and both.
CODE: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "python": {
        "identifier": (116, 116, 116, 116),
        "keyword": (41, 41, 41, 41),
        "delimiter": (85, 68, 62, 47),
        "operator": (31, 31, 29, 29),
        "literal": (37, 37, 35, 35),
    },
    "c": {
        "identifier": (163, 163, 163, 163),
        "keyword": (35, 35, 35, 35),
        "delimiter": (230, 198, 199, 172),
        "operator": (84, 80, 77, 73),
        "literal": (35, 33, 35, 33),
    },
    "cpp": {
        "identifier": (121, 121, 121, 121),
        "keyword": (31, 31, 31, 31),
        "delimiter": (156, 125, 125, 97),
        "operator": (80, 80, 79, 79),
        "literal": (27, 27, 27, 27),
    },
    "go": {
        "identifier": (278, 278, 278, 278),
        "keyword": (54, 54, 54, 54),
        "delimiter": (297, 238, 256, 202),
        "operator": (128, 122, 105, 99),
        "literal": (15, 15, 15, 15),
    },
    "java": {
        "identifier": (90, 90, 90, 90),
        "keyword": (57, 57, 57, 57),
        "delimiter": (87, 73, 74, 65),
        "operator": (19, 19, 18, 18),
        "literal": (11, 11, 11, 11),
    },
    "javascript": {
        "identifier": (97, 97, 97, 97),
        "keyword": (60, 60, 60, 60),
        "delimiter": (149, 113, 130, 96),
        "operator": (83, 76, 61, 54),
        "literal": (38, 38, 36, 36),
    },
    "kotlin": {
        "identifier": (23, 23, 23, 23),
        "keyword": (44, 44, 44, 44),
        "delimiter": (94, 83, 81, 72),
        "operator": (25, 25, 23, 23),
        "literal": (13, 13, 13, 13),
    },
    "rust": {
        "identifier": (144, 144, 144, 144),
        "keyword": (47, 47, 47, 47),
        "delimiter": (124, 97, 95, 71),
        "operator": (118, 92, 91, 67),
        "literal": (39, 39, 39, 39),
    },
    "typescript": {
        "identifier": (136, 136, 136, 136),
        "keyword": (42, 42, 42, 42),
        "delimiter": (266, 189, 190, 124),
        "operator": (65, 60, 53, 48),
        "literal": (67, 67, 67, 67),
    },
}


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
    for language, kinds in CODE.items():
        counts = leaf_counts(language, cutter, snippets[language])
        for kind, theirs in kinds.items():
            names = (kind, f"{kind} starts", f"{kind} ends", f"{kind} both")
            for name, number in zip(names, theirs, strict=True):
                yield Compared(f"{language}, {name}", counts[name], number)


def leaf_counts(language: str, cutter: HasSegments, texts: Sequence[str]) -> Counter[str]:
    """Count leaves of texts; operators of one character and compound ones together."""
    lex, segments, counts = lexer_of(language), cutter.segment_batch(texts), Counter[str]()
    for index, text in enumerate(texts):
        if (leaves := lex(text)) is not None:
            counts.update(count_document(text.encode(), segments.document(index), leaves))
    for name in ("", " starts", " ends", " both"):
        counts[f"operator{name}"] += counts[f"compound operator{name}"]
    return counts


def main(arguments: Sequence[str] | None = None) -> None:
    """Print every comparison, and how many are equal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", type=Path, required=True, help="of TokEval")
    parser.add_argument("--data", default=os.environ.get("PYHARNESS_DATA"), help="default: PYHARNESS_DATA")
    given = parser.parse_args(arguments)
    if not given.data:
        parser.error("set PYHARNESS_DATA to the folder of data, or give --data")
    samples = {
        name: json.loads((given.checkout / SAMPLES.format(name)).read_text("utf-8")) for name in ("math", "code")
    }
    cutters = {row: segmenter_of(tokenizers.load(ROW.format(data=given.data, row=row))) for row in NUMBERS}
    compared = [
        one for row, cutter in cutters.items() for one in compare_numbers(row, cutter, samples["math"]["texts"])
    ]
    compared += compare_code(cutters["gpt2"], samples["code"])
    equal = sum(one.equal for one in compared)
    sys.stdout.write("\n".join([*map(str, compared), f"{equal} of {len(compared)} are equal"]) + "\n")


if __name__ == "__main__":
    main()
