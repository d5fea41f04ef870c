"""What tables say of the text they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyharness.corpora.files.formats import kind
from pyharness.report.sheet import size
from pyharness.types import CaseResult, counted

WHOLE_GROUPS_SINCE = 2  # schema of records whose groups hold whole documents
_CAP = re.compile(r"[?&]max_bytes=([^&]*)")
_SPLIT = re.compile(r"[?&]split=(line|paragraph)(?=&|$)")
_MET = {
    "empty_documents": "empty documents left out",
    "cut_documents": "long documents cut",
    "replaced_sequences": "invalid UTF-8 sequences replaced",
}


def describe(results: Sequence[CaseResult], data: Mapping[str, Any], label: str) -> str:
    """Label, size and documents of a text."""
    corpus = data["corpora"].get(label, {})
    tally = corpus.get("tally")
    text = label
    if tally:
        read = counted(tally["documents"], "document")
        if (uncut := _uncut(results)) is not None and uncut != tally["documents"]:
            read = f"{counted(uncut, 'document')} in {counted(tally['documents'], 'piece')}"
        text += f" ({size(tally['bytes'])}, {read})"
    return text + (" [smoke test]" if corpus.get("smoke_test") else "")


def _uncut(results: Sequence[CaseResult]) -> int | None:
    """Count the documents before any was cut; None in a record that does not tell."""
    groups = results[0].groups if results else {}
    return sum(groups["documents"]) if {"pieces", "documents"} <= groups.keys() else None


def notes(data: Mapping[str, Any], label: str) -> Iterator[str]:
    """Say what was met in a text, and what its numbers are no evidence of."""
    corpus = data["corpora"].get(label, {})
    yield from smoke_test(data, label)
    tally = corpus.get("tally") or {}
    if tally.get("cut_documents") and data["schema"] < WHOLE_GROUPS_SINCE:
        yield "Too narrow: this record's intervals take the pieces of a cut document for documents."
    spec = str(corpus.get("spec", ""))
    if (split := _SPLIT.search(spec)) and "work=" not in spec:
        yield f"Documents are {split[1]}s here, taken for independent evidence: those of one work are none."
    if met := [*_cap(corpus), *(f"{tally[name]:,} {what}" for name, what in _MET.items() if tally.get(name))]:
        yield f"Text as read: {', '.join(met)}."


def _cap(corpus: Mapping[str, Any]) -> list[str]:
    """Say how much of a text may be read, where its specification does."""
    found = _CAP.search(str(corpus.get("spec", "")))
    return [f"at most {found[1]}"] if found else []


def smoke_test(data: Mapping[str, Any], label: str) -> Iterator[str]:
    """Say of a text that is too small to be evidence that it is."""
    if data["corpora"].get(label, {}).get("smoke_test"):
        yield "The sample is a smoke test: differences and premiums on it are not evidence."


def more_documents(data: Mapping[str, Any], label: str) -> Iterator[str]:
    """Say of files that are read as one document each how they become many: an interval needs them."""
    specification = str(data["corpora"].get(label, {}).get("spec", ""))
    head, _, options = specification.partition("?")
    if head.startswith("path:") and kind(head) not in ("jsonl", "parquet") and "split=" not in options:
        yield "Files of many texts have intervals with ?split=paragraph or ?split=line, which make documents of these."
