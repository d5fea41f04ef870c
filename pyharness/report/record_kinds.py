"""Kinds of files that ``pyharness report`` shows besides records of cases: features and plug-ins add them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyharness.plugins import registry
from pyharness.report.exporters.comment import Comment
from pyharness.report.sheet import Sheet
from pyharness.report.sheet.parts import Page
from pyharness.store import KIND, Record
from pyharness.store.json_values import load

GROUP, CONSTANT = "pyharness.records", "RECORDS"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordKind:
    """Functions that read and show files of one kind; the result of ``read`` goes to the others."""

    name: str  # the value of "kind" in such a file
    noun: str  # its name in messages
    read: Callable[[Any, str], Any]  # (JSON values, the file's name in messages) -> contents of the file
    sheets: Callable[[Any], Sequence[Sheet]]  # tables for people
    rows: Callable[[Any], Sheet]  # a row for each number, for programs
    page: Callable[[Any], Page]
    comment: Callable[[Any], Comment] | None = None  # on a pull request; also gives the Markdown
    texts: Mapping[str, Callable[[Any], str]] = field(default_factory=dict)  # by format: formats that other kinds lack


@dataclass(frozen=True, slots=True)
class Other:
    """A file of one of these kinds, as read."""

    kind: RecordKind
    content: Any


def kinds() -> Mapping[str, RecordKind]:
    """Return the known kinds, by name."""
    return registry.offered(GROUP, CONSTANT)


def read(path: Path) -> Record | Other:
    """Read a record of cases, or a file of another kind.

    Raises:
        InputError: it cannot be read, its kind is unknown, or it is damaged.
    """
    data, name = load(path), f"record {str(path)!r}"
    named = data.get("kind") if isinstance(data, dict) else None
    if isinstance(named, str) and named != KIND and (kind := kinds().get(named)) is not None:
        return Other(kind, kind.read(data, name))
    return Record.from_json(data, name, path)
