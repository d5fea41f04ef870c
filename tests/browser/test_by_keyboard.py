"""Whoever has no pointer: every control is reached and used by keys alone, and what a key did is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browsing.opened import opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

MOST_STOPS = 300  # of Tab, on the way to anything
_AT = """
() => {
  const at = document.activeElement, cell = at.closest("th, td");
  return {tag: at.localName, text: at.textContent, label: at.ariaLabel, head: cell?.ariaSort ?? null,
          row: cell?.parentElement.rowIndex ?? null, table: at.closest("table")?.caption.textContent ?? null,
          within: at.closest("figure") !== null, ring: getComputedStyle(at).outlineStyle};
}
"""


@pytest.fixture
def page(browser: Browser, report: Callable[[str], Path]) -> Iterator[Page]:
    with opened(browser, report("thirty")) as seen:
        yield seen.page


def tab_until(page: Page, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Press Tab until something is reached; every stop on the way shows that it has the focus."""
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        at: dict[str, Any] = page.evaluate(_AT)
        assert at["ring"] != "none", f"no focus is seen on {at}"
        if found(at):
            return at
    raise AssertionError("it is not reached by Tab")


def said(page: Page) -> str:
    return page.locator("[role=status]").inner_text()


def test_a_column_is_sorted_and_that_is_said(page: Page) -> None:
    tab_until(page, lambda at: at["table"] is not None)
    page.keyboard.press("ArrowRight")
    column = page.locator("table").first.locator("tbody tr td:nth-child(2)")
    before = column.all_inner_texts()
    page.keyboard.press("Enter")
    assert page.evaluate(_AT)["head"] == "ascending"
    assert "ascending" in said(page)
    values = [float(text.split()[0]) for text in column.locator(".tip").all_text_contents()]
    assert values == sorted(values)
    page.keyboard.press("Enter")
    assert page.evaluate(_AT)["head"] == "descending"
    values = [float(text.split()[0]) for text in column.locator(".tip").all_text_contents()]
    assert values == sorted(values, reverse=True)
    page.keyboard.press("Enter")
    assert column.all_inner_texts() == before, "the third time, the first order is back"


def test_rows_are_filtered_and_counted(page: Page) -> None:
    at = tab_until(page, lambda at: at["tag"] == "input" and "ilter" in (at["label"] or ""))
    assert at["label"].startswith("Filter rows of ")
    page.keyboard.type("row-07")
    rows = page.locator("table").first.locator("tbody tr:visible")
    assert [row.split()[0] for row in rows.all_inner_texts()] == ["row-07"]
    assert said(page).endswith("1 of 30 rows shown")
    page.keyboard.press("Control+A")
    page.keyboard.press("Delete")
    assert rows.count() == 30


def test_a_row_is_hidden_and_shown_again(page: Page) -> None:
    tab_until(page, lambda at: at["table"] is not None)
    page.keyboard.press("ArrowDown")
    first = page.locator("table").first.locator("tbody tr")
    name = first.first.locator("th").inner_text().split()[0]
    assert page.evaluate(_AT)["label"] == f"Hide row {name}"
    page.keyboard.press("Enter")
    assert first.first.is_hidden()
    assert page.evaluate(_AT)["label"].startswith("Hide row "), "the focus goes on to the next row"
    assert said(page).endswith("29 of 30 rows shown")
    for _ in range(MOST_STOPS):
        page.keyboard.press("Shift+Tab")
        if page.evaluate(_AT)["text"].startswith("Show hidden rows"):
            break
    page.keyboard.press("Enter")
    assert first.first.is_visible()


def test_the_numbers_of_a_chart_are_reached_and_told_whole(page: Page) -> None:
    tab_until(page, lambda at: at["tag"] == "summary" and at["within"])
    numbers = page.locator("figure details").first
    assert numbers.get_attribute("open") is None
    page.keyboard.press("Enter")
    assert numbers.locator("table").is_visible()
    tab_until(page, lambda at: at["table"] is not None and at["within"])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("End")
    for _ in range(10):
        tip = page.locator(".tip:visible")
        if tip.count():
            break
        page.keyboard.press("ArrowLeft")
    assert "compression | row-" in tip.first.inner_text(), "the key of the case is in it"
    page.keyboard.press("Escape")
    assert page.locator(".tip:visible").count() == 0


def test_the_first_stop_leads_past_the_contents(page: Page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_colours_are_chosen_by_keys(page: Page) -> None:
    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    tab_until(page, lambda at: at["tag"] == "input" and "ilter" not in (at["label"] or ""))
    light = background()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert background() != light
