"""A page as one HTML file: everything in it, nothing asked for from anywhere."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.plugins.libraries import is_installed
from pyharness.report.page.cells import LONGEST_LINE, LONGEST_PROSE, LONGEST_TIP, halves, meaning, narrowed, shown_rows
from pyharness.report.page.parts import Figure, Page, Section, Verbatim
from pyharness.report.page.policy import policy
from pyharness.report.page.theme import theme
from pyharness.report.sheet import Sheet
from pyharness.report.sheet.escaping import visible
from pyharness.report.sheet.shortening import shorten

if TYPE_CHECKING:
    from jinja2 import Environment

_VIEW = re.compile(r'<svg (?=[^<>]*viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)")')
_FOLDER = Path(__file__).parent


def lack() -> str | None:
    """One line on the library that draws, and how to get it; None where it is there."""
    if is_installed("vl_convert"):
        return None
    return (
        "the HTML report is its tables alone, for want of vl-convert-python: for charts, "
        "pip install 'pyharness[report]'"
    )


def render(page: Page) -> str:
    """Return a page as HTML. The same page is the same text."""
    style, script = theme() + _asset("style.css"), _asset("script.js")
    template = _environment().get_template("page.html.j2")
    return template.render(page=page, style=style, script=script, policy=policy(style, script))


def _asset(name: str) -> str:
    """Text of a file of ours, without the room between its lines and what it says to those who read it there."""
    lines = map(str.strip, (_FOLDER / "assets" / name).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def _sized(svg: str) -> str:
    """Give a drawing the size that it is drawn for: text in it is as large as other text, on narrow screens, too."""
    return _VIEW.sub(r'<svg width="\1" height="\2" ', svg, count=1)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    import jinja2
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        """What an expression of a template writes: its text is shown, and then escaped; markup is ours."""
        return value if isinstance(value, Markup) else visible(str(value))

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
        "drawing": lambda svg: Markup(_sized(svg)),  # noqa: S704 -- drawn by us
        "halves": halves,
        "markup": Markup,
        "brief": lambda text: shorten(visible(text), LONGEST_TIP),
        "narrowed": narrowed,
        "prose": lambda text: shorten(visible(text), LONGEST_PROSE),
        "short": lambda text: shorten(visible(text), LONGEST_LINE),
        "shown_rows": shown_rows,
        "visible": visible,
    }
    environment.globals["meaning"] = meaning
    return environment
