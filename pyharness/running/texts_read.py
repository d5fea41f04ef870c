"""One corpus, one text: what every case of a run has read is compared with what was read first.

A file that grows, or a plug-in that draws at random, would put figures of different text into one table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pyharness.types import Case, CaseResult, Failure


@dataclass(slots=True)
class Reading:
    """A digest and the case that read it."""

    digest: str
    case: Case


@dataclass(slots=True)
class TextsRead:
    """Digests of the text of every corpus, by what part of it was read."""

    known: dict[tuple[str, str], Reading] = field(default_factory=dict)

    def checked(self, result: CaseResult) -> CaseResult:
        """Return a result, or its failure when its case has read other text than cases before it. The first wins."""
        tally, corpus = result.details.get("tally"), result.case.corpus
        if tally is None or corpus is None or result.failure is Failure.TEXT:
            return result
        parts = _parts(result.case, tally)
        for part, digest in parts.items():
            first = self.known.get((corpus, part))
            if first is not None and first.digest != digest:
                return replace(
                    result,
                    status="failed",
                    reason=_reason(part, first, digest),
                    measurements=(),
                    details={"part": part, "first": first.digest, "read": digest},
                    failure=Failure.TEXT,
                )
        for part, digest in parts.items():
            self.known.setdefault((corpus, part), Reading(digest, result.case))
        return result


def _parts(case: Case, tally: Mapping[str, Any]) -> dict[str, str]:
    """Parts of a corpus and their digests, those that any benchmark reads alike first."""
    beginnings = tally.get("beginnings")
    parts = {f"its first {1 << index:,} documents": digest for index, digest in enumerate(beginnings or ())}
    if beginnings is not None:
        parts[f"its first {tally['documents']:,} documents"] = tally["digest"]
    parameters = json.dumps(dict(case.parameters), sort_keys=True, default=str)
    parts[f"what {case.benchmark} reads of it {parameters}"] = tally["digest"]
    return parts


def _reason(part: str, first: Reading, digest: str) -> str:
    what = part.partition(" {")[0]
    return (
        f"the text changed during the run: {what}: digest {digest[:16]}, where {first.case.benchmark} of "
        f"{first.case.tokenizer!r} had read {first.digest[:16]}; measure a text that stays as it is"
    )
