"""The order of cases, the rows whose ids are compared, the checks that must pass before a case, and rows in turns.

Rows in rounds take turns in fresh processes, in an order that favours none. A row that fails or is skipped in a turn
leaves the rotation, and so does one whose ids or files differ from those of its first turn; the other rows go on. A
resumed run keeps whole rounds and measures an interrupted one again, because ratios are formed within a round.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyharness import tokenizers
from pyharness.benchmarks import Role, benchmarks
from pyharness.benchmarks.rounds import joined, rounds_of
from pyharness.statistics.rounds import turns
from pyharness.suite import Plan
from pyharness.types import Case, CaseResult, Failure, TokenizerSpec


@dataclass(frozen=True)
class Schedule:
    """Cases in the order in which they run, and the rows whose ids are compared."""

    cases: tuple[Case, ...]
    rows: Mapping[str, TokenizerSpec]
    compared_with: Mapping[str, str]  # row -> the row whose ids it must give

    @property
    def untimed(self) -> tuple[list[list[Case]], list[list[Case]]]:
        """Untimed cases by row: first those of home rows, whose ids others are compared with, then all others.

        Rows of one library follow each other; libraries with most rows come first, so that lanes end together.
        """
        by_row: dict[str, list[Case]] = {}
        for case in self.cases:
            if not benchmarks()[case.benchmark].timed:
                by_row.setdefault(case.tokenizer, []).append(case)
        homes = set(self.compared_with.values())
        size = Counter(self.rows[row].library for row in by_row)
        rows = sorted(by_row, key=lambda row: (-size[self.rows[row].library], self.rows[row].library))
        return [by_row[row] for row in rows if row in homes], [by_row[row] for row in rows if row not in homes]

    @property
    def timed(self) -> list[Case]:
        """Timed cases, each run alone, after all checks; last those that start processes of their own."""
        timed = [case for case in self.cases if benchmarks()[case.benchmark].timed and not rounds_of(case)]
        return sorted(timed, key=lambda case: benchmarks()[case.benchmark].own_process)

    @property
    def in_turns(self) -> list[Case]:
        """Cases whose rows take turns; they run last."""
        return [case for case in self.cases if rounds_of(case)]

    def left(self, finished: Container[str]) -> list[Case]:
        """Return the cases that a run measures at first or again, if those with ``finished`` keys have a result."""
        return [case for case in self.cases if case.key not in finished or self.ids_needed(case, finished)]

    def ids_needed(self, case: Case, finished: Container[str]) -> bool:
        """Return whether a case is a check whose ids rows without a result need."""
        return verifies(case) and any(
            self.compared_with.get(other.tokenizer) == case.tokenizer and other.key not in finished
            for other in self.cases
            if other.benchmark == case.benchmark and other.corpus == case.corpus
        )

    @classmethod
    def of(cls, plan: Plan) -> Schedule:
        """Build the schedule of a plan: add the cases that verify, and missing home rows of engines."""
        rows = dict(plan.tokenizers)
        compared_with = _comparisons(rows)
        verifying = (
            Case(one.name, row, corpus, {**one.parameters, "bytes": size})
            for one in benchmarks().values()
            if one.role is Role.VERIFIES
            for (row, corpus), size in _front_to_verify(plan, compared_with, one.parameters["bytes"]).items()
        )
        cases = {case.key: case for case in (*verifying, *plan.cases)}
        homes = set(compared_with.values())
        order = sorted(rows, key=lambda label: label not in homes)  # homes first, else as declared
        rank = {label: number for number, label in enumerate(order)}

        def position(case: Case) -> tuple[bool, int, int]:
            return rounds_of(case) > 0, rank[case.tokenizer], benchmarks()[case.benchmark].role

        return cls(tuple(sorted(cases.values(), key=position)), rows, compared_with)


def _comparisons(rows: dict[str, TokenizerSpec]) -> dict[str, str]:
    by_vocabulary: dict[str, list[str]] = {}
    for label, spec in rows.items():
        if spec.vocabulary is not None:
            by_vocabulary.setdefault(spec.vocabulary, []).append(label)
    home_of: dict[str, str] = {}
    for labels in by_vocabulary.values():
        if all(rows[label].reference for label in labels):
            home_of.update(dict.fromkeys(labels[1:], labels[0]))
            continue
        home = next((label for label in labels if rows[label].reference), None) or _add_home(rows, labels)
        home_of.update({label: home for label in labels if label != home})
    return home_of


def _add_home(rows: dict[str, TokenizerSpec], labels: list[str]) -> str:
    for label in labels:
        name = tokenizers.without_engine(rows[label].name).text
        if name != rows[label].name and (home := tokenizers.resolve(name)).vocabulary == rows[label].vocabulary:
            rows.setdefault(name, home)
            return name
    return labels[0]  # no home library gives these ids: the first row is what the others are compared with


def _front_to_verify(plan: Plan, compared_with: Mapping[str, str], least: int) -> dict[tuple[str, str], int]:
    """Return the bytes that verification reads, by row and text: the most ``bytes`` of the cases that wait for it.

    A case without this parameter counts as ``least``. Cases of rows that are compared count for all of these rows. Rows
    without a tokenizer (``instead``) have no ids to verify, and their units are checked on every text.
    """
    wanted: dict[tuple[str, str], int] = {}
    for case in plan.cases:
        has_ids = plan.tokenizers[case.tokenizer].instead is None
        if has_ids and case.corpus is not None and benchmarks()[case.benchmark].verified:
            for row in (case.tokenizer, compared_with.get(case.tokenizer, case.tokenizer)):
                size = int(case.parameters.get("bytes", least))
                wanted[row, case.corpus] = max(size, wanted.get((row, case.corpus), 0))
    # Rows that are compared must read the same text.
    largest: dict[tuple[str, str], int] = {}
    for (row, corpus), size in wanted.items():
        home = compared_with.get(row, row)
        family = [home, *(other for other, its_home in compared_with.items() if its_home == home)]
        largest[row, corpus] = max(wanted.get((member, corpus), size) for member in family)
    return largest


UNVERIFIED = "not measured: the integrity check of this tokenizer failed"


def verifies(case: Case) -> bool:
    """Whether a case verifies the row, so that others wait for it."""
    return benchmarks()[case.benchmark].role is Role.VERIFIES


@dataclass(frozen=True, slots=True)
class Verification:
    """The checks of a run: a folder with their ids, and the cases that a failed check blocks."""

    schedule: Schedule
    folder: Path
    results: Mapping[str, CaseResult]  # by key of the case; grows while the run goes on

    def ids_of(self, case: Case, row: str | None = None) -> Path:
        """Return the path for the ids of a check's row, or of another row on the same text; it may not exist."""
        name = hashlib.sha256(f"{case.benchmark}\0{row or case.tokenizer}\0{case.corpus}".encode()).hexdigest()[:24]
        return self.folder / f"{name}.npz"

    def expected(self, case: Case) -> Path | None:
        """Return the file of ids that a check compares its own with; None if it compares none, or the file is gone."""
        home = self.schedule.compared_with.get(case.tokenizer)
        ids = None if home is None or not verifies(case) else self.ids_of(case, home)
        return ids if ids is not None and ids.exists() else None

    def kept(self, case: Case) -> Path | None:
        """Return the file in which a check saves ids for other rows; None if no row needs them."""
        wanted = verifies(case) and case.tokenizer in self.schedule.compared_with.values()
        return self.ids_of(case) if wanted else None

    def blocked(self, case: Case) -> CaseResult | None:
        """Return the result of a case that must not be measured; None if it may be."""
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
    """Return whether a failed check blocks a case: wrong ids block all, others its corpus and cases without one."""
    checked = result.case
    if checked.tokenizer != case.tokenizer or result.status != "failed" or not verifies(checked):
        return False
    return result.failure is Failure.WRONG or case.corpus in (None, checked.corpus)


