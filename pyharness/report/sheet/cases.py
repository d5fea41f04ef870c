"""Cases for people: names, distinguishing parameters, their text, and whether a row was trained on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pyharness.corpora.files.reading import kind
from pyharness.report.sheet import Cell, Heading, Sheet, size, text_row
from pyharness.report.sheet.columns import documents_in_words
from pyharness.types import PERCENT, Case, CaseResult, counted
from pyharness.types.results import TRAINED_ON_TOO_MUCH

_AXES = {"threads": " x{}", "width": " d={}", "context": " context={}"}  # parameters that the name of a case shows
_HEADINGS = (
    Heading("tokenizer", "name"), Heading("status", "word"), Heading("cases", "prose"), Heading("reason", "prose"),
)  # fmt: skip


def case_name(case: Case) -> str:
    """Name the benchmark of a case, with its threads, width and context as far as it has them."""
    values = case.parameters
    return case.benchmark + "".join(shape.format(values[key]) for key, shape in _AXES.items() if key in values)


def case_in_words(case: Case) -> str:
    """Name a case with its row and text, as in progress messages."""
    return "  ".join(filter(None, (case_name(case), case.tokenizer, case.corpus)))


def not_measured(results: Iterable[CaseResult]) -> Sheet:
    """List the cases without numbers; cases of a row with the same reason share a line."""
    cases: dict[tuple[str, str, str], list[str]] = {}
    for result in results:
        if result.status != "ok":
            about = result.case
            name = case_name(about) + (f" on {about.corpus}" if about.corpus else "")
            cases.setdefault((about.tokenizer, result.status, str(result.reason)), []).append(name)
    rows = tuple(text_row(row, status, ", ".join(names), reason) for (row, status, reason), names in cases.items())
    return Sheet("Not measured", _HEADINGS, rows)


# ------------------------------------------------------------------------------------------ distinguishing parameters


def differing_parameters(one: Sequence[CaseResult], among: Sequence[CaseResult]) -> list[str]:
    """Return parameters in which some cases differ from others: tables must distinguish them."""
    names = {name: None for result in one for name in sorted(result.case.parameters)}
    if not names:
        return []
    first = one[0].case.parameters
    return [name for name in names if any(other.case.parameters.get(name) != first.get(name) for other in among)]


def variant(result: CaseResult, among: Sequence[CaseResult]) -> str:
    """Return parameters of a case in which the cases of its benchmark differ, with their values."""
    values = result.case.parameters
    return ", ".join(f"{name}={values[name]}" for name in differing_parameters([result], among) if name in values)


# ------------------------------------------------------------------------ rows that were trained on the text they read


TRAINED_MARK = "†"
_LEAST_SHOWN = 0.0001
_NO_RANK = f" Rows with {100 * TRAINED_ON_TOO_MUCH:.0f} % or more have no rank."


def row_cell(row: str, results: Iterable[CaseResult]) -> Cell:
    """Return the name of a row, marked if one of its ``results`` is of text that it was trained on."""
    return Cell(row, part=TRAINED_MARK if any(result.trained_on for result in results) else None)


def trained_note(results: Sequence[CaseResult], *, ranking: bool = False) -> Iterator[str]:
    """Say which rows were trained on the text they read, and how much of it: the most over their results.

    Below a ``ranking``, also say from which share on a row has no rank.
    """
    several = len({result.case.corpus for result in results}) > 1
    shares: dict[str, float] = {}
    for result in results:
        if result.trained_on:
            row = result.case.tokenizer + (f" on {result.case.corpus}" if several else "")
            shares[row] = max(shares.get(row, 0.0), result.trained_on)
    if shares:
        shown = (f"{PERCENT.show(one)} %" if one >= _LEAST_SHOWN else "less than 0.01 %" for one in shares.values())
        named = ", ".join(f"{row} ({share} of its bytes)" for row, share in zip(shares, shown, strict=True))
        yield f"{TRAINED_MARK} trained on this text: {named}." + (_NO_RANK if ranking else "")


# ---------------------------------------------------------------------------------------------- the text


WHOLE_GROUPS_SINCE = 2  # schema of records whose groups hold whole documents
_CAP = re.compile(r"[?&]max_bytes=([^&]*)")
_SPLIT = re.compile(r"[?&]split=(line|paragraph)(?=&|$)")
_MET = {
    "empty_documents": ("empty document", "left out"),
    "cut_documents": ("long document", "split"),
    "replaced_sequences": ("invalid UTF-8 sequence", "replaced"),
}


def text_in_words(results: Sequence[CaseResult], data: Mapping[str, Any], label: str) -> str:
    """Return label, size and documents of a text."""
    corpus = data["corpora"].get(label, {})
    tally = corpus.get("tally")
    text = label
    if tally:
        groups = results[0].groups if results else {}
        text += f" ({size(tally['bytes'])}, {documents_in_words(tally['documents'], groups, 'piece')})"
    return text + (" [smoke test]" if corpus.get("smoke_test") else "")


def text_notes(data: Mapping[str, Any], label: str) -> Iterator[str]:
    """Report findings in a text, and the limits of its numbers as evidence."""
    corpus = data["corpora"].get(label, {})
    yield from smoke_test(data, label)
    tally = corpus.get("tally") or {}
    if tally.get("cut_documents") and data["schema"] < WHOLE_GROUPS_SINCE:
        yield "CIs are too narrow: this record counts the pieces of a cut document as documents."
    spec = str(corpus.get("spec", ""))
    if (split := _SPLIT.search(spec)) and "work=" not in spec:
        yield f"Documents are {split[1]}s here. If they come from one book or article, CIs are too narrow."
    met = [f"{counted(tally[name], noun)} {what}" for name, (noun, what) in _MET.items() if tally.get(name)]
    if (cap := _CAP.search(spec)) is not None:
        met.insert(0, f"at most {cap[1]}")
    if met:
        yield f"Text as read: {', '.join(met)}."


def parts_read(data: Mapping[str, Any], labels: Iterable[str]) -> Iterator[str]:
    """Say of which texts some parts are missing."""
    for label in labels:
        if (parts := data["corpora"].get(label, {}).get("parts")) is not None:
            yield f"Not all of {label} was read: {parts['read']:,} of {parts['of']:,} parts."


def smoke_test(data: Mapping[str, Any], label: str) -> Iterator[str]:
    """Warn of a text that is too small to be evidence."""
    if data["corpora"].get(label, {}).get("smoke_test"):
        yield "The sample is a smoke test: differences and premiums on it are not evidence."


def more_documents(data: Mapping[str, Any], label: str) -> Iterator[str]:
    """Say how to split files that are read as one document each: an interval needs several documents."""
    specification = str(data["corpora"].get(label, {}).get("spec", ""))
    head, _, options = specification.partition("?")
    if head.startswith("path:") and kind(head) not in ("jsonl", "parquet") and "split=" not in options:
        yield f"For a CI, add documents. Unrelated paragraphs can be documents: {head}?split=paragraph (or split=line)."
