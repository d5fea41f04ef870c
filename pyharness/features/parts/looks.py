"""How much is enough: parts are read in an order drawn by hash, until the ranked metric is known narrowly enough.

The whole is N parts: x tokens of a row in each, y of the reference row. What is to be known is R, the sum of all y over
the sum of all x: a row's bytes per token relative to those of the reference row. For a candidate r each part has a
difference d = y - r x. "R = r" says that all N differences add up to 0. Parts are drawn without replacement. So if
R = r, the next difference has the mean mu = -(sum of those before) / (N - their number).

Bets test this. A bet starts with a wealth of 1. In each part it multiplies its wealth by 1 + lambda (d - mu) if it says
that R is above r, or by 1 - lambda (d - mu) if it says that R is below. If R = r, neither gains on average. By Ville's
inequality its wealth then ever reaches 2 / alpha with a probability of at most alpha / 2, however often one looks. So a
candidate is rejected once one of its two bets has reached that. With r the ratio of the parts that are read, a run may
stop when two bets have: that R is above r (1 - width), and that R is below r (1 + width). All candidates beyond are
rejected too, because wealth is monotone in r. With several pairs of rows and texts alpha is divided by their number, so
that all ratios hold together.

One thing is assumed: no part has more than ``MOST`` times the tokens of the mean part, for either row. The mean is that
of the parts read before, ``FIRST`` of them or more. So no difference is beyond a bound, and no wealth falls below 0. If
a part that is read has more, the run reads all. The share of the largest safe stake that is bet follows from the parts
before: the wealth of a wrong candidate should grow fast. Any such rule is valid.

Waudby-Smith & Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal Statistical
Society B 86:1 (2024), the section on sampling without replacement. docs/parts.md has how often the rule holds, and what
it reads.
"""

from __future__ import annotations

import bisect
import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pyharness import store
from pyharness.corpora.parts import MOST_PARTS
from pyharness.features.parts import passes
from pyharness.features.parts.planning import PartsRun
from pyharness.metrics.counting.state_arrays import sums_of
from pyharness.suite import Suite
from pyharness.types import InputError, counted

Floats = NDArray[np.float64]

ALPHA = 0.05
MOST = 5.0  # times the tokens of the mean part
FIRST = 30  # parts that are read before the first bet
LARGEST_SHARE = 0.95  # of the stake at which a wealth could fall to 0
LOOKS = 32
WIDEST = 50  # percent: a wider one needs more parts again, because fewer candidates are possible
RANKED, COUNTER = "compression", "counter tokens u"


def limit_of(written: str) -> float:
    """Return the share that ``0.5%`` stands for; raise ``InputError`` for any other text."""
    match = re.fullmatch(r"(\d{1,2}(?:\.\d{1,6})?) ?%", written, re.ASCII)
    if match is None or not 0 < float(match[1]) <= WIDEST:
        raise InputError(f"--until {written!r} is no width: write 0.000001% to {WIDEST}%, such as 0.5%")
    return float(match[1]) / 100


