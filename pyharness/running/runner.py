"""The loop: verify, measure, record. Every tokenizer runs in worker processes of its own."""

from __future__ import annotations

import datetime as dt
import hashlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pyharness import store
from pyharness.benchmarks import benchmarks, first_documents
from pyharness.metrics import all_metrics
from pyharness.running import answers, relative_lengths
from pyharness.running.process import Worker, WorkerDied
from pyharness.running.schedule import Schedule
from pyharness.running.texts_read import TextsRead
from pyharness.suite import Plan
from pyharness.system import atomic_file
from pyharness.system.environment import cores, fingerprint, version_of
from pyharness.types import Case, CaseResult, InputError, Tally, TokenizerSpec, TrainingProgress

_READERS = ("compression", "next_token_entropy", "integrity")  # benchmarks whose tally can be taken again
UNVERIFIED = "not measured: the integrity check of this tokenizer failed"


class Listener(Protocol):
    """Whoever wants to know how a run is going."""

    def preparing(self, row: str, progress: TrainingProgress) -> None:
        """Learn how far a row is that is trained before the run."""
        ...

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
    texts: TextsRead = field(default_factory=TextsRead)
    tracebacks: bool = False  # whether failures keep theirs

    def __post_init__(self) -> None:
        """Work out the order of cases."""
        self.schedule = Schedule.of(self.plan)

    def take_over(self, finished: list[dict[str, Any]]) -> None:
        """Keep what an interrupted run has measured already."""
        for entry in finished:
            try:
                result = store.result_from_json(entry["result"])
            except (KeyError, TypeError, AttributeError) as error:
                raise InputError(f"cannot resume: the journal has an entry that is no result ({error!r})") from None
            if not self.journal.states.resume(result.case.key, entry.get("state")):
                continue  # what its numbers are computed from is gone: it is measured again
            self.results[result.case.key] = self.texts.checked(result)
            if entry.get("facts"):
                self.facts[result.case.tokenizer] = entry["facts"]

    def measure_all(self) -> None:
        """Run every case that has no result yet."""
        try:
            for case in self.schedule.cases:
                if case.key in self.results and not self._needed_again(case):
                    continue
                self.listener.started(case)
                result, state = self._with_state(self._blocked(case) or self._measure(case))
                self.results[case.key] = result
                facts = self.facts.get(case.tokenizer)
                self.journal.add({"result": store.result_as_json(result), "facts": facts, "state": state})
                self.listener.finished(result)
        finally:
            self._leave_worker()

    def _with_state(self, result: CaseResult) -> tuple[CaseResult, str | None]:
        """Take what the worker has left for the state; a damaged one costs its case. Returns its digest, too."""
        if result.status != "ok":
            return result, None
        try:
            return result, self.journal.states.take(result.case.key)
        except (store.NoState, OSError) as error:
            reason = f"the process left a state that cannot be used: {error}"
            return CaseResult(result.case, "failed", reason, details={"failure": "crash"}), None

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
        """Say why a case must not be measured, if so: a wrong answer never gets a number."""
        if case.benchmark == "integrity":
            home = self.schedule.compared_with.get(case.tokenizer)
            if home is None or self._ids_of(case, home).exists():
                return None
            reason = f"its ids have nothing to be compared with: {home!r} could not be checked"
            return CaseResult(case, "failed", reason, details={"failure": "unverified"})
        if not benchmarks()[case.benchmark].verified and not benchmarks()[case.benchmark].timed:
            return None
        if any(self._forbids(result, case) for result in self.results.values()):
            return CaseResult(case, "failed", UNVERIFIED, details={"failure": "unverified"})
        return None

    def _forbids(self, result: CaseResult, case: Case) -> bool:
        """Tell whether a failed check stands against a case: wrong ids on any corpus, a crash on its own."""
        checked = result.case
        if checked.benchmark != "integrity" or checked.tokenizer != case.tokenizer or result.status != "failed":
            return False
        return result.details.get("failure") == "wrong" or case.corpus in (None, checked.corpus)

    def _measure(self, case: Case) -> CaseResult:
        worker = self._worker(case)
        self.journal.states.discard(case.key)
        try:
            answer = worker.ask(
                self._request(case, worker.threads),
                self.plan.suite.time_limit_seconds,
                lambda done: self.listener.progress(case, done),
            )
            result, facts = answers.result_of(case, answer), answers.facts_of(answer)
        except WorkerDied as death:
            self._leave_worker()
            return CaseResult(case, "failed", str(death), details={"failure": "crash"})
        except store.Misshapen as error:
            self._leave_worker()
            return CaseResult(case, "failed", f"the process gave no result: {error}", details={"failure": "crash"})
        if facts is not None:
            self.facts[case.tokenizer] = facts
        return self.texts.checked(result)

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
            "keep_state": None if (state := self.journal.states.path_of(case.key)) is None else str(state.absolute()),
            "device": self.plan.suite.device,
            "traceback": self.tracebacks,
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
            temporary = self.workdir / "worker"
            temporary.mkdir(exist_ok=True)
            self.worker = Worker(threads, self.plan.suite.memory_limit, temporary)
        self.worker_for = None if timed else case.tokenizer
        return self.worker

    def _leave_worker(self) -> None:
        if self.worker is not None:
            self.worker.close()
        self.worker, self.worker_for = None, None


