"""The record of a run, made from its plan and results, and the texts that its cases read.

One corpus, one text: every case must read the same text of a corpus as the first case did. A file that grows, or a
plug-in that draws at random, would mix figures of different texts in one table. The record describes the text that was
read of each corpus. A run is resumed only on the same text.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyharness import store
from pyharness.benchmarks import Role, benchmarks, first_documents
from pyharness.benchmarks.rounds import rounds_of
from pyharness.metrics import all_metrics
from pyharness.running.schedule import Schedule
from pyharness.store.json_values import as_json
from pyharness.suite import Plan
from pyharness.system import atomic_file, bounded_file
from pyharness.system.environment import fingerprint, version_of
from pyharness.types import Case, CaseResult, Corpus, Failure, InputError, Tally, TextRead, TokenizerSpec

INTERRUPTED = "the run was interrupted before this case"
_TAKEN = (
    "another program has made it meanwhile; the results are in the journal next to it: --resume --force writes them"
)


@dataclass(frozen=True, slots=True)
class Recording:
    """Writes the record of a run, complete or not."""

    plan: Plan
    schedule: Schedule
    journal: store.Journal
    header: Mapping[str, Any]
    started: float  # seconds since the epoch
    share: store.PartsShare | None = None  # of the texts, if not all of their parts were read

    def write(
        self, results: Mapping[str, CaseResult], facts: Mapping[str, Mapping[str, Any]], texts: TextsRead, *,
        complete: bool, missing: str = INTERRUPTED,
    ) -> store.Record:  # fmt: skip
        """Write the record and return it; ``facts`` are what workers say of the rows they have loaded.

        Cases without a result are recorded as skipped, and the reason is ``missing``. An incomplete record replaces
        only an unfinished one: where another file has its name, it is returned and not written.

        Raises:
            InputError: the file cannot be written, or another program has made it during the run.
        """
        suite = self.plan.suite
        every = [results.get(case.key) or CaseResult(case, "skipped", missing) for case in self._cases()]
        in_order = with_relative(every, suite.reference)
        data = {
            "kind": store.KIND,
            "schema": store.SCHEMA,
            "created": dt.datetime.fromtimestamp(self.started, dt.UTC).isoformat(timespec="seconds"),
            "seconds": round(time.time() - self.started, 3),
            "complete": complete,
            "suite": suite.as_json() | {"digest": suite.digest},
            "environment": self.header["environment"],
            "tokenizers": {
                label: self._about_row(label, spec) | dict(facts.get(label, {}))
                for label, spec in self.schedule.rows.items()
            },
            "corpora": _about_corpora(self.plan, texts.parts, self.share),
            "metrics": _about_metrics(in_order),
            "state": _keep_state(self.journal, in_order, complete=complete),
            "results": [self.journal.text_of(result) for result in in_order],
        }
        output, text = self.journal.record, store.dump(data)
        _keep(self.journal, text, complete=complete)
        return store.Record.from_json(json.loads(text), str(output), output)

    def _cases(self) -> list[Case]:
        declared = {label: number for number, label in enumerate(self.plan.tokenizers)}
        return sorted(self.schedule.cases, key=lambda case: declared.get(case.tokenizer, len(declared)))

    def _about_row(self, label: str, spec: TokenizerSpec) -> dict[str, Any]:
        return {
            "spec": spec.name,
            **{name: getattr(spec, name) for name in ("source", "licence", "revision")},
            "sha256": self.header["files"].get(label),
            "vocabulary": spec.vocabulary,
            "compared_with": self.schedule.compared_with.get(label),
        }


def _about_corpora(plan: Plan, parts: Mapping[str, Part], share: store.PartsShare | None) -> dict[str, Any]:
    of_parts = {} if share is None else {"parts": as_json(store.PartsShare, share)}
    return {
        label: {
            "spec": corpus.name,
            **{name: getattr(corpus, name) for name in ("language", "domain", "licence", "smoke_test")},
            "tally": store.text_read_as_json(parts[label].tally) if label in parts else None,
            "whole": label in parts and parts[label].whole and share is None,
            **of_parts,
        }
        for label, corpus in plan.corpora.items()
    }


def _about_metrics(results: Iterable[CaseResult]) -> dict[str, Any]:
    names = {measurement.metric for result in results for measurement in result.measurements}
    return {name: as_json(store.MetricFacts, metric) for name, metric in all_metrics().items() if name in names}


def _keep_state(journal: store.Journal, results: Iterable[CaseResult], *, complete: bool) -> dict[str, Any] | None:
    """Write the state next to the record and return its facts; None if ``_keep`` leaves the file that has its name.

    The state is written first. So a record always has its state, or its digest shows that the file is of another run.
    """
    replaced = (complete and journal.overwrite) or store.is_unfinished(journal.record)
    if journal.record.exists() and not replaced:
        return None
    return journal.states.write(result.case.key for result in results if result.status == "ok")


def _keep(journal: store.Journal, text: str, *, complete: bool) -> None:
    """Write a record; replace a file that is no unfinished record only if asked to, and never by an incomplete one.

    Another program may have created the file during the run. Then the results stay in the journal, and a complete
    record raises ``InputError``.
    """
    partial = store.is_unfinished(journal.record)
    if complete or partial or not journal.record.is_file():
        atomic_file.write(journal.record, text, overwrite=partial or journal.overwrite, advice=_TAKEN)


def header(plan: Plan, schedule: Schedule) -> dict[str, Any]:
    """Return the content of the journal's first line; only a run with the same content can be resumed."""
    rows = schedule.rows
    return {
        "suite": plan.suite.digest,
        "environment": fingerprint(),
        "versions": {label: version_of(spec.library) for label, spec in rows.items()},
        "files": {label: bounded_file.digest(Path(spec.path)) for label, spec in rows.items() if spec.path is not None},
    }


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


