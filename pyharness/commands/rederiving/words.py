"""What came of computing a record again, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyharness.commands.rederiving.whole import Rederivation
from pyharness.types import counted

MOST_LINES = 20  # of the differences of one case


def lines(found: Rederivation) -> Iterator[str]:
    """Say what differs, how much is equal, what cannot be derived and why, and what nobody has checked."""
    equal: dict[str, list[int]] = {}
    underivable: dict[tuple[str, str], int] = {}
    for one in found.cases:
        if one.underivable is not None:
            key = one.result.case.benchmark, one.underivable
            underivable[key] = underivable.get(key, 0) + 1
        elif one.differences:
            yield f"{one.result.case.key}: {len(one.differences):,} of {one.values:,} values differ"
            yield from _first(one.differences)
        else:
            equal.setdefault(one.result.case.benchmark, []).append(one.values)
    if found.differences:
        yield f"beside the numbers: {counted(len(found.differences), 'difference')}"
        yield from _first(found.differences)
    for benchmark, sizes in equal.items():
        yield f"{benchmark}: {counted(len(sizes), 'case')}, {sum(sizes):,} values equal to the last bit"
    for (benchmark, reason), count in underivable.items():
        yield f"{benchmark}: {counted(count, 'case')} not derivable: {reason}"
    yield from (f"unchecked: {one}" for one in found.unchecked)


def _first(differences: Sequence[str]) -> Iterator[str]:
    yield from (f"  {difference}" for difference in differences[:MOST_LINES])
    if len(differences) > MOST_LINES:
        yield f"  and {len(differences) - MOST_LINES:,} more"
