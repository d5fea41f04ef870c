"""Do continued BPE and leaf pruning keep what they promise, on every base and language of the suite?

usage: PYHARNESS_DATA=DIR pyharness run adaptation --output RECORD
       python studies/adaptation/verdicts.py RECORD

Two tables in Markdown, and a line for each promise with the rows that break it: no dead token among those added
(layers 1 and 2, and 3 with certificates), a text or an argument for each of these (with certificates), none more dead
after leaf pruning, and the ids of the home library on all held-out text. A broken promise, or one that no row is about,
ends the run with exit code 1. More bytes/token than the naive extension (the paired interval above 0) is a finding: the
rows of which that is not so are named by what holds instead, and only those without an interval end the run with 1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pyharness import store
from pyharness.features.adaptation.benchmark import BASE
from pyharness.statistics import jackknife
from pyharness.store import Record
from pyharness.types import CaseResult, Measurement

NAIVE = "naive-extension"
SIZES = ("1024", "2048", "4096", "8192", "16384")
SHOWN = ("0.3", "0.6", "0.9")  # of the prunings
DEAD = ("newly_unreachable_graph", "newly_unreachable_model", "added_unreachable_pipeline")
Row = tuple[str, ...]  # base, language or order, and so on: words of its label


def measured(result: CaseResult | None, metric: str, part: str | None = None) -> Measurement:
    """What a case, if there is one, says of a metric."""
    if result is None:
        return Measurement(metric, None, reason="not in the record")
    found = (one for one in result.measurements if (one.metric, one.part) == (metric, part))
    return next(found, Measurement(metric, None, reason=result.reason or "not measured"))


def adaptations(record: Record) -> dict[tuple[Row, str | None], CaseResult]:
    """Cases by row and text."""
    return {(tuple(result.case.tokenizer.split()), result.case.corpus): result for result in record.of("adaptation")}


def percent(found: Measurement) -> str:
    """The value with half of its interval."""
    if found.value is None:
        return "-"
    bounds = jackknife.interval(found.value, found.replicates)
    return f"{found.value:+.1%}" + (f" ±{(bounds[1] - bounds[0]) / 2:.1%}" if bounds else "")


def outcome(found: Measurement) -> str:
    """What the interval of a gain says."""
    if found.replicates and not any((found.value, *found.replicates)):
        return "the same"
    bounds = jackknife.interval(found.value, found.replicates)
    if bounds is None:
        return "no interval"
    return "more" if bounds[0] > 0 else "less" if bounds[1] < 0 else "not resolved"


def number(found: Measurement) -> str:
    """A count."""
    return "-" if found.value is None else f"{found.value:,}"


def extensions(cases: dict[tuple[Row, str | None], CaseResult]) -> Iterator[str]:
    """Table of what the smallest and the largest extension give, a line for each base and language."""
    yield "| base | text | over base, 1,024 | 16,384 | over naive, 1,024 | 16,384 | dead, naive 16,384 |"
    yield "| :-- | :-- | --: | --: | --: | --: | --: |"
    for base, language in dict.fromkeys(row[:2] for row, _ in cases if len(row) == 4):
        rows = [cases.get(((base, language, "continued", size), language)) for size in (SIZES[0], SIZES[-1])]
        naive = cases.get(((base, language, "naive", SIZES[-1]), language))
        gains = [percent(measured(row, "compression_gain", part)) for part in (BASE, NAIVE) for row in rows]
        dead = number(measured(naive, DEAD[1]))
        yield f"| {base} | {language} | {' | '.join(gains)} | {dead} |"


def prunings(cases: dict[tuple[Row, str | None], CaseResult]) -> Iterator[str]:
    """Table of what prunings cost in bytes/token, and of the tokens that each order leaves dead."""
    heads = [f"{order} {float(share):.0%}" for share in SHOWN for order in ("leaf", "frequency")]
    yield f"| base | {' | '.join(heads)} |"
    yield f"| :-- |{' --: |' * len(heads)}"
    for base in dict.fromkeys(row[0] for row, _ in cases if len(row) == 3):
        rows = [cases.get(((base, order, share), "en")) for share in SHOWN for order in ("leaf", "frequency")]
        cells = [
            f"{percent(measured(row, 'compression_gain', BASE))}, {number(measured(row, DEAD[1]))} dead" for row in rows
        ]
        yield f"| {base} | {' | '.join(cells)} |"


class Promise(NamedTuple):
    """A line on who keeps it and who does not, and whether there are any and all do."""

    line: str
    holds: bool


def promise(what: str, results: Sequence[CaseResult], kept: Callable[[CaseResult], bool]) -> Promise:
    """How many keep it, and those that do not."""
    broken = [f"{one.case.tokenizer} on {one.case.corpus}" for one in results if not kept(one)]
    but = f"; not {', '.join(broken)}" if broken else ""
    return Promise(f"- {what}: {len(results) - len(broken)} of {len(results)}{but}", bool(results) and not broken)


def over_naive(results: Sequence[CaseResult]) -> Promise:
    """Who gives more bytes/token than the naive extension, and everyone else by name, with the largest difference."""
    found: dict[str, list[CaseResult]] = {}
    for one in results:
        found.setdefault(outcome(measured(one, "compression_gain", NAIVE)), []).append(one)
    more = len(found.pop("more", ()))
    lines = [f"- more bytes/token than naive, the interval above 0: {more} of {len(results)}"]
    for said, rows in sorted(found.items()):
        values = (measured(one, "compression_gain", NAIVE).value for one in rows)
        most = max((abs(value) for value in values if value is not None), default=0)
        lines.append(f"  - {said}, by at most {most:.3%}: {len(rows)}; {', '.join(named(rows))}")
    return Promise("\n".join(lines), bool(results) and "no interval" not in found)


def named(results: Sequence[CaseResult]) -> Iterator[str]:
    """Rows that differ in size alone, in one entry."""
    sizes: dict[str, list[str]] = {}
    for one in results:
        row, _, size = one.case.tokenizer.rpartition(" ")
        sizes.setdefault(row, []).append(size)
    return (f"{row} {' '.join(each)}" for row, each in sizes.items())


def has_none(metric: str) -> Callable[[CaseResult], bool]:
    """Whether a case counts none of something."""
    return lambda one: measured(one, metric).value == 0


def promises(record: Record) -> Iterator[Promise]:
    """What holds, and what does not."""
    every = record.of("adaptation")
    continued = [one for one in every if " continued " in one.case.tokenizer]
    beside = [one for one in continued if one.case.parameters.get("against")]
    leaf = [one for one in every if " leaf " in one.case.tokenizer]
    yield over_naive(beside)
    for layer, metric in enumerate(DEAD, 1):
        yield promise(f"none dead in layer {layer}, continued", beside if layer == 3 else continued, has_none(metric))
    yield promise("none added without a text or an argument, continued", beside, has_none("added_without_witness"))
    for layer, metric in enumerate(DEAD[:2], 1):
        yield promise(f"none newly dead in layer {layer}, leaf", leaf, has_none(metric))
    yield promise(
        "ids of the home library, all documents",
        [one for one in record.of("integrity") if record.data["tokenizers"][one.case.tokenizer]["compared_with"]],
        lambda one: one.status == "ok" and measured(one, "mapped_documents").value == 0,
    )


def main() -> int:
    """Print the tables and what holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", type=Path)
    record = store.read(parser.parse_args().record)
    cases = adaptations(record)
    said = list(promises(record))
    for part in (extensions(cases), prunings(cases), (one.line for one in said)):
        sys.stdout.write("".join(f"{line}\n" for line in part) + "\n")
    return 0 if all(one.holds for one in said) else 1


if __name__ == "__main__":
    sys.exit(main())
