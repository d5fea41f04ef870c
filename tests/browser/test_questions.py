"""What people ask of a page, answered from it alone by clicks: nobody opens the record."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsing.cells import cells
from browsing.opened import opened
from pyharness import store
from pyharness.report import comparison

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page


class Reader:
    """Someone who follows links, opens what is folded and clicks on heads of columns."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def goes_to(self, section: str) -> None:
        self.page.get_by_role("navigation").get_by_role("link", name=section).first.click()

    def table(self, title: str) -> Locator:
        """Find a table, and open what it is folded into."""
        caption = self.page.locator("caption", has_text=re.compile(rf"^\s*{re.escape(title)}"))
        table = self.page.locator("table", has=caption).first
        folded = table.locator("xpath=ancestor::details[not(@open)]")
        while folded.count():
            folded.first.locator("> summary").click()
        return table

    def sorts(self, title: str, column: str, *, descending: bool) -> None:
        exactly = re.compile(f"^{re.escape(column)}$")
        button = self.table(title).locator("thead button", has_text=exactly).first
        for _ in range(2 if descending else 1):
            button.click()

    def reads(self, title: str) -> list[dict[str, str]]:
        """Rows of a table by the heads of its columns, as they are seen."""
        table = self.table(title)
        heads = [text.partition("\n")[0].strip(" ↕↑↓") for text in table.locator("thead th").all_inner_texts()]
        rows = table.locator("tbody tr:visible")
        return [
            dict(zip(heads, (text.strip(" ×\n") for text in row.locator("> *").all_inner_texts()), strict=True))
            for row in rows.all()
        ]


@pytest.fixture
def ask(browser: Browser, report: Callable[[str], Path]) -> Iterator[Callable[[str], Reader]]:
    pages = []

    def opener(name: str) -> Reader:
        context = opened(browser, report(name))
        pages.append(context)
        return Reader(context.__enter__().page)

    yield opener
    for context in pages:
        context.__exit__(None, None, None)


def test_which_is_cheapest_for_thai(ask: Callable[[str], Reader], report: Callable[[str], Path]) -> None:
    reader = ask("full")
    reader.goes_to("Bytes per token")
    reader.sorts("All texts, by bytes per token", "th", descending=True)
    first = reader.reads("All texts, by bytes per token")[0]
    results = [one for one in record_of(report("full")).of("compression") if one.case.corpus == "th"]
    assert first["tokenizer"] == max(results, key=lambda one: one.measurements[0].value or 0).case.tokenizer


def test_which_is_fastest_on_new_text_with_equal_ids(
    ask: Callable[[str], Reader], report: Callable[[str], Path]
) -> None:
    reader = ask("quick")
    equal = [row["tokenizer"] for row in reader.reads("Round trips") if row["same ids"] != "-"]
    assert equal == ["native"], "its vocabulary is native"
    reader.sorts("Throughput, MB/s: en", "steady", descending=True)
    fastest = next(row for row in reader.reads("Throughput, MB/s: en") if row["tokenizer"] in ("plain", "native"))
    speeds = {
        one.case.tokenizer: measurement.value or 0
        for one in record_of(report("quick")).of("throughput")
        for measurement in one.measurements
        if (measurement.metric, measurement.part, one.case.corpus) == ("encode_bytes_per_second", "steady", "en")
    }
    assert fastest["tokenizer"] == max(("plain", "native"), key=lambda row: speeds[row])


def test_which_differences_are_not_resolved(ask: Callable[[str], Reader], report: Callable[[str], Path]) -> None:
    reader = ask("quick")
    reader.goes_to("Bytes per token")
    reader.table("Difference from one")  # is opened
    shown = list(pairwise(cells(reader.page)))
    told: dict[str, dict[str, str]] = {"en": {}, "aligned": {}}
    for difference, verdict in shown:
        if difference.table.startswith("Difference from one") and verdict.column == "verdict":
            told[difference.column][difference.row] = verdict.text
    record = record_of(report("quick"))
    for text, of_rows in told.items():
        assert set(of_rows) == {"raw_bytes", "plain", "other", "native"}
        for row, judged in of_rows.items():
            pairs = [one for one in comparison.pairs_of_rows(record, "one", row) if one.one.case.corpus == text]
            (known,) = comparison.differences(pairs, "bytes_per_token")
            assert (row, judged) == (row, known.verdict or "-")
    assert told["en"]["other"] == "-", "a few groups decide it"


def test_which_rows_lose_text(ask: Callable[[str], Reader]) -> None:
    reader = ask("full")
    assert re.search(r"Lossy\b.*: lossy\b", reader.page.locator("main").inner_text())
    reader.sorts("Round trips", "text exact", descending=False)
    lost = [row["tokenizer"] for row in reader.reads("Round trips") if float(row["text exact"]) < 1]
    assert lost == ["lossy"]


def test_which_tokens_are_dead(ask: Callable[[str], Reader], report: Callable[[str], Path]) -> None:
    reader = ask("full")
    reader.goes_to("Unreachable and undecided tokens")
    rows = reader.reads("Unreachable and undecided tokens")
    dead = {row["token"] for row in rows if row["tokenizer"] == "dead"}
    (known,) = [one for one in record_of(report("full")).of("reachability") if one.case.tokenizer == "dead"]
    named = {entry["token"] for name in ("model", "pipeline") for entry in known.details[name]}
    assert len(dead) >= 10
    assert {literal_eval(token) for token in dead} <= named
    assert any("<script>" in token for token in dead)


IN_VIEW = """() => {
  const seen = [], range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    range.selectNodeContents(walker.currentNode);
    const box = range.getBoundingClientRect(), shown = walker.currentNode.parentElement.checkVisibility();
    if (shown && box.width && box.top >= 0 && box.bottom <= innerHeight && box.right <= innerWidth) {
      seen.push(walker.currentNode.nodeValue.trim());
    }
  }
  return seen.join(" ");
}"""


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_the_first_screen_answers(
    ask: Callable[[str], Reader], report: Callable[[str], Path], width: int, height: int
) -> None:
    """Only what is in view is read, and nothing is clicked."""
    reader, record = ask("short"), record_of(report("short"))
    reader.page.set_viewport_size({"width": width, "height": height})
    text = " ".join(reader.page.evaluate(IN_VIEW).split())
    tokens = {one.case.tokenizer: 1 / (one.measurements[0].value or 1)
              for one in record.of("compression") if one.case.corpus == "th"}  # fmt: skip
    cheapest = min(tokens, key=lambda row: tokens[row])
    assert re.search(rf"th: {cheapest}\b[^;]*, then (\w+) \+[\d.]+ %", text), "cheapest for Thai, and by how much"
    assert "Tied " in text
    assert re.search(r"Fastest [a-z ]*\b(plain|native) ", text)
    assert re.search(r"Loses text lossy \(", text)
    assert re.search(r"Unreachable tokens [^.]*\bdead \d+", text)


def record_of(page: Path) -> store.Record:
    return store.read(page.with_suffix(".json"))
