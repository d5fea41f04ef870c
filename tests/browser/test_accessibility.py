"""axe-core finds nothing serious on the pages, in the light and in the dark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browsing.opened import Opened, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

axe = pytest.importorskip("axe_playwright_python.sync_playwright")
GRAVE = ("serious", "critical")


def graves(seen: Opened) -> list[str]:
    seen.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    found = axe.Axe().run(seen.page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in GRAVE]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["quick", "failed"])
def test_nothing_serious(browser: Browser, report: Callable[[str], Path], name: str, scheme: str) -> None:
    with opened(browser, report(name), color_scheme=scheme) as seen:
        assert graves(seen) == []


def test_what_is_wrong_is_found(browser: Browser, report: Callable[[str], Path]) -> None:
    with opened(browser, report("failed")) as seen:
        seen.page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<button></button>')")
        assert [one.partition(":")[0] for one in graves(seen)] == ["button-name"]
