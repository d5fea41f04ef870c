"""A page as one HTML file: everything in it, nothing asked for from anywhere."""

from __future__ import annotations

import base64
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness.plugins.libraries import is_installed, load
from pyharness.report.page.cells import LONGEST_LINE, LONGEST_PROSE, LONGEST_TIP, halves, meaning, narrowed, shown_rows
from pyharness.report.page.parts import Figure, Page, Section, Verbatim
from pyharness.report.page.policy import policy
from pyharness.report.page.theme import theme
from pyharness.report.sheet import Sheet
from pyharness.report.sheet.escaping import visible
from pyharness.report.sheet.shortening import shorten

if TYPE_CHECKING:
    from jinja2 import Environment

PURPOSE, EXTRA = "the HTML report", "report"
MODULES = {"jinja2": "Jinja2", "vl_convert": "vl-convert-python"}
_VIEW = re.compile(r'<svg (?=[^<>]*viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)")')
_FOLDER = Path(__file__).parent


def lack() -> str | None:
    """One line on the libraries of the extra that are missing, and how to get them; None where all are there."""
    missing = [name for module, name in MODULES.items() if not is_installed(module)]
    if not missing:
        return None
    advice = f"pip install 'pyharness[{EXTRA}]'"
    return f"{PURPOSE} is its tables alone, for want of {', '.join(missing)}: for charts, {advice}"


def render(page: Page) -> str:
    """Return a page as HTML. The same page is the same text.

    Raises:
        InputError: Jinja2 is not installed.
    """
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
    jinja = load(PURPOSE, "jinja2", EXTRA, MODULES["jinja2"])
    markup = load(PURPOSE, "markupsafe", EXTRA).Markup

    def shown(value: Any) -> Any:
        """What an expression of a template writes: its text is shown, and then escaped; markup is ours."""
        return value if isinstance(value, markup) else visible(str(value))

    environment: Environment = jinja.Environment(
        loader=jinja.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja.StrictUndefined,
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
        "drawing": lambda svg: markup(_sized(svg)),
        "halves": halves,
        "markup": markup,
        "brief": lambda text: shorten(visible(text), LONGEST_TIP),
        "narrowed": narrowed,
        "prose": lambda text: shorten(visible(text), LONGEST_PROSE),
        "short": lambda text: shorten(visible(text), LONGEST_LINE),
        "shown_rows": shown_rows,
        "visible": visible,
    }
    environment.globals["meaning"] = meaning
    return environment
