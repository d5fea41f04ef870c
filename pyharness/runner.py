"""The loop: verify, measure, record. Every tokenizer runs in worker processes of its own."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, Protocol

from pyharness import store, tokenizers
from pyharness.benchmarks import benchmarks
from pyharness.environment import cores, fingerprint
from pyharness.metrics import all_metrics, compression
from pyharness.suite import Plan
from pyharness.types import Case, CaseResult, InputError, Measurement, Tally, TokenizerSpec

POLL_SECONDS = 0.25


class Listener(Protocol):
    """Whoever wants to know how a run is going."""

    def begin(self, total: int) -> None:
        """Learn how many cases there are."""
        ...

    def started(self, case: Case) -> None:
        """Learn that a case begins."""
        ...

    def progress(self, case: Case, done: int) -> None:
        """Learn how many bytes of text a case has read."""
        ...

    def finished(self, result: CaseResult) -> None:
        """Learn what became of a case."""
        ...


# ---------------------------------------------------------------------------------------------- schedule


@dataclass(frozen=True)
class Schedule:
    """Cases in the order they run in, and which rows are compared with which."""

    cases: tuple[Case, ...]
    rows: Mapping[str, TokenizerSpec]
    compared_with: Mapping[str, str]  # row -> the row whose ids it must give

    @classmethod
    def of(cls, plan: Plan) -> Schedule:
        """Add what verification needs: integrity cases, and home rows of engines that stand alone."""
        rows = dict(plan.tokenizers)
        compared_with = _comparisons(rows)
        cases = {case.key: case for case in (*_integrity_cases(plan, compared_with), *plan.cases)}
        homes = set(compared_with.values())
        order = sorted(rows, key=lambda label: label not in homes)  # homes first, else as declared
        rank = {label: number for number, label in enumerate(order)}

        def position(case: Case) -> tuple[int, int]:
            benchmark = benchmarks()[case.benchmark]
            return rank[case.tokenizer], 0 if case.benchmark == "integrity" else 2 if benchmark.timed else 1

        return cls(tuple(sorted(cases.values(), key=position)), rows, compared_with)


def _comparisons(rows: dict[str, TokenizerSpec]) -> dict[str, str]:
    by_vocabulary: dict[str, list[str]] = {}
    for label, spec in rows.items():
        if spec.vocabulary is not None:
            by_vocabulary.setdefault(spec.vocabulary, []).append(label)
    found = {}
    for labels in by_vocabulary.values():
        if all(rows[label].reference for label in labels):
            found.update(dict.fromkeys(labels[1:], labels[0]))
            continue
        home = next((label for label in labels if rows[label].reference), None) or _add_home(rows, labels)
        found.update({label: home for label in labels if label != home})
    return found


def _add_home(rows: dict[str, TokenizerSpec], labels: list[str]) -> str:
    for label in labels:
        _, plus, home = rows[label].name.partition("+")
        if plus:
            rows.setdefault(home, tokenizers.resolve(home))
            return home
    return labels[0]  # no home library at hand: the first row is what the others are compared with


def _integrity_cases(plan: Plan, compared_with: Mapping[str, str]) -> Iterator[Case]:
    declared = benchmarks()["integrity"]
    wanted: dict[tuple[str, str], int] = {}
    for case in plan.cases:
        if case.corpus is not None and benchmarks()[case.benchmark].verified:
            for row in (case.tokenizer, compared_with.get(case.tokenizer, case.tokenizer)):
                size = int(case.parameters.get("bytes", declared.parameters["bytes"]))
                wanted[row, case.corpus] = max(size, wanted.get((row, case.corpus), 0))
    # Rows that are compared must read the same text.
    for (row, corpus), size in wanted.items():
        family = [r for r in {row, *compared_with} if compared_with.get(r, r) == compared_with.get(row, row)]
        largest = max(wanted.get((member, corpus), size) for member in family)
        yield Case("integrity", row, corpus, {**declared.parameters, "bytes": largest})


# ---------------------------------------------------------------------------------------------- workers


class WorkerDied(Exception):
    """The worker process ended or was ended."""


class Worker:
    """One worker process and its pipes."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 -- lives as long as the process
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pyharness.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            text=True,
            encoding="utf-8",
            env=os.environ | _thread_limits(threads),
            start_new_session=True,  # Ctrl-C is for the parent, which then ends its workers
        )
        self.messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None  # noqa: S101 -- a pipe was asked for
        for line in self.process.stdout:
            try:
                self.messages.put(json.loads(line))
            except json.JSONDecodeError:
                break
        self.messages.put(None)

    def ask(self, request: dict[str, Any], time_limit: float, progress: Callable[[int], None]) -> dict[str, Any]:
        """Send a case and wait for its result; raises ``WorkerDied`` with the reason."""
        assert self.process.stdin is not None  # noqa: S101 -- a pipe was asked for
        deadline = time.monotonic() + time_limit
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except OSError:
            raise WorkerDied(self._post_mortem()) from None
        while True:
            try:
                message = self.messages.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if time.monotonic() > deadline:
                    self.close()
                    raise WorkerDied(f"no result within the time limit of {time_limit:g} s") from None
                continue
            if message is None:
                raise WorkerDied(self._post_mortem())
            if "progress" in message:
                progress(message["progress"])
                continue
            return message

    def _post_mortem(self) -> str:
        status = self.process.wait(timeout=10)
        self.stderr.seek(0)
        lines = [
            line.strip() for line in self.stderr.read()[-4000:].decode(errors="replace").splitlines() if line.strip()
        ]
        ending = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return f"the process {ending}" + (f": {lines[-1][:200]}" if lines else "")

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.stderr.close()


