"""Markdown for pull requests: regressions first, whole tables within the limit, and names that do nothing.

GitHub's rules are checked on what its own Markdown parser makes of it: mentions, issues, links, commits and symbols are
made of text alone, never of what stands in code.
"""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from gating.gates import gate, judgement
from pyharness import report
from pyharness.features.gate import report as gate_report
from pyharness.features.gate.types import ArmFacts, SelfTest
from pyharness.report.sheet.strings import shorten, visible
from strangers.names import NAMES
from workflows.rendered import read

PARSER = MarkdownIt("commonmark").enable("table")
DRIVES = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
TAGS = {"p", "strong", "code", "ul", "li", "details", "summary", "table", "thead", "tbody", "tr", "th", "td"}


def acts(text: str) -> list[str]:
    """What GitHub would act on in a piece of Markdown, and what has no place in a comment of ours."""
    seen = read(text)
    return [*seen.found, *DRIVES.findall(text), *(seen.tags - TAGS)]


def cells(text: str) -> list[list[str]]:
    """Rows of all tables as a reader sees them."""
    rows: list[list[str]] = []
    inside = False
    for token in PARSER.parse(text):
        if token.type == "tr_open":
            rows.append([])
        inside = token.type in ("td_open", "th_open") or (inside and token.type == "inline")
        if token.type == "inline" and inside:
            rows[-1].append("".join(one.content for one in token.children or ()))
    return rows


@pytest.mark.parametrize("begin", range(0, len(NAMES), 50))
def test_names_do_nothing_wherever_they_stand(begin: int) -> None:
    for name in NAMES[begin : begin + 50]:
        check_name(name)


def check_name(name: str) -> None:
    arm = ArmFacts("base", name, name, {}, {name: "1"})
    one = gate(
        judgement(name, "regression", 0.1, reason=name), judgement(f"{name}x", reason=name),
        suite=name, arms={"base": arm}, notes=(name,), declaration_faults=(name,),
        self_test=SelfTest((name,), {name: name}), about={name: name},
    )  # fmt: skip
    text = report.to_pull_request(gate_report.gate_comment(one))
    assert acts(text) == []
    assert re.fullmatch(r"\*\*Pass: 1 regression, 1 passed; [\w ,;.-]+\.\*\*", text.splitlines()[0])
    assert text.count("<details>") == text.count("</details>") == 2
    assert [line for line in text.splitlines() if line.startswith("- regression: ")]
    whole = [row for row in cells(text) if "regression" in row]
    assert [" ".join(row[0].split()) for row in whole] == [" ".join(shorten(visible(name), 300).split())]


def test_the_verdict_comes_first_then_regressions_and_the_rest_is_folded() -> None:
    judgements = [judgement(f"quiet {n}") for n in range(7)]
    judgements.insert(3, judgement("slow", "regression", 0.05))
    judgements.insert(5, judgement("slower", "regression", 0.2, p=0.001))
    judgements.insert(5, judgement("slower", "pass", 0.0, figure="instructions"))
    judgements.append(judgement("unsure", "inconclusive", 0.04))
    text = report.to_pull_request(gate_report.gate_comment(gate(*judgements, verdict="regression")))
    first, *_ = text.splitlines()
    assert first == "**Regression: 2 regressions, 1 inconclusive, 8 passed.**"
    opened, folded, _ = text.split("<details>")
    assert [row[:3] for row in cells(opened)[1:]] == [
        ["slower", "regression", "2.1 ms"],
        ["slow", "regression", "2.1 ms"],
        ["unsure", "inconclusive", "2.1 ms"],
    ], "no evidence is no pass"
    assert folded.startswith("<summary>8 passed</summary>")
    effect = cells(text)[0].index("effect")
    assert cells(opened)[1][effect] == "+20.0 % [+19.0, +21.0]"
    assert all(re.fullmatch(r"\S+ % \[\S+, \S+\]", row[-3]) for row in cells(folded)[1:]), "an interval per row"


@pytest.mark.parametrize("regressions", [0, 30, 1500])
@pytest.mark.parametrize("others", [0, 1500])
def test_a_comment_has_at_most_60_kb_of_whole_rows(regressions: int, others: int) -> None:
    judgements = [judgement(f"慢 {n} @x" * 20, "regression", 0.1, reason="為什麼 | " * 99) for n in range(regressions)]
    judgements += [judgement(f"快 {n}" * 20) for n in range(others)]
    notes = tuple(f"備註 {n} @x " * 100 for n in range(1000))
    about = {f"{n} @x" * 50: "值 " * 1000 for n in range(1000)}
    one = gate(*judgements, verdict="regression" if regressions else "pass", notes=notes, about=about)
    text = report.to_pull_request(gate_report.gate_comment(one))
    assert len(text.encode()) <= 60_000
    assert len(text.encode()) > 55_000 or others + regressions < 1500
    assert text.count("<details>") == text.count("</details>")
    assert acts(text) == []
    rows = cells(text)
    for verdict, all_of_them in (("regression", regressions), ("pass", others)):
        shown = [row for row in rows if verdict in row]
        assert len({len(row) for row in shown}) <= 1
        left_out = [
            int(n.replace(",", "")) for n in re.findall(r"^([\d,]+) more rows are left out", text, re.MULTILINE)
        ]
        assert len(shown) == all_of_them or all_of_them - len(shown) in left_out
    if regressions == 30:
        assert sum("regression" in row for row in rows) == 30, "they go before the rest"


def test_a_gate_that_compared_nothing_says_so() -> None:
    one = gate(verdict="incomparable", notes=("base does not build: no compiler",), arms={}, about={}, launches=())
    text = report.to_pull_request(gate_report.gate_comment(one))
    assert text.splitlines()[0] == "**Incomparable: nothing was compared.**"
    assert "- base does not build: no compiler" in text
