"""Names of strangers are text on the page; where an escape fails, the policy stops them, and these tests see it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsing import hostile
from browsing.elements import strange
from browsing.opened import opened
from browsing.records import measured_once, page_of
from browsing.strings import hostile as names_of_strangers
from pyharness.report import visible
from pyharness.report.page import markup

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MOST_SHOWN = 200  # characters of a name that need not be shortened anywhere


@pytest.mark.parametrize(
    ("what", "name", "place"),
    [
        ("rows", "hostile_rows", "th[scope=row]"),
        ("texts", "hostile_texts", "caption, th[scope=row], h2, h3, h4"),
        ("reasons", "hostile_rows", "tr:has(th[scope=row]) > td"),
        ("tokens", "hostile_rows", "tr:has(th[scope=row]) > td"),
    ],
)
def test_every_name_is_text(browser: Browser, report: Callable[[str], Path], what: str, name: str, place: str) -> None:
    with opened(browser, report(name)) as seen:
        shown = "\n".join(seen.page.locator(place).all_text_contents())
    wanted = [visible(name) for name in names_of_strangers()]
    assert len(wanted) == 300
    assert [name for name in wanted if len(name) <= MOST_SHOWN and name not in shown] == []


@pytest.mark.parametrize("name", ["hostile_rows", "hostile_texts", "long"])
def test_no_element_is_made_of_a_name(browser: Browser, report: Callable[[str], Path], name: str) -> None:
    with opened(browser, report(name)) as seen:
        assert strange(seen.page) == []
        assert seen.page.locator("script").count() == seen.page.locator("style").count() == 1


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'])
def test_an_escape_that_fails_is_stopped_and_seen(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from markupsafe import Markup

    def planted(text: str) -> str:
        return Markup(text) if text == name else visible(text)  # noqa: S704 -- the failure

    record = tmp_path / "planted.json"
    record.write_text(json.dumps(hostile.of_rows(measured_once(), ["row", name, "other", "text"])), "utf-8")
    monkeypatch.setattr(markup, "visible", planted)
    with opened(browser, page_of(record)) as seen:
        seen.page.wait_for_timeout(200)
        assert seen.dialogs == [], "the policy has stopped it"
        assert seen.violations
        assert strange(seen.page) or seen.page.locator("script").count() > 1, "and the test before would have failed"
