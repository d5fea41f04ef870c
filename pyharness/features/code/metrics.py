"""Metrics of code: each is a ratio of two sums over documents, which are kept by group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness.features.code.lexing import KINDS
from pyharness.features.code.rewrites import STYLES
from pyharness.metrics.counting.state_arrays import taken
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import GROUPS, Undefined
from pyharness.types import PERCENT, Format, InputError, Measurement, Metric, State

COLUMNS = (
    "texts", "unlexed", "unspelled", "documents", "bytes", "read bytes", "error bytes", "white", "white kept",
    *(f"{kind}{name}" for kind in KINDS for name in ("", " starts", " ends", " both")),
    "leaf tokens", "crossing tokens", "identifier pieces", "whole identifiers", "whole compound operators",
    "repeated identifiers", "identifier cuts", "identifiers cut alike",
    "indentation tokens", "indentation levels", "line pairs", "line pairs alike",
    *(f"{style} {when}" for style in STYLES for when in ("before", "after")),
)  # fmt: skip
_PLACE = {name: place for place, name in enumerate(COLUMNS)}


@dataclass(slots=True)
class CodeCounts:
    """Sums of documents by group. ``documents`` and ``bytes`` are of those that are measured."""

    sums: NDArray[np.int64] = field(default_factory=lambda: np.zeros((GROUPS, len(COLUMNS)), np.int64))

    def add(self, group: int, counts: Mapping[str, int]) -> None:
        """Add the counts of a text, by the names of ``COLUMNS``."""
        for name, count in counts.items():
            self.sums[group, _PLACE[name]] += count

    def merge(self, other: CodeCounts) -> None:
        """Add the counts of other documents."""
        self.sums += other.sums

    def total(self, name: str) -> int:
        """Return the sum over all groups."""
        return int(self.sums[:, _PLACE[name]].sum())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays to keep with a record."""
        return {"code counts": self.sums.ravel()}

    @classmethod
    def of_arrays(cls, arrays: State) -> CodeCounts:
        """Invert ``arrays``; raise ``InputError`` for arrays that contradict each other."""
        sums = taken(arrays, "code counts", GROUPS * len(COLUMNS)).astype(np.int64).reshape(GROUPS, -1)
        if (sums < 0).any():
            raise InputError("a state has counts of code below 0")
        return cls(sums)


@dataclass(frozen=True, slots=True)
class CodeRatio:
    """A number of the benchmark: the sum of some columns over that of others."""

    metric: str
    over: Sequence[str]
    under: Sequence[str]
    lack: str  # why there is no number where the latter is 0
    part: str | None = None


def measure(counts: CodeCounts) -> Iterator[Measurement]:
    """Yield every metric."""
    documents, sizes = (counts.sums[:, _PLACE[name]].tolist() for name in ("documents", "bytes"))
    for ratio in RATIOS:
        key = ratio.metric, ratio.part
        over, under = (
            counts.sums[:, [_PLACE[name] for name in names]].sum(axis=1) for names in (ratio.over, ratio.under)
        )
        of = partial(_divide, over, under, ratio.lack if any(documents) else _why_none(counts))
        if key in _NO_CI:
            yield replace(jackknife.without_interval(ratio.metric, of, _UNSURE), part=ratio.part)
            continue
        one = jackknife.estimate(ratio.metric, documents, of, ratio.part, sizes)
        alone, pair = (_WIDE if key == wide else None for wide in (_WIDE_ALONE, _WIDE_PAIR))
        yield replace(one, no_interval=one.no_interval or alone, no_pair=one.no_pair or pair)


def _divide(over: NDArray[np.int64], under: NDArray[np.int64], lack: str, groups: jackknife.Groups) -> float:
    if not (whole := int(under[groups].sum())):
        raise Undefined(lack)
    return int(over[groups].sum()) / whole


def _why_none(counts: CodeCounts) -> str:
    texts, refused, unspelled = (counts.total(name) for name in ("texts", "unlexed", "unspelled"))
    return f"of {texts:,} texts, the lexer refuses {refused:,}, and tokens do not spell {unspelled:,}"


