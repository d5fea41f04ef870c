"""Origin of numbers: machine, versions, texts, command; and the differences of several records in these."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyharness import suite
from pyharness.plugins.specification import BENCHMARK
from pyharness.report.sheet import Cell, Heading, Sheet, text_row
from pyharness.report.sheet.parts import LONGEST_TIP, Block, Download, Section, Verbatim
from pyharness.report.sheet.strings import shorten
from pyharness.store import KIND, Record, packed
from pyharness.types import COUNT, InputError

_MACHINE = ("cpu", "cores", "memory_bytes", "machine", "system")  # facts on which times depend
_OF_A_TEXT = ("spec", "digest", "documents", "bytes")
_OF_A_ROW = ("spec", "version", "revision", "sha256", "vocab_size")


def what_differs(records: Mapping[str, Record]) -> Section:
    """Return the first section of a page about several records, given by name."""
    facts = {name: _known_facts(record.data) for name, record in records.items()}
    names = dict.fromkeys(fact for one in facts.values() for fact in one)
    rows = [(fact, [one.get(fact) for one in facts.values()]) for fact in names]
    shared = (({*values} - {None} if ": " in fact else {*values}) for fact, values in rows)  # of a row: if it is there
    unlike = [text_row(fact, *values) for (fact, values), known in zip(rows, shared, strict=True) if len(known) > 1]
    headings = (Heading("what", "name"), *(Heading(name, "prose") for name in facts))
    blocks: list[Block] = [*_sentences(records), Sheet("What differs", headings, tuple(unlike))]
    return Section("What differs between the records", tuple(blocks if unlike else blocks[:-1]))


def _sentences(records: Mapping[str, Record]) -> Iterator[str]:
    """Say which records can be compared."""
    machines = {_show([record.data.get("environment", {}).get(one) for one in _MACHINE]) for record in records.values()}
    if len(machines) > 1:
        yield "The machines differ: times are not compared."
    else:
        yield "The machines look the same. Even so, times of two runs are not compared."
    digests: dict[str, set[object]] = {}
    for record in records.values():
        for label, about in record.data["corpora"].items():
            digests.setdefault(label, set()).add((about.get("tally") or {}).get("digest"))
    unlike = [label for label, of_label in digests.items() if len(of_label) > 1]
    if unlike:
        yield f"Not compared, because the text differs between the records: {', '.join(unlike)}."


def _known_facts(data: Mapping[str, Any]) -> dict[str, str]:
    """Return a record's facts about its making, by name."""
    facts = {"created": data.get("created"), "schema": data["schema"], "complete": data.get("complete")}
    suite = data.get("suite", {})
    facts |= {"suite": suite.get("name"), "digest of the suite": suite.get("digest")}
    facts |= flat(data.get("environment", {}))
    for label, about in data["corpora"].items():
        merged = {**about, **(about.get("tally") or {})}
        facts |= {f"text {label}": "read"} | {f"text {label}: {one}": merged.get(one) for one in _OF_A_TEXT}
    for label, about in data["tokenizers"].items():
        facts |= {f"row {label}": "measured"} | {f"row {label}: {one}": about.get(one) for one in _OF_A_ROW}
    return {name: _show(value) for name, value in facts.items() if value is not None}


