"""A suite with parts of it replaced, by names and limits given beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pyharness.corpora import capped
from pyharness.suite.declaration import Entry, Selection, Suite


def override(base: Suite, rows: tuple[Entry, ...], texts: tuple[Entry, ...], chosen: tuple[Selection, ...]) -> Suite:
    """Return the suite with the given parts in place of its own; limits to rows or corpora that are gone are dropped.

    Labels that the suite never had stay: planning says that they are unknown.
    """
    gone_rows = _gone(base.tokenizers, rows)
    gone_texts = _gone(base.corpora, texts)
    return replace(
        base,
        tokenizers=rows or base.tokenizers,
        corpora=texts or base.corpora,
        selections=tuple(_narrowed(selection, gone_rows, gone_texts) for selection in chosen or base.selections),
        reference=None if base.reference in gone_rows else base.reference,
    )


def cut(base: Suite, max_bytes: str) -> Suite:
    """Return the suite with no more of each text read than ``max_bytes``, such as ``20MB``; labels stay.

    Raises:
        InputError: it is no size, or a corpus cannot be cut.
    """
    return replace(base, corpora=tuple(replace(entry, spec=capped(entry.spec, max_bytes)) for entry in base.corpora))


def _gone(before: Iterable[Entry], given: Iterable[Entry]) -> set[str]:
    """Labels that the given entries, if any, replace."""
    now = {entry.label for entry in given}
    return {entry.label for entry in before} - now if now else set()


def _narrowed(selection: Selection, rows: set[str], texts: set[str]) -> Selection:
    return replace(
        selection,
        parameters=_with_references(selection.parameters, rows),
        tokenizers=_without(selection.tokenizers, rows),
        corpora=_without(selection.corpora, texts),
    )


def _with_references(parameters: Mapping[str, Any], gone: set[str]) -> dict[str, Any]:
    """Parameters whose ``reference``, one label or a list of them, names no row that is gone."""
    given = parameters.get("reference")
    names = given if isinstance(given, list) else [given]
    kept = [name for name in names if not (isinstance(name, str) and name in gone)]
    if len(kept) == len(names):
        return dict(parameters)
    others = {name: value for name, value in parameters.items() if name != "reference"}
    return {**others, "reference": kept} if kept else others


def _without(labels: tuple[str, ...] | None, gone: set[str]) -> tuple[str, ...] | None:
    if labels is None or not gone.intersection(labels):
        return labels
    return tuple(label for label in labels if label not in gone) or None
