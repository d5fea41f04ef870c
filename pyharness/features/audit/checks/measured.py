"""Benchmarks that other features bring, run by name where they are installed: their record is read as reports do."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyharness.benchmarks import Benchmark, benchmarks
from pyharness.commands import session
from pyharness.features.audit.checks.subjects import AuditFault, AuditSubject, CheckResult, CheckStatus
from pyharness.store import Record
from pyharness.types import CaseResult, Failure, InputError, counted

# Given to a benchmark that has such parameters, so that an audit ends within two minutes. Half of its time would go to
# hostile texts of 2^20 bytes, and 2^12 to 2^19 show growth as well.
LIMITS = {"seconds": 90, "largest": 19}
MOST_SECONDS = 120  # ends what does not keep to its limits, such as a library that hangs
MOST_TEXT = "200kB"
_TEXTS = {"required": ("sample:prose",), "parallel": ("sample:parallel",)}
_FAULTS = (Failure.CRASH, Failure.WRONG, Failure.UNVERIFIED)  # of the row; other failures leave it open


def check_benchmark(subject: AuditSubject, name: str) -> CheckResult:
    """Run one benchmark on the row; one that is not installed, or that the row lacks the means for, is no fault."""
    benchmark = benchmarks().get(name)
    if benchmark is None:
        return CheckResult(f"benchmark {name} is not installed", absent=True)
    limits = {parameter: limit for parameter, limit in LIMITS.items() if parameter in benchmark.parameters}
    try:
        with tempfile.TemporaryDirectory() as folder:
            suite = Path(folder, "audit.toml")
            suite.write_text(
                f"tokenizers = []\nbenchmarks = []\ntime_limit_seconds = {MOST_SECONDS}\n", encoding="utf-8"
            )
            texts = _TEXTS.get(benchmark.corpus, ())
            record = session.run([subject.spec], texts, [{"name": name, **limits}], str(suite),
                                 max_bytes=MOST_TEXT).record  # fmt: skip
    except InputError as error:
        fault = AuditFault("benchmark did not run", str(error), "", "run it by itself", "open")
        return CheckResult(name, (fault,))
    results = record.of(name)
    if results and all(one.status == "skipped" for one in results):
        return CheckResult(f"{name}: {results[0].reason}", absent=True)
    faults = (*(fault for one in results for fault in _of_case(one)), *_of_answers(benchmark, record, results))
    return CheckResult(f"benchmark {name}, {counted(len(results), 'case')}", faults)


def _of_case(result: CaseResult) -> Iterator[AuditFault]:
    """Yield a case that failed: an answer that is wrong is a fault, what stopped the measuring leaves it open."""
    if result.status == "ok":
        return
    status: CheckStatus = "fail" if result.failure in _FAULTS else "open"
    late = result.failure is Failure.OVERDUE
    alone = f"run it by itself: pyharness run -b {result.case.benchmark}"
    name = f"{result.case.benchmark} {'is not decided' if late else result.status}"
    advice = f"{alone}; it hangs, or this machine is busy" if late else alone
    yield AuditFault(name, str(result.reason), result.case.key, advice, status)


def _of_answers(benchmark: Benchmark, record: Record, results: Sequence[CaseResult]) -> Iterator[AuditFault]:
    """Yield what the benchmark itself says of its numbers: bad news, and what it left undecided.

    A benchmark that keeps to ``seconds`` is calm only if it came to its end.
    """
    statuses: dict[str, CheckStatus] = {"alarm": "warn", **({"": "open"} if "seconds" in benchmark.parameters else {})}
    measured = [one for one in results if one.status == "ok"]
    for answer in benchmark.answers(measured, record.data) if benchmark.answers is not None and measured else ():
        if answer.sign in statuses:
            yield AuditFault(f"{benchmark.name}: {answer.question}", answer.text, measured[0].case.key,
                             f"see its table: pyharness run -b {benchmark.name}", statuses[answer.sign])  # fmt: skip
