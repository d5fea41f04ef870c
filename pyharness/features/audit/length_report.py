"""What is said of the byte lengths of a row, and of an audited table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyharness.features.audit import byte_lengths
from pyharness.features.audit.byte_lengths import ByteLengths, Claim, Loss, Sums
from pyharness.features.audit.length_tables import Audit, WrongLength, shown
from pyharness.report.sheet import Heading, Sheet, text_row
from pyharness.report.sheet.parts import LONGEST_TIP
from pyharness.report.sheet.strings import shorten, visible, writable
from pyharness.system.environment import version_of
from pyharness.types import Tokenizer, TokenKind

MOST_SHOWN = 12  # wrong ids and naive lengths in a table for people
_LONGEST = 40  # characters of a token in a table
_ADDS_UP: Mapping[Claim, str] = {
    "every text": "for every text",
    "not every text": "not for every text: see below",
    "open": "for all that was tried; it is not proved",
}


@dataclass(frozen=True, slots=True)
class LengthFacts:
    """All that is said of the lengths of a row."""

    row: str
    ids: int
    present: int
    dummy_space: bool
    claim: Claim
    losses: Sequence[Loss]
    notes: Sequence[str]
    corpora: Sequence[str]
    sums: Sums
    naive_wrong: Sequence[tuple[int, str, int, int]]  # id, token, length, naive length: ids of text alone

    @property
    def json(self) -> Mapping[str, Any]:
        """Facts as JSON values."""
        return {
            "tokenizer": self.row, "pyharness": version_of("pyharness"), "ids": self.ids, "present": self.present,
            "dummy_space": self.dummy_space, "adds_up": self.claim, "notes": list(self.notes),
            "losses": [
                {"cause": writable(one.cause), "text": writable(one.text), "bytes": one.bytes, "total": one.total}
                for one in self.losses
            ],
            "corpora": list(self.corpora), "documents": self.sums.documents, "unequal_documents": self.sums.unequal,
            "text_bytes": self.sums.bytes, "total": self.sums.total, "naive_total": self.sums.naive,
            "naive_wrong_ids": len(self.naive_wrong),
        }  # fmt: skip


def facts_of(lengths: ByteLengths, tokenizer: Tokenizer, corpora: Sequence[str]) -> LengthFacts:
    """Verify with the row's own library whether lengths add up, and count what naive lengths would give.

    Raises:
        InputError: a corpus cannot be read.
    """
    naive = byte_lengths.naive_lengths(tokenizer, lengths.vocabulary)
    lost = byte_lengths.losses(lengths, tokenizer)
    read = byte_lengths.sums(lengths, tokenizer, corpora, naive)
    wrong = np.flatnonzero((naive != lengths.lengths) & lengths.of_text).tolist()
    return LengthFacts(
        lengths.row, len(lengths.lengths), int((lengths.vocabulary.kinds != TokenKind.ABSENT).sum()),
        lengths.dummy_space, byte_lengths.claim(tokenizer, lost, read), lost, tokenizer.notes, corpora, read,
        [(one, shown(lengths.vocabulary[one]), int(lengths.lengths[one]), int(naive[one])) for one in wrong],
    )  # fmt: skip


def sheets(facts: LengthFacts) -> list[Sheet]:
    """Return the summary for people."""
    read = facts.sums
    off = "" if read.naive is None else f"; naive ones {read.naive:,} ({read.naive - read.bytes:+,})"
    lines = [
        ("ids", f"{facts.present:,} of {facts.ids:,}"),
        ("dummy space", "the first token has a space that is not in the text" if facts.dummy_space else "no"),
        ("lengths add up", _ADDS_UP[facts.claim]),
        ("text", f"{', '.join(facts.corpora)}: {read.documents:,} texts read; sums differ in {read.unequal:,}"),
        ("bytes", f"{read.bytes:,} of the text; lengths give {read.total:,}{off}"),
        ("naive lengths", f"{len(facts.naive_wrong):,} ids are wrong if decoded alone"),
    ]
    parts = [_sheet(f"Bytes of ids: {facts.row}", ("", ""), lines)]
    if facts.losses:
        rows = [(one.cause, _brief(one.text), f"{one.bytes}", f"{one.total}") for one in facts.losses]
        parts.append(
            _sheet("Why lengths do not add up, with a text for each cause", ("cause", "text", "bytes", "lengths"), rows)
        )
    if facts.naive_wrong:
        rows = [(f"{token}", _brief(text), f"{length}", f"{naive}") for token, text, length, naive in facts.naive_wrong]
        parts.append(_first("Naive lengths that are wrong", ("id", "token", "bytes", "naive"), rows))
    return parts


def audit_sheets(row: str, audited: Audit) -> list[Sheet]:
    """Return an audit for people: counts, causes and the first wrong ids."""
    lines = [
        ("table", audited.table), ("ids", f"{audited.ids:,}"), ("wrong", f"{len(audited.wrong):,}"),
        ("special ids with 0", f"{audited.zeros:,}, which is allowed"),
        ("ids that the row lacks", f"{audited.beyond:,}"),
        *((f"cause: {cause}", f"{count:,}") for cause, count in audited.causes.items()),
    ]  # fmt: skip
    parts = [_sheet(f"Audit of byte lengths: {row}", ("", ""), lines)]
    if audited.wrong:
        rows = [
            (f"{one.id}", _brief(one.token), f"{one.length}", "-" if one.stated is None else f"{one.stated}", one.cause)
            for one in _of_each_cause(audited)
        ]
        parts.append(_first("Wrong lengths", ("id", "token", "bytes", "stated", "cause"), rows))
    return parts


def _of_each_cause(audited: Audit) -> list[WrongLength]:
    """Return all wrong lengths, some of each cause first."""
    by_cause = [[one for one in audited.wrong if one.cause == cause] for cause in audited.causes]
    share = MOST_SHOWN // len(by_cause) or 1
    return [one for some in by_cause for one in some[:share]] + [one for some in by_cause for one in some[share:]]


def _brief(text: str) -> str:
    return f"'{shorten(visible(text), _LONGEST)}'"


def _first(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Sheet:
    more = f"{len(rows) - MOST_SHOWN:,} more; --format json has all" if len(rows) > MOST_SHOWN else ""
    return _sheet(title, columns, rows[:MOST_SHOWN], (more,) if more else ())


def _sheet(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: tuple[str, ...] = ()) -> Sheet:
    cells = tuple(text_row(*(shorten(value, LONGEST_TIP) for value in row)) for row in rows)
    return Sheet(title, tuple(Heading(name, "prose") for name in columns), cells, notes)
