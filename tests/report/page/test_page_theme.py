"""Colours: text stands out from all that is behind it, on light and on dark screens."""

from __future__ import annotations

import re

import pytest

from pyharness.report.charts import PALETTE
from pyharness.report.page import markup
from pyharness.report.page.markup import _asset

CONTRAST = 4.5  # WCAG 2.2, 1.4.3


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_known_pairs() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("place", [0, 1])
def test_text_stands_out(place: int) -> None:
    for behind in markup.BEHIND:
        written = markup.WRITTEN if behind in ("page", "raised") else ("ink",)
        for text in written:
            assert contrast(markup.COLOURS[text][place], markup.COLOURS[behind][place]) >= CONTRAST, (text, behind)


@pytest.mark.parametrize("place", ["fill", "stroke"])
def test_drawings_take_the_colours_of_the_page(place: str) -> None:
    for colour in PALETTE:
        assert f'svg [{place}="{colour.light}"]{{{place}:var(--{colour.name})}}' in markup.theme()
        assert markup.COLOURS[colour.name] == (colour.light, colour.dark)


def test_colours_of_the_style_sheet_are_named_in_the_theme() -> None:
    style = _asset("style.css")
    assert {*re.findall(r"var\(--([\w-]+)\)", style)} <= {*markup.COLOURS, "share"}
    assert not re.findall(r"#[0-9a-f]{3,8}\b", style)


def test_paper_is_light_and_nothing_moves() -> None:
    for media, rule in re.findall(r"@media ([^{]*)\{(.*?\}\})", markup.theme()):
        assert media.startswith("screen"), rule
    assert not re.search(r"transition|animation|scroll-behavior", _asset("style.css"))
