"""Where tokens end in a document, against its leaves.

White space belongs to no leaf. A leaf *starts at a boundary* if no token holds bytes of it and an earlier byte other
than white space; it *ends at a boundary* if no token holds bytes of it and a later one. So `` total`` is a token of the
leaf ``total``, and ``):`` with a line end is not one of ``)`` alone.

>>> from pyharness.features.code.lexing import lex_python
>>> counts = count_document(b"a + bc", np.array([1, 3, 5, 6]), lex_python("a + bc"))
>>> counts["identifier both"], counts["identifier pieces"], counts["whole identifiers"]
(2, 3, 1)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyharness.features.code.lexing import COMPOUND, IDENTIFIER, KINDS, Leaves

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
_WHITE = np.zeros(256, np.bool_)
_WHITE[list(b" \t\n\r\f\v")] = True


@dataclass(frozen=True, slots=True)
class LeafTokens:
    """Leaves of a document, and the tokens that hold their first and last bytes."""

    data: bytes
    ends: Integers  # [tokens], in bytes
    leaves: Leaves
    first: Integers  # [leaves], token of the first byte
    last: Integers  # [leaves], token of the last byte
    before: Integers  # [leaves], place of the last byte before a leaf that is no white space; -1: none
    after: Integers  # [leaves], place of the next such byte behind it; the size of the document: none

    @classmethod
    def of(cls, data: bytes, ends: Integers, leaves: Leaves) -> LeafTokens:
        """Find the tokens of leaves."""
        solid = np.flatnonzero(~_WHITE[np.frombuffer(data, np.uint8)])
        before = np.append(-1, solid)[np.searchsorted(solid, leaves.starts)]
        after = np.append(solid, len(data))[np.searchsorted(solid, leaves.stops)]
        first, last = (np.searchsorted(ends, places, "right") for places in (leaves.starts, leaves.stops - 1))
        return cls(data, ends, leaves, first, last, before, after)

    def starts_aligned(self) -> Flags:
        """Return which leaves start at a boundary, bool [leaves]."""
        return np.asarray((self.before < 0) | (np.searchsorted(self.ends, self.before, "right") != self.first))

    def ends_aligned(self) -> Flags:
        """Return which leaves end at a boundary, bool [leaves]."""
        return np.asarray(np.searchsorted(self.ends, self.after, "right") != self.last)

    def of_tokens(self) -> tuple[int, int]:
        """Return the number of tokens with bytes of a leaf, and of those with bytes of two and more."""
        steps = np.bincount(self.first, minlength=len(self.ends) + 1)
        steps -= np.bincount(self.last + 1, minlength=len(self.ends) + 1)
        held = np.cumsum(steps)
        return int((held > 0).sum()), int((held > 1).sum())


def count_document(data: bytes, ends: Integers, leaves: Leaves) -> Counter[str]:
    """Count a document in UTF-8, whose tokens end at ``ends``; int64 [tokens], increasing, the last is its size."""
    counts: Counter[str] = Counter()
    if not len(leaves.starts):
        return counts
    tokens = LeafTokens.of(data, ends, leaves)
    starts, stops = tokens.starts_aligned(), tokens.ends_aligned()
    for name, flags in (("", starts | True), (" starts", starts), (" ends", stops), (" both", starts & stops)):
        of_kinds = np.bincount(leaves.kinds[flags], minlength=len(KINDS)).tolist()
        counts.update({f"{kind}{name}": number for kind, number in zip(KINDS, of_kinds, strict=True)})
    counts["leaf tokens"], counts["crossing tokens"] = tokens.of_tokens()
    pieces = tokens.last - tokens.first + 1
    identifiers = pieces[leaves.kinds == IDENTIFIER]
    counts["identifier pieces"], counts["whole identifiers"] = int(identifiers.sum()), int((identifiers == 1).sum())
    counts["whole compound operators"] = int((pieces[leaves.kinds == COMPOUND] == 1).sum())
    counts.update(_count_cuts(tokens))
    counts.update(_count_indentation(tokens))
    return counts


def _count_cuts(tokens: LeafTokens) -> Counter[str]:
    """Count the identifiers that a document repeats, their distinct cuts, and those that have one."""
    cuts: dict[bytes, Counter[bytes]] = defaultdict(Counter)
    for index in np.flatnonzero(tokens.leaves.kinds == IDENTIFIER).tolist():
        start, stop = tokens.leaves.starts[index], tokens.leaves.stops[index]
        inside = tokens.ends[tokens.first[index] : tokens.last[index]] - start
        cuts[tokens.data[start:stop]][inside.tobytes()] += 1
    repeated = [len(one) for one in cuts.values() if one.total() > 1]
    return Counter({
        "repeated identifiers": len(repeated), "identifier cuts": sum(repeated),
        "identifiers cut alike": repeated.count(1),
    })  # fmt: skip


def _count_indentation(tokens: LeafTokens) -> Counter[str]:
    """Count levels and tokens of indented lines, and pairs of lines with the same indentation.

    A pair is a line and the next one of the document that begins with the same white space.
    """
    lines = list(_indented_lines(tokens))
    unit = _indentation_unit([stop - start for start, stop in lines])
    counts: Counter[str] = Counter()
    previous: dict[bytes, bytes] = {}
    for start, stop in lines:
        if stop == start:
            continue
        first, last = np.searchsorted(tokens.ends, (start, stop - 1), "right")
        counts["indentation tokens"] += int(last - first) + 1
        counts["indentation levels"] += max(1, round((stop - start) / unit))
        inside = tokens.ends[np.searchsorted(tokens.ends, start) : np.searchsorted(tokens.ends, stop, "right")]
        white, cut = tokens.data[start:stop], (inside - start).tobytes()
        if white in previous:
            counts["line pairs"] += 1
            counts["line pairs alike"] += previous[white] == cut
        previous[white] = cut
    return counts


def _indented_lines(tokens: LeafTokens) -> Iterator[tuple[int, int]]:
    """Yield where the white space at the beginning of a line starts and stops, for lines that begin with a leaf."""
    lines = np.append(0, np.flatnonzero(np.frombuffer(tokens.data, np.uint8) == ord("\n")) + 1)
    begins = lines[np.searchsorted(lines, tokens.leaves.starts, "right") - 1]
    leading = tokens.before < begins
    yield from zip(begins[leading].tolist(), tokens.leaves.starts[leading].tolist(), strict=True)


def _indentation_unit(widths: list[int]) -> int:
    """Return the bytes of one level: the commonest step to a deeper line, the smallest of equally common ones."""
    steps = Counter(wider - width for width, wider in zip([0, *widths], widths, strict=False) if wider > width)
    return min(steps, key=lambda step: (-steps[step], step), default=1)