def sizes(parts: int) -> list[int]:
    """Return how many of ``parts`` are read at each look, in ascending order; reading all needs no look."""
    ends = (-(-parts * look // LOOKS) for look in range(1, LOOKS))
    return sorted({end for end in ends if max(LOOKS, FIRST + 1) <= end < parts})


# ---------------------------------------------------------------------------------------------- the rule


def is_narrow(row: Floats, reference: Floats, of: int, width: float, alpha: float = ALPHA) -> bool:
    """Whether the ratio of all parts is within ``width`` of that of the parts read, at 1 - ``alpha``.

    ``row``, ``reference``: float64 [parts read], tokens of each part in the order drawn; NaN for a part without counts.
    ``of``: number of parts of the whole; ``width``: share of the ratio, above 0 and below 1.
    """
    if len(row) <= FIRST or not are_bounded(row) or not are_bounded(reference):
        return False
    ratio, shares = reference.sum() / row.sum(), stakes(row, reference, of, width)
    ends = ((ratio * (1 - width), True), (ratio * (1 + width), False))
    needed = math.log(2 / alpha)
    return all(log_wealth(row, reference, of, end, shares, above=above).max() >= needed for end, above in ends)


def are_bounded(tokens: Floats) -> bool:
    """Whether no part has more than ``MOST`` times the mean of the parts before; the first ones are compared together.

    ``tokens``: float64 [parts read], more than ``FIRST``; False for NaN and for a mean of 0.
    """
    means = _means_before(tokens)
    first = tokens[:FIRST] <= MOST * means[0]
    return bool(means[0] > 0 and first.all() and (tokens[FIRST:] <= MOST * means).all())


def stakes(row: Floats, reference: Floats, of: int, width: float) -> Floats:
    """Return the share of the largest safe stake that is bet in each part after the first, float64 [read - FIRST].

    It depends on the parts before alone. It is what makes the wealth of a candidate that is off by ``width`` grow
    fastest: the mean of its gains over their mean square (Kelly's bet), with the variance of the parts before.
    """
    mean, other = _means_before(reference), _means_before(row)
    ratio = mean / other
    squares = (_means_before(one) for one in (reference * reference, reference * row, row * row))
    variance = np.maximum(0, next(squares) - 2 * ratio * next(squares) + ratio**2 * next(squares))
    off = width * mean * of / (of - np.arange(FIRST, len(row)))
    shares: Floats = np.minimum(LARGEST_SHARE, MOST * mean * off / (variance + off**2))
    return shares


def log_wealth(row: Floats, reference: Floats, of: int, candidate: float, shares: Floats, *, above: bool) -> Floats:
    """Return the logarithm of the wealth of a bet after each part that follows the first, float64 [read - FIRST].

    The bet says that the ratio of the whole is ``above`` the candidate, or below. It is minus infinity from the first
    part on whose difference is beyond the bound that is assumed, or whose bound is no longer possible.
    """
    # Bets are shares of the largest safe one, lambda = share / bound. Let X, Y be the bounds MOST * (mean before) of x
    # and y, and S, T >= 0 the sums of x and y before over the number of parts left: mu = r S - T. Of a bet "above" the
    # bound is r X + mu, and 1 + (d - mu) / bound = (y + r (X - x)) / (r (X + S) - T). Its derivative by r has the sign
    # of -T (X - x) - y (X + S) <= 0: wealth falls in r. Of a bet "below" the bound is Y - mu, and 1 - (d - mu) / bound
    # = (Y - y + r x) / (Y + T - r S): wealth rises in r. Both hold where bounds are above 0, as they are if r = R.
    left = of - np.arange(FIRST, len(row))
    expected = -(_sums_before(reference) - candidate * _sums_before(row)) / left
    off = reference[FIRST:] - candidate * row[FIRST:] - expected
    if above:
        gains, bounds = off, candidate * MOST * _means_before(row) + expected
    else:
        gains, bounds = -off, MOST * _means_before(reference) - expected
    safe = (bounds > 0) & (gains >= -bounds * (1 + 1e-12))
    factors = np.full(len(bounds), -1.0)
    np.divide(shares * gains, bounds, out=factors, where=safe)
    with np.errstate(divide="ignore"):
        logarithms: Floats = np.cumsum(np.log1p(factors))
    return logarithms


def _sums_before(tokens: Floats) -> Floats:
    """Return the sum of the parts before each part that follows the first ones, float64 [read - FIRST]."""
    sums: Floats = np.cumsum(tokens)[FIRST - 1 : -1]
    return sums


def _means_before(tokens: Floats) -> Floats:
    means: Floats = _sums_before(tokens) / np.arange(FIRST, len(tokens))
    return means


def can_stop(parts: int, width: float, alpha: float = ALPHA) -> bool:
    """Whether a run of so many parts may stop early at all: it may if it does where all parts are alike."""
    like_any = np.ones(max(sizes(parts), default=0))
    return is_narrow(like_any, like_any, parts, width, alpha)


def least_parts(width: float, alpha: float = ALPHA, above: int = 0) -> int | None:
    """Return about the fewest parts ``above`` a number that ``can_stop``, in two digits; None if there are none."""
    every = [first * 10**power for power in range(5) for first in range(10, 100)] + [MOST_PARTS]
    numbers = [number for number in every if number > above]
    place = bisect.bisect_left(numbers, True, key=lambda parts: can_stop(parts, width, alpha))
    return numbers[place] if place < len(numbers) else None


# ---------------------------------------------------------------------------------------------- a run


def pairs_of(declared: Suite) -> list[tuple[str, str, str]]:
    """Return the label of every row with those of the reference row and of a text, where the ranked metric has both.

    Without a reference in the suite the first row is the reference.
    """
    every = tuple(entry.label for entry in declared.tokenizers)
    home = declared.reference or next(iter(every), "")
    pairs: dict[tuple[str, str, str], None] = {}
    for one in (one for one in declared.selections if one.benchmark == RANKED):
        rows, texts = one.tokenizers or every, one.corpora or [entry.label for entry in declared.corpora]
        pairs |= {(row, home, text): None for text in texts for row in rows if home in rows and row != home}
    return list(pairs)


def check(declared: Suite, parts: int, width: float) -> None:
    """Raise ``InputError``, before anything is written, for a suite that compares no two rows, or too few parts."""
    if not (pairs := pairs_of(declared)):
        raise InputError(f"--until compares rows: the suite needs the reference row and another in {RANKED!r}")
    alpha = ALPHA / len(pairs)
    if parts <= MOST_PARTS and not can_stop(parts, width, alpha):
        least = least_parts(width, alpha, parts)
        advice = "no number of parts is enough" if least is None else f"write --parts {least}, for example"
        what = counted(parts, "part")
        raise InputError(f"no run in {what} can stop at {_percent(width)} before it has read all: {advice}")


def in_drawn_order(run: PartsRun) -> list[int]:
    """Return the parts in an order that the plan alone decides."""

    def draw(part: int) -> bytes:
        return hashlib.sha256(f"{run.folder.digest} {part}".encode()).digest()

    return sorted(range(run.folder.plan.parts), key=draw)


@dataclass(slots=True)
class Until:
    """Parts of a run in the order drawn, until all ratios are narrow. Tokens of a part are read once.

    ``width``: share of the ratio; ``stopped``: how many parts were enough, or None if all are read.
    """

    run: PartsRun
    width: float
    stopped: int | None = None
    _tokens: dict[tuple[str, int], float] = field(default_factory=dict)

    def batches(self) -> Iterator[list[int]]:
        """Yield parts to do; those that were yielded before must be done.

        A run that others began may have more parts than the first of this order. It goes on until they are among them.
        """
        order, begin = in_drawn_order(self.run), 0
        before = set(order) - set(self.run.folder.missing())
        for end in [*sizes(len(order)), len(order)]:
            yield order[begin:end]
            if end < len(order) and before <= {*order[:end]} and self.is_narrow(order[:end]):
                self.stopped = end
                return
            begin = end

    def is_narrow(self, read: Sequence[int]) -> bool:
        """Whether the ratios of all pairs are narrow after these parts; a part that failed makes none narrow.

        A row that is skipped has no counts in any part, so it has no ratio. Without any ratio nothing is narrow.
        """
        of, pairs = self.run.folder.plan.parts, pairs_of(self.run.plan.suite)
        keys = {(one.tokenizer, one.corpus): one.key for one in self.run.cases if one.benchmark == RANKED}
        done = self.run.folder.done(read[0])
        skipped = {one.case for one in (() if done is None else done.cases) if one.status == "skipped"}
        of_pairs = [[keys.get((label, text), "") for label in (row, home)] for row, home, text in pairs]
        counts = [
            np.array([[self._count(key, part) for part in read] for key in both], np.float64)
            for both in of_pairs
            if not skipped & {*both} and all(both)
        ]
        narrow = [is_narrow(row, reference, of, self.width, ALPHA / len(pairs)) for row, reference in counts]
        return bool(narrow) and all(narrow)

    def in_words(self) -> str:
        """Return a sentence for a run that has stopped."""
        of, home = self.run.folder.plan.parts, pairs_of(self.run.plan.suite)[0][1]
        what = f"ratios of bytes per token to row {home!r} are within {_percent(self.width)} of those of all parts"
        return f"{self.stopped:,} of {of:,} parts were read: {what} (95 % confidence)"

    def _count(self, key: str, part: int) -> float:
        """Return the tokens of a case in a part; NaN without its pass."""
        if (key, part) not in self._tokens:
            try:
                with store.StateReader(self.run.folder.file_of(part, key)) as states:
                    planes = next((array for name, array in states.arrays(key) if name == COUNTER), np.zeros(0))
                self._tokens[key, part] = float(sums_of(passes.of_planes({COUNTER: planes})[COUNTER[:-2]]).sum())
            except InputError:
                return math.nan
        return self._tokens[key, part]


def _percent(width: float) -> str:
    return f"{100 * width:g} %"
