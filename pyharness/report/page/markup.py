"""A page as one HTML file, without any external resource."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.plugins.libraries import is_installed
from pyharness.report.charts.drawing import PAGE, PALETTE
from pyharness.report.sheet import Cell, Heading, Kind, Sheet
from pyharness.report.sheet.parts import LONGEST_TIP, Figure, Page, Section, Verbatim
from pyharness.report.sheet.strings import shorten, shorten_apart, visible

# --------------------------------------------------------------------------------- cells, with facts about each number


LONGEST: dict[Kind, int] = {"name": 40, "word": 60, "number": 80, "prose": 300}  # characters of a cell
LONGEST_LINE = 200  # of a title or a heading
LONGEST_PROSE = 2000  # of a paragraph, a description or a note: all of our own are shorter
MOST_COLUMNS = 100
BARS = 100  # lengths of a bar
MOST_ROWS = 200  # of one table; a longer one shows the same number from the top and the bottom


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A cell for the markup, before escaping."""

    text: str
    tip: str  # shown on hovering and focus: the value of a number, then other facts; "" if it adds nothing
    kind: Kind
    bar: int | None = None  # length from 0 to BARS, the longest
    mark: str = ""  # class of a best number, or of a verdict


def narrowed(sheet: Sheet) -> Sheet:
    """Return a sheet that a browser can lay out, with a note on columns that are left out."""
    more = len(sheet.headings) - MOST_COLUMNS
    if more <= 0:
        return sheet
    note = f"{more:,} more columns are left out here; pyharness report --format csv lists every number."
    rows = tuple(row[:MOST_COLUMNS] for row in sheet.rows)
    return Sheet(sheet.title, sheet.headings[:MOST_COLUMNS], rows, (*sheet.notes, note))


def shown_rows(sheet: Sheet) -> list[list[ShownCell]]:
    """Return rows of a sheet: long names are cut, and names of a column stay different."""
    columns = [
        (one, _names(sheet, place) if one.kind == "name" else {}, _marks(sheet, place))
        for place, one in enumerate(sheet.headings)
    ]
    return [
        [
            replace(_show(cell, heading, names), mark=marks[number])
            for cell, (heading, names, marks) in zip(row, columns, strict=True)
        ]
        for number, row in enumerate(sheet.rows)
    ]


VERDICTS = {"better": "better", "improvement": "better", "worse": "worse", "regression": "worse"}


def _marks(sheet: Sheet, place: int) -> list[str]:
    """Return classes of the cells of a column: of verdicts, and of the best numbers.

    If the next column has ranks, the best are those of rank 1, unless no row has another rank. Otherwise, if the column
    has a better direction, the best are the best values, unless all are equal.
    """
    heading, cells = sheet.headings[place], [row[place] for row in sheet.rows]
    if heading.kind == "word":
        return [VERDICTS.get(str(cell.value), "") for cell in cells]
    if sheet.columns[place + 1 : place + 2] == ("#",):
        ranks = [row[place + 1].value for row in sheet.rows]
        return ["best" if rank == 1 and {*ranks} - {None, 1} else "" for rank in ranks]
    values = [float(cell.value) for cell in cells if isinstance(cell.value, int | float)]
    if heading.direction == "none" or len(values) < 2 or min(values) == max(values):
        return [""] * len(cells)
    best = max(values) if heading.direction == "higher" else min(values)
    return ["best" if cell.value == best else "" for cell in cells]


def halves(rows: Sequence[Sequence[ShownCell]]) -> tuple[Sequence[Sequence[ShownCell]], Sequence[Sequence[ShownCell]]]:
    """Return the rows of the table from top and bottom, and those between them, which it omits."""
    if len(rows) <= MOST_ROWS:
        return rows, ()
    half = MOST_ROWS // 2
    return [*rows[:half], *rows[-half:]], rows[half:-half]


def _names(sheet: Sheet, place: int) -> dict[str, str]:
    """Return names of a column by their full names: invisible characters are written out before cutting."""
    texts = dict.fromkeys(row[place].text for row in sheet.rows)
    seen = dict.fromkeys(map(visible, texts))
    if len(seen) < len(texts):  # the spelling of one equals the escaped form of another
        return {text: f"{shorten(visible(text), LONGEST['name'])} ({number})" for number, text in enumerate(texts, 1)}
    short = shorten_apart(seen, LONGEST["name"])
    return {text: short[visible(text)] for text in texts}


def _show(cell: Cell, heading: Heading, names: dict[str, str]) -> ShownCell:
    whole = cell.text
    text = names[whole] if names else shorten(visible(whole), LONGEST[heading.kind])
    if isinstance(cell.value, int | float):
        hint = "; ".join(_describe(cell, heading))
        bar = None if cell.bar is None else max(1, round(cell.bar * BARS))
        return ShownCell(text, "" if hint == text else hint, heading.kind, bar)
    cut = None if text == visible(whole) else whole
    return ShownCell(text, "; ".join(_brief(cut, cell.reason, cell.case)), heading.kind)


