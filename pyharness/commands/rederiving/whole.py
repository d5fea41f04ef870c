"""A whole record against the state beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyharness.commands.rederiving import beside
from pyharness.commands.rederiving.cases import Rederived, cases
from pyharness.store import Record
from pyharness.types import counted

# What nothing here can tell: it is as the record says.
UNCHECKED = "when, where and how long; what is said of rows, and of texts beside tallies; summaries of metrics"


@dataclass(frozen=True, slots=True)
class Rederivation:
    """What came of computing a record again."""

    cases: Sequence[Rederived]
    differences: Sequence[str]  # of what stands beside the numbers
    unchecked: Sequence[str]  # what is as the record says

    @property
    def differs(self) -> bool:
        """Whether anything is not as it is due."""
        return bool(self.differences) or any(one.differences for one in self.cases)


def rederive(record: Record) -> Rederivation:
    """Compute every number of a record again, and compare what stands beside them.

    Raises:
        NoState: there is no state beside the record, or it is damaged, or of another run.
        InputError: the arrays of a case contradict each other.
    """
    with record.state() as states:
        derived = list(cases(record, states))
        missing = list(beside.names(record, states.cases))
    differing, unknown = beside.definitions(record)
    differences = [*missing, *beside.suite(record), *differing, *beside.texts(record, derived)]
    return Rederivation(derived, differences, list(_unchecked(record, derived, unknown)))


def _unchecked(record: Record, derived: Sequence[Rederived], unknown: Sequence[str]) -> Iterator[str]:
    as_recorded = Counter((one.result.case.benchmark, name) for one in derived for name in one.unchecked)
    for (benchmark, name), times in as_recorded.items():
        yield f"{benchmark}: {name} of {counted(times, 'case')}"
    if unknown:
        yield f"definitions of metrics that are not known here: {', '.join(unknown)}"
    without = Counter(result.status for result in record.results if result.status != "ok")
    yield from (f"reasons of {counted(times, f'{status} case')}" for status, times in without.items())
    yield UNCHECKED
