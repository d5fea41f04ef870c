"""The page of every kind of record opens from disk without a network: nothing is asked for, said or stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsing.opened import opened
from browsing.records import RECORDS

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
@pytest.mark.parametrize("name", RECORDS)
def test_it_opens_in_silence(browser: Browser, report: Callable[[str], Path], name: str, scripts: bool) -> None:
    with opened(browser, report(name), scripts=scripts) as seen:
        assert seen.page.locator("table").count()
        assert seen.unasked == {}