def run(
    plan: Plan, journal: store.Journal, listener: Listener, resume: bool = False, tracebacks: bool = False
) -> store.Record:
    """Run a plan and write the record that the journal has claimed a name for.

    With ``tracebacks``, those of failures are among their details.

    ``KeyboardInterrupt`` and ``SystemExit``, which a signal to end raises, leave a valid record of what was finished,
    and the journal to resume from.
    """
    started = time.time()
    header = _header(plan)
    try:
        finished = journal.start(header, resume)
        with store.scratch() as workdir:
            going = Run(plan, listener, workdir, journal, tracebacks=tracebacks)
            going.take_over(finished)
            if finished:
                _check_corpora(going)
            listener.begin(len([case for case in going.schedule.cases if case.key not in going.results]))
            try:
                going.measure_all()
            except (KeyboardInterrupt, SystemExit):
                if going.results:
                    _write(going, header, started, complete=False)
                raise
            record = _write(going, header, started, complete=True)
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
        "versions": {label: version_of(spec.library) for label, spec in rows.items()},
        "files": {label: _sha256(spec.path) for label, spec in rows.items() if spec.path is not None},
    }


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_corpora(going: Run) -> None:
    """Refuse to go on with text that is no longer what the finished cases have read."""
    for label, found in _tallies(going.results.values()).items():
        tally = Tally()
        corpus = going.plan.corpora[label]
        if found["whole"]:
            for document in corpus.documents(tally):
                tally.add(document)
        else:
            first_documents(corpus, found["limit"], tally)
        if f"{tally.digest:032x}" != found["tally"]["digest"]:
            raise InputError(
                f"cannot resume: corpus {label!r} is no longer the text that was measured (digests differ)"
            )


def _tallies(results: Iterable[CaseResult]) -> dict[str, dict[str, Any]]:
    """What is known of each corpus: of the whole where a case has read it, else of the part verified."""
    found: dict[str, dict[str, Any]] = {}
    for result in results:
        whole = result.case.benchmark != "integrity"
        if result.case.corpus is None or "tally" not in result.details or result.case.benchmark not in _READERS:
            continue
        about = {"whole": whole, "tally": dict(result.details["tally"]), "limit": result.case.parameters.get("bytes")}
        if whole or result.case.corpus not in found:
            found[result.case.corpus] = about
    return found


# ---------------------------------------------------------------------------------------------- the record


def _write(going: Run, header: Mapping[str, Any], started: float, *, complete: bool) -> store.Record:
    declared = {label: number for number, label in enumerate(going.plan.tokenizers)}
    cases = sorted(going.schedule.cases, key=lambda case: declared.get(case.tokenizer, len(declared)))
    results = [going.results.get(case.key) or _not_run(case) for case in cases]
    results = relative_lengths.add(results, going.plan.suite.reference)
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
        "state": _keep_state(going.journal, results),
        "results": [store.result_as_json(result) for result in results],
    }
    output = going.journal.record
    _keep(going.journal, store.dump(data), complete=complete)
    return store.Record.from_json(data, str(output), output)


def _keep_state(journal: store.Journal, results: Iterable[CaseResult]) -> dict[str, Any] | None:
    """Write what the numbers are computed from, where the record may be written; returns what the record says of it.

    It comes first: a record that is there has its state, or says by the digest that this is another's.
    """
    if journal.record.exists() and not journal.overwrite and not store.is_unfinished(journal.record):
        return None
    return journal.states.write(result.case.key for result in results if result.status == "ok")


def _keep(journal: store.Journal, text: str, *, complete: bool) -> None:
    """Write a record. One that is whole is never lost to one that is not, nor to one that was not asked to replace it.

    Another hand may have made the file while this run measured; what was measured is in the journal then.
    """
    partial = store.is_unfinished(journal.record)
    if complete or partial or not journal.record.is_file():
        atomic_file.write(
            journal.record,
            text,
            overwrite=partial or journal.overwrite,
            advice="another has made it meanwhile; what was measured is in the journal beside it, and --resume "
            "--force writes that",
        )


def _not_run(case: Case) -> CaseResult:
    return CaseResult(case, "skipped", "the run was interrupted before this case")


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
            "tally": tallies.get(label, {}).get("tally"),
            "whole": tallies.get(label, {}).get("whole", False),
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
            "tolerance": about.tolerance,
            "grows_with_text": about.grows_with_text,
        }
        for name, about in all_metrics().items()
        if name in names
    }