def flat(about: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return nested facts by a name of all its parts.

    >>> flat({"cores": 2, "libraries": {"numpy": "2.0"}})
    {'cores': 2, 'libraries numpy': '2.0'}
    """
    facts: dict[str, Any] = {}
    for name, value in about.items():
        facts |= flat(value, f"{before}{name} ") if isinstance(value, dict) else {before + name: value}
    return facts


def _show(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# ---------------------------------------------------------------------------------------------- of one record


LARGEST_DOWNLOAD = 1_000_000  # bytes: the page carries a smaller record
LONGEST_NAME = 10_000  # characters
LONGEST_FILE_NAME = 100  # characters
_DEVICES = {"CON", "PRN", "AUX", "NUL", *(f"{port}{number}" for port in ("COM", "LPT") for number in range(1, 10))}
_ABOUT = dict.fromkeys(("name", "summary", "digest"))  # where two suites that measure the same may differ


def foot_blocks(record: Record) -> Iterator[Block]:
    """Yield how, where and from which texts a record was made."""
    data = record.data
    yield _facts("How it was made", _making(data))
    if (line := command(data)) is not None:
        yield "A command that measures the same:"
        yield Verbatim(line)
    yield _facts("Machine and versions", flat(data.get("environment", {})))
    if texts := [_text(label, about) for label, about in data["corpora"].items()]:
        counts = Heading("documents or pieces"), Heading("bytes", unit="bytes")
        yield Sheet("Texts", (Heading("text", "name"), Heading("specification", "prose"), *counts,
                              Heading("digest", "prose")), tuple(texts))  # fmt: skip
    if rows := data["tokenizers"]:
        keys = ("spec", "library", "version", "source", "sha256")
        cells = (text_row(label, *(_word(about.get(key)) for key in keys)) for label, about in rows.items())
        titles = ("specification", *keys[1:])
        yield Sheet("Rows", (Heading("row", "name"), *(Heading(one, "prose") for one in titles)), tuple(cells))
    if long := [name for name in (*data["tokenizers"], *data["corpora"]) if len(name) > LONGEST_TIP]:
        yield Section("Long names in full", tuple(Verbatim(_abbreviate(name)) for name in long), folded=True)


def _abbreviate(name: str) -> str:
    """Return a name or, if it is as long as a book, its beginning and its digest."""
    if len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{name[:LONGEST_NAME]}… ({len(name):,} characters, of which {LONGEST_NAME:,} are here; SHA-256 {digest})"


def command(data: Mapping[str, Any]) -> str | None:
    """Return a command that declares the same suite, read back; None if no command is known to."""
    declared = data.get("suite", {}) if data["kind"] == KIND else {}
    try:
        path = suite.shipped().get(declared["name"])
        if path is not None and suite.read(path).digest == declared["digest"]:
            return shlex.join(["pyharness", "run", declared["name"]])
        rows, texts = ([_entry(*one) for one in declared[key].items()] for key in ("tokenizers", "corpora"))
        chosen = [_benchmark(one) for one in declared["benchmarks"]]
        places = {key: declared.get(key) for key in ("reference", "device", "memory_limit")}
        again = suite.declare(rows, texts, chosen, **places)
    except (InputError, KeyError, TypeError, AttributeError):  # a stranger's record, or its files are not here
        return None
    if {**declared, **_ABOUT} != {**again.as_json(), **_ABOUT}:
        return None
    given = {"-t": rows, "-c": texts, "-b": chosen}
    given |= {f"--{key.replace('_', '-')}": [str(value)] for key, value in places.items() if value is not None}
    return shlex.join(["pyharness", "run", *(word for key, of in given.items() for one in of for word in (key, one))])


def _entry(label: str, spec: str) -> str:
    return label if label == spec or suite.named(f"{label}={spec}")[0] != label else f"{label}={spec}"


def _benchmark(about: Mapping[str, Any]) -> str:
    """Write a benchmark of a suite for the command line."""
    given = about["parameters"] | {key: about[key] for key in ("tokenizers", "corpora") if about[key] is not None}
    lists = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
    return BENCHMARK.write(about["name"], None, {name: ",".join(map(_show, of)) for name, of in lists.items()})


def download(path: Path | None) -> Download | None:
    """Return the file of a record, packed; None without a file, or if it is too large for a page."""
    if path is None or not path.is_file() or path.stat().st_size >= LARGEST_DOWNLOAD:
        return None
    return Download(f"{file_name(path.name.removesuffix('.xz'))}.xz", packed(path.read_bytes()), "application/x-xz")


def file_name(name: str) -> str:
    """Return a file name that every system takes: foreign text is never a path, a hidden file or a device.

    >>> file_name("quick.json"), file_name("../CON"), file_name("\u202egnp.exe"), file_name("con.json")
    ('quick.json', '_CON', '_gnp.exe', '_con.json')
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name).lstrip(".-")
    kept = shorten(plain, LONGEST_FILE_NAME).replace("…", "_") or "record"
    return f"_{kept}" if kept.partition(".")[0].upper() in _DEVICES else kept


def _making(data: Mapping[str, Any]) -> dict[str, Any]:
    declared = data.get("suite", {})
    return {
        "created": data.get("created"),
        "seconds": data.get("seconds"),
        "complete": "yes" if data.get("complete", True) else "no",
        "suite": declared.get("name"),
        "digest of the suite": declared.get("digest"),
        "schema of the record": data["schema"],
    }


def _facts(title: str, facts: Mapping[str, Any]) -> Sheet:
    rows = tuple(text_row(name, _show(value)) for name, value in facts.items() if value is not None)
    return Sheet(title, (Heading("what", "name"), Heading("value", "prose")), rows)


def _text(label: str, about: Mapping[str, Any]) -> tuple[Cell, ...]:
    tally = about.get("tally") or {}
    counts = (Cell(tally.get("documents"), COUNT), Cell(tally.get("bytes"), COUNT))
    return Cell(label), Cell(_word(about.get("spec"))), *counts, Cell(tally.get("digest"))


def _word(value: object) -> str | None:
    return None if value is None else str(value)
