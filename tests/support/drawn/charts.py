"""Charts as those who cannot see them meet them."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style>", "</svg><b>", "{{7*7}}", "]]>",
    "<![CDATA[", "javascript:alert(1)", "&amp;&#60;", "\ud800 lone", "nul \x00 end", "\u202egpj.exe",
    "e" + "\u0301" * 50, "\ufffe\uffff", "' onload='x", "a\nb\r\n\tc", "datum.v", "\\u003cscript\\u003e", "${7*7}",
    "long" * 25_000,
)  # fmt: skip
INHERITED = {"fill", "stroke", "stroke-width", "stroke-dasharray", "font-weight"}
COLOUR = re.compile("#[0-9a-f]{6}")


def parsed(svg: str) -> ET.Element:
    """Return a chart that is well-formed XML and holds nothing that acts; what groups say is said of all within."""
    root = ET.fromstring(svg)  # noqa: S314 -- our own, which may fail here
    for element in root.iter():
        assert element.tag.removeprefix(SVG) in {"svg", "g", "path", "line", "rect", "text", "tspan", "circle", "title"}
        assert not {"style", "href", "id", "class"} & element.attrib.keys() - ({"class"} if element is root else set())
        assert not any(key.startswith("on") for key in element.attrib)
        for child in element:
            child.attrib |= {
                key: element.attrib[key] for key in INHERITED & element.attrib.keys() - child.attrib.keys()
            }
        assert "url(" not in "".join(value for key, value in element.attrib.items() if key != "aria-label")
    return root


def spoken_marks(svg: str) -> list[str]:
    """Return what is read out of each mark; of all but texts, it is shown on hovering, too."""
    marks = (one for one in parsed(svg).iter() if one.get("role") == "img")
    said = (one.attrib["aria-label"] if one.tag == f"{SVG}text" else one.findtext(f"{SVG}title") or "" for one in marks)
    return [label for label in said if not label.startswith("Title text")]  # of a panel


def written(svg: str) -> list[str]:
    """Return all texts of a chart."""
    return ["".join(one.itertext()) for one in parsed(svg).iter(f"{SVG}text")]


def strokes(svg: str) -> int:
    """Count what is drawn beside the marks that are read out."""
    return sum(
        one.get("d", "").count("M") or one.tag == f"{SVG}line" for one in parsed(svg).iter() if not one.get("role")
    )


def places(svg: str) -> list[tuple[float, float]]:
    """Where the marks stand that are read out, in their order."""
    return [_place(one) for one in parsed(svg).iter()
            if one.get("role") == "img" and not one.get("aria-label", "").startswith("Title text")]  # fmt: skip


def _place(mark: ET.Element) -> tuple[float, float]:
    if "cx" in mark.attrib:
        return float(mark.attrib["cx"]), float(mark.attrib["cy"])
    x, y = mark.attrib.get("transform", "translate(0,0)").removeprefix("translate(").rstrip(")").split(",")
    return float(x), float(y)
