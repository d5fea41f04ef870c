"""The report of the study: a table for each held-out text, and verdicts."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from pyharness.statistics.jackknife import interval
from small_model.results import BASE, SURGERY, Results
from small_model.verdicts import (
    ALL,
    COVERED,
    NAMES,
    OF_BASE,
    OF_NEW,
    Interval,
    OverSeeds,
    differences,
    half,
    over_seeds,
)

PARTS = ("language", "english")
HEAD = ("model", "stage", "seeds", "steps", "bits/byte", "documents ±", "seeds ±", "of base tokens", "of new tokens",
        "bytes in new tokens")  # fmt: skip


def report(results: Results) -> str:
    """Everything, as Markdown."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Results) -> Iterator[str]:
    setting = results.setting
    yield (
        f"Base: {setting['bytes'][0]:,} bytes of text, of which {setting['share']:.0%} in the language; then "
        f"{setting['bytes'][1]:,} bytes more for every model that is trained on. {setting['ids'][0]:,} ids, "
        f"{setting['ids'][1]:,} after the extension. Of the sequences of eight words in the held-out text of the "
        f"language {setting['copied']:.1%} occur in its other parts."
    )
    for part in PARTS:
        yield f"\nHeld out: {_scored(results, part)} of {part}\n"
        yield f"| {' | '.join(HEAD)} |"
        yield f"| :-- | :-- |{' --: |' * (len(HEAD) - 2)}"
        for method, stage in dict.fromkeys((key.method, key.stage) for key in results.lines):
            yield f"| {' | '.join(_row(results, method, stage, part))} |"
    yield "\nVerdicts, on the language:\n"
    yield from (f"- {one.sentence()}" for one in differences(results))


def _scored(results: Results, part: str) -> str:
    sums = next(iter(results.lines.values()))[part]
    return f"{sum(sums['bytes']):,} bytes, {sum(sums['pieces'])} documents of {sum(sums['documents'])} works"


def _row(results: Results, method: str, stage: str, part: str) -> list[str]:
    whole, base, new, covered = (
        OverSeeds.of(results, method, stage, metric, part) for metric in (ALL, OF_BASE, OF_NEW, COVERED)
    )
    assert whole and base and new and covered  # noqa: PT018 - of one line each
    steps = [line["steps"] for key, line in results.lines.items() if key[1:] == (method, stage) and stage != SURGERY]
    split = ("", "", "") if method == BASE else (f"{base.value:.4f}", f"{new.value:.4f}", f"{covered.value:.1%}")
    return [
        method, NAMES[stage], str(len(whole.values)), f"{statistics.fmean(steps):,.0f}" if steps else "",
        f"{whole.value:.4f}", _half(interval(whole.value, whole.mean.replicates)), _half(over_seeds(whole.values)),
        *split,
    ]  # fmt: skip


def _half(found: Interval | None) -> str:
    return "" if found is None else f"{half(found):.4f}"