def _thread_limits(threads: int) -> dict[str, str]:
    count = str(threads)
    return {
        "RAYON_NUM_THREADS": count,
        "OMP_NUM_THREADS": count,
        "OMP_WAIT_POLICY": "PASSIVE",  # spinning threads would steal the core of whoever is timed next
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }


# ---------------------------------------------------------------------------------------------- the loop


@dataclass
class Run:
    """A run in progress."""

    plan: Plan
    listener: Listener
    workdir: Path
    journal: store.Journal
    schedule: Schedule = field(init=False)
    results: dict[str, CaseResult] = field(default_factory=dict)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    worker: Worker | None = None
    worker_for: str | None = None

    def __post_init__(self) -> None:
        """Work out the order of cases."""
        self.schedule = Schedule.of(self.plan)

    def take_over(self, finished: list[dict[str, Any]]) -> None:
        """Keep what an interrupted run has measured already."""
        for entry in finished:
            result = store.result_from_json(entry["result"])
            self.results[result.case.key] = result
            if entry.get("facts"):
                self.facts[result.case.tokenizer] = entry["facts"]

    def measure_all(self) -> None:
        """Run every case that has no result yet."""
        try:
            for case in self.schedule.cases:
                if case.key in self.results and not self._needed_again(case):
                    continue
                self.listener.started(case)
                result = self._blocked(case) or self._measure(case)
                self.results[case.key] = result
                self.journal.add({"result": store.result_as_json(result), "facts": self.facts.get(case.tokenizer)})
                self.listener.finished(result)
        finally:
            self._leave_worker()

    def _needed_again(self, case: Case) -> bool:
        """Tell whether ids that were kept for other rows are gone, and some of those rows are still to come."""
        if case.benchmark != "integrity" or self._ids_of(case).exists():
            return False
        return any(
            self.schedule.compared_with.get(other.tokenizer) == case.tokenizer and other.key not in self.results
            for other in self.schedule.cases
            if other.benchmark == "integrity" and other.corpus == case.corpus
        )

    def _ids_of(self, case: Case, row: str | None = None) -> Path:
        name = hashlib.sha256(f"{row or case.tokenizer}\0{case.corpus}".encode()).hexdigest()[:24]
        return self.workdir / f"{name}.npz"

    def _blocked(self, case: Case) -> CaseResult | None:
        if case.benchmark == "integrity":
            return None
        benchmark = benchmarks()[case.benchmark]
        for result in self.results.values():
            other = result.case
            if other.benchmark != "integrity" or other.tokenizer != case.tokenizer or result.status != "failed":
                continue
            if other.corpus == case.corpus or (benchmark.timed and case.corpus is None):
                reason = f"not measured, its integrity check failed: {result.reason}"
                return CaseResult(case, "failed", reason, details={"failure": result.details.get("failure", "wrong")})
        return None

    def _measure(self, case: Case) -> CaseResult:
        worker = self._worker(case)
        try:
            answer = worker.ask(
                self._request(case, worker.threads),
                self.plan.suite.time_limit_seconds,
                lambda done: self.listener.progress(case, done),
            )
        except WorkerDied as death:
            self._leave_worker()
            return CaseResult(case, "failed", str(death), details={"failure": "crash"})
        if "failed" in answer:
            return CaseResult(case, "failed", answer["failed"], details={"failure": answer["failure"]})
        if answer.get("facts"):
            self.facts[case.tokenizer] = answer["facts"]
        found = answer["result"]
        measurements = tuple(store.measurement_from_json(item) for item in found["measurements"])
        details = found["details"] | ({"failure": "wrong"} if found["status"] == "failed" else {})
        return CaseResult(case, found["status"], found["reason"], measurements, details)

    def _request(self, case: Case, threads: int) -> dict[str, Any]:
        request: dict[str, Any] = {
            "case": {
                "benchmark": case.benchmark,
                "tokenizer": case.tokenizer,
                "corpus": case.corpus,
                "parameters": dict(case.parameters),
            },
            "tokenizer": self.schedule.rows[case.tokenizer].name,
            "corpus": None if case.corpus is None else self.plan.corpora[case.corpus].name,
            "threads": threads,
            "expected": None,
            "keep_ids": None,
        }
        if case.benchmark == "integrity":
            home = self.schedule.compared_with.get(case.tokenizer)
            if home is not None and (ids := self._ids_of(case, home)).exists():
                request["expected"] = str(ids)
            if case.tokenizer in self.schedule.compared_with.values():
                request["keep_ids"] = str(self._ids_of(case))
        return request

    def _worker(self, case: Case) -> Worker:
        timed = benchmarks()[case.benchmark].timed
        threads = int(case.parameters.get("threads", 1 if timed else cores()))
        if timed or self.worker is None or self.worker_for != case.tokenizer or self.worker.threads != threads:
            self._leave_worker()
            self.worker = Worker(threads)
        self.worker_for = None if timed else case.tokenizer
        return self.worker

    def _leave_worker(self) -> None:
        if self.worker is not None:
            self.worker.close()
        self.worker, self.worker_for = None, None


