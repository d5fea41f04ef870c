"""Pages at every width, in both colours and on paper: screenshots to look at, kept where PYHARNESS_SCREENSHOTS says."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsing.opened import opened
from browsing.records import RECORDS, page_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCREENSHOTS = "PYHARNESS_SCREENSHOTS"  # folder; without it they are the test's own, and gone with it
RECORD = "PYHARNESS_RECORD"  # a record whose answer is pictured in place of the test's: docs/images are of a quick run
MOST_OF_A_PICTURE = 200_000  # bytes: it is in the README
WIDTHS = (320, 1280, 3840)
MOST_BYTES = {"quick": 400_000, "thirty": 3_000_000}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kept = Path(os.environ.get(SCREENSHOTS, tmp_path))
    kept.mkdir(parents=True, exist_ok=True)
    return kept


@pytest.mark.parametrize("name", ["quick", "full", "algorithms", "next_token", "failed"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_has_its_colours(
    browser: Browser, report: Callable[[str], Path], folder: Path, name: str, scheme: str
) -> None:
    with opened(browser, report(name), color_scheme=scheme) as seen:
        seen.page.screenshot(path=folder / f"{name}-{scheme}.png", full_page=True)
        red, green, blue = seen.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g)")[:3]
    assert (int(red) + int(green) + int(blue) > 384) == (scheme == "light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_answer_is_pictured(
    browser: Browser, report: Callable[[str], Path], folder: Path, tmp_path: Path, scheme: str
) -> None:
    page, picture = report("quick"), folder / f"report-{scheme}.png"
    if RECORD in os.environ:
        page = page_of(Path(shutil.copy(os.environ[RECORD], tmp_path)))
    with opened(browser, page, width=1000, color_scheme=scheme) as seen:
        seen.page.locator("section.lead").screenshot(path=picture)
    assert 10_000 < picture.stat().st_size < MOST_OF_A_PICTURE


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["quick", "hostile_rows"])
def test_nothing_is_wider_than_the_page(
    browser: Browser, report: Callable[[str], Path], folder: Path, name: str, width: int
) -> None:
    with opened(browser, report(name), width=width) as seen:
        if name == "quick":
            seen.page.screenshot(path=folder / f"{name}-{width}.png", full_page=True)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_paper_it_is_light_and_all_of_it_is_open(
    browser: Browser, report: Callable[[str], Path], folder: Path
) -> None:
    with opened(browser, report("quick"), color_scheme="dark") as seen:
        folded = seen.page.locator("details table").first
        assert folded.is_hidden()
        (folder / "quick-print.pdf").write_bytes(seen.page.pdf(format="A4"))
        seen.page.emulate_media(media="print")
        seen.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert folded.is_visible()
        colours = "(({backgroundColor, color}) => [backgroundColor, color])(getComputedStyle(document.body))"
        background, text = ([int(one) for one in each] for each in seen.page.evaluate(
            f"{colours}.map((one) => one.match(/\\d+/g).slice(0, 3))"
        ))  # fmt: skip
        seen.page.screenshot(path=folder / "quick-print.png", full_page=True)
    assert sum(background) > sum(text)


@pytest.mark.slow  # measures rows on texts in every kind of benchmark
@pytest.mark.parametrize("name", MOST_BYTES)
def test_it_is_small_and_always_the_same(report: Callable[[str], Path], name: str) -> None:
    page = report(name)
    written = page.read_bytes()
    assert len(written) <= MOST_BYTES[name]
    assert page_of(page.with_suffix(".json")).read_bytes() == written


@pytest.mark.parametrize("name", RECORDS)
def test_charts_and_tables_need_no_script(browser: Browser, report: Callable[[str], Path], name: str) -> None:
    counts = []
    for scripts in (True, False):
        with opened(browser, report(name), scripts=scripts) as seen:
            counts.append([seen.page.locator(one).count() for one in ("table", "svg", "figure", "tbody tr")])
    assert counts[0] == counts[1]
    assert min(counts[0]) > 0 or name == "failed"
