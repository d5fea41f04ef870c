"""Points in a plane, joined by lines or single, with labels next to them: on linear and logarithmic axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pyharness.report.charts.drawing import FONT_SIZE, INK, QUIET, RowLook, Spec, draw, literal, spoken
from pyharness.report.charts.scales import LINE, Label, Scale, labels, spread

MOST_LABELS = 30  # in one panel: more overlap, and the table has the names
_LONGEST = 22  # characters of a label
_WIDTHS, _HEIGHT = (640, 400, 250), 280  # pixels: widths of a panel alone, of one of two, of one of more; the height
_KEY, _STROKE = 17, 26  # pixels: between lines of the key, and of the line segment in it
_ABOVE = 8  # pixels from the line that joins the best to their names: it falls to the right
_BESIDE = 3  # panels next to each other


@dataclass(frozen=True, slots=True)
class AxisLabel:
    """The quantity of an axis, with its unit."""

    title: str
    log: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """One place, and the text read aloud for it."""

    x: float
    y: float
    said: str
    interval: tuple[float, float] | None = None  # of y


@dataclass(frozen=True, slots=True)
class Line:
    """Points joined in their order; a single point is only a point."""

    name: str
    points: tuple[Point, ...]
    marked: bool = True  # whether each point has a mark; if not, the first point's spoken text stands for the line


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines against one y axis."""

    title: str
    y: AxisLabel
    lines: tuple[Line, ...]
    best: tuple[str, ...] = ()  # names of single points that are in bold, and joined in this order


def curves(panels: Sequence[Panel], name: str, x: AxisLabel, rows: Sequence[str] = ()) -> str:
    """Return SVG text; panels share the x axis, and the y axis if it is the same quantity in all.

    A logarithmic axis omits points without a place on it: the table has them. ``rows``: all rows of the page in their
    order, each with a look of its own.

    Raises:
        InputError: the library that draws is not installed.
    """
    across = Scale.of((point.x for panel in panels for line in panel.lines for point in line.points), x.log)
    width = _WIDTHS[min(len(panels), _BESIDE) - 1]
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    others = [one for one in names if one not in rows]
    looks = {one: RowLook.of(rows.index(one) if one in rows else len(rows) + others.index(one)) for one in names}
    alike = panels if len({panel.y for panel in panels}) == 1 else ()
    views = [_View(panel, across, _up(alike or [panel]), x, width, looks, labels(names, _LONGEST)) for panel in panels]
    keyed = any(view.is_crowded for view in views)
    specs = [view.spec(keyed, keyed and view is views[-1]) for view in views]
    return draw(specs[0] if len(specs) == 1 else {"concat": specs, "columns": _BESIDE, "spacing": 24}, name)


def _up(panels: Sequence[Panel]) -> Scale:
    """Return the y axis of some panels."""
    points = [point for panel in panels for line in panel.lines for point in line.points]
    return Scale.of((end for one in points for end in (one.y, *(one.interval or ()))), panels[0].y.log)


