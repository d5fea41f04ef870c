"""Lengths of tokens in bytes: of those that a text is cut into, and of those that a vocabulary holds."""

from __future__ import annotations

from collections.abc import Iterator

from pyharness.metrics.counting.histograms import LENGTHS, TEXT, VOCABULARY
from pyharness.report.charts import Axis, Panel, curves
from pyharness.report.page.parts import Figure, Section
from pyharness.report.page.sections.counted import Counted, at_least, cells, headings
from pyharness.report.rows.trained_on import note, row_cell
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.store import Record
from pyharness.types import COUNT

_TITLE = "Lengths of tokens"
_COUNTED = {TEXT: "tokens of the text", VOCABULARY: "entries of the vocabulary"}
_NOTE = "A cell: tokens, or entries, of these lengths in bytes. Drawn: those of a bin and of all longer ones / all."


def lengths(record: Record) -> Iterator[Section]:
    """One section, where rows have counts by length."""
    if (counted := Counted.of(record, LENGTHS, 0, (TEXT,))) is not None:
        yield Section(_TITLE, (*counted.left_out, _figure(counted)))


def _figure(counted: Counted) -> Figure:
    panels = []
    for what, noun in _COUNTED.items():
        lines = (at_least(result.case.tokenizer, known, what, noun) for result, known in counted.histograms())
        panels.append(Panel(noun, Axis("% so long or longer"), tuple(line for line in lines if line is not None)))
    title = f"{_TITLE}: {counted.text}"
    description = (
        "Per cent of the tokens of the text, and of the entries of the vocabulary, that have so many bytes or more. "
        "The further right a line of the left falls, the longer the tokens that the text is cut into."
    )
    drawn = curves(panels, title, Axis("bytes of a token", log=True))
    return Figure(title, description, drawn, _numbers(counted, title))


def _numbers(counted: Counted, title: str) -> Sheet:
    edges = counted.edges()
    heads = (Heading("tokenizer", "name"), Heading("counted", "word"), Heading("all"), *headings(edges))
    rows = tuple(
        (
            row_cell(result.case.tokenizer, [result]),
            Cell(noun),
            Cell(sum(known.counts.get(what, ())), COUNT, case=result.case.key),
            *cells(known, what, len(edges) - 1),
        )
        for what, noun in _COUNTED.items()
        for result, known in counted.histograms()
    )
    return Sheet(title, heads, rows, (*note(counted.results), _NOTE))
