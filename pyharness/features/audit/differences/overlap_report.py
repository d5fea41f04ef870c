"""Overlaps of vocabularies as tables, as JSON, and as a page with heat maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyharness.features.audit.differences.overlaps import PairOverlap, VocabularyContent, pair_overlap
from pyharness.report.charts.drawing import FONT_SIZE, INK, LETTER, SERIES, Spec, draw, spoken
from pyharness.report.charts.scales import labels
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.parts import Figure, Page, Section
from pyharness.system.environment import version_of
from pyharness.types import COUNT, PERCENT, Format

MOST_SCRIPTS = 6  # of a row in a table; JSON has all
_SHARE = Format("{:.4f}")
_CELL = (56, 26)  # pixels
_LONGEST = 26  # characters of a label
_DARKEST = 0.35  # opacity of the largest value: numbers stay readable on it, on light and on dark pages


@dataclass(frozen=True, slots=True)
class _Measure:
    title: str
    about: str
    value: Callable[[PairOverlap], float | None]


_MEASURES = (
    _Measure("Jaccard", "Tokens of both vocabularies, divided by those of either.", lambda one: one.tokens.jaccard),
    _Measure("Share of the row's tokens that the column has",
             "Tokens of both vocabularies, divided by those of the row.", lambda one: one.share),
    _Measure("Share, weighted by use", "Of the row's tokens of the text: the share that the column also has.",
             lambda one: one.used),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class VocabularyReport:
    """What some vocabularies hold and share, and the texts that gave the use."""

    contents: Sequence[VocabularyContent]
    corpora: Sequence[str]
    overlaps: Mapping[tuple[str, str], PairOverlap]

    @classmethod
    def of(cls, contents: Sequence[VocabularyContent], corpora: Sequence[str]) -> VocabularyReport:
        """Compare each row with each."""
        pairs = {(one.side.spec, other.side.spec): pair_overlap(one, other) for one in contents for other in contents}
        return cls(contents, corpora, pairs)

    @property
    def names(self) -> list[str]:
        """Names of the rows."""
        return [one.side.spec for one in self.contents]

    def sheets(self) -> list[Sheet]:
        """Return the tables for people."""
        return [self._held(), self._scripts(), *(self._matrix(measure) for measure in _MEASURES)]

    def page(self) -> Page:
        """Return the page: heat maps with their numbers, and what each vocabulary holds."""
        figures = tuple(
            Figure(sheet.title, measure.about, heat_map(sheet), sheet)
            for measure, sheet in ((one, self._matrix(one)) for one in _MEASURES)
        )
        held = Section("What they hold", (self._held(), self._scripts()))
        about = f"{len(self.names)} vocabularies; use is counted in {', '.join(self.corpora)}."
        return Page("Overlap of vocabularies", (Section("What they share", figures), held), about)

    def as_json(self) -> dict[str, Any]:
        """Return all numbers as JSON values."""
        return {
            "pyharness": version_of("pyharness"), "corpora": list(self.corpora),
            "libraries": {one.side.library: version_of(one.side.library) for one in self.contents},
            "vocabularies": [
                {"tokenizer": one.side.spec, "tokens": len(one.kinds), "used": one.used,
                 "leading_space": _counts(one.with_space),
                 "scripts": {name: _counts(counts) for name, counts in one.scripts.items()}} for one in self.contents
            ],
            "overlaps": [
                {"first": one, "second": other, "both": pair.tokens.both, "jaccard": pair.tokens.jaccard,
                 "share": pair.share, "share_of_use": pair.used} for (one, other), pair in self.overlaps.items()
            ],
        }  # fmt: skip

    def _held(self) -> Sheet:
        rows = tuple(
            (Cell(one.side.spec), Cell(len(one.kinds), COUNT), *_shares(one, one.with_space)) for one in self.contents
        )
        headings = (
            Heading("tokenizer", "name"),
            Heading("tokens"),
            Heading("leading space %"),
            Heading("of the text %"),
        )
        return Sheet("Tokens that begin with a space", headings, rows, (f"Text: {', '.join(self.corpora)}.",))

    def _scripts(self) -> Sheet:
        rows = tuple(
            (Cell(one.side.spec), Cell(name), Cell(counts[0], COUNT), *_shares(one, counts))
            for one in self.contents
            for name, counts in list(one.scripts.items())[:MOST_SCRIPTS]
        )
        headings = (Heading("tokenizer", "name"), Heading("script", "word"), Heading("tokens"),
                    Heading("of the vocabulary %"), Heading("of the text %"))  # fmt: skip
        return Sheet("Scripts of tokens", headings, rows, (f"Of each row, the {MOST_SCRIPTS} most frequent scripts.",))

    def _matrix(self, measure: _Measure) -> Sheet:
        rows = tuple(
            (Cell(one), *(Cell(measure.value(self.overlaps[one, other]), _SHARE) for other in self.names))
            for one in self.names
        )
        headings = (Heading("tokenizer", "name"), *(Heading(name) for name in self.names))
        return Sheet(f"Overlap: {measure.title}", headings, rows, (measure.about,))


def _counts(counts: tuple[int, int]) -> dict[str, int]:
    return dict(zip(("tokens", "used"), counts, strict=True))


def _shares(one: VocabularyContent, counts: tuple[int, int]) -> tuple[Cell, Cell]:
    tokens, used = counts
    return Cell(tokens / max(len(one.kinds), 1), PERCENT), Cell(used / one.used if one.used else None, PERCENT)


def heat_map(sheet: Sheet) -> str:
    """Return SVG text of a matrix of shares: a field for each cell, stronger for larger numbers.

    Raises:
        InputError: the library that draws is not installed.
    """
    names = [str(row[0].value) for row in sheet.rows]
    short = labels(names, _LONGEST)
    values = [
        {"r": short[name], "c": short[other], "v": cell.value, "o": round(_DARKEST * float(cell.value or 0), 3),
         "t": "-" if cell.value is None else f"{cell.value:.2f}", "d": f"{spoken(name)}, {spoken(other)}: {cell.text}"}
        for name, row in zip(names, sheet.rows, strict=True)
        for other, cell in zip(names, row[1:], strict=True)
    ]  # fmt: skip
    across, down = _CELL
    size = {"width": across * len(names), "height": down * len(names)}
    return draw({"data": {"values": values}, "layer": _layers(list(short.values())), **size}, sheet.title)


def _layers(names: Sequence[str]) -> list[Spec]:
    room = LETTER * max(map(len, names)) + 8
    bare = {"title": None, "ticks": False, "domain": False, "labelPadding": 6}
    place = {"type": "nominal", "scale": {"domain": list(names)}, "sort": None}
    x = {"field": "c", **place, "axis": {**bare, "orient": "top", "labelAngle": -45}}
    y = {"field": "r", **place, "axis": {**bare, "minExtent": room}}
    opacity = {"field": "o", "type": "quantitative", "scale": None, "legend": None}
    field = {"type": "rect", "color": SERIES[0].light}
    text = {"type": "text", "fontSize": FONT_SIZE, "color": INK.light, "aria": False}
    return [
        {"mark": field, "encoding": {"x": x, "y": y, "fillOpacity": opacity, "description": {"field": "d"}}},
        {"mark": text, "encoding": {"x": x, "y": y, "text": {"field": "t"}}},
    ]
