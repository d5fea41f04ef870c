"""Elements and attributes that a page may have: anything else was made of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Page

_OF_PAGES = """
html head meta title style script body a header footer nav main section article div span p strong em small code
h1 h2 h3 h4 h5 h6 ol ul li dl dt dd table caption colgroup col thead tbody tfoot tr th td
figure figcaption details summary button input label output select option fieldset legend br hr pre
"""
_OF_CHARTS = """
svg g path text tspan rect line circle polygon polyline title desc defs use clippath lineargradient stop
"""
OF_PAGES, OF_CHARTS = frozenset(_OF_PAGES.split()), frozenset(_OF_CHARTS.split())
_ALL = """
() => [...document.querySelectorAll("*")].map((one) => [
  one.namespaceURI, one.localName, [...one.attributes].map((each) => [each.name, each.value.slice(0, 300)])])
"""


def strange(page: Page) -> list[str]:
    """Elements that no page has, attributes that run or style, and addresses that lead away."""
    return [fault for element in page.evaluate(_ALL) for fault in _faults(*element)]


def _faults(namespace: str, name: str, attributes: list[list[Any]]) -> list[str]:
    known = OF_CHARTS if namespace.endswith("/svg") else OF_PAGES
    is_tip = name == "i" and attributes == [["class", "tip"]]
    faults = [] if name.lower() in known or is_tip else [f"<{name}>"]
    for attribute, value in attributes:
        leads = attribute in ("href", "src", "xlink:href", "action", "formaction", "srcset", "srcdoc", "background")
        own = name == "a" and value.startswith(("#", "data:application/"))
        refreshes = attribute == "http-equiv" and value.lower() != "content-security-policy"
        if attribute.startswith("on") or attribute == "style" or (leads and not own) or refreshes:
            faults.append(f"<{name} {attribute}={value[:80]!r}>")
    return faults
