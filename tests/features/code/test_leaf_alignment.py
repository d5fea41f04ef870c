"""Leaves against tokens: a slow reference, rows whose numbers are known, and figures of TokEval's own code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness import tokenizers
from pyharness.features.code.alignment import count_document
from pyharness.features.code.lexing import COMPOUND, IDENTIFIER, KINDS, Leaves, lex_python
from pyharness.tokenizers.segmenting import segmenter_of

WHITE = b" \t\n\r\f\v"
PIECES = ("ab", "ab", "é_x", "if", "x", "1", "'s t'", "==", "+", "(", ",", ".", " ", "  ", "\n", "\n    ", "\n\t")


def reference(data: bytes, ends: list[int], leaves: Leaves) -> Counter[str]:
    """Count with sets of bytes, one leaf and one token at a time."""
    tokens = [set(range(start, stop)) for start, stop in zip([0, *ends], ends, strict=False)]
    solid = {place for place, byte in enumerate(data) if byte not in WHITE}
    rows = list(zip(leaves.starts.tolist(), leaves.stops.tolist(), leaves.kinds.tolist(), strict=True))
    counts: Counter[str] = Counter()
    cuts: dict[bytes, list[tuple[int, ...]]] = {}
    for start, stop, kind in rows:
        own = [token for token in tokens if token & set(range(start, stop))]
        held = set().union(*own) & solid
        begins, finishes = min(held) >= start, max(held) < stop
        counts += Counter({KINDS[kind]: 1, f"{KINDS[kind]} starts": begins, f"{KINDS[kind]} ends": finishes})
        counts[f"{KINDS[kind]} both"] += begins and finishes
        if kind == IDENTIFIER:
            counts["identifier pieces"] += len(own)
            counts["whole identifiers"] += len(own) == 1
            cut = tuple(end - start for end in ends if start < end < stop)
            cuts.setdefault(data[start:stop], []).append(cut)
        counts["whole compound operators"] += kind == COMPOUND and len(own) == 1
    holding = [sum(bool(token & set(range(start, stop))) for start, stop, _ in rows) for token in tokens]
    counts["leaf tokens"] = sum(number > 0 for number in holding)
    counts["crossing tokens"] = sum(number > 1 for number in holding)
    repeated = [set(one) for one in cuts.values() if len(one) > 1]
    counts["repeated identifiers"] = len(repeated)
    counts["identifier cuts"] = sum(map(len, repeated))
    counts["identifiers cut alike"] = sum(len(one) == 1 for one in repeated)
    return counts


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=14), st.data())
def test_counts_are_those_of_sets_of_bytes(pieces: list[str], data: st.DataObject) -> None:
    text = " ".join(["x(", *pieces]) + ")" * (1 + pieces.count("("))
    leaves, encoded = lex_python(text), text.encode()
    assert leaves is not None
    inside = data.draw(st.sets(st.integers(1, len(encoded) - 1)))
    ends = sorted({*inside, len(encoded)})
    counts = count_document(encoded, np.array(ends), leaves)
    expected = reference(encoded, ends, leaves)
    assert {name: counts[name] for name in expected} == dict(expected)


def indented(text: str, ends: list[int]) -> dict[str, int]:
    leaves = lex_python(text)
    assert leaves is not None
    counts = count_document(text.encode(), np.array(ends), leaves)
    return {
        name: counts[name] for name in ("indentation tokens", "indentation levels", "line pairs", "line pairs alike")
    }


def test_indentation_has_levels_tokens_and_pairs() -> None:
    text = "if a:\n    b\n    if c:\n        d\n"  # lines at 6, 12 and 22
    every = list(range(1, len(text) + 1))
    assert list(indented(text, every).values()) == [4 + 4 + 8, 1 + 1 + 2, 1, 1]
    lines = [10, 16, 30, len(text)]  # one token for each run of white space and what is before it
    assert list(indented(text, lines).values()) == [3, 4, 1, 1]
    unlike = [6, 10, 16, 30, len(text)]
    assert list(indented(text, unlike).values()) == [3, 4, 1, 0]


def test_comments_strings_and_blank_lines_are_no_indented_lines() -> None:
    text = "if a:\n  b = '''\n      c'''\n\n       # d\n  e\n"
    every = list(range(1, len(text) + 1))
    assert list(indented(text, every).values()) == [4, 2, 1, 1]


def test_tabs_are_levels() -> None:
    text = "if a:\n\tif b:\n\t\tc\n"
    assert list(indented(text, list(range(1, len(text) + 1))).values()) == [3, 3, 0, 0]


# Of TokEval's own code (github.com/cimeister/tokenizer-intrinsic-evals, ASTBoundaryMetrics) on ``PARCELS``: leaves,
# those that start and end at boundaries, and both; tokens of identifiers, and identifiers of one token.
TOKEVAL = {
    "gpt2": {"identifier": (64, 64, 64, 64), "keyword": (16, 16, 16, 16), "delimiter": (51, 41, 38, 30),
             "operator": (19, 19, 17, 17), "pieces": (116, 39)},
    "gpt_neox": {"identifier": (64, 64, 62, 62), "keyword": (16, 16, 16, 16), "delimiter": (51, 38, 38, 27),
                 "operator": (19, 19, 17, 17), "pieces": (111, 38)},
}  # fmt: skip
PARCELS = '''import os
from typing import Any

LIMIT = 2500


class ParcelStation:
    """Keeps parcels."""

    def __init__(self, first_shelf, shelf_width=12):
        self.first_shelf = first_shelf
        self.parcels = {}

    def weigh(self, parcel_key, weight):
        if weight <= 0 or weight != weight:
            raise ValueError(parcel_key)
        shelf = self.first_shelf + weight // 3 ** 2
        self.parcels[parcel_key] = (shelf, weight)
        return [shelf, None, True]

    def heaviestParcel(self):
        for key in sorted(self.parcels):
            print(key, self.parcels[key][1], end="; ")
        return max(self.parcels.values(), default=(0, 0))


station = ParcelStation(first_shelf=7)
station.weigh("a-17", 1 << 4)
total = sum(weight for _, weight in station.parcels.values()) - LIMIT * 3
'''


@pytest.mark.data
@pytest.mark.parametrize("row", TOKEVAL)
def test_kinds_are_aligned_as_in_tokeval(row: str, data: Path) -> None:
    path = data / "tokenizers" / row / "tokenizer.json"
    ends = segmenter_of(tokenizers.load(f"file:{path}")).segment_batch([PARCELS]).ends
    leaves = lex_python(PARCELS)
    assert leaves is not None
    counts = count_document(PARCELS.encode(), ends, leaves)
    counts.update({f"operator{name}": counts[f"compound operator{name}"] for name in ("", " starts", " ends", " both")})
    expected = dict(TOKEVAL[row])
    assert (counts["identifier pieces"], counts["whole identifiers"]) == expected.pop("pieces")
    for kind, numbers in expected.items():
        assert tuple(counts[f"{kind}{name}"] for name in ("", " starts", " ends", " both")) == numbers, kind
