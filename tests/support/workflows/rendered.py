"""What GitHub makes of a comment: its own Markdown parser, then names, numbers and commits in what is text.

GitHub turns Markdown into HTML first (cmark-gfm, which links addresses), and then looks for mentions, issues, commits
and symbols in the text of that, outside of code and links: GitHub Desktop has the rules (app/src/lib/markdown-filters,
https://github.com/desktop/desktop). Those here are wider: they ask for no end of a word, and no person need exist.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from cmarkgfm import markdown_to_html_with_extensions
from cmarkgfm.cmark import Options

_EXTENSIONS = ["table", "strikethrough", "autolink", "tagfilter", "tasklist"]
# A number with a fraction, up to a million, is no name of a commit, however many figures it has.
_DECIMAL = re.compile(r"(?i)(?<![\w.])\d{1,6}\.\d+(?:e[+-]?\d+)?(?!\w|\.\w)")
_ACTS = {
    "mention or address": r"@\w",
    "issue or ticket": r"(?i)#\d|[a-z]-\d|ghsa-|/(?:issues|pull|discussions)/\d",
    "commit": r"(?i)[0-9a-f]{7}",
    "link": r"(?i)\w:/*/\w|www\.",
    "formula": r"\$",
    "symbol": r"(?i):[a-z0-9_+-]+:",
}
_CODE = {"code", "pre"}
_PLAIN = {
    *("p", "strong", "em", "del", "br", "hr", "ul", "ol", "li", "blockquote", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td", "h1", "h2", "h3", "h4", "h5", "h6", "input", *_CODE),
}
_BLOCKS = {"th", "td", "p", "li", "summary", "h1", "h2", "h3", "h4", "h5", "h6"}
_HARMLESS = {"align", "start", "type", "checked", "disabled"}  # attributes


class Reader(HTMLParser):
    """A comment as it is seen: what would act, tags, and text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []  # outside of code: where GitHub looks
        self.shown = ""
        self.blocks: list[tuple[str, str]] = []  # cells, paragraphs, headings: tag and text
        self._code = 0
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._look()
        self.tags.add(tag)
        self._code += tag in _CODE
        if tag in _BLOCKS:
            self.blocks.append((tag, ""))
        if tag not in _PLAIN:
            self.found.append(f"<{tag}>")
        self.found += [f"<{tag} {name}>" for name, _ in attrs if name not in _HARMLESS]

    def handle_endtag(self, tag: str) -> None:
        self._look()
        self._code -= tag in _CODE

    def handle_data(self, data: str) -> None:
        self.shown += data
        if self.blocks:
            tag, text = self.blocks[-1]
            self.blocks[-1] = tag, text + data
        if self._code <= 0:
            self._text += data

    def handle_comment(self, data: str) -> None:
        self.found.append(f"<!--{data}-->")

    def close(self) -> None:
        super().close()
        self._look()

    def _read(self) -> str:
        return _DECIMAL.sub("0.0", self._text)

    def _look(self) -> None:
        self.texts.append(self._text)
        self.found += [f"{name}: {self._text!r}" for name, rule in _ACTS.items() if re.search(rule, self._read())]
        self._text = ""


def read(text: str) -> Reader:
    """Render a comment and read it: what would act is in ``found``, what is seen in ``shown``."""
    reader = Reader()
    reader.feed(markdown_to_html_with_extensions(text, options=Options.CMARK_OPT_UNSAFE, extensions=_EXTENSIONS))
    reader.close()
    return reader
