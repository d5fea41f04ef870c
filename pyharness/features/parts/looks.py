"""How much is enough: parts are read in an order drawn by hash, and looked at, until the ranked metric is narrow.

At each look every row has an interval of its bytes per token over those of the reference row, on every text. It is an
interval over parts: documents of one file are alike, parts drawn from the whole are not. The ratio of two rows is one
of two sums of tokens, which every part has (a ratio estimator with the correction for a finite number of parts;
Cochran, Sampling Techniques, 1977, chapters 2 and 6). Two looks in a row must find all narrow, of 120 parts or more, at
99.9 %. Less was not enough: one look of 60 parts at 99 % held the whole in 65 to 90 % of runs where a kind of text was
2 to 5 % of it, and 99 % where all was of one kind. docs/parts.md has how often this rule holds it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pyharness import store
from pyharness.features.parts.planning import PartsRun
from pyharness.metrics.counting.state_arrays import sums_of
from pyharness.suite import Suite
from pyharness.types import Case, InputError

SHARES = (32, 16, 8, 4, 2)  # a look is due when one in so many parts is read
FEWEST = 120  # parts of a look
QUANTILE = 3.3
LEAST_PARTS = 4 * FEWEST  # of a text: there are two looks
RANKED, COUNTER = "compression", "counter tokens"


def limit_of(written: str) -> float:
    """Return the share that ``0.5%`` stands for; raise ``InputError`` for any other text."""
    match = re.fullmatch(r"(\d{1,2}(?:\.\d{1,6})?) ?%", written, re.ASCII)
    if match is None or not float(match[1]):
        raise InputError(f"--until {written!r} is no width: write a number above 0 and below 100, such as 0.5%")
    return float(match[1]) / 100


def in_drawn_order(run: PartsRun) -> list[int]:
    """Return the parts in an order that the plan alone decides."""

    def draw(part: int) -> bytes:
        return hashlib.sha256(f"{run.folder.digest} {part}".encode()).digest()

    return sorted(range(run.folder.plan.parts), key=draw)


def sizes(parts: int) -> list[int]:
    """Return how many of ``parts`` are read at each look."""
    return [size for share in SHARES if (size := -(-parts // share)) >= FEWEST]


def half_width(row: NDArray[np.float64], reference: NDArray[np.float64], of: int) -> float:
    """Return half the interval of the ratio of two sums over all parts, as a share of the ratio.

    ``row``, ``reference``: float64 [parts read], tokens of each part; ``of``: number of parts of the whole. It is
    infinite if a row has no tokens.
    """
    count, total = len(row), row.sum()
    if not total or not reference.sum() or count < FEWEST:
        return math.inf
    ratio = reference.sum() / total
    off = reference - ratio * row
    variance = count / (count - 1) * float(off @ off) / float(total) ** 2 * (1 - count / of)
    return QUANTILE * math.sqrt(variance) / float(ratio)


def check(declared: Suite, parts: int) -> None:
    """Raise ``InputError``, before anything is written, for too few parts, or a suite that compares no two rows."""
    if len(sizes(parts)) < 2:
        raise InputError(f"--until draws parts: write --parts {LEAST_PARTS} or more")
    if len(declared.tokenizers) < 2 or all(one.benchmark != RANKED for one in declared.selections):
        raise InputError(f"--until compares rows: the suite needs two of them, and benchmark {RANKED!r}")


@dataclass(slots=True)
class NarrowEnough:
    """Whether all intervals are narrow, at two looks in a row. Tokens of a part are read once."""

    run: PartsRun
    limit: float
    tokens: dict[tuple[str, int], float] = field(default_factory=dict)
    was_narrow: bool = False

    def at(self, read: Sequence[int]) -> bool:
        """Look at the parts that were read; a part that failed makes no interval narrow."""
        before, self.was_narrow = self.was_narrow, self._is_narrow(read)
        return before and self.was_narrow

    def _is_narrow(self, read: Sequence[int]) -> bool:
        of = self.run.folder.plan.parts
        for row, reference in self._pairs():
            both = [np.array([self._tokens(case, part) for part in read]) for case in (row, reference)]
            if not half_width(both[0], both[1], of) <= self.limit:
                return False
        return True

    def _pairs(self) -> Iterator[tuple[Case, Case]]:
        """Yield every case of the ranked benchmark, with that of the reference row on the same text."""
        cases = [case for case in self.run.plan.cases if case.benchmark == RANKED and case.corpus is not None]
        home = self.run.plan.suite.reference or next((case.tokenizer for case in cases), "")
        homes = {case.corpus: case for case in cases if case.tokenizer == home}
        for case in cases:
            if case.tokenizer != home and case.corpus in homes:
                yield case, homes[case.corpus]

    def _tokens(self, case: Case, part: int) -> float:
        """Return the tokens of a case in a part; NaN without its pass."""
        if (case.key, part) not in self.tokens:
            try:
                with store.StateReader(self.run.folder.file_of(part, case.key)) as states:
                    counted = sums_of(states.array(case.key, COUNTER))
                self.tokens[case.key, part] = float(counted.sum())
            except store.NoState:
                return math.nan
        return self.tokens[case.key, part]