@dataclass(frozen=True, slots=True)
class _View:
    panel: Panel
    across: Scale
    up: Scale
    x: AxisLabel
    width: int
    looks: dict[str, RowLook]  # of all panels: a name has one look in all of them
    short: dict[str, str]

    @property
    def is_crowded(self) -> bool:
        """Whether lines end too close to each other for labels at their ends."""
        lines = [line for line in self.panel.lines if len(line.points) > 1]
        heights = sorted(_HEIGHT * (1 - self.up.share(placed[-1][2])) for line in lines
                         if (placed := list(self._place(line))))  # fmt: skip
        return any(low - high < LINE for high, low in pairwise(heights))

    def spec(self, keyed: bool, with_key: bool) -> Spec:
        """Return the panel in Vega-Lite; ``keyed``: without labels, because a key next to one panel replaces them."""
        values = [*self._best(), *(datum for line in self.panel.lines for datum in self._line(line))]
        values += () if keyed else self._labels()
        values += self._key() if with_key else ()
        title = {"title": {"text": self.panel.title, "anchor": "start", "fontSize": FONT_SIZE, "color": INK.light}}
        padding = {"view": {"stroke": None}, "width": self.width, "height": _HEIGHT}
        return {**(title if self.panel.title else {}), **padding, "data": {"values": values}, "layer": self._layers()}

    def _place(self, line: Line) -> Iterator[tuple[Point, float, float]]:
        for point in line.points:
            x, y = self.across.place(point.x), self.up.place(point.y)
            if x is not None and y is not None:
                yield point, x, y

    def _best(self) -> Iterator[Spec]:
        """Join the best points by a thin line."""
        places = {line.name: place for line in self.panel.lines for place in self._place(line)}
        for number, name in enumerate(one for one in self.panel.best if one in places):
            yield {"k": "best", "x": places[name][1], "y": places[name][2], "n": number}

    def _look(self, name: str) -> Spec:
        look, number = self.looks[name], list(self.looks).index(name)
        return {"s": number, "c": look.colour, "h": look.shape}

    def _line(self, line: Line) -> Iterator[Spec]:
        look, placed = self._look(line.name), list(self._place(line))
        for number, (point, x, y) in enumerate(placed):
            description = f"{spoken(line.name)}: {point.said}"
            if len(placed) > 1:
                yield {"k": "joined" if line.marked else "line", "x": x, "y": y, "n": number, "d": description, **look}
            if line.marked:
                yield {"k": "point", "x": x, "y": y, "d": description, **look}
            if point.interval is not None:
                low, high = map(self.up.edge, point.interval)
                yield {"k": "interval", "x": x, "y": low, "z": high, **look}

    def _labels(self) -> Iterator[Spec]:
        """Label the end of each line, without overlaps if there is room; label none of more than ``MOST_LABELS``."""
        ends = [(line.name, placed[-1]) for line in self.panel.lines if (placed := list(self._place(line)))]
        if len(ends) > MOST_LABELS:
            return
        best = {self.short[name] for name in self.panel.best}
        wanted = [
            Label(
                self.short[name], self.width * self.across.share(x),
                _HEIGHT * (1 - self.up.share(y)) - _ABOVE * (self.short[name] in best),
            )
            for name, (_, x, y) in ends
        ]  # fmt: skip
        for point, label in spread(wanted, _HEIGHT):
            yield {"k": "bold" if label.text in best else "label", "x": label.x, "y": label.y, "t": label.text}
            if abs(label.y - point.y) >= LINE:  # not next to its point: a thin line leads there
                end = label.x if label.x > point.x else label.end
                yield {"k": "leader", "x": point.x, "y": point.y, "w": end, "z": label.y}

    def _key(self) -> Iterator[Spec]:
        """Name the lines of all panels next to this one, each with a segment of its line."""
        if len(self.looks) > MOST_LABELS:
            return
        left = self.width + _KEY
        for number, name in enumerate(self.looks):
            y = _KEY * (number + 0.5)
            yield {"k": "key", "x": left, "w": left + _STROKE, "y": y, **self._look(name)}
            yield {"k": "label", "x": left + _STROKE + _KEY / 2, "y": y, "t": self.short[name]}

    def _layers(self) -> list[Spec]:
        x, y = self.across.encoded("x", self.x.title), self.up.encoded("y", self.panel.y.title)
        colour, shape, numbers = literal("c"), literal("h"), list(range(len(self.looks)))
        dashes = {"domain": numbers, "range": [look.dash for look in self.looks.values()]}
        dash = {"field": "s", "type": "nominal", "legend": None, "scale": dashes}
        text = {"type": "text", "align": "left", "baseline": "middle", "aria": False, "fontSize": FONT_SIZE}
        place: Spec = {"x": {"field": "x", "type": "quantitative", "scale": None},
                       "y": {"field": "y", "type": "quantitative", "scale": None}}  # fmt: skip
        line = {"x": x, "y": y, "color": colour, "strokeDash": dash, "order": {"field": "n"}, "detail": {"field": "s"}}
        marks: tuple[tuple[str, Spec, Spec], ...] = (
            ("best", {"type": "line", "strokeWidth": 1, "aria": False, "color": QUIET.light},
             {"x": x, "y": y, "order": {"field": "n"}}),
            ("interval", {"type": "rule", "aria": False, "strokeWidth": 1},
             {"x": x, "y": y, "y2": {"field": "z"}, "color": colour}),
            ("joined", {"type": "line", "strokeWidth": 2, "aria": False}, line),
            ("line", {"type": "line", "strokeWidth": 2}, {**line, "description": {"field": "d"}}),
            ("point", {"type": "point", "filled": True, "opacity": 1, "size": 45},
             {"x": x, "y": y, "color": colour, "shape": shape, "description": {"field": "d"}}),
            ("leader", {"type": "rule", "aria": False, "strokeWidth": 0.5, "color": QUIET.light},
             {**place, "x2": {"field": "w"}, "y2": {"field": "z"}}),
            ("key", {"type": "rule", "aria": False, "strokeWidth": 2},
             {**place, "x2": {"field": "w"}, "color": colour, "strokeDash": dash}),
            ("label", text, {**place, "text": {"field": "t"}}),
            ("bold", {**text, "fontWeight": "bold"}, {**place, "text": {"field": "t"}}),
        )  # fmt: skip
        return [
            {"transform": [{"filter": f"datum.k === '{kind}'"}], "mark": mark, "encoding": encoding}
            for kind, mark, encoding in marks
        ]
