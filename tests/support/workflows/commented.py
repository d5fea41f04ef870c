"""A comment of ours as GitHub shows it: what acts in it, its tables, and what it says that it leaves out."""

from __future__ import annotations

import re

from workflows.rendered import read

TAGS = {"p", "strong", "code", "ul", "li", "details", "summary", "table", "thead", "tbody", "tr", "th", "td"}


def acts(text: str) -> list[str]:
    """What GitHub would act on, and tags that have no place in a comment of ours."""
    seen = read(text)
    return [*seen.found, *(seen.tags - TAGS)]


def tables(text: str) -> list[list[list[str]]]:
    """Cells of each row of each table, the headings first."""
    found: list[list[list[str]]] = []
    last = ""
    for tag, content in read(text).blocks:
        if tag == "th" and last != "th":
            found.append([[]])
        if tag in ("th", "td"):
            rows = found[-1]
            if len(rows[-1]) == len(rows[0]) and tag == "td":
                rows.append([])
            rows[-1].append(content.strip())
        last = tag
    return found


def left_out(text: str, what: str = "row") -> int:
    """How many rows of tables, or tables, are said to be missing."""
    return sum(int(n.replace(",", "")) for n in re.findall(rf"([\d,]+) more {what}s? (?:is|are|with)", text))


def rows_not_shown(text: str) -> int:
    """How many rows are said to be missing, with those of tables that are."""
    of_tables = re.findall(r"more tables? with ([\d,]+) rows?", text)
    return left_out(text) + sum(int(n.replace(",", "")) for n in of_tables)
