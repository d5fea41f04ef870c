"""Notes below the tables of several benchmarks: functions of the results shown and of the record's data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyharness.plugins.specification import TOKENIZER
from pyharness.types import CaseResult, InputError

NOWHERE = "-"
SIZES = ("tokens", "share", "size", "vocab_size")  # options of trainers that set the number of tokens
SCAFFOLD_PAPER = "Paper: arXiv 2404.17808, other data (the Pile): compare directions, not values."


def about_row(data: Mapping[str, Any], row: str) -> Mapping[str, Any]:
    """Return a record's facts of a tokenizer; an empty mapping for a record that was edited by hand."""
    about = data["tokenizers"].get(row)
    return about if isinstance(about, dict) else {}


def lossy(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Warn of rows that look better because they lose text."""
    rows = [row for row in _rows(results) if about_row(data, row).get("round_trip") == "lossy"]
    if rows:
        yield f"Lossy rows: what they leave out makes them look better (WordPiece: white space): {', '.join(rows)}."


def provenance(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Name the texts the rows were trained on and read, and the reasons against a fair comparison."""
    rows = _rows(results)
    trained = {row: options for row in rows if (options := training_options(data, row))}
    label = next((result.case.corpus for result in results if result.case.corpus is not None), None)
    corpus = {} if label is None else data["corpora"].get(label, {})
    yield from _note_training(trained, f", measured on {corpus.get('spec')}" if corpus else "")
    digest = (corpus.get("tally") or {}).get("digest")
    told = {result.case.tokenizer for result in results if result.trained_on is not None}  # the table itself says it
    unknown = [row for row in trained if digest is not None and row not in told]
    seen = [row for row in unknown if about_row(data, row).get("revision") == digest]
    if seen:
        yield f"Trained on the text that they are measured on: {', '.join(seen)}."
    for row, options in trained.items():
        size, limit = options.get("vocab_size", ""), about_row(data, row).get("id_limit")
        if size.isdecimal() and isinstance(limit, int) and limit < int(size):
            yield f"{row} has {limit:,} ids, not {int(size):,}: its text gave no more. Do not compare by size."


def training_options(data: Mapping[str, Any], row: str) -> Mapping[str, str]:
    """Return options of a row that was trained here; an empty mapping for others."""
    try:
        spec = TOKENIZER.parse(str(about_row(data, row).get("spec")))
    except InputError:
        return {}
    return spec.options if spec.name == "trained" else {}


def recipe(data: Mapping[str, Any], row: str, sizes: Sequence[str] = SIZES) -> str | None:
    """Return a row's specification without its size: rows of one recipe form a curve. None for a row without a size."""
    try:
        wanted = TOKENIZER.parse(str(about_row(data, row).get("spec")))
    except InputError:
        return None
    options = {name: value for name, value in wanted.options.items() if name not in sizes}
    if len(options) == len(wanted.options):
        return None
    return TOKENIZER.write(wanted.name, wanted.argument, options, wanted.engine)


def _rows(results: Sequence[CaseResult]) -> list[str]:
    return list(dict.fromkeys(result.case.tokenizer for result in results))


def _note_training(trained: Mapping[str, Mapping[str, str]], read: str) -> Iterator[str]:
    by_text: dict[str, list[str]] = {}
    for row, options in trained.items():
        by_text.setdefault(options.get("corpus", NOWHERE), []).append(row)
    for text, rows in by_text.items():
        yield f"Trained on {text}{read}" + (f": {', '.join(rows)}." if len(by_text) > 1 else ".")
