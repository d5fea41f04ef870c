"""Do digits that are grouped from the right stand at the same places in numbers of any length?

    PYHARNESS_DATA=... PYTHONPATH=studies python -m claims.digits

Two BPE of one size learn from the same documents, by patterns whose digits are in groups of three: from the left, as in
the pattern of llama3, or from the right, where the groups are thousands. A number of four digits or more (held-out
text) is in whole groups if each token ends a multiple of three digits before its end. The claim: from the right more
numbers are; confirmed where the whole interval of the difference in shares is above 0. Tokens/number are printed too.
The metric ``digit_alignment`` asks for less: a token ends at each thousands place, and may end elsewhere, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from claims.texts import Text
from claims.verdicts import Claim, Row, estimated, run, shown, within
from pyharness import bpe
from pyharness.statistics.jackknife import GROUPS, Groups

SIZE = 16384
DIRECTIONS = {"left": "llama3", "right": "digits_right_to_left"}  # which differ in the groups alone
NUMBER = re.compile(r"[0-9]{4,}")
Counts = NDArray[np.int64]  # [3, GROUPS]: numbers, those in whole groups, their tokens


def in_whole_groups(digits: int, lengths: list[int]) -> bool:
    """Whether tokens of so many digits each end a multiple of three before the end of a number.

    >>> [in_whole_groups(digits, lengths) for digits, lengths in ((4, [1, 3]), (4, [3, 1]), (6, [6]), (4, [1, 1, 2]))]
    [True, False, True, False]
    """
    return all((digits - end) % 3 == 0 for end in np.cumsum(lengths).tolist())


def counted(text: Text, direction: str, size: int) -> Counts:
    """Numbers of the held-out documents, encoded alone: no pattern joins a digit with anything else."""
    counter = bpe.PieceCounter(bpe.TextSplitter(DIRECTIONS[direction]))
    counter.add(list(text.learnt.documents))
    model = bpe.model_of_training(bpe.train(counter.pieces(), size, min_frequency=2), DIRECTIONS[direction])
    tokenizer = bpe.BpeTokenizer(model)
    lengths = np.diff(model.vocabulary.offsets)
    sums = np.zeros((3, GROUPS), np.int64)
    for document, group in zip(text.measured.documents, text.measured.groups.tolist(), strict=True):
        for number in NUMBER.findall(document):
            digits = lengths[tokenizer.encode(number)].tolist()
            sums[:, group] += 1, in_whole_groups(len(number), digits), len(digits)
    return sums


def share(sums: NDArray[Any], row: int, groups: Groups) -> float:
    return float(sums[row][groups].sum() / sums[0][groups].sum())


def rows(text: Text, size: int = SIZE) -> Iterator[Row]:
    left, right = (counted(text, direction, size) for direction in DIRECTIONS)
    documents = text.measured.counts

    def gain(groups: Groups) -> float:
        return share(right, 1, groups) - share(left, 1, groups)

    value, interval = estimated("gain", documents, gain)
    yield Row(text.name, f"in whole groups, right less left, {int(left[0].sum()):,} numbers", f"{value:+.3f}",
              shown(interval, "+.3f"), within(interval, np.nextafter(0, 1), np.inf))  # fmt: skip
    for name, sums in (("left", left), ("right", right)):
        for what, row in (("share in whole groups", 1), ("tokens/number", 2)):
            value, interval = estimated(what, documents, partial(share, sums, row))
            yield Row(text.name, f"from the {name}: {what}", f"{value:.3f}", shown(interval, ".3f"), "")


CLAIM = Claim(
    "digits grouped from the right stand at the same places in numbers of any length",
    "confirmed where more numbers are in whole groups from the right than from the left, refuted where fewer",
    rows,
    ("English", "code", "Estonian"),
)

if __name__ == "__main__":
    run(CLAIM)