@dataclass(frozen=True, slots=True)
class Turn:
    """The result of one row in one round."""

    result: CaseResult
    fingerprint: str = ""  # of what was timed: must be the same in every round


@dataclass(slots=True)
class Rotation:
    """One case of several rows that take turns."""

    cases: Sequence[Case]
    rounds: int
    taken: dict[str, list[Turn]] = field(default_factory=dict)  # by key of the case

    def run(self, take: Callable[[Case, int], Turn], kept: Mapping[tuple[str, int], Turn]) -> list[CaseResult]:
        """Measure rounds with ``take(case, round)``, except whole ones in ``kept``; return one result per case."""
        self.taken = {case.key: [] for case in self.cases}
        for number in range(self.rounds):
            if not (going := [case for case in self.cases if self._goes_on(case)]):
                break
            whole = all((case.key, number) in kept for case in going)
            for index in turns(len(going), number):
                case = going[index]
                self.taken[case.key].append(kept[case.key, number] if whole else take(case, number))
        taken = [self.taken[case.key] for case in self.cases]
        return [joined([turn.result for turn in one], [turn.fingerprint for turn in one]) for one in taken]

    def _goes_on(self, case: Case) -> bool:
        taken = self.taken[case.key]
        return all(turn.result.status == "ok" and turn.fingerprint == taken[0].fingerprint for turn in taken[-1:])


def rotations(cases: Iterable[Case]) -> list[Rotation]:
    """Group the cases that take turns: those that differ only in their row."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(replace(case, tokenizer="").key, []).append(case)
    return [Rotation(group, rounds_of(group[0])) for group in groups.values()]
