"""Colours and letters of charts; each colour has a light and a dark form.

Readers with any of three kinds of colour blindness can distinguish the series. Series differ from the page by 3:1 at
least; text by 4.5:1 (``tests/report/charts/test_palette.py`` computes both). A chart is drawn in light colours. A style
sheet replaces them with the dark ones: ``svg [fill="#003f7f"] { fill: #a8d2ff }``.
"""

from __future__ import annotations

from dataclasses import dataclass

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
)
INK = Colour("ink", "#1b1d1f", "#e8eaec")  # text
QUIET = Colour("quiet", "#55595e", "#b4b9be")  # axes, samples, notes
GRID = Colour("grid", "#dfe1e3", "#33383d")  # grid lines, without a meaning of their own
PALETTE = (*SERIES, INK, QUIET, GRID)
