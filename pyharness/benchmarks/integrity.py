"""Integrity: round trips, and identical ids where two rows claim one vocabulary. Timed work waits for it to pass.

The text is the front of the corpus, as much as timed benchmarks use, and always the code and odd Unicode of the sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyharness import corpora
from pyharness.benchmarks import Benchmark, Findings, Pace, Role, Work, first_documents
from pyharness.benchmarks.checks import identical_ids, round_trips
from pyharness.benchmarks.checks.identical_ids import COMPARED, Comparison, IdsKept, OtherText
from pyharness.benchmarks.checks.round_trips import RoundTrips
from pyharness.corpora.batching import BATCH_SIZE, batches
from pyharness.metrics.counting import id_digests
from pyharness.metrics.counting.id_digests import IdDigests
from pyharness.metrics.counting.state import Facts
from pyharness.types import (
    Case,
    Column,
    Fact,
    Measurement,
    State,
    Table,
    Tally,
    digest_of,
)

ALWAYS = ("sample:code", "sample:unicode")


def _measurements(state: State) -> tuple[Measurement, ...]:
    return *round_trips.measurements(state), *identical_ids.measurements(state)


def rederive(state: State, case: Case) -> Findings:
    """The shares again, from the counts of documents, and the digest of all ids."""
    del case
    details = {**round_trips.details(state), **identical_ids.details(state), **id_digests.details(state)}
    return Findings(_measurements(state), details)


def run(work: Work) -> Findings:
    """Check the tokenizer on the front of the corpus and on the sample's code and odd Unicode."""
    tokenizer, tally = work.load(), Tally()
    documents = first_documents(work.text, int(work.case.parameters["bytes"]), tally)
    for specification in ALWAYS:
        documents += corpora.open_corpus(specification).documents(Tally())
    trips, kept = RoundTrips(tokenizer), IdsKept(digest_of("\0".join(documents)))
    digests = IdDigests.of(Facts.of(tokenizer))
    try:
        comparison = None if work.expected is None else Comparison(kept.load(work.expected))
    except OtherText as reason:
        return Findings(status="failed", reason=str(reason), tally=tally)
    done = 0
    for texts in batches(documents, size=BATCH_SIZE):
        tokens = tokenizer.encode_batch(texts, work.threads)
        if comparison is not None:
            comparison.check(tokenizer, texts, tokens)
            if comparison.difference is not None:
                break  # decoding wrong ids proves nothing, and some libraries do not survive it
        if work.keep_ids is not None:
            kept.parts.append(tokens)
        digests.add([digest_of(text) for text in texts], tokens)
        trips.check(texts, tokens)
        done += sum(map(len, texts))
        work.progress(done)
    if work.keep_ids is not None:
        kept.save(work.keep_ids)
    return _conclude(trips, digests, comparison, tally)


def _conclude(trips: RoundTrips, digests: IdDigests, comparison: Comparison | None, tally: Tally) -> Findings:
    details: dict[str, Any] = {
        "class": trips.tokenizer.round_trip,
        "documents": trips.documents,
        "mismatches": trips.documents - trips.exact,
        "witness": trips.witness,
        "error": trips.error,
    }
    if comparison is not None:
        details["identical_ids"] = {
            "documents": comparison.documents - comparison.left_out,
            "left_out": comparison.left_out,
            "difference": comparison.difference,
        }
        if (difference := comparison.difference) is not None:
            reason = (
                f"wrong ids: document {difference['document']}, byte {difference['byte_offset']} "
                f"(token {difference['token']}): "
                f"expected {difference['expected_ids'][:3]}, got {difference['got_ids'][:3]}"
            )
            return Findings(details=details, status="failed", reason=reason, tally=tally)
    if trips.tokenizer.round_trip == "exact" and (lost := trips.witness) is not None:
        reason = (
            f"not lossless, though its file says so: document {lost['document']}, byte {lost['byte_offset']}: "
            f"expected {lost['expected']!r}, got {lost['got']!r}"
        ) + (f" ({trips.error})" if trips.error else "")
        return Findings(details=details, status="failed", reason=reason, tally=tally)
    state = {**trips.arrays(), **digests.arrays()}
    if comparison is not None:
        state = {**state, COMPARED: np.array([comparison.documents, comparison.left_out], np.int64)}
    return Findings(_measurements(state), {**details, **id_digests.details(state)}, tally=tally, state=state)


TABLE = Table(
    "Round trips",
    columns=(
        Fact("round_trip", "class"),
        Column("checked_documents", "documents", pick="sum"),
        Column("round_trip_share", "as class", pick="least"),
        Column("exact_round_trip_share", "exact", pick="least"),
        Column("idempotent_share", "idempotent", pick="least"),
        Column("identical_documents", "same ids", pick="sum"),
        Column("mapped_documents", "left out", pick="sum", optional=True),
    ),
    notes=("Shares are the lowest over the corpora; the sample's code and odd Unicode are always read too.",),
    all_texts=True,
    joined=("bytes",),
)

BENCHMARKS = (
    Benchmark(
        "integrity",
        "round trips by the tokenizer's class, and identical ids of rows that claim one vocabulary",
        run,
        corpus="required",
        role=Role.VERIFIES,
        pace=Pace(0.5, 0.25),
        metrics=(
            "round_trip_share",
            "exact_round_trip_share",
            "idempotent_share",
            "checked_documents",
            "identical_documents",
            "mapped_documents",
        ),
        tables=(TABLE,),
        parameters={"bytes": 2_000_000},
        rederive=rederive,
    ),
)
