"""What strangers might call a row, a text, a reason or a token."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice

MARKUP = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</style><style>*{display:none}</style>",
    "</script><script>alert(1)</script>",
    "</title><h1>owned</h1>",
    "<h1>",
    "<!--",
    "-->",
    "]]>",
    "<![CDATA[",
    "&lt;b&gt;&amp;amp;",
    "&#60;b&#62;",
    "{{7*7}}",
    "{% raw %}",
    "${7*7}",
    "#{7*7}",
    "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "http://example.invalid/x.png",
    "//example.invalid/x.js",
    "<a href=javascript:alert(1)>x</a>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<base href=//example.invalid>",
    "<meta http-equiv=refresh content=0;url=//example.invalid>",
    "<link rel=stylesheet href=//example.invalid/x.css>",
    "<form action=//example.invalid><button>x",
    "<details open ontoggle=alert(1)>",
    "<math><mi//xlink:href='data:x,<script>alert(1)</script>'>",
    "<svg><style>*{fill:red}</style></svg>",
    "<table><tr><td>",
    "</td></tr></table>",
    "</text></svg>",
    "` onmouseover=alert(1) x=`",
    "\\u003cscript\\u003e",
    "@someone #1 owner/repo#1 https://example.invalid 0123456789abcdef",
    "=HYPERLINK(\"http://example.invalid\")",
    "../../../../etc/passwd",
    "CON", "-rf", "a|b", "a,b\"c;d", "%00", "%s%n%x",
)  # fmt: skip
UNSEEN = (
    "",
    " ",
    "a\tb",
    "a\nb",
    "a\r\nb",
    "a\x00b",
    "\x1b[31mred\x07",
    "\x7f\x9b31m",
    "lone \ud800 high",
    "lone \udcff low",
    "\u202egnp.exe\u202c",
    "\u2066<b>\u2069",
    "\u200e\u200f\u061c",
    "zero\u200bwidth",
    "zero\u200dwidth",
    "\ufeffmark",
    "soft\u00adhyphen",
    "line\u2028separator\u2029paragraph",
    "Z\u0351\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a" * 4,
    "e" + "\u0301" * 500,
    "\u0e49" * 40,
    "\ufffe\uffff",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0010ffff",
    "\u0130\u0131\u017f\u212a",
    "pаypal",  # its second letter is Cyrillic
)
LONG = ("<b>" + "x" * 100_000, "word " * 20_000, "\u0e20" * 33_000)
COUNT = 300


def hostile() -> list[str]:
    """``COUNT`` strings, no two alike: those of ``MARKUP`` and ``UNSEEN``, then two of them joined."""
    return list(islice(_every(), COUNT))


def _every() -> Iterator[str]:
    yield from (*MARKUP, *UNSEEN)
    short = [*MARKUP, *filter(None, UNSEEN)]
    for number, (one, other) in enumerate(zip(cycle(short), cycle(reversed(short[:-1])), strict=False)):
        yield f"{one}{other}{number}"