_REPEATED = "no document repeats an identifier"
# Measured: docs/measuring.md "Code and noise".
_UNSURE = "samples of code do not show that CIs hold"
_NO_CI = {
    ("leaves_aligned", "literal"), ("leaves_aligned", "compound operator"), ("rewrite_cost", "snake"),
    ("rewrite_cost", "spaced"), ("cuts_per_identifier", None), ("identifiers_cut_alike", None),
    ("whole_compound_operators", None), ("tokens_per_level", None), ("indentation_cut_alike", None),
    ("white_space_kept", None),
}  # fmt: skip
_WIDE = "CIs are too wide: they hold in 98 % of samples of code"
_WIDE_ALONE, _WIDE_PAIR = ("leaves_aligned", "punctuation"), ("rewrite_cost", "tight")
RATIOS = (
    *(
        CodeRatio(metric, [f"{kind} {name}" for kind in KINDS], KINDS, "the text has no leaves")
        for metric, name in (
            ("leaves_aligned", "both"), ("leaf_starts_aligned", "starts"), ("leaf_ends_aligned", "ends")
        )
    ),
    *(CodeRatio("leaves_aligned", [f"{kind} both"], [kind], f"no leaf is of the kind {kind}", kind) for kind in KINDS),
    CodeRatio("tokens_across_leaves", ["crossing tokens"], ["leaf tokens"], "no token has a leaf"),
    CodeRatio("tokens_per_identifier", ["identifier pieces"], ["identifier"], "the text has no identifiers"),
    CodeRatio("whole_identifiers", ["whole identifiers"], ["identifier"], "the text has no identifiers"),
    *(
        CodeRatio(metric, [sums], ["repeated identifiers"], _REPEATED)
        for metric, sums in (
            ("cuts_per_identifier", "identifier cuts"), ("identifiers_cut_alike", "identifiers cut alike")
        )
    ),
    CodeRatio(
        "whole_compound_operators", ["whole compound operators"], ["compound operator"],
        "the text has no operators of two characters and more",
    ),
    CodeRatio("tokens_per_level", ["indentation tokens"], ["indentation levels"], "no line is indented"),
    CodeRatio(
        "indentation_cut_alike", ["line pairs alike"], ["line pairs"], "no two lines of a document are indented alike"
    ),
    CodeRatio("white_space_kept", ["white kept"], ["white"], "the text has no white space"),
    *(
        CodeRatio("rewrite_cost", [f"{style} after"], [f"{style} before"], "no document changes", style)
        for style in STYLES
    ),
)  # fmt: skip

REPORTED = (
    Metric(
        "leaves_aligned", "share", "higher", "leaves of the lexer that start and end at token boundaries",
        primary=True, format=PERCENT,
    ),
    Metric("leaf_starts_aligned", "share", "higher", "leaves that start at a token boundary", format=PERCENT),
    Metric("leaf_ends_aligned", "share", "higher", "leaves that end at a token boundary", format=PERCENT),
    Metric("tokens_across_leaves", "share", "lower", "tokens of leaves that hold bytes of several", format=PERCENT),
    Metric("tokens_per_identifier", "token/identifier", "lower", "tokens that hold a part of an identifier",
           format=Format("{:.3f}")),
    Metric("whole_identifiers", "share", "higher", "identifiers that one token holds", format=PERCENT),
    Metric("cuts_per_identifier", "cut/identifier", "lower",
           "different cuts of an identifier that a document repeats", format=Format("{:.3f}")),
    Metric("identifiers_cut_alike", "share", "higher", "repeated identifiers that a document cuts in one way",
           format=PERCENT),
    Metric("whole_compound_operators", "share", "higher",
           "operators of two characters and more that one token holds", format=PERCENT),
    Metric("tokens_per_level", "token/level", "lower", "tokens of white space for a level of indentation",
           format=Format("{:.3f}")),
    Metric("indentation_cut_alike", "share", "higher",
           "lines cut like the previous line of the same indentation", format=PERCENT),
    Metric("white_space_kept", "share", "higher", "white space of the text that the round trip keeps", format=PERCENT),
    Metric("rewrite_cost", "ratio", "none", "tokens after a rewrite over tokens before", format=Format("{:.3f}")),
)  # fmt: skip
