"""What is compared: cases of two records, or of two rows of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyharness.metrics import all_metrics
from pyharness.plugins.registry import suggest
from pyharness.report.rows.trained_on import row_cell
from pyharness.report.rows.variants import variant
from pyharness.store import Record
from pyharness.types import CaseResult, InputError


@dataclass(frozen=True, slots=True)
class Pair:
    """A case of A, and what stands for it in B: None where there is nothing."""

    a: Record
    one: CaseResult
    b: Record
    other: CaseResult | None

    @property
    def title(self) -> str:
        """Benchmark, rows and text."""
        other = self.one if self.other is None else self.other
        rows_named = dict.fromkeys(row_cell(one.case.tokenizer, [one]).text for one in (self.one, other))
        measured = [result for result in self.a.of(self.one.case.benchmark) if result.status == "ok"]
        about = [self.one.case.corpus, variant(self.one, measured)]
        return " | ".join([self.one.case.benchmark, " -> ".join(rows_named), *filter(None, about)])

    @property
    def measured(self) -> bool:
        """Whether there are numbers on both sides."""
        return self.one.status == "ok" and self.other is not None and self.other.status == "ok"


def pairs_of_records(a: Record, b: Record) -> list[Pair]:
    """Every case of A with the one of the same tokenizer, text and parameters in B."""
    known = {result.case.key: result for result in b.results}
    pairs = [Pair(a, one, b, known.get(one.case.key)) for one in a.results]
    if not any(pair.other for pair in pairs):
        raise InputError("the two records share no case: they need the same tokenizers, corpora and benchmarks")
    return pairs


def pairs_of_rows(record: Record, first: str, second: str, *others: str) -> list[Pair]:
    """Every case of one tokenizer of a record with that of each other."""
    labels = list(record.data["tokenizers"])
    for label in (first, second, *others):
        if label not in labels:
            raise suggest("tokenizer in this record", label, labels)
    if first in (second, *others):
        raise InputError(f"tokenizer {first[:200]!r} is named on both sides: name another to compare it with")
    return [pair for other in dict.fromkeys((second, *others)) for pair in _pairs(record, first, other)]


def _pairs(record: Record, first: str, second: str) -> list[Pair]:
    known = {_without_row(result): result for result in record.results if result.case.tokenizer == second}
    mine = [one for one in record.results if one.case.tokenizer == first]
    pairs = [Pair(record, one, record, known.get(_without_row(one))) for one in mine]
    if not any(pair.other for pair in pairs):
        raise InputError(f"the record has no case of both {first!r} and {second!r}")
    return pairs


def _without_row(result: CaseResult) -> tuple[str, str | None, str]:
    return result.case.benchmark, result.case.corpus, str(sorted(result.case.parameters.items()))


def metrics_of(pair: Pair) -> Mapping[str, Any]:
    """What the records say of the metrics of both sides."""
    return {**pair.a.data["metrics"], **pair.b.data["metrics"]}


def says(name: str, metric: Mapping[str, Any], fact: str) -> bool:
    """What a record says of a metric or, where it is older than the question, the registry."""
    return bool(metric[fact] if fact in metric else getattr(all_metrics().get(name), fact, False))
