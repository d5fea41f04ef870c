"""What stands in a record beside its numbers: definitions of metrics, texts, the suite, names of cases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pyharness import store
from pyharness.benchmarks import Role, benchmarks
from pyharness.commands.rederiving.cases import Rederived
from pyharness.commands.rederiving.comparing import MISSING, Comparison, shown
from pyharness.metrics import all_metrics
from pyharness.running.texts_read import TextsRead
from pyharness.store import Record
from pyharness.types import CaseResult, Metric

# Of a metric, what decides ranks and verdicts. Summaries are words for people: an older pyharness had others.
DECISIVE = tuple(one.name for one in fields(Metric) if one.name not in ("name", "summary", "format"))


def definitions(record: Record) -> tuple[list[str], list[str]]:
    """What a record defines otherwise than this program does, and metrics that are not known here."""
    described, known = record.data["metrics"], all_metrics()
    comparison = Comparison("in this pyharness")
    unrecorded = [field for field in DECISIVE if all(field not in about for about in described.values())]
    for name in sorted(described.keys() & known.keys()):
        for field in DECISIVE:
            if field not in unrecorded:  # an older record has it of no metric
                due = getattr(known[name], field)
                comparison.compare(f"metrics.{name}.{field}", described[name].get(field, MISSING), due)
    reported = {one.metric for result in record.results for one in result.measurements}
    for name in sorted(reported - described.keys() - store.LIFTED):
        comparison.differences.append(f"metrics.{name}: it is measured, and the record does not define it")
    for name in sorted(described.keys() - reported):
        comparison.differences.append(f"metrics.{name}: the record defines it, and no case has measured it")
    return comparison.differences, sorted(described.keys() - known.keys())


def names(record: Record, cases_of_state: Collection[str]) -> Iterator[str]:
    """Cases that the state has and the record lacks, and cases whose name is not what they are."""
    status = {result.case.key: result.status for result in record.results}
    for key in cases_of_state:
        if key not in status:
            yield f"case {key!r}: the state has it, and the record lacks it"
        elif status[key] != "ok":
            yield f"case {key!r}: the state has its numbers, and it is {status[key]} in the record"
    for result, data in zip(record.results, record.data["results"], strict=True):
        key, case = result.case.key, result.case
        if data.get("key") != key:
            yield f"case {key!r}: the record calls it {shown(data.get('key'))}"
        if case.tokenizer not in record.data["tokenizers"]:
            yield f"case {key!r}: the record says nothing of the row {case.tokenizer!r}"
        if case.corpus is not None and case.corpus not in record.data["corpora"]:
            yield f"case {key!r}: the record says nothing of the text {case.corpus!r}"


def suite(record: Record) -> Iterator[str]:
    """A suite that is not what its digest is of."""
    declared = {name: value for name, value in record.data["suite"].items() if name != "digest"}
    if "digest" in record.data["suite"]:
        due = hashlib.sha256(json.dumps(declared, sort_keys=True).encode()).hexdigest()
        if record.data["suite"]["digest"] != due:
            yield "suite: it was changed, its digest is another"


def texts(record: Record, derived: Sequence[Rederived]) -> Iterator[str]:
    """Accounts of texts that contradict each other, or the sums that the state has."""
    read = TextsRead()
    for result in record.results:
        if result.status == "ok" and result.case.benchmark in benchmarks():
            checked = read.checked(result)
            if checked.status != "ok":
                yield f"{result.case.key}: tally: its digests are not those of the cases before it"
    for one in derived:
        yield from _against_sums(one)
    for label, about in record.data["corpora"].items():
        of_it = [result for result in record.results if result.case.corpus == label and result.tally is not None]
        yield from _against_text(label, about, of_it)


def _against_sums(one: Rederived) -> Iterator[str]:
    """The tally of a whole text against sums by group of its documents."""
    groups = {} if one.derived is None else one.derived.groups
    if one.result.tally is None or not {"pieces", "bytes"} <= groups.keys() or not _reads_whole(one.result):
        return
    comparison = Comparison()
    comparison.compare("tally.documents", one.result.tally.documents, sum(groups["pieces"]))
    comparison.compare("tally.bytes", one.result.tally.bytes, sum(groups["bytes"]))
    yield from (f"{one.result.case.key}: {difference}" for difference in comparison.differences)


def _against_text(label: str, about: Mapping[str, Any], results: Sequence[CaseResult]) -> Iterator[str]:
    whole = [result for result in results if _reads_whole(result)]
    fronts = [result for result in results if _verifies(result)]
    tally = about.get("tally")
    if (readers := whole or fronts) and not any(_account(result) == tally for result in readers):
        yield f"corpora.{label}.tally: it is of no case that has read it"
    if readers and about.get("whole", bool(whole)) is not bool(whole):
        yield f"corpora.{label}.whole: {shown(about.get('whole'))} in the record, {shown(bool(whole))} by its cases"
    for result in results:
        if result.status == "ok" and tally is not None and _reads_whole(result) and _account(result) != tally:
            yield f"{result.case.key}: tally: it is not that of {label!r}"


def _account(result: CaseResult) -> dict[str, Any] | None:
    return None if result.tally is None else store.text_read_as_json(result.tally)


def _reads_whole(result: CaseResult) -> bool:
    benchmark = benchmarks().get(result.case.benchmark)
    return benchmark is not None and benchmark.whole_text


def _verifies(result: CaseResult) -> bool:
    benchmark = benchmarks().get(result.case.benchmark)
    return benchmark is not None and benchmark.role is Role.VERIFIES
