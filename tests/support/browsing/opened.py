"""A page in a headless browser without a network, and all that happened there which nobody asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

_LISTEN = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser that PYHARNESS_BROWSER names, headless; nothing is downloaded."""
    playwright = pytest.importorskip("playwright.sync_api")
    program = os.environ.get("PYHARNESS_BROWSER")
    if not program:
        pytest.skip("PYHARNESS_BROWSER is not set: it names a Chromium, which .ci/browser finds or installs")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program)
        yield started
        started.close()


@dataclass
class Opened:
    """A page, and what it did beside being shown: each list stays empty where all is well."""

    page: Page
    requests: list[str] = field(default_factory=list)  # addresses, but for the page's own
    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)  # exceptions that no script has caught
    dialogs: list[str] = field(default_factory=list)

    def dismiss(self, dialog: Dialog) -> None:
        """Keep what a dialog says, and close it."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    @property
    def violations(self) -> list[str]:
        """What its policy has stopped. Seen only where scripts run; the console tells of it elsewhere, too."""
        return self.page.evaluate("window.violations ?? []")  # type: ignore[no-any-return]

    @property
    def unasked(self) -> dict[str, list[str]]:
        """All that must not happen, where it did."""
        seen = {"requests": self.requests, "console": self.console, "errors": self.errors, "dialogs": self.dialogs}
        return {name: one for name, one in {**seen, "violations": self.violations}.items() if one}


@contextmanager
def opened(
    browser: Browser, path: Path, *, scripts: bool = True, width: int = 1280, **options: Any
) -> Iterator[Opened]:
    """Open a file with the network cut. ``options``: of Playwright's ``new_context``, such as ``color_scheme``."""
    viewport: Any = {"width": width, "height": 900}
    context = browser.new_context(offline=True, java_script_enabled=scripts, viewport=viewport, **options)
    try:
        page, address = context.new_page(), path.as_uri()
        page.add_init_script(_LISTEN)
        seen = Opened(page)
        page.on("request", lambda request: None if request.url == address else seen.requests.append(request.url))
        page.on("console", lambda message: seen.console.append(message.text))
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("dialog", seen.dismiss)
        page.goto(address)
        yield seen
    finally:
        context.close()
