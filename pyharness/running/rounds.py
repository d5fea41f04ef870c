"""The measuring loop: rows take turns in fresh processes, in an order that favours none.

A row that fails or is skipped in a turn leaves the rotation, and so does one whose ids or files differ from those of
its first turn; the other rows go on. A resumed run keeps whole rounds and measures an interrupted one again, because
ratios are formed within a round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyharness.benchmarks import benchmarks
from pyharness.benchmarks.rounds import joined, rounds_of
from pyharness.statistics.rounds import turns
from pyharness.types import Case, CaseResult


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


def with_relative(results: Sequence[CaseResult], reference: str | None) -> list[CaseResult]:
    """Return the results, with added metrics relative to the same case of the reference row.

    A case in rounds may name a reference of its own in its parameters.
    """
    by_key = {result.case.key: result for result in results}
    return [_of_one(result, by_key, reference) for result in results]


def _of_one(result: CaseResult, by_key: dict[str, CaseResult], reference: str | None) -> CaseResult:
    benchmark = benchmarks().get(result.case.benchmark)
    if benchmark is None or benchmark.relative is None or result.status != "ok":
        return result
    if rounds_of(result.case):
        reference = result.case.parameters.get("reference", reference)
    if reference is None:
        return result
    home = by_key.get(replace(result.case, tokenizer=reference).key)
    measured = {(one.metric, one.part) for one in result.measurements}
    added = [one for one in benchmark.relative(result, home, reference) if (one.metric, one.part) not in measured]
    return replace(result, measurements=(*result.measurements, *added)) if added else result
