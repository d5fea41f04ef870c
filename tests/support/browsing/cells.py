"""Cells as a reader sees them: text, and what is said of it in full."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

_NUMBER = r"-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?"
_CELLS = """
() => [...document.querySelectorAll("tbody tr > *")].map((cell) => {
  const table = cell.closest("table"), tip = (one) => one.querySelector(".tip")?.textContent ?? "";
  const text = (one) => [...one.childNodes].filter((each) => each.nodeType === Node.TEXT_NODE)
    .map((each) => each.nodeValue).join("");
  const head = table.tHead.rows[0].cells[cell.cellIndex];
  const title = head.querySelector("button")?.textContent ?? text(head); // of a column that a script can sort
  return [text(table.caption), text(cell.parentElement.cells[0]), title, tip(head), text(cell), tip(cell)];
})
"""


@dataclass(frozen=True)
class Seen:
    """A cell of the body of a table."""

    table: str
    row: str
    column: str
    meaning: str  # metric, unit and direction, as the head of the column has them
    text: str
    tip: str

    @property
    def value(self) -> float | None:
        """The number that the cell is of, in full."""
        match = re.match(f"{_NUMBER}(?=[ ;]|$)", self.tip)
        return None if match is None else float(match[0])

    @property
    def interval(self) -> tuple[float, float] | None:
        """As the tip has it: six digits."""
        match = re.search(f"95 % CI ({_NUMBER}) to ({_NUMBER})", self.tip)
        return None if match is None else (float(match[1]), float(match[2]))

    @property
    def metric(self) -> str:
        return self.meaning.partition(",")[0]

    def case(self, keys: Iterable[str]) -> str | None:
        """Key of the case that the number is traced to: the tip ends with it."""
        ends = [key for key in keys if self.tip.endswith(f"; {key}")]
        return max(ends, key=len, default=None)

    def rounds(self, scales: Iterable[float]) -> bool:
        """Whether the text is the number rounded, in the unit of one of the scales."""
        match = re.match(rf"[+]?({_NUMBER})", self.text)
        if match is None or self.value is None:
            return False
        shown = match[1].replace(",", "")
        last = 10.0 ** -len(shown.partition("e")[0].partition(".")[2])
        return any(abs(float(shown) - self.value * scale) <= 0.501 * last for scale in scales)


def cells(page: Page) -> list[Seen]:
    """All cells of all tables, folded ones too."""
    return [Seen(*(text.strip() for text in each)) for each in page.evaluate(_CELLS)]
