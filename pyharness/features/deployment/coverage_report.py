"""A coverage table for people and for programs: engines across, tokenizers down, and the differences below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pyharness.features.deployment.coverage import CoverageCell
from pyharness.report.sheet import Heading, Sheet, text_row
from pyharness.report.sheet.strings import shorten, visible, writable
from pyharness.system.environment import version_of

_LONGEST = 60  # characters of a witness
_MOST_IDS = 8


def sheets(cells: Sequence[CoverageCell], corpora: Sequence[str]) -> list[Sheet]:
    """Return the table, the differences with their first witness, and what was refused or failed."""
    names = list(dict.fromkeys(cell.engine for cell in cells))
    by_place = {(cell.tokenizer, cell.engine): cell for cell in cells}
    rows = tuple(
        text_row(row, *(_brief(by_place.get((row, name))) for name in names))
        for row in dict.fromkeys(cell.tokenizer for cell in cells)
    )
    headings = (Heading("tokenizer", "name"), *(Heading(name, "word") for name in names))
    parts = [Sheet("Engines and tokenizers", headings, rows, (f"Text: {', '.join(corpora)}.",))]
    if differing := [cell for cell in cells if cell.state == "differs"]:
        parts.append(_sheet(
            "Other ids", ("tokenizer", "engine", "documents", "first witness", "expected", "got"),
            [(cell.tokenizer, cell.engine, f"{cell.differing:,} of {cell.documents:,}", _quoted(cell.witness),
              _ids(cell.expected), _ids(cell.got)) for cell in differing],
        ))  # fmt: skip
    if lacking := [cell for cell in cells if cell.state in ("refused", "failed")]:
        reasons = [(cell.tokenizer, cell.engine, cell.state, visible(cell.reason)) for cell in lacking]
        parts.append(_sheet("Not compared", ("tokenizer", "engine", "", "reason"), reasons))
    return parts


def _brief(cell: CoverageCell | None) -> str | None:
    return None if cell is None else cell.state


def _quoted(text: str) -> str:
    return f"'{shorten(visible(text), _LONGEST)}'"


def _ids(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids[:_MOST_IDS])) + (", ..." if len(ids) > _MOST_IDS else "")


def _sheet(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Sheet:
    return Sheet(title, tuple(Heading(name, "prose") for name in columns), tuple(text_row(*row) for row in rows))


def as_json(cells: Sequence[CoverageCell], corpora: Sequence[str]) -> Mapping[str, Any]:
    """Return the cells as JSON values."""
    return {
        "pyharness": version_of("pyharness"),
        "corpora": list(corpora),
        "cells": [
            {key: writable(one) if isinstance(one, str) else one for key, one in asdict(cell).items()} for cell in cells
        ],
    }
