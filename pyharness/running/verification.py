"""What must hold before a case is measured: a wrong answer never gets a number."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pyharness.benchmarks import Role, benchmarks
from pyharness.running.schedule import Schedule
from pyharness.types import Case, CaseResult, Failure

UNVERIFIED = "not measured: the integrity check of this tokenizer failed"


def verifies(case: Case) -> bool:
    """Whether a case is the check that others wait for."""
    return benchmarks()[case.benchmark].role is Role.VERIFIES


@dataclass(frozen=True, slots=True)
class Verification:
    """The checks of a run: their ids, in a folder, and what their results forbid."""

    schedule: Schedule
    folder: Path
    results: Mapping[str, CaseResult]  # by key of the case; grows while the run goes on

    def ids_of(self, case: Case, row: str | None = None) -> Path:
        """Where a check leaves the ids of its row (or of another row, for the same text)."""
        name = hashlib.sha256(f"{case.benchmark}\0{row or case.tokenizer}\0{case.corpus}".encode()).hexdigest()[:24]
        return self.folder / f"{name}.npz"

    def expected(self, case: Case) -> Path | None:
        """Ids that a check compares its own with."""
        home = self.schedule.compared_with.get(case.tokenizer)
        ids = None if home is None or not verifies(case) else self.ids_of(case, home)
        return ids if ids is not None and ids.exists() else None

    def kept(self, case: Case) -> Path | None:
        """Where a check leaves ids that other rows are compared with."""
        wanted = verifies(case) and case.tokenizer in self.schedule.compared_with.values()
        return self.ids_of(case) if wanted else None

    def needed_again(self, case: Case) -> bool:
        """Tell whether ids that were kept for other rows are gone, and some of those rows are still to come."""
        if not verifies(case) or self.ids_of(case).exists():
            return False
        return any(
            self.schedule.compared_with.get(other.tokenizer) == case.tokenizer and other.key not in self.results
            for other in self.schedule.cases
            if other.benchmark == case.benchmark and other.corpus == case.corpus
        )

    def blocked(self, case: Case) -> CaseResult | None:
        """The result of a case that must not be measured; None for one that may."""
        if verifies(case):
            return self._without_home(case)
        benchmark = benchmarks()[case.benchmark]
        if not benchmark.verified and not benchmark.timed:
            return None
        if any(_forbids(result, case) for result in self.results.values()):
            return CaseResult(case, "failed", UNVERIFIED, failure=Failure.UNVERIFIED)
        return None

    def _without_home(self, case: Case) -> CaseResult | None:
        home = self.schedule.compared_with.get(case.tokenizer)
        if home is None or self.ids_of(case, home).exists():
            return None
        checked = self.results.get(replace(case, tokenizer=home).key)
        if checked is not None and checked.status == "ok":  # a check that keeps no ids
            return None
        reason = f"its ids have nothing to be compared with: {home!r} could not be checked"
        return CaseResult(case, "failed", reason, failure=Failure.UNVERIFIED)


def _forbids(result: CaseResult, case: Case) -> bool:
    """Tell whether a failed check stands against a case: wrong ids on any corpus, a crash on its own."""
    checked = result.case
    if checked.tokenizer != case.tokenizer or result.status != "failed" or not verifies(checked):
        return False
    return result.failure is Failure.WRONG or case.corpus in (None, checked.corpus)
