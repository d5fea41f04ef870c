"""One corpus, one text: every case must read the same text of a corpus as the first case did.

A file that grows, or a plug-in that draws at random, would mix figures of different texts in one table. The record
describes the text that was read of each corpus. A run is resumed only on the same text.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from pyharness.benchmarks import Role, benchmarks, first_documents
from pyharness.types import Case, CaseResult, Corpus, Failure, Tally, TextRead


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
    limit: int | None = None  # bytes of the front

    def read_again(self, corpus: Corpus) -> str:
        """Return the digest of the same part at present."""
        tally = Tally()
        if self.whole or self.limit is None:
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
