"""Colours and letters of charts; each colour has a light and a dark form.

Readers with any of three kinds of colour blindness can distinguish the series. Series differ from the page by 3:1 at
least; text by 4.5:1 (``tests/report/charts/test_palette.py`` computes both). A chart is drawn in light colours. A style
sheet replaces them with the dark ones: ``svg [fill="#003f7f"] { fill: #a8d2ff }``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

FONT_SIZE = 12
LETTER = 7.0  # pixels of a letter at most, on average, in any font of a page


@dataclass(frozen=True, slots=True)
class Colour:
    """A named colour, on light and on dark pages."""

    name: str
    light: str
    dark: str


PAGE = Colour("page", "#ffffff", "#14171a")  # behind charts; never drawn
SERIES = (
    Colour("series-1", "#003f7f", "#a8d2ff"),
    Colour("series-2", "#5c2500", "#d9481c"),
    Colour("series-3", "#219e74", "#4fe3a1"),
    Colour("series-4", "#dd55c8", "#c03ea8"),
    Colour("series-5", "#b1880e", "#ffcf33"),
    Colour("series-6", "#7f2bf0", "#8a4dff"),
    Colour("series-7", "#db1849", "#aa6d6d"),
    Colour("series-8", "#795579", "#c286ff"),
)
INK = Colour("ink", "#1b1d1f", "#e8eaec")  # text
QUIET = Colour("quiet", "#55595e", "#b4b9be")  # axes, samples, notes
GRID = Colour("grid", "#dfe1e3", "#33383d")  # grid lines, without a meaning of their own
BETTER = Colour("better", "#0b57a4", "#8ec5ff")  # always beside a sign or the word
WORSE = Colour("worse", "#a33a00", "#ff9d66")
PALETTE = (*SERIES, INK, QUIET, GRID, BETTER, WORSE)
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])


class RowLook(NamedTuple):
    """Colour, mark and dashes of a row, the same on every chart of a page.

    >>> RowLook.of(1).colour == RowLook.of(9).colour, RowLook.of(1).shape == RowLook.of(9).shape
    (True, False)
    """

    colour: str
    shape: str
    dash: list[int]

    @classmethod
    def of(cls, number: int) -> RowLook:
        """Return the look of a row by its place: where a colour comes again, mark or dashes differ, up to 96 rows."""
        turned = number % len(SERIES) + number // len(SERIES)
        return cls(SERIES[number % len(SERIES)].light, SHAPES[turned % len(SHAPES)], DASHES[turned % len(DASHES)])


def literal(field: str) -> dict[str, Any]:
    """Return an encoding in Vega-Lite by values that stand in the data themselves."""
    return {"field": field, "type": "nominal", "scale": None, "legend": None}
