"""Points in a plane, joined by lines or single, with labels next to them: on linear and logarithmic axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pyharness.report.charts.drawing import Spec, draw
from pyharness.report.charts.palette import FONT_SIZE, INK, QUIET, SERIES
from pyharness.report.charts.scales import LINE, Label, Scale, labels, spoken, spread

MOST_LABELS = 30  # in one panel: more overlap, and the table has the names
_LONGEST = 22  # characters of a label
_WIDTH, _NARROW, _HEIGHT = 420, 250, 280  # pixels: of a panel alone, of one of several, of each
_KEY, _STROKE = 17, 26  # pixels: between lines of the key, and of the line segment in it
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
_SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")


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


def curves(panels: Sequence[Panel], name: str, x: AxisLabel) -> str:
    """Return SVG text; panels share the x axis.

    A logarithmic axis omits points without a place on it: the table has them.
    """
    across = Scale.of((point.x for panel in panels for line in panel.lines for point in line.points), x.log)
    width = _WIDTH if len(panels) == 1 else _NARROW
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.lines))
    short = labels(names, _LONGEST)
    views = [_View(panel, across, x, width, names, short) for panel in panels]
    keyed = any(view.is_crowded for view in views)
    specs = [view.spec(keyed, keyed and view is views[-1]) for view in views]
    return draw(specs[0] if len(specs) == 1 else {"concat": specs, "columns": 2, "spacing": 24}, name)


@dataclass(frozen=True, slots=True)
class _View:
    panel: Panel
    across: Scale
    x: AxisLabel
    width: int
    names: Sequence[str]  # of all panels: a name has one colour in all of them
    short: dict[str, str]

    @property
    def up(self) -> Scale:
        """The y axis."""
        points = [point for line in self.panel.lines for point in line.points]
        return Scale.of((end for one in points for end in (one.y, *(one.interval or ()))), self.panel.y.log)

    @property
    def is_crowded(self) -> bool:
        """Whether lines end too close to each other for labels at their ends."""
        lines = [line for line in self.panel.lines if len(line.points) > 1]
        heights = sorted(_HEIGHT * (1 - self.up.share(placed[-1][2])) for line in lines
                         if (placed := list(self._placed(line, self.up))))  # fmt: skip
        return any(low - high < LINE for high, low in pairwise(heights))

    def spec(self, keyed: bool, with_key: bool) -> Spec:
        """Return the panel in Vega-Lite; ``keyed``: without labels, because a key next to one panel replaces them."""
        up = self.up
        values = [datum for line in self.panel.lines for datum in self._line(line, up)]
        values += () if keyed else self._labels(up)
        values += self._key() if with_key else ()
        title = {"title": {"text": self.panel.title, "anchor": "start", "fontSize": FONT_SIZE, "color": INK.light}}
        padding = {"view": {"stroke": None}, "width": self.width, "height": _HEIGHT}
        return {**(title if self.panel.title else {}), **padding, "data": {"values": values}, "layer": self._layers(up)}

    def _placed(self, line: Line, up: Scale) -> Iterator[tuple[Point, float, float]]:
        for point in line.points:
            x, y = self.across.place(point.x), up.place(point.y)
            if x is not None and y is not None:
                yield point, x, y

    def _line(self, line: Line, up: Scale) -> Iterator[Spec]:
        look = {"s": self.names.index(line.name), "c": self.names.index(line.name) % len(SERIES)}
        placed = list(self._placed(line, up))
        for number, (point, x, y) in enumerate(placed):
            description = f"{spoken(line.name)}: {point.said}"
            if len(placed) > 1:
                yield {"k": "joined" if line.marked else "line", "x": x, "y": y, "n": number, "d": description, **look}
            if line.marked:
                yield {"k": "point", "x": x, "y": y, "d": description, **look}
            if point.interval is not None:
                low, high = (up.place(end) for end in point.interval)
                yield {"k": "interval", "x": x, "y": up.low if low is None else low,
                       "z": up.low if high is None else high, **look}  # fmt: skip

    def _labels(self, up: Scale) -> Iterator[Spec]:
        """Label the end of each line, without overlaps."""
        ends = [(line.name, placed[-1]) for line in self.panel.lines if (placed := list(self._placed(line, up)))]
        if len(ends) > MOST_LABELS:
            return
        wanted = [
            Label(self.short[name], self.width * self.across.share(x), _HEIGHT * (1 - up.share(y)))
            for name, (_, x, y) in ends
        ]
        for point, label in spread(wanted, _HEIGHT):
            yield {"k": "label", "x": label.x, "y": label.y, "t": label.text}
            if abs(label.y - point.y) >= LINE:  # not next to its point: a thin line leads there
                end = label.x if label.x > point.x else label.end
                yield {"k": "leader", "x": point.x, "y": point.y, "w": end, "z": label.y}

    def _key(self) -> Iterator[Spec]:
        """Name the lines of all panels next to this one, each with a segment of its line."""
        if len(self.names) > MOST_LABELS:
            return
        left = self.width + _KEY
        for number, name in enumerate(self.names):
            y = _KEY * (number + 0.5)
            yield {"k": "key", "x": left, "w": left + _STROKE, "y": y, "s": number}
            yield {"k": "label", "x": left + _STROKE + _KEY / 2, "y": y, "t": self.short[name]}

    def _layers(self, up: Scale) -> list[Spec]:
        numbers = list(range(len(self.names)))
        hues = [SERIES[number % len(SERIES)].light for number in numbers]
        x = {"field": "x", "type": "quantitative", "scale": self.across.encoded(), "title": self.x.title,
             "axis": self.across.axis()}  # fmt: skip
        y = {
            "field": "y",
            "type": "quantitative",
            "scale": up.encoded(),
            "title": self.panel.y.title,
            "axis": up.axis(),
        }
        colour = {"field": "s", "type": "nominal", "legend": None, "scale": {"domain": numbers, "range": hues}}
        dashes = [_DASHES[(number + number // len(SERIES)) % len(_DASHES)] for number in numbers]
        dash = {"field": "s", "type": "nominal", "legend": None, "scale": {"domain": numbers, "range": dashes}}
        shapes = [_SHAPES[number % len(_SHAPES)] for number in numbers]
        shape = {"field": "s", "type": "nominal", "legend": None, "scale": {"domain": numbers, "range": shapes}}
        place: Spec = {"x": {"field": "x", "type": "quantitative", "scale": None},
                       "y": {"field": "y", "type": "quantitative", "scale": None}}  # fmt: skip
        line = {"x": x, "y": y, "color": colour, "strokeDash": dash, "order": {"field": "n"}, "detail": {"field": "s"}}
        marks: tuple[tuple[str, Spec, Spec], ...] = (
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
            ("label", {"type": "text", "align": "left", "baseline": "middle", "aria": False, "fontSize": FONT_SIZE},
             {**place, "text": {"field": "t"}}),
        )  # fmt: skip
        return [
            {"transform": [{"filter": f"datum.k === '{kind}'"}], "mark": mark, "encoding": encoding}
            for kind, mark, encoding in marks
        ]
