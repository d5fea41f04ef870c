"""Charts from Vega-Lite to SVG text: no script, no inline style, and no external resource.

Vega-Lite draws, in the library's own engine and with a font that it includes: one description gives the same text on a
machine without fonts. Its output is read as XML and copied by lists of allowed elements and attributes, so that nothing
else gets on a page, whatever a name contains.

Each colour has a light and a dark form. Readers with any of three kinds of colour blindness can distinguish the series.
Series differ from the page by 3:1 at least; text by 4.5:1 (``tests/report/charts/test_palette.py`` computes both). A
chart is drawn in light colours. A style sheet replaces them with the dark ones:
``svg [fill="#003f7f"] { fill: #a8d2ff }``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

from pyharness.plugins.libraries import load
from pyharness.report.sheet.strings import shorten, visible

Spec: TypeAlias = dict[str, Any]
LONGEST_SPOKEN = 200  # characters of a spoken name
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


# ---------------------------------------------------------------------------------------------- drawing

VEGA_LITE = "5.20"
FONT = "Liberation Sans"  # included in the library
_SVG = "http://www.w3.org/2000/svg"
_ELEMENTS = {"svg", "g", "path", "line", "rect", "text", "tspan", "circle"}
_ATTRIBUTES = {
    "viewBox", "transform", "d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "r", "dx", "dy", "cx", "cy",
    "fill", "stroke", "fill-opacity", "stroke-opacity", "opacity", "stroke-width", "stroke-dasharray", "stroke-linecap",
    "text-anchor", "font-size", "font-weight", "role", "aria-label", "aria-hidden",
}  # fmt: skip
_USUAL = {"opacity": "1", "font-size": f"{FONT_SIZE}px", "stroke-width": "1"}
_NOTHING = {(key, "0") for key in ("x1", "x2", "y1", "y2")} | {
    ("role", "graphics-object"),
    ("transform", "translate(0,0)"),
}
_INHERITED = {"fill", "stroke", "stroke-width", "text-anchor", "font-weight", "stroke-dasharray"}
# Names that every JavaScript object has: the engine looks texts up in objects, and fails on these.
_MARK = "\ue000"
_OF_OBJECTS = re.compile(
    rf"(?:constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|to(?:Locale)?String|valueOf|__\w+__){_MARK}*"
)
_FEW = 3  # for fewer children of a group, shared attributes save nothing
_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e[-+]?\d+)?")
_PLACE = re.compile(r"translate\((-?[\d.]+),(-?[\d.]+)\)")
_CIRCLE = re.compile(r"M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0")
_CONFIG: Spec = {
    "font": FONT,
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": FONT_SIZE, "titleFontSize": FONT_SIZE, "labelColor": QUIET.light, "titleColor": INK.light,
        "titleFontWeight": "normal", "labelLimit": 0, "titleLimit": 0, "gridColor": GRID.light, "aria": False,
        "domainColor": QUIET.light, "tickColor": QUIET.light,
    },
    "text": {"fontSize": FONT_SIZE, "color": INK.light},
    "header": {
        "labelFontSize": FONT_SIZE, "labelColor": INK.light, "labelFontWeight": "bold", "labelLimit": 0,
        "labelAnchor": "start", "title": None,
    },
}  # fmt: skip


def draw(spec: Mapping[str, Any], name: str) -> str:
    """Return the SVG text of a Vega-Lite description; ``name`` is the name of the whole drawing.

    Raises:
        InputError: the library that draws is not installed, or cannot be imported.
    """
    engine = load("drawing charts", "vl_convert", "report", "vl-convert-python")
    whole = _escape({"config": _CONFIG, "padding": 4, **spec})
    drawn = engine.vegalite_to_svg(json.dumps(whole, allow_nan=False), vl_version=VEGA_LITE, allowed_base_urls=[])
    kept = _copy(ET.fromstring(drawn))  # noqa: S314 -- written by the engine above; no entities are declared
    del kept.attrib["width"], kept.attrib["height"]
    kept.attrib |= {
        "xmlns": _SVG, "class": "chart", "role": "graphics-document", "aria-label": spoken(name),
        "font-family": f"{FONT}, Arimo, Arial, sans-serif", "font-size": f"{FONT_SIZE}px", "overflow": "visible",
    }  # fmt: skip
    return ET.tostring(kept, encoding="unicode").replace(" />", "/>")


def spoken(name: str) -> str:
    """Return a name as text for a screen reader."""
    return shorten(visible(name), LONGEST_SPOKEN)


def _escape(value: Any) -> Any:
    """Escape invisible characters anywhere in a value: the engine ends the process on those that XML cannot hold.

    Mark names that every JavaScript object has.
    """
    if isinstance(value, str):
        shown = visible(value)
        return shown + _MARK if _OF_OBJECTS.fullmatch(shown) else shown
    if isinstance(value, Mapping):
        return {key: _escape(one) for key, one in value.items()}
    return [_escape(one) for one in value] if isinstance(value, list | tuple) else value


def _copy(element: ET.Element) -> ET.Element:
    """Copy an element with allowed contents, without empty children; drop a plain group around a single element."""
    attributes = {key: _write(key, value) for key, value in element.attrib.items() if _is_kept(element, key, value)}
    copy = ET.Element(element.tag.removeprefix(f"{{{_SVG}}}"), attributes)
    text = element.text or ""
    copy.text = text.removesuffix(_MARK) if _OF_OBJECTS.fullmatch(text) else text
    if copy.get("role") == "img" and copy.tag != "text" and "aria-label" in copy.attrib:
        # Read out, and shown on hovering.
        ET.SubElement(copy, "title").text = copy.attrib.pop("aria-label")
    children = [_copy(one) for one in element if one.tag.removeprefix(f"{{{_SVG}}}") in _ELEMENTS]
    copy.extend(child for child in children if not _is_empty(child))
    _inherit(copy)
    _join(copy)
    return copy[0] if copy.tag == "g" and not copy.attrib and len(copy) == 1 else _as_circle(copy)


def _is_kept(element: ET.Element, key: str, value: str) -> bool:
    if key == "stroke-width" and "stroke" not in element.attrib:
        return False
    return key in _ATTRIBUTES and _USUAL.get(key) != value and (key, value) not in _NOTHING


def _write(key: str, value: str) -> str:
    """Round coordinates: no screen shows a hundredth of a pixel. Give a mark with spoken text the role of an image."""
    if key.startswith("aria") or key.endswith("opacity"):
        return value
    return "img" if value == "graphics-symbol" else _NUMBER.sub(lambda match: f"{float(match[0]):.1f}", value)


def _inherit(group: ET.Element) -> None:
    """Move attributes that all children share to their group."""
    if group.tag != "g" or len(group) < _FEW:
        return
    for key in sorted(_INHERITED - group.attrib.keys()):  # in one order, for any hash seed
        values = {one.get(key) for one in group}
        if len(values) == 1 and (value := values.pop()) is not None:
            group.set(key, value)
            for one in group:
                del one.attrib[key]


def _join(group: ET.Element) -> None:
    """Join elements that only differ in their place, colour by colour: the grid, intervals, samples, silent dots."""
    if group.tag != "g" or len(group) < _FEW:
        return
    joined: dict[tuple[tuple[str, str], ...], str] = {}
    for one in group:
        if (path := _path(one, group)) is None:
            return
        look, drawn = path
        joined[look] = joined.get(look, "") + drawn
    group[:] = [ET.Element("path", dict(look) | {"d": drawn}) for look, drawn in joined.items()]


def _path(element: ET.Element, group: ET.Element) -> tuple[tuple[tuple[str, str], ...], str] | None:
    """Return look and path data of a line, a path or a silent dot; None for an element with more than these."""
    rest = dict(element.attrib)
    if element.tag == "circle" and rest.keys() <= {"cx", "cy", "r", "fill"}:
        width = f"{2 * float(rest['r']):g}"
        colour = rest.get("fill", group.get("fill", "none"))
        look: tuple[tuple[str, str], ...] = ("stroke", colour), ("stroke-width", width), ("stroke-linecap", "round")
        return look, f"M{rest['cx']},{rest['cy']}h0"
    look = tuple((key, rest.pop(key)) for key in ("stroke",) if key in rest)
    if element.tag == "path" and rest.keys() == {"d"} and rest["d"].startswith("M"):
        return look, rest["d"]
    match = _PLACE.fullmatch(rest.get("transform", "translate(0,0)"))
    if element.tag != "line" or match is None or not rest.keys() <= {"transform", "x2", "y2"}:
        return None
    return look, f"M{match[1]},{match[2]}l{rest.get('x2', '0')},{rest.get('y2', '0')}"


def _as_circle(element: ET.Element) -> ET.Element:
    if element.tag == "path" and (match := _CIRCLE.fullmatch(element.get("d", ""))):
        element.tag = "circle"
        place = _PLACE.fullmatch(element.attrib.pop("transform", "translate(0,0)"))
        del element.attrib["d"]
        element.attrib |= {"r": match[1]} | ({} if place is None else {"cx": place[1], "cy": place[2]})
    return element


def _is_empty(element: ET.Element) -> bool:
    if element.tag == "g":
        return len(element) == 0
    if element.tag == "path":
        return element.get("d", "") in ("", "M0,0h0v0h0Z") or not {"fill", "stroke"} & element.attrib.keys()
    return element.tag == "text" and not (element.text or len(element))
