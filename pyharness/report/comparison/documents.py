"""What the documents say of a pair whose text is too little for intervals: one test of a case, for all its numbers.

On one text, bytes per token and its kin differ as the numbers of tokens do, document by document: their logarithms of
ratios are the same but for the sign. So there is one test of a case, and it counts once, however many numbers it is
about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyharness.metrics.counting.id_digests import paired_lengths
from pyharness.report.comparison.difference import Difference, said_of
from pyharness.report.comparison.pairs import Pair, metrics_of, says
from pyharness.report.comparison.states import States
from pyharness.statistics.signed_ranks import FEWEST, SignedRanks, signed_ranks
from pyharness.types import InputError


def by_documents(pair: Pair, found: Sequence[Difference], states: States) -> list[Difference]:
    """Put the test of the documents in the place of intervals that are missing, or why there is none."""
    metrics = metrics_of(pair)
    open_ = [one.unjudged and says(one.metric, metrics[one.metric], "counts_tokens") for one in found]
    if not any(open_):
        return list(found)
    ranks = _ranks(pair, states)
    return [_with(one, ranks) if wanted else one for one, wanted in zip(found, open_, strict=True)]


def _ranks(pair: Pair, states: States) -> SignedRanks | str:
    """Test of the tokens of all documents, or why there is none."""
    assert pair.other is not None  # noqa: S101 -- it is measured
    try:
        first, second = paired_lengths(states.of(pair.a, pair.one), states.of(pair.b, pair.other))
    except InputError as lack:
        return f"no test of its documents: {lack}"
    return signed_ranks(first, second)


def _with(one: Difference, ranks: SignedRanks | str) -> Difference:
    if isinstance(ranks, str):
        return replace(one, no_interval="; ".join(filter(None, (one.no_interval, ranks))))
    judged = replace(one, ranks=ranks)
    if judged.judged_by_ranks:
        return judged
    if ranks.differing < FEWEST:
        why = f"a signed-rank test needs {FEWEST} documents that differ in tokens, {ranks.differing} do"
    elif ranks.decides:
        why = f"{said_of(ranks)}, which is of the other sign: long documents outweigh the others"
    else:
        why = said_of(ranks)
    return replace(judged, no_interval="; ".join(filter(None, (one.no_interval, why))))
