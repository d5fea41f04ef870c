"""Which engines give the ids of a tokenizer's own library: one cell per tokenizer and engine.

A cell is measured in a process of its own under limits: ``python -m pyharness.features.deployment.coverage`` writes one
line of JSON. A library that crashes, hangs or leaks costs that cell.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from pyharness import tokenizers
from pyharness.corpora import open_corpus
from pyharness.corpora.streaming import batches, keyed
from pyharness.features.deployment.auto import CONFIG
from pyharness.plugins.specification import TOKENIZER
from pyharness.report.sheet import Heading, Sheet, text_row
from pyharness.report.sheet.strings import shorten, visible, writable
from pyharness.store.json_values import Misshapen, from_json
from pyharness.system import folders
from pyharness.system.child_process import Child, ChildDied
from pyharness.system.environment import version_of
from pyharness.types import InputError, Tally, Tokenizer

CellState: TypeAlias = Literal["equal", "differs", "refused", "failed"]
AUTO, SLOW = "auto", "auto slow"
_BATCH_CHARACTERS = 1 << 18
_MOST_TRIES = 200  # encodings while a witness is shortened
_LONGEST = 60  # characters of a witness in a table
_MOST_IDS = 8


@dataclass(frozen=True, slots=True)
class CoverageCell:
    """One engine on one tokenizer."""

    tokenizer: str
    engine: str
    state: CellState
    documents: int = 0
    differing: int = 0
    reason: str = ""  # why it was refused, or how it failed
    witness: str = ""  # a short text with other ids
    expected: tuple[int, ...] = ()  # ids of the witness, of the tokenizer's own library
    got: tuple[int, ...] = ()


def engines(spec: str, wanted: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the engines of a tokenizer, each with the specification of its row.

    Raises:
        InputError: a wanted engine is unknown, or none of them can be asked for the tokenizer.
    """
    every = [*sorted(tokenizers.engines_by_name()), AUTO, SLOW]
    for name in wanted:
        if name not in every:
            raise InputError(f"unknown engine {name!r}; known: {', '.join(every)}")
    home = tokenizers.without_engine(spec).text
    rows = [(name, f"{name}+{home}") for name in sorted(tokenizers.engines_by_name())]
    if (folder := _folder(home)) is not None:
        rows += [(AUTO, f"auto:{folder}"), (SLOW, f"auto:{folder}?slow=1")]
    rows = [(name, row) for name, row in rows if not wanted or name in wanted]
    if not rows:
        raise InputError(f"{spec!r} is in no folder with {CONFIG}, which {' and '.join(wanted)} needs; name a folder")
    return rows


def _folder(home: str) -> Path | None:
    """Return the model folder of a row ``file:``; None for others."""
    parsed = TOKENIZER.parse(home)
    if parsed.name != "file" or parsed.argument is None:
        return None
    path = folders.expanded(parsed.argument)
    folder = path if path.is_dir() else path.parent
    return folder if (folder / CONFIG).is_file() else None


def cells(
    specs: Sequence[str], corpora: Sequence[str], wanted: Sequence[str], seconds: float, memory: int | None
) -> Iterator[CoverageCell]:
    """Measure all cells, one after another.

    Args:
        specs: tokenizers.
        corpora: texts that both sides encode.
        wanted: names of engines; none: all.
        seconds: limit for a cell.
        memory: bytes that a cell may hold; None: a share of what is free.

    Raises:
        InputError: a tokenizer or an engine is unknown.
    """
    rows = [(spec, engine, row) for spec in specs for engine, row in engines(spec, wanted)]
    for spec, engine, row in rows:
        yield _cell(spec, engine, row, corpora, seconds, memory)


def check_home(spec: str, seconds: float, memory: int | None) -> None:
    """Load a tokenizer in its own library, with which all engines are compared, in a process of its own.

    Raises:
        InputError: it cannot be loaded, or the library crashes.
    """
    cell = _cell(spec, "", tokenizers.without_engine(spec).text, (), seconds, memory)
    if cell.state == "failed":
        reason = " ".join(cell.reason.split())
        raise InputError(f"{spec!r} cannot be loaded by its own library, whose ids are compared: {reason}")


def _cell(spec: str, engine: str, row: str, corpora: Sequence[str], seconds: float, memory: int | None) -> CoverageCell:
    child = Child([__name__, json.dumps([spec, engine, row, *corpora])], memory_limit=memory)
    try:
        line = child.listen(time.monotonic() + seconds)
        if line is None:
            return CoverageCell(spec, engine, "failed", reason="it ended without an answer")
        return from_json(CoverageCell, json.loads(line), "cell")
    except (ChildDied, Misshapen, ValueError) as error:
        return CoverageCell(spec, engine, "failed", reason=f"it {error}")
    finally:
        child.close()


