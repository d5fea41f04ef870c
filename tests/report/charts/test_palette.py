"""Colours are told apart by readers with any kind of colour blindness, and stand out, on light and on dark pages."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from pyharness.report.charts.drawing import INK, PAGE, PALETTE, QUIET, SERIES, Colour

Vector = NDArray[np.float64]
# Machado, Oliveira and Fernandes 2009, severity 1, of linear RGB
BLINDNESS = {
    "none": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
TOLD_APART = 20  # distance in CIELAB; 2.3 is just noticeable side by side


def linear(colour: str) -> Vector:
    shares = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """As WCAG 2 has it."""
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: Vector) -> Vector:
    share = TO_XYZ @ np.clip(rgb, 0, 1) / np.array([0.9505, 1, 1.089])
    x, y, z = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def least_distance(colours: list[str]) -> float:
    return min(
        float(np.linalg.norm(lab(matrix @ linear(one)) - lab(matrix @ linear(other))))
        for matrix in BLINDNESS.values()
        for one, other in itertools.combinations(colours, 2)
    )


@pytest.mark.parametrize("side", ["light", "dark"])
def test_series_are_told_apart_and_stand_out(side: str) -> None:
    colours = [getattr(colour, side) for colour in SERIES]
    assert least_distance(colours) >= TOLD_APART
    assert min(contrast(colour, getattr(PAGE, side)) for colour in colours) >= 3


@pytest.mark.parametrize("side", ["light", "dark"])
def test_text_is_read(side: str) -> None:
    assert min(contrast(getattr(colour, side), getattr(PAGE, side)) for colour in (INK, QUIET)) >= 4.5


def test_the_check_refuses_what_is_not_told_apart() -> None:
    assert least_distance(["#1565b0", "#d43fb0"]) < TOLD_APART, "blue and pink, of which protans see no red"
    assert contrast("#56b4e9", "#ffffff") < 3


def test_a_style_sheet_finds_each_colour_by_its_light_one() -> None:
    of_light: dict[str, Colour] = {colour.light: colour for colour in PALETTE}
    assert len(of_light) == len(PALETTE)
