"""Knees of extensions that differ in their number of tokens alone: rows of one recipe, on one text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyharness.benchmarks import notes
from pyharness.statistics.knee import LITTLE, Knee, knee
from pyharness.types import CaseResult, Column, Measurement, Plot, Table

_SIZE = ("tokens",)  # option of an extension
_CHANGED = (("Growth", "added_tokens", "added"), ("Pruning", "removed_tokens", "removed"))
PLOTS = tuple(
    Plot(
        Table(
            f"{title}: gain by the number of tokens {word}",
            columns=(Column(metric, word), Column("compression_gain", "vs {part}", each=True, interval=True)),
            notes=(notes.provenance,),
            sized=False,
            joined=("against", "pipeline"),
            needs=("compression_gain", metric),
        ),
        f"A point is a row: tokens {word} across, bytes per token over those of the other row up. Rows that differ in "
        "their number of tokens alone are joined; lines up and down are 95 % intervals.",
        drawing="points",
        log=True,
        joins=notes.recipe,
    )
    for title, metric, word in _CHANGED
)


def knees(results: Sequence[CaseResult], data: Mapping[str, Any], part: str) -> Iterator[str]:
    """Say of every curve of three sizes or more where its knee is; ``part``: what gains are over."""
    for rows in _curves(results, data, part).values():
        sizes = sorted(rows)
        if (found := knee(sizes, [rows[size][1] for size in sizes])) is not None:
            first, *_, last = (rows[size][0] for size in sizes)
            yield f"{first} to {_beyond(first, last)}: {_said(found)}."


def _curves(
    results: Sequence[CaseResult], data: Mapping[str, Any], part: str
) -> Mapping[str, Mapping[int, tuple[str, Measurement]]]:
    """Rows and gains by recipe and by number of new tokens."""
    curves: dict[str, dict[int, tuple[str, Measurement]]] = {}
    for result in results:
        recipe = notes.recipe(data, result.case.tokenizer, _SIZE)
        by_name = {(one.metric, one.part): one for one in result.measurements}
        added, gain = by_name.get(("added_tokens", None)), by_name.get(("compression_gain", part))
        if recipe is not None and added is not None and added.value and gain is not None:
            curves.setdefault(recipe, {}).setdefault(int(added.value), (result.case.tokenizer, gain))
    return curves


def _beyond(first: str, last: str) -> str:
    """Name of a row without the words that it begins with as the other does."""
    words, others = last.split(" "), first.split(" ")
    alike = next((at for at, (word, other) in enumerate(zip(words, others, strict=False)) if word != other), 0)
    return " ".join(words[alike:])


def _said(found: Knee) -> str:
    if not found.resolved:
        end = "last" if found.size else "first"
        return f"whether 1,000 more tokens give {LITTLE:.1%} is not resolved at the {end} size"
    if math.isinf(found.size):
        return f"1,000 more tokens give {LITTLE:.1%} or more, as far as these sizes go"
    little = f"1,000 more tokens give under {LITTLE:.1%}"
    if found.size == 0:
        return f"{little} from the first size on"
    low, high = found.interval or (found.size, found.size)
    bounds = f" ({low:,.0f} to {high:,.0f})" if found.interval else ""
    return f"{little} from about {found.size:,.0f} on{bounds}"
