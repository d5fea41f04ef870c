"""Three hundred names that a stranger may give a row, a corpus or a file, a reason or a token: what acts on readers.

The same ones go through Markdown, HTML, CSV and file names. None is a name of ours, and none repeats.
"""

from __future__ import annotations

HASH = "5e1b7e2c9d0f4a6b8c3d5e7f9a1b2c3d4e5f6a7b"

MENTIONS = (
    "@someone", "@owner/team", "(@someone)", "a @someone b", "x.@someone", "-@someone", "@someone's", "@some_one",
    "@a", "@0", "@someone,@other", "\u200b@someone", "\u00a0@someone", "&#64;someone", "&commat;someone", "\\@someone",
    "@\u200bsomeone", "`@someone`", "``@someone", "@someone`", "@some`one", "*@someone*", "~~@someone~~",
    "<b>@someone</b>", "[@someone]", "/cc @someone", "@dependabot merge",
)  # fmt: skip
ISSUES = (
    "#1", "#123456", "owner/repo#1", "owner#1", "(#1)", "fixes #1", "closes: owner/repo#12", "GH-1", "gh-12", "Gh-3",
    "TICKET-12", "ABC-1", "GHSA-jfh8-c2jm-xxxx", "CVE-2021-44228", "/issues/1", "owner/repo/issues/12", "/pull/3",
    "owner/repo/pull/4", "/discussions/5", "&#35;1", "&num;1", "\\#1", "#\u200b1", "x#1", "#1#2", "#1\\|#2", "# 1",
    "#one", "##1", "owner/repo@v1#2",
)  # fmt: skip
COMMITS = (
    "deadbee", "deadbeef", "1234567", "12345678901234567890", HASH, HASH.upper(), HASH[:39], f"someone@{HASH}",
    "someone@deadbeef", "owner/repo@deadbeef", f"owner/repo@{HASH}", "deadbeef...cafebabe", "..deadbeef", "(deadbeef)",
    "[deadbeef]", "{deadbeef}", "deadbeef.", "deadbeef/x", "x_deadbeef", "&#100;eadbeef", "dead\\beef", "*deadbeef*",
)  # fmt: skip
ADDRESSES = (
    "http://evil.example", "https://evil.example/?a=b&c=d", "HTTP://X", "ftp://evil.example", "www.evil.example",
    "WWW.evil.example", "xwww.evil.example", "a@b.example", "mailto:a@b.example", "mailto:x", "xmpp:a@b.example/c",
    "//evil.example", "https:/evil.example", "https:\\\\evil.example", "file:///etc/passwd", "javascript:alert(1)",
    "javascript://%0aalert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:msgbox(1)",
    "<https://evil.example>", "<a@b.example>", "(https://evil.example)", "x:https://evil.example", "https&#58;//evil",
    "www&#46;evil.example", "www\\.evil.example", "https\\://evil.example", "[x](//evil.example)",
    "[x](https://evil.example)", "[x](javascript:alert(1))", "![x](//evil.example/a.png)", "[x]: //evil.example",
    "[x][y]", "[x]", "[[x]]", "![[x]]", "[^1]", "[^1]: x", "https://github.com/owner/repo/issues/1",
    "https://evil.example/|x", "`https://evil.example`", "\\\\evil.example\\share", "evil.example",
)  # fmt: skip
MARKUP = (
    "<script>alert(1)</script>", "<SCRIPT SRC=//evil.example>", '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>", "<svg/onload=alert(1)>", "<iframe srcdoc='<script>alert(1)</script>'>", "</style>",
    "</script>", "</title>", "</textarea>", "</details>", "</summary>", "</table>", "</td></tr>", "</svg>",
    "<details open>", "<!--", "-->", "<!-- x -->", "<![CDATA[", "]]>", "<?php x ?>", "<!doctype html>", "<b", "<b>",
    "b>", "</", "<>", "<a href=//evil.example>x</a>", "<a\nhref=x>", "<h1>", "<plaintext>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content=0>", "<link rel=stylesheet href=//evil.example>",
    "<style>*{display:none}</style>",
    "<form action=//evil.example>", "<input autofocus onfocus=alert(1)>", "<math><mtext>", "<noscript><p title='",
    "<img src=`x`>", "a' onclick='alert(1)", 'a" onclick="alert(1)', "a onmouseover=alert(1)", "&lt;b&gt;", "&amp;",
    "&copy;", "&#x3c;b&#x3e;", "&", "&;", "&#0;", "&#xd800;", "{{7*7}}", "{% raw %}", "{# x #}", "${7*7}", "#{7*7}",
    "<%= 7*7 %>", "{{constructor.constructor('alert(1)')()}}", "__proto__", "constructor", "toString",
    "\\u003cb\\u003e",
    "\\x3cb\\x3e", "%3Cb%3E", "\\3c b", "url(//evil.example)", "expression(alert(1))", "</script><script>", "<b>|</b>",
)  # fmt: skip
FORMS = (
    "**a**", "*a*", "_a_", "__a__", "a_b_c", "~~a~~", "~a~", "`", "``", "`x`", "```", "```mermaid", "~~~", "~~~math",
    "``@x`", "`@x` `", "$x$", "$$x$$", "$`x`$", "\\(x\\)", "a|b", "|", "||", "a\\|b", "a\\\\|b", "|@x|", "@x\\",
    "@x\\|y",
    "\\", "\\\\", "a\\", "a*b", ":tada:", ":+1:", ":-1:", ":tada::+1:", "x:tada:y", "::", ":-:", ":--", "--:", "|-|",
    "# a", "## a", "a #", "a ##", "- a", "+ a", "* a", "1. a", "2) a", "1.", "=", "===", "---", "- - -", "***", "> a",
    "> [!NOTE]", "[ ] x", "[x] x", "- [x] y", "    a", "a  ", "!", "!x", "^a", "==a==", "::: note", "/close", "/merge",
    "<kbd>", "a<br>b", "a\\\nb",
)  # fmt: skip
SHEETS = (
    "=cmd()", "=1+1", "+1", "-1+1", "-", "@SUM(1)", "=HYPERLINK(\"//evil.example\")", "\t=1", "\r=1", "\n=1", " =1",
    "=cmd|' /C calc'!A0", "\uff1d1", "'=1", '"=1"', '"', '""', "a,b", "a;b", "a\tb", 'a"b,c', "-2-3", "+@x",
)  # fmt: skip
CHARACTERS = (
    "\x00", "a\x00b", "\x1b[31mred", "\x1b]0;t\x07", "\x07", "\x7f", "\x9b31m", "a\nb", "a\r\nb", "\r\n| x |", "\u2028",
    "a\u2029b", "\u0085", "\u202egnp.exe", "\u2066x", "\u200fx", "\u061cx", "\u200b", "a\u200bb", "\ufeffa", "\u2060",
    "\u00ad", "a\u0301" + "\u0301" * 60, "\ud800", "a\udfff", "\udcff", "\U0001f600", "\U000e0041", "", " ", "  x  ",
    "\u00a0", "\u3000x", "NUL", "CON", "..", ".", "../../etc/passwd", "/etc/passwd", "C:\\x", "~", "-rf", "--help",
    "\u212a", "K", "k", "\u0130", "\u0131", "x" * 5000,
)  # fmt: skip
NAMES = tuple(dict.fromkeys((*MENTIONS, *ISSUES, *COMMITS, *ADDRESSES, *MARKUP, *FORMS, *SHEETS, *CHARACTERS)))