def run(plan: Plan, output: Path, listener: Listener, resume: bool = False) -> store.Record:
    """Run a plan and write its record to ``output``.

    ``KeyboardInterrupt`` leaves a valid record of what was finished, and the journal to resume from.
    """
    started = time.time()
    header = _header(plan)
    journal = store.Journal(output)
    try:
        finished = journal.start(header, resume)
        with tempfile.TemporaryDirectory(prefix="pyharness-") as workdir:
            going = Run(plan, listener, Path(workdir), journal)
            going.take_over(finished)
            if finished:
                _check_corpora(going)
            listener.begin(len([case for case in going.schedule.cases if case.key not in going.results]))
            try:
                going.measure_all()
            except KeyboardInterrupt:
                _write(going, header, output, started, complete=False)
                raise
            record = _write(going, header, output, started, complete=True)
        journal.remove()
        return record
    finally:
        journal.close()


def _header(plan: Plan) -> dict[str, Any]:
    rows = Schedule.of(plan).rows
    environment = fingerprint()
    return {
        "suite": plan.suite.digest,
        "environment": environment,
        "files": {label: _sha256(spec.path) for label, spec in rows.items() if spec.path is not None},
    }


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_corpora(going: Run) -> None:
    """Refuse to go on with text that is no longer what the finished cases have read."""
    for label, expected in _tallies(going.results.values()).items():
        tally = Tally()
        for document in going.plan.corpora[label].documents(tally):
            tally.add(document)
        if f"{tally.digest:032x}" != expected["digest"]:
            raise InputError(
                f"cannot resume: corpus {label!r} is no longer the text that was measured (digests differ)"
            )


