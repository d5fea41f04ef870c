"""What records that stand on one page differ in: machines, versions, texts and settings, before any number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyharness.report.page.parts import Block, Section
from pyharness.report.sheet import Heading, Sheet, text_row
from pyharness.store import Record

_MACHINE = ("cpu", "cores", "memory_bytes", "machine", "system")  # what times depend on
_OF_A_TEXT = ("spec", "digest", "documents", "bytes")
_OF_A_ROW = ("spec", "version", "revision", "sha256", "vocab_size")


def differing(records: Mapping[str, Record]) -> Section:
    """Return the first section of a page about several records, which are given by their names."""
    facts = {name: _facts(record.data) for name, record in records.items()}
    known = dict.fromkeys(fact for one in facts.values() for fact in one)
    rows = [(fact, [one.get(fact) for one in facts.values()]) for fact in known]
    unlike = [text_row(fact, *values) for fact, values in rows if _is_unlike(fact, values)]
    headings = (Heading("what", "name"), *(Heading(name, "prose") for name in facts))
    blocks: list[Block] = [*_sentences(records), Sheet("What differs", headings, tuple(unlike))]
    return Section("What differs between the records", tuple(blocks if unlike else blocks[:-1]))


def _sentences(records: Mapping[str, Record]) -> Iterator[str]:
    """Say what can be compared."""
    machines = {_said([record.data.get("environment", {}).get(one) for one in _MACHINE]) for record in records.values()}
    if len(machines) > 1:
        yield "The machines differ: times are not compared."
    else:
        yield "The machine is the same, as far as the records tell; times of two runs are not compared all the same."
    digests: dict[str, set[object]] = {}
    for record in records.values():
        for label, about in record.data["corpora"].items():
            digests.setdefault(label, set()).add((about.get("tally") or {}).get("digest"))
    unlike = [label for label, known in digests.items() if len(known) > 1]
    if unlike:
        yield f"Not the same text in all records, and in no comparison: {', '.join(unlike)}."


def _is_unlike(fact: str, values: Sequence[str | None]) -> bool:
    """Whether a fact tells records apart: one about a row or a text, in those that have it."""
    return len(set(values) - ({None} if ": " in fact else set())) > 1


def _facts(data: Mapping[str, Any]) -> dict[str, str]:
    """What a record says of how it was made, by name."""
    facts = {"created": data.get("created"), "schema": data["schema"], "complete": data.get("complete")}
    suite = data.get("suite", {})
    facts |= {"suite": suite.get("name"), "digest of the suite": suite.get("digest")}
    facts |= flat(data.get("environment", {}))
    for label, about in data["corpora"].items():
        known = {**about, **(about.get("tally") or {})}
        facts |= {f"text {label}": "read"} | {f"text {label}: {one}": known.get(one) for one in _OF_A_TEXT}
    for label, about in data["tokenizers"].items():
        facts |= {f"row {label}": "measured"} | {f"row {label}: {one}": about.get(one) for one in _OF_A_ROW}
    return {name: _said(value) for name, value in facts.items() if value is not None}


def flat(about: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Facts within facts, by a name of all its parts.

    >>> flat({"cores": 2, "libraries": {"numpy": "2.0"}})
    {'cores': 2, 'libraries numpy': '2.0'}
    """
    facts: dict[str, Any] = {}
    for name, value in about.items():
        facts |= flat(value, f"{before}{name} ") if isinstance(value, dict) else {before + name: value}
    return facts


def _said(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
