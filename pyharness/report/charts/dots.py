"""Rows with values as dots: their 95 % CIs, every sample, and a line at the reference; in one or more panels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyharness.report.charts import drawing
from pyharness.report.charts.scales import Scale, labels
from pyharness.report.sheet import Cell

MOST_ROWS = 60  # of more rows, the first and the last 30 are drawn; the table has those between
MOST_SPOKEN = 60  # marks with spoken text; with more of them, the table serves a listener better
_LONGEST = 26  # characters of a label
_ROW = 20  # pixels
_WIDTHS = {1: 640, 2: 420, 3: 280}  # of a panel, by the number of those next to each other
_OF_VERDICTS = {"better": drawing.BETTER.light, "worse": drawing.WORSE.light}


@dataclass(frozen=True, slots=True)
class Dot:
    """One row of one panel: a number as a table shows it, with its samples."""

    row: str
    cell: Cell
    panel: str = ""
    series: str = ""  # the row of the page whose look it has
    verdict: str = ""  # "better" or "worse": has its colour, and is read out
    limit: Cell | None = None  # what the row may not exceed; its text names the line


@dataclass(frozen=True, slots=True)
class _Shown:
    """A dot in shown units: its value times the scale of its format."""

    dot: Dot
    value: float | None
    interval: tuple[float, float] | None
    samples: tuple[float, ...]

    @classmethod
    def of(cls, dot: Dot) -> _Shown:
        """Scale a dot."""
        scale, cell = dot.cell.format.scale, dot.cell
        value = cell.value * scale if isinstance(cell.value, int | float) else None
        interval = None if cell.interval is None or value is None else tuple(end * scale for end in cell.interval)
        samples = tuple(sample * scale for sample in cell.samples)
        return cls(dot, value, interval, samples)  # type: ignore[arg-type]

    @property
    def numbers(self) -> tuple[float | None, ...]:
        """All numbers to show on the axis; None where one is missing."""
        return self.value, *(self.interval or ()), *self.samples, self.limit

    @property
    def limit(self) -> float | None:
        """The value that the row may not exceed."""
        cell = self.dot.limit
        return cell.value * cell.format.scale if cell is not None and isinstance(cell.value, int | float) else None


def dots(
    drawn: Sequence[Dot], name: str, axis: str, *, reference: str | None = None, at: float | None = None,
    log: bool = False, rows: Sequence[str] = (), beside: int = max(_WIDTHS),
) -> str:  # fmt: skip
    """Return SVG text.

    Args:
        drawn: rows in their order, panel by panel; a row may be missing from a panel.
        name: of the chart, for people who cannot see it.
        axis: the quantity of the values, with their unit.
        reference: the row whose value has a line through its panel.
        at: the place of a line in every panel, in the unit of the cells' values as shown.
        log: whether the axis is logarithmic; words replace values that are not above zero.
        rows: all rows of the page in their order, each with a look of its own; without them, all look alike.
        beside: panels next to each other, 1 to 3.

    Raises:
        InputError: the library that draws is not installed.
    """
    names = list(dict.fromkeys(dot.row for dot in drawn))
    left_out = len(names) - MOST_ROWS
    kept = names if left_out <= 0 else [*names[: MOST_ROWS // 2], *names[-(MOST_ROWS // 2) :]]
    shown = [_Shown.of(dot) for dot in drawn if dot.row in set(kept)]
    scale = Scale.of((number for one in shown for number in (*one.numbers, at)), log)
    row_labels = labels(kept, _LONGEST)
    if left_out > 0:
        axis = f"{axis} (rows {MOST_ROWS // 2 + 1} to {MOST_ROWS // 2 + left_out}: in the table)"
    several = list(dict.fromkeys(dot.panel for dot in drawn))
    beside = min(beside, len(several)) if beside in _WIDTHS else max(_WIDTHS)
    width = _WIDTHS[max(beside, 1)]
    panels = labels(several, int(width / drawing.LETTER))
    values = [{"l": row_labels[one.dot.row], "p": panels[one.dot.panel], **datum}
              for one in shown for datum in _data(one, scale, reference, rows)]  # fmt: skip
    named = {one.dot.limit.text: one for one in reversed(shown) if one.dot.limit is not None}
    values += [{"k": "limit name", "v": scale.place(one.limit), "t": text, "p": panels[one.dot.panel]}
               for text, one in named.items()]  # fmt: skip
    if at is not None:
        values += [{"k": "at", "v": scale.place(at), "p": panel} for panel in panels.values()]
    size = {"width": width, "height": _ROW * len(kept)}
    aria = len(shown) <= MOST_SPOKEN
    name = name if aria else f"{name}: {len(shown):,} numbers, which are in the table below"
    layers: drawing.Spec = {"layer": _layers(list(row_labels.values()), scale, axis, aria=aria), **size}
    if len(panels) == 1:
        return drawing.draw({"data": {"values": values}, **layers}, name)
    facet = {"facet": {"field": "p", "sort": list(panels.values())}, "columns": beside, "spec": layers}
    return drawing.draw({"data": {"values": values}, **facet}, name)


def _data(one: _Shown, scale: Scale, reference: str | None, rows: Sequence[str]) -> Iterator[drawing.Spec]:
    """Return the marks of a dot, kind by kind."""
    place, dot = scale.place(one.value), one.dot
    label = ", ".join(filter(None, (drawing.spoken(dot.row), drawing.spoken(dot.panel))))
    look = drawing.RowLook.of(rows.index(dot.series) if dot.series in rows else 0)
    colour = _OF_VERDICTS.get(dot.verdict, look.colour)
    if place is None:
        why = "no number" if one.value is None else f"{dot.cell.text}, which this scale has no place for"
        yield {"k": "none", "v": scale.low, "t": why, "d": f"{label}: {why}"}
        return
    if dot.row == reference:
        yield {"k": "at", "v": place}
    if one.limit is not None:
        yield {"k": "limit", "v": scale.place(one.limit)}
    if one.interval is not None:
        low, high = map(scale.edge, one.interval)
        yield {"k": "interval", "c": colour, "v": low, "w": high}
    yield from ({"k": "sample", "v": scale.place(sample)} for sample in one.samples if scale.place(sample) is not None)
    text = ", ".join(filter(None, (dot.cell.text, dot.verdict)))
    yield {"k": "dot", "v": place, "d": f"{label}: {text}", "c": colour, "h": look.shape}


def _layers(rows: Sequence[str], scale: Scale, axis: str, *, aria: bool) -> list[drawing.Spec]:
    x = scale.encoded("v", axis)
    room = drawing.LETTER * max(map(len, rows), default=0) + 8
    row_axis = {"title": None, "ticks": False, "domain": False, "labelPadding": 6, "grid": True, "minExtent": room}
    y = {"field": "l", "type": "nominal", "scale": {"domain": list(rows)}, "sort": None, "axis": row_axis}
    described = {"description": {"field": "d"}}
    shape = {"shape": drawing.literal("h")} if aria else {}  # of many, circles are joined
    marks: tuple[tuple[str, drawing.Spec, drawing.Spec], ...] = (
        ("at", {"type": "rule", "color": drawing.QUIET.light, "strokeDash": [4, 3], "aria": False}, {"x": x}),
        ("interval", {"type": "rule", "strokeWidth": 2, "aria": False},
         {"x": x, "x2": {"field": "w"}, "y": y, "color": drawing.literal("c")}),
        ("sample",
         {"type": "tick", "color": drawing.QUIET.light, "thickness": 1, "size": 11, "opacity": 1, "aria": False},
         {"x": x, "y": y}),
        ("dot", {"type": "point", "filled": True, "size": 60, "opacity": 1},
         {"x": x, "y": y, "color": drawing.literal("c"), **shape, **described}),
        ("limit",
         {"type": "tick", "color": drawing.INK.light, "thickness": 2, "size": _ROW, "opacity": 1, "aria": False},
         {"x": x, "y": y}),
        ("limit name", {"type": "text", "baseline": "bottom", "dy": -4, "aria": False, "color": drawing.INK.light},
         {"x": x, "y": {"value": 0}, "text": {"field": "t"}}),
        ("none", {"type": "text", "align": "left", "dx": 3, "fontSize": drawing.FONT_SIZE, "color": drawing.INK.light},
         {"x": x, "y": y, "text": {"field": "t"}, **described}),
    )  # fmt: skip
    return [
        {"transform": [{"filter": f"datum.k === '{kind}'"}], "mark": {"aria": aria, **mark}, "encoding": encoding}
        for kind, mark, encoding in marks
    ]