# ---------------------------------------------------------------------------------------------- for people


def sheets(cells: Sequence[CoverageCell], corpora: Sequence[str]) -> list[Sheet]:
    """Return the table, the differences with their first witness, and what was refused or failed."""
    names = list(dict.fromkeys(cell.engine for cell in cells))
    states = {(cell.tokenizer, cell.engine): cell.state for cell in cells}
    rows = tuple(
        text_row(row, *(states.get((row, name)) for name in names))
        for row in dict.fromkeys(cell.tokenizer for cell in cells)
    )
    headings = (Heading("tokenizer", "name"), *(Heading(name, "word") for name in names))
    parts = [Sheet("Engines and tokenizers", headings, rows, (f"Text: {', '.join(corpora)}.",))]
    if differing := [cell for cell in cells if cell.state == "differs"]:
        parts.append(_sheet(
            "Different ids", ("tokenizer", "engine", "documents", "first witness", "expected", "got"),
            [(cell.tokenizer, cell.engine, f"{cell.differing:,} of {cell.documents:,}",
              f"'{shorten(visible(cell.witness), _LONGEST)}'", _ids(cell.expected), _ids(cell.got))
             for cell in differing],
        ))  # fmt: skip
    if lacking := [cell for cell in cells if cell.state in ("refused", "failed")]:
        reasons = [(cell.tokenizer, cell.engine, cell.state, visible(cell.reason)) for cell in lacking]
        parts.append(_sheet("Not compared", ("tokenizer", "engine", "", "reason"), reasons))
    return parts


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


# ---------------------------------------------------------------------------------------------- in the child


def measured(spec: str, engine: str, row: str, corpora: Sequence[str]) -> CoverageCell:
    """Compare the ids of two rows on texts, in this process."""
    home = tokenizers.load(tokenizers.obtain(tokenizers.without_engine(spec).text))
    try:
        other = tokenizers.load(tokenizers.obtain(row))
    except InputError as error:
        return CoverageCell(spec, engine, "refused", reason=str(error)[:500])
    documents = differing = 0
    witness: str | None = None
    mapped = tokenizers.mapped_strings(other)
    for name in corpora:
        for batch in batches((piece.text for piece in keyed(open_corpus(name), Tally())), size=_BATCH_CHARACTERS):
            texts = [text for text in batch if not any(one in text for one in mapped)]
            unequal = _unequal(home, other, texts)
            documents, differing = documents + len(texts), differing + len(unequal)
            witness = unequal[0] if unequal and witness is None else witness
    if not documents:
        return CoverageCell(spec, engine, "refused", reason="each text spells a token that it cannot treat as text")
    if witness is None:
        return CoverageCell(spec, engine, "equal", documents)
    short = shortened(witness, lambda text: bool(_unequal(home, other, [text])))
    ids = [tuple(tokenizer.encode_batch([short]).ids.tolist()) for tokenizer in (home, other)]
    return CoverageCell(spec, engine, "differs", documents, differing, "", short, *ids)


def _unequal(home: Tokenizer, other: Tokenizer, texts: Sequence[str]) -> list[str]:
    mine, theirs = home.encode_batch(texts), other.encode_batch(texts)
    return [
        text for number, text in enumerate(texts)
        if not np.array_equal(mine.document(number), theirs.document(number))
    ]  # fmt: skip


def shortened(text: str, differs: Callable[[str], bool]) -> str:
    """Return a part of a text that still differs: ends are cut off, by halves and then by less, while it does.

    >>> shortened("some text with an x in it", lambda text: "x" in text)
    'x'
    """
    tries, step = 0, max(1, len(text) // 2)
    while tries < _MOST_TRIES:
        cut = next((one for one in (text[step:], text[:-step]) if len(text) > step and differs(one)), None)
        tries += 2
        if cut is not None:
            text, step = cut, max(1, min(step, len(cut) // 2))
        elif step == 1:
            break
        else:
            step = max(1, step // 2)
    return text


def main() -> None:
    """Measure the cell that the first argument names, and write it."""
    spec, engine, row, *corpora = json.loads(sys.argv[1])
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    try:
        cell = measured(spec, engine, row, corpora)
    except InputError as error:
        cell = CoverageCell(spec, engine, "failed", reason=str(error)[:500])
    except Exception as error:  # whatever a library raises
        cell = CoverageCell(spec, engine, "failed", reason=f"{type(error).__name__}: {str(error)[:400]}")
    out.write(json.dumps(asdict(cell)) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
