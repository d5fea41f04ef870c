"""Numbers on the page are those of the record, read where a reader finds them: in the page, not in its template."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from browsing.cells import cells
from browsing.opened import opened
from pyharness import store
from pyharness.cli import main
from pyharness.report import comparison
from pyharness.statistics.samples import interval_of, noise
from pyharness.types import CaseResult

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCALES = (1, 100, 1e3, 1e6, 1e-6)  # of the formats: percent, ms, µs, MB
TRACED = 20


def record_of(page: Path) -> store.Record:
    return store.read(page.with_suffix(".json"))


def known_numbers(record: store.Record, result: CaseResult, metric: str) -> Iterator[float]:
    """What may stand on the page for a case: a value, the spread of repetitions, a sum over the texts of its row."""
    ours = [one for one in result.measurements if one.metric == metric and one.value is not None]
    yield from (float(one.value) for one in ours if one.value is not None)
    yield from (spread for one in ours if (spread := noise(one.samples)) is not None)
    row = [other for other in record.of(result.case.benchmark) if other.case.tokenizer == result.case.tokenizer]
    yield sum(float(one.value or 0) for other in row for one in other.measurements if one.metric == metric)
    if not ours:
        counts = [counts for histogram in result.histograms.values() for counts in histogram.counts.values()]
        yield from (float(count) for one in counts for count in (*one, sum(one)))


def is_one_of(value: float, numbers: Iterable[float]) -> bool:
    return any(math.isclose(value, one, rel_tol=1e-12) for one in numbers)


def is_near(shown: tuple[float, float], interval: tuple[float, float] | None) -> bool:
    """Whether two intervals are one, of which the first has six digits."""
    return interval is not None and all(
        math.isclose(one, other, rel_tol=1e-5, abs_tol=1e-9) for one, other in zip(shown, interval, strict=True)
    )


@pytest.mark.parametrize("name", ["quick", "full"])
def test_every_number_is_the_record_s(browser: Browser, report: Callable[[str], Path], name: str) -> None:
    record = record_of(report(name))
    with opened(browser, report(name), scripts=False) as seen:
        found = cells(seen.page)
    results = {result.case.key: result for result in record.results}
    checked = Counter[str]()
    for cell in found:
        key = cell.case(results)
        if cell.value is None or key is None:
            continue
        assert is_one_of(cell.value, known_numbers(record, results[key], cell.metric)), cell
        assert cell.rounds(SCALES), cell
        checked["value"] += 1
        if cell.interval is not None:
            of_metric = [one for one in results[key].measurements if one.metric == cell.metric]
            assert any(is_near(cell.interval, interval_of(one)) for one in of_metric), cell
            checked["interval"] += 1
    assert checked["value"] > 100
    assert checked["interval"] > 20 or name == "quick"


def test_differences_and_verdicts_are_those_of_compare(browser: Browser, report: Callable[[str], Path]) -> None:
    page = report("quick")
    record = record_of(page)
    reference = record.data["suite"]["reference"]
    others = [row for row in record.data["tokenizers"] if row != reference]
    path = str(page.with_suffix(".json"))
    answer = CliRunner().invoke(main, ["compare", path, reference, *others, "--format", "json"])
    known = {(one["cases"], one["metric"]): one for one in json.loads(answer.output)}
    with opened(browser, page, scripts=False) as seen:
        found = cells(seen.page)
    checked = 0
    for cell, after in pairwise(found):
        key = next((key for key, _ in known if cell.tip.endswith(f"; {key}")), None)
        if key is None or cell.value is None:
            continue
        compared = known[key, cell.metric]
        assert math.isclose(cell.value, compared["difference"], rel_tol=1e-12), cell
        assert cell.interval is None or is_near(cell.interval, (compared["low"], compared["high"])), cell
        by_interval = compared["low"] is not None or compared["verdict"] == "same"  # the page asks no documents
        assert after.column != "verdict" or after.text == (compared["verdict"] if by_interval else "-"), cell
        checked += after.column == "verdict"
    assert checked >= len(others)


def test_rows_share_a_rank_where_compare_does_not_part_them(browser: Browser, report: Callable[[str], Path]) -> None:
    record = record_of(report("full"))
    with opened(browser, report("full"), scripts=False) as seen:
        found = [cell for cell in cells(seen.page) if cell.table == "All texts, by bytes per token"]
    ranks: dict[str, dict[str, int]] = {}
    for value, place in pairwise(found):
        if place.column == "#":
            ranks.setdefault(value.column, {})[value.row] = int(place.text)
    assert set(ranks.pop("overall").values()) <= set(range(1, len(found)))
    assert ranks.keys() == record.data["corpora"].keys()
    for text, of_rows in ranks.items():
        ordered = sorted(of_rows, key=lambda row: of_rows[row])
        for rank in set(of_rows.values()):
            assert rank == 1 + sum(one < rank for one in of_rows.values()), (text, of_rows)
            first, *others = best_first(record, text, [row for row in ordered if of_rows[row] == rank])
            assert "worse" not in [verdict(record, first, other, text) for other in others], (text, first)
            later = best_first(record, text, [row for row in ordered if of_rows[row] > rank])
            assert [verdict(record, first, other, text) for other in later[:1]] in ([], ["worse"]), (text, first)


def best_first(record: store.Record, text: str, rows: list[str]) -> list[str]:
    results = [one for one in record.of("compression") if one.case.corpus == text and one.case.tokenizer in rows]
    values = {one.case.tokenizer: one.measurements[0].value or 0 for one in results}
    return sorted(rows, key=lambda row: -values[row])


def verdict(record: store.Record, first: str, row: str, text: str) -> str:
    pairs = [pair for pair in comparison.pairs_of_rows(record, first, row) if pair.one.case.corpus == text]
    return next(one.verdict for one in comparison.differences(pairs) if one.metric == "bytes_per_token")


def test_random_cells_lead_to_their_cases(browser: Browser, report: Callable[[str], Path]) -> None:
    record = record_of(report("full"))
    keys = {result.case.key for result in record.results}
    with opened(browser, report("full"), scripts=False) as seen:
        seen.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        numbers = seen.page.locator("main td:has(> .tip)")
        places = random.Random(16).sample(range(numbers.count()), 3 * TRACED)
        traced = 0
        for place in places:
            numbers.nth(place).focus()
            (told,) = seen.page.locator("td > .tip:visible").all_inner_texts()
            traced += any(told.endswith(key) for key in keys)
    assert traced >= TRACED
