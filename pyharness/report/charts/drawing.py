"""Charts from Vega-Lite to SVG text: no script, no inline style, and no external resource.

Vega-Lite draws, in the library's own engine and with a font that it includes: one description gives the same text on a
machine without fonts. Its output is read as XML and copied by lists of allowed elements and attributes, so that nothing
else gets on a page, whatever a name contains.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias
from xml.etree import ElementTree as ET

from pyharness.plugins.libraries import load
from pyharness.report.charts.palette import FONT_SIZE, GRID, INK, QUIET
from pyharness.report.charts.scales import spoken
from pyharness.report.sheet.strings import visible

Spec: TypeAlias = dict[str, Any]
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