# ---------------------------------------------------------------------------------------------- texts


@dataclass(frozen=True, slots=True)
class First:
    """The digest of a part of a corpus, and the first case that read it."""

    digest: str
    case: Case


@dataclass(frozen=True, slots=True)
class Part:
    """The tally of a corpus, or of its front if no case has read the whole."""

    tally: TextRead
    whole: bool
    limit: int | None = None  # bytes of the front; None: all was read

    def read_again(self, corpus: Corpus) -> str:
        """Return the digest of the same part at present."""
        tally = Tally()
        if self.limit is None:
            for document in corpus.documents(tally):
                tally.add(document)
        else:
            first_documents(corpus, self.limit, tally)
        return f"{tally.digest:032x}"


@dataclass(slots=True)
class TextsRead:
    """The texts that the cases of a run have read."""

    first: dict[tuple[str, str], First] = field(default_factory=dict)  # by corpus and part of it
    parts: dict[str, Part] = field(default_factory=dict)  # by corpus: the whole if a case has read it, or the front

    def checked(self, result: CaseResult) -> CaseResult:
        """Return a result, or a failure if its case read another text than earlier cases."""
        tally, corpus = result.tally, result.case.corpus
        if tally is None or corpus is None or result.failure is Failure.TEXT:
            return result
        digests = _digests(result.case, tally)
        for part, digest in digests.items():
            first = self.first.get((corpus, part))
            if first is not None and first.digest != digest:
                return _fail_changed(result, part, first, digest)
        for part, digest in digests.items():
            self.first.setdefault((corpus, part), First(digest, result.case))
        benchmark = benchmarks()[result.case.benchmark]
        if benchmark.whole_text:
            self.parts[corpus] = Part(tally, whole=True)
        elif benchmark.role is Role.VERIFIES:
            self.parts.setdefault(corpus, Part(tally, whole=False, limit=result.case.parameters.get("bytes")))
        return result


def check_texts(plan: Plan, texts: TextsRead) -> None:
    """Raise ``InputError`` if a corpus has changed since the finished cases read it."""
    for label, part in texts.parts.items():
        if part.read_again(plan.corpora[label]) != part.tally.digest:
            raise InputError(
                f"cannot resume: corpus {label!r} is no longer the text that was measured (digests differ)"
            )


def _digests(case: Case, tally: TextRead) -> dict[str, str]:
    """Return digests of parts of a corpus, by name; parts that all benchmarks read alike come first."""
    beginnings = tally.beginnings
    digests = {f"its first {1 << index:,} documents": digest for index, digest in enumerate(beginnings or ())}
    if beginnings is not None:
        digests[f"its first {tally.documents:,} documents"] = tally.digest
    parameters = json.dumps(dict(case.parameters), sort_keys=True, default=str)
    digests[f"what {case.benchmark} reads of it {parameters}"] = tally.digest
    return digests


def _fail_changed(result: CaseResult, part: str, first: First, digest: str) -> CaseResult:
    reason = (
        f"the text changed during the run: {part.partition(' {')[0]}: digest {digest[:16]}, where "
        f"{first.case.benchmark} of {first.case.tokenizer!r} had read {first.digest[:16]}; measure a text that stays "
        "as it is"
    )
    return replace(
        result,
        status="failed",
        reason=reason,
        measurements=(),
        details={"part": part, "first": first.digest, "read": digest},
        failure=Failure.TEXT,
        tally=None,
    )