def _tallies(results: Any) -> dict[str, dict[str, Any]]:
    whole = [result for result in results if result.case.benchmark == "compression" and result.status == "ok"]
    return {str(result.case.corpus): dict(result.details["tally"]) for result in whole}


# ---------------------------------------------------------------------------------------------- the record


def _write(going: Run, header: Mapping[str, Any], output: Path, started: float, *, complete: bool) -> store.Record:
    results = [going.results.get(case.key) or _not_run(case) for case in going.schedule.cases]
    results = [_normalised(result, going) for result in results]
    data = {
        "kind": store.KIND,
        "schema": store.SCHEMA,
        "created": dt.datetime.fromtimestamp(started, dt.UTC).isoformat(timespec="seconds"),
        "seconds": round(time.time() - started, 3),
        "complete": complete,
        "suite": going.plan.suite.as_json() | {"digest": going.plan.suite.digest},
        "environment": header["environment"],
        "tokenizers": {label: _about_row(label, spec, going, header) for label, spec in going.schedule.rows.items()},
        "corpora": _about_corpora(going),
        "metrics": _about_metrics(results),
        "results": [store.result_as_json(result) for result in results],
    }
    store.write(output, store.dump(data))
    return store.Record.from_json(data, str(output), output)


def _not_run(case: Case) -> CaseResult:
    return CaseResult(case, "skipped", "the run was interrupted before this case")


def _normalised(result: CaseResult, going: Run) -> CaseResult:
    """Add the sequence length relative to the reference tokenizer's on the same text."""
    reference = going.plan.suite.reference
    if result.case.benchmark != "compression" or result.status != "ok" or reference is None:
        return result
    home = going.results.get(replace(result.case, tokenizer=reference).key)
    return replace(result, measurements=(*result.measurements, _relative_length(result, home, reference)))


def _relative_length(result: CaseResult, home: CaseResult | None, reference: str) -> Measurement:
    name = "normalized_sequence_length"
    if home is None or home.status != "ok":
        return Measurement(name, None, reason=f"the reference {reference!r} was not measured", part=reference)
    mine, theirs = (one.details["groups"]["tokens"] for one in (result, home))
    return compression.normalized_sequence_length(mine, theirs, result.details["groups"]["documents"], reference)


def _about_row(label: str, spec: TokenizerSpec, going: Run, header: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "spec": spec.name,
        "source": spec.source,
        "licence": spec.licence,
        "revision": spec.revision,
        "sha256": header["files"].get(label),
        "vocabulary": spec.vocabulary,
        "compared_with": going.schedule.compared_with.get(label),
        **going.facts.get(label, {}),
    }


def _about_corpora(going: Run) -> dict[str, Any]:
    tallies = _tallies(going.results.values())
    return {
        label: {
            "spec": corpus.name,
            "language": corpus.language,
            "domain": corpus.domain,
            "licence": corpus.licence,
            "smoke_test": corpus.smoke_test,
            "tally": tallies.get(label),
        }
        for label, corpus in going.plan.corpora.items()
    }


def _about_metrics(results: list[CaseResult]) -> dict[str, Any]:
    names = {measurement.metric for result in results for measurement in result.measurements}
    return {
        name: {
            "unit": about.unit,
            "direction": about.direction,
            "summary": about.summary,
            "deterministic": about.deterministic,
        }
        for name, about in all_metrics().items()
        if name in names
    }