def _describe(cell: Cell, heading: Heading) -> Iterator[str]:
    """Yield facts about a number, from its value to its case."""
    yield " ".join(filter(None, (_plain(repr(cell.value)), cell.unit or heading.unit)))
    if cell.interval is not None:
        yield f"95 % CI {' to '.join(_plain(f'{end:.6g}') for end in cell.interval)}"
    yield from _brief(cell.reason, f"of {cell.n}" if cell.n else None, cell.case)


def _plain(number: str) -> str:
    """Write a number without an exponent."""
    return f"{Decimal(number):f}" if "e" in number else number


def _brief(*texts: str | None) -> Iterator[str]:
    return (shorten(visible(text), LONGEST_TIP) for text in texts if text)


# -------------------------------------------------------------------------- colours, by their names in the style sheet


COLOURS = {  # name: on light, on dark
    **{one.name: (one.light, one.dark) for one in (PAGE, *PALETTE)},
    "raised": ("#f3f5f7", "#20252a"),
    "line": ("#c9cdd1", "#444a51"),
    "link": ("#0b57a4", "#8ec5ff"),
    "bar": ("#a5cdef", "#1c466c"),
}
WRITTEN = ("ink", "quiet", "link", "better", "worse")  # colours of text
BEHIND = ("page", "raised", "bar")  # colours behind text


def theme() -> str:
    """Return a style sheet with the colours: by the system's setting or the reader's choice, light ones on paper."""
    light, dark = ("".join(f"--{name}:{values[place]};" for name, values in COLOURS.items()) for place in (0, 1))
    return "".join(
        (
            f":root{{color-scheme:light;{light}}}",
            f"@media screen and (prefers-color-scheme:dark){{:root{{color-scheme:dark;{dark}}}}}",
            f"@media screen{{:root:has(#light:checked){{color-scheme:light;{light}}}",
            f":root:has(#dark:checked){{color-scheme:dark;{dark}}}}}",
            *(f".bar-{length}{{--share:{length / BARS:g}}}" for length in range(1, BARS + 1)),
            # Where a drawing has a light colour, the page has its own.
            *(f'svg [{key}="{one.light}"]{{{key}:var(--{one.name})}}' for one in PALETTE for key in ("fill", "stroke")),
        )
    )


# --------------------------------------------------------------------------------------------------- policy of a page


def policy(style: str, script: str) -> str:
    """Return the Content-Security-Policy of a page with this style sheet and script: no requests, other code or forms.

    If an escape failed, an element of foreign text could neither run code nor load anything. It could still be a link,
    or lead elsewhere by itself (``<meta http-equiv="refresh">``): no policy within a page stops that.
    """
    code = f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    return f"default-src 'none'; {code}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


if TYPE_CHECKING:
    from jinja2 import Environment

_VIEW = re.compile(r'<svg (?=[^<>]*viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)")')
_FOLDER = Path(__file__).parent


def lack() -> str | None:
    """Return a line on the missing drawing library, and how to install it; None if it is installed."""
    if is_installed("vl_convert"):
        return None
    return (
        "the HTML report has only tables, because vl-convert-python is missing; for charts, "
        "pip install 'pyharness[report]'"
    )


def render(page: Page) -> str:
    """Return a page as HTML. Equal pages give equal text."""
    style, script = theme() + _asset("style.css"), _asset("script.js")
    template = _environment().get_template("page.html.j2")
    return template.render(page=page, style=style, script=script, policy=policy(style, script))


def _asset(name: str) -> str:
    """Return the text of one of our files, without blanks around lines, and without empty lines and ``//`` lines."""
    lines = map(str.strip, (_FOLDER / "assets" / name).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _set_size(svg: str) -> str:
    """Give a drawing its own size: its text is as large as other text, on narrow screens, too."""
    return _VIEW.sub(
        lambda view: f'<svg width="{float(view[1]) / 16:g}rem" height="{float(view[2]) / 16:g}rem" ', svg, count=1
    )


@lru_cache(maxsize=1)
def _environment() -> Environment:
    import jinja2
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        """Return the output of a template's expression: text is made visible, then escaped; our markup stays."""
        return value if isinstance(value, Markup) else visible(str(value))

    def prose(text: str) -> str:
        return shorten(visible(text), LONGEST_PROSE)

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests |= {
        "sheet": lambda block: isinstance(block, Sheet),
        "figure": lambda block: isinstance(block, Figure),
        "section": lambda block: isinstance(block, Section),
        "verbatim": lambda block: isinstance(block, Verbatim),
    }
    environment.filters |= {
        "base64": lambda data: base64.b64encode(data).decode(),
        "drawing": lambda svg: Markup(_set_size(svg)),  # noqa: S704 -- drawn by us
        "halves": halves,
        "markup": Markup,
        "clauses": lambda text: [one.partition(", then ") for one in re.split(r"(?<=[;.]) ", prose(text))],
        "brief": lambda text: shorten(visible(text), LONGEST_TIP),
        "narrowed": narrowed,
        "prose": prose,
        "short": lambda text: shorten(visible(text), LONGEST_LINE),
        "shown_rows": shown_rows,
        "visible": visible,
    }
    return environment
