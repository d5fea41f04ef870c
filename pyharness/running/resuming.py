"""What a run must have in common with the one it goes on from: declaration, machine, files and text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness.benchmarks import Role, benchmarks, first_documents
from pyharness.running.schedule import Schedule
from pyharness.suite import Plan
from pyharness.system.environment import fingerprint, version_of
from pyharness.types import CaseResult, Corpus, InputError, Tally


def header(plan: Plan, schedule: Schedule) -> dict[str, Any]:
    """First line of the journal: a run is resumed under the same one only."""
    rows = schedule.rows
    return {
        "suite": plan.suite.digest,
        "environment": fingerprint(),
        "versions": {label: version_of(spec.library) for label, spec in rows.items()},
        "files": {label: _sha256(spec.path) for label, spec in rows.items() if spec.path is not None},
    }


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class TextOfRun:
    """The tally of a corpus, or of its front where no case reads the whole."""

    tally: Mapping[str, Any]  # JSON values
    whole: bool
    limit: int | None = None  # bytes of the front

    def read_again(self, corpus: Corpus) -> str:
        """Digest of the same part as it is now."""
        tally = Tally()
        if self.whole or self.limit is None:
            for document in corpus.documents(tally):
                tally.add(document)
        else:
            first_documents(corpus, self.limit, tally)
        return f"{tally.digest:032x}"


def texts(results: Iterable[CaseResult]) -> dict[str, TextOfRun]:
    """What is known of each corpus: of the whole where a case has read it, else of the part verified."""
    by_corpus: dict[str, TextOfRun] = {}
    for result in results:
        case, benchmark = result.case, benchmarks().get(result.case.benchmark)
        if benchmark is None or case.corpus is None or "tally" not in result.details:
            continue
        if benchmark.whole_text:
            by_corpus[case.corpus] = TextOfRun(dict(result.details["tally"]), whole=True)
        elif benchmark.role is Role.VERIFIES:
            front = TextOfRun(dict(result.details["tally"]), whole=False, limit=case.parameters.get("bytes"))
            by_corpus.setdefault(case.corpus, front)
    return by_corpus


def check_texts(plan: Plan, results: Iterable[CaseResult]) -> None:
    """Refuse to go on with text that is no longer what the finished cases have read."""
    for label, text in texts(results).items():
        if text.read_again(plan.corpora[label]) != text.tally["digest"]:
            raise InputError(
                f"cannot resume: corpus {label!r} is no longer the text that was measured (digests differ)"
            )
