"""What is said of an audit: a table of checks, the faults with their witnesses, a page and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pyharness.features.audit.auditing import TokenizerAudit
from pyharness.features.audit.checks.subjects import STATUSES, CheckStatus
from pyharness.report.sheet import Cell, Heading, Sheet
from pyharness.report.sheet.parts import Page, Section
from pyharness.report.sheet.strings import visible, writable
from pyharness.system.environment import version_of
from pyharness.types import counted

WORDS: Mapping[CheckStatus, str] = {"pass": "pass", "warn": "warn", "fail": "FAIL", "open": "open", "none": "-"}
_SIGNS: Mapping[CheckStatus, str] = {"pass": "calm", "fail": "alarm"}
_LIBRARIES = ("tokenizers", "tiktoken", "sentencepiece")
_CHECKS = (Heading("check", "name", whole=True), Heading("result", "word"), Heading("should hold: tested on", "prose"))
_FAULTS = (
    Heading("check", "name", whole=True), Heading("result", "word"), Heading("finding", "prose"),
    Heading("witness", "prose"), Heading("what to do", "prose"),
)  # fmt: skip
_ABOUT = ("fail: a fault. warn: it works as published, but you should know. open: not decided. -: nothing to check, or "
          "not installed.")  # fmt: skip


def verdict(audited: TokenizerAudit) -> str:
    """Return one sentence on all checks."""
    counts = Counter(line.result.status for line in audited.lines)
    parts = [f"{counts[status]} {WORDS[status].lower()}" for status in STATUSES if counts[status] and status != "none"]
    parts += [f"{counts['none']} not checked"] * (0 < counts["none"] < len(audited.lines))
    seconds = sum(line.seconds for line in audited.lines)
    return f"{counted(len(audited.lines), 'check')} in {seconds:.0f} s: {', '.join(parts) or 'nothing to check'}"


def sheets(audited: TokenizerAudit) -> list[Sheet]:
    """Return the table of checks, and that of faults if there are any, the worst first."""
    rows = tuple(
        (Cell(line.check.name), _status(line.result.status), Cell(visible(f"{line.check.about}: {line.result.tried}")))
        for line in audited.lines
    )
    parts = [Sheet(f"Audit of {audited.subject.spec}", _CHECKS, rows, (f"{verdict(audited)}.", _ABOUT))]
    faults = sorted(
        ((line.check.name, fault) for line in audited.lines for fault in line.result.faults),
        key=lambda one: STATUSES.index(one[1].status),
    )
    if faults:
        cells = tuple(
            (Cell(name), _status(one.status), Cell(visible(f"{one.name}: {one.text}")),
             Cell(visible(one.witness) or "-"), Cell(one.advice)) for name, one in faults)  # fmt: skip
        parts.append(Sheet("Findings", _FAULTS, cells))
    return parts


def _status(status: CheckStatus) -> Cell:
    return Cell(WORDS[status], sign=_SIGNS.get(status, ""))


def page_of(audited: TokenizerAudit) -> Page:
    """Return the page of an audit: the verdict, the findings, every check, and what was read with which versions."""
    checks, *findings = sheets(audited)
    facts = tuple((Cell(name), Cell(text)) for name, text in facts_of(audited).items())
    answer = Cell(f"{WORDS[audited.status]}; {verdict(audited)}.", sign=_SIGNS.get(audited.status, ""))
    lead = Sheet("In short", (Heading("question", "name"), Heading("answer", "prose")), ((Cell("Verdict"), answer),))
    listed = Section("Findings", tuple(findings) or ("Nothing was found.",))
    read = Section(
        "What was read", (Sheet("Files and versions", (Heading("name", "name"), Heading("is", "prose")), facts),)
    )
    return Page(f"Audit of {audited.subject.spec}", (listed, Section("Checks", (checks,)), read), verdict(audited),
                lead=(lead,))  # fmt: skip


def facts_of(audited: TokenizerAudit) -> dict[str, str]:
    """Return what was read, and versions, by name."""
    subject = audited.subject
    versions = {name: str(version_of(name)) for name in ("pyharness", *_LIBRARIES)}
    file = str(writable(str(subject.path or "-")))
    read = {"file": file, "SHA-256": subject.digest or "-", "library": subject.library or "-"}
    return {"tokenizer": subject.spec, **read, **versions}


def as_json(audited: TokenizerAudit) -> dict[str, Any]:
    """Return an audit as JSON values."""
    return {
        "status": audited.status, "exit_status": audited.exit_status, **facts_of(audited),
        "checks": [
            {
                "check": line.check.name, "status": line.result.status, "about": line.check.about,
                "tried": writable(line.result.tried), "seconds": round(line.seconds, 3),
                "faults": [
                    {"name": one.name, "status": one.status, "text": writable(one.text),
                     "witness": writable(one.witness), "advice": one.advice} for one in line.result.faults
                ],
            }
            for line in audited.lines
        ],
    }  # fmt: skip
