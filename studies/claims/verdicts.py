"""How a claim is decided: by an interval and a limit that stand in the study before its data are read.

``confirmed``: the whole interval is where the claim says. ``refuted``: the whole interval is where it does not say.
Else the text cannot tell, and the verdict says why. A claim about text in general is refuted by one text. Intervals are
95 %, of groups of documents (delete-a-group jackknife), and verdicts are not corrected for their number.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from claims.texts import TEXTS, Text, chosen
from pyharness.statistics import jackknife
from pyharness.statistics.jackknife import Groups
from pyharness.types import InputError

Interval: TypeAlias = tuple[float, float] | None
CONFIRMED, REFUTED = "confirmed", "refuted"


def not_testable(reason: str) -> str:
    return f"not testable here, because {reason}"


def within(interval: Interval, low: float, high: float) -> str:
    """The claim is that a figure is in ``low``..``high``; infinities leave a side open.

    >>> within((0.79, 0.81), 0.78, 0.82), within((0.7, 0.75), 0.78, 0.82), within((0.7, 0.8), 0.78, 0.82)
    ('confirmed', 'refuted', 'not testable here, because the interval reaches across the limit')
    """
    if interval is None or any(map(math.isnan, interval)):
        return not_testable("there is no interval: documents are few, or a few of them decide")
    if low <= interval[0] and interval[1] <= high:
        return CONFIRMED
    if interval[1] < low or interval[0] > high:
        return REFUTED
    return not_testable("the interval reaches across the limit")


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of a text."""

    text: str
    what: str
    figure: str
    interval: str
    verdict: str


def shown(interval: Interval, form: str) -> str:
    return "none" if interval is None else " to ".join(format(end, form) for end in interval)


def overall(verdicts: Sequence[str]) -> str:
    """Verdict on a claim about every row: one that refutes it is enough, and all have to confirm it."""
    count = len(verdicts)
    if refuted := verdicts.count(REFUTED):
        return f"{REFUTED} ({refuted} of {count} rows; {verdicts.count(CONFIRMED)} confirm it)"
    if verdicts and verdicts.count(CONFIRMED) == count:
        return f"{CONFIRMED} ({count} of {count} rows)"
    open_rows = count - verdicts.count(CONFIRMED)
    return not_testable(f"{open_rows} of {count} rows decide nothing")


def estimated(metric: str, documents: Sequence[int], of: Callable[[Groups], float]) -> tuple[float, Interval]:
    """A figure of all groups and its interval."""
    found = jackknife.estimate(metric, documents, of)
    if found.value is None:
        return math.nan, None
    return float(found.value), jackknife.interval(found.value, found.replicates)


@dataclass(frozen=True, slots=True)
class Claim:
    """What is said (in our words), the rule that decides, and what measures it of a text."""

    said: str
    rule: str
    rows: Callable[[Text], Iterable[Row]]
    texts: tuple[str, ...]  # names of the texts that are read where none are given


def report(claim: Claim, texts: Iterable[Text]) -> str:
    """Markdown: claim, rule, texts, rows, verdict."""
    read: list[Text] = []
    rows: list[Row] = []
    started = time.monotonic()
    for text in texts:
        rows += claim.rows(text)
        read.append(text)
    lines = [f"claim: {claim.said}", f"rule: {claim.rule}", *(f"text: {text.about}" for text in read), ""]
    lines += ["| text | what | figure | 95 % | verdict |", "| :-- | :-- | --: | --: | :-- |"]
    lines += [f"| {row.text} | {row.what} | {row.figure} | {row.interval} | {row.verdict} |" for row in rows]
    decided = overall([row.verdict for row in rows if row.verdict])
    if any(text.is_small for text in read):
        decided = not_testable(f"a text is small, and its figures are no evidence; they would say: {decided}")
    return "\n".join([*lines, "", f"verdict: {decided}", f"seconds: {time.monotonic() - started:.0f}", ""])


def run(claim: Claim, arguments: Sequence[str] | None = None) -> None:
    """Read the texts and print the report; exit status 2 where a text cannot be had."""
    parser = argparse.ArgumentParser(description=f"{claim.said}. {claim.rule}")
    parser.add_argument("--texts", nargs="+", help=f"names ({', '.join(TEXTS)}) or corpora such as path:FILE")
    given = parser.parse_args(arguments)
    try:
        sys.stdout.write(report(claim, (Text.read(*one) for one in chosen(given.texts, claim.texts))))
    except InputError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
