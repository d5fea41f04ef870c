"""Integrity: round trips, and identical ids of two rows with one vocabulary. Timed work waits until it passes.

The text is the front of the corpus, at least as much as timed benchmarks use. The stress set is read with every text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyharness.benchmarks import Benchmark, Findings, Pace, Role, Work, checks, first_documents, notes
from pyharness.corpora.streaming import BATCH_SIZE, batches
from pyharness.metrics.counting import id_digests
from pyharness.metrics.counting.id_digests import IdDigests
from pyharness.metrics.counting.state import Facts
from pyharness.types import (
    Answer,
    Case,
    CaseResult,
    Column,
    Fact,
    Listing,
    Measurement,
    State,
    Table,
    Tally,
    Tokens,
    counted,
    digest_of,
    listed,
)


def _measurements(state: State) -> tuple[Measurement, ...]:
    return *checks.measurements(state), *checks.id_measurements(state)


def rederive(state: State, case: Case) -> Findings:
    """Compute the shares again, from the counts of documents, and the digest of all ids."""
    del case
    details = {**checks.details(state), **checks.id_details(state), **id_digests.details(state)}
    return Findings(_measurements(state), details)


def run(work: Work) -> Findings:
    """Check the tokenizer on the front of the corpus and on the stress set."""
    tokenizer, tally = work.load(), Tally()
    texts, odd = first_documents(work.text, int(work.case.parameters["bytes"]), tally), checks.samples()
    every = [*texts, *(one.text for one in odd), *checks.RUNS.values()]
    check = _Check(
        work,
        checks.TripsByPart(*(checks.RoundTrips(tokenizer) for _ in range(3))),
        IdDigests.of(Facts.of(tokenizer)),
        checks.IdsKept(digest_of("\0".join(every))),
    )
    try:
        check.read_home()
        check.documents(check.trips.text, texts)
        check.documents(check.trips.sample, [one.text for one in odd])
        check.runs()
    except (checks.OtherText, checks.NotEncoded) as reason:
        return Findings(status="failed", reason=str(reason), tally=tally)
    except _OtherIds:  # decoding wrong ids proves nothing, and some libraries crash on it
        pass
    if work.keep_ids is not None:
        check.kept.save(work.keep_ids)
    return _conclude(check, tally)


class _OtherIds(Exception):
    """A document's ids differ from those of the other row."""


@dataclass(slots=True)
class _Check:
    """The check of every document."""

    work: Work
    trips: checks.TripsByPart
    digests: IdDigests
    kept: checks.IdsKept
    comparison: checks.Comparison | None = None
    compared: tuple[int, int] = (0, 0)  # documents whose ids are compared, and those left out; without runs
    done: int = 0  # bytes

    def read_home(self) -> None:
        """Read the other row's ids, if there is one."""
        if self.work.expected is not None:
            self.comparison = checks.Comparison(self.kept.load(self.work.expected))

    def documents(self, trips: checks.RoundTrips, documents: Sequence[str]) -> None:
        """Encode documents, record digests of their ids, and decode them."""
        for texts in batches(documents, size=BATCH_SIZE):
            tokens = checks.encoded(trips.tokenizer, texts, self.work.threads)
            self._compare(trips, texts, tokens)
            self.digests.add([digest_of(text) for text in texts], tokens)
            trips.check(texts, tokens)
            self.done += sum(len(text.encode()) for text in texts)
            self.work.progress(self.done)

    def runs(self) -> None:
        """Encode and decode runs, one after another. The digests exclude their ids, as in older records."""
        trips = self.trips.runs
        for text, tokens in checks.encoded_runs(trips.tokenizer, self.work.threads):
            self._compare(trips, [text], tokens)
            trips.check([text], tokens)

    def _compare(self, trips: checks.RoundTrips, texts: list[str], tokens: Tokens) -> None:
        if self.comparison is not None:
            self.comparison.check(trips.tokenizer, texts, tokens)
            if trips is not self.trips.runs:
                self.compared = self.comparison.documents, self.comparison.left_out
            if self.comparison.difference is not None:
                raise _OtherIds
        if self.work.keep_ids is not None:
            self.kept.parts.append(tokens)


def _conclude(check: _Check, tally: Tally) -> Findings:
    trips, comparison, texts = check.trips, check.comparison, tally.documents
    witnesses, round_trip = trips.witnesses(), trips.text.tokenizer.round_trip
    details: dict[str, Any] = {
        "class": round_trip,
        "documents": trips.text.documents + trips.sample.documents,
        "mismatches": sum(one.documents - one.exact for one in (trips.text, trips.sample)),
        "witnesses": {
            part: witness | {"name": _name(part, witness["document"])} for part, witness in witnesses.items()
        },
        "error": trips.error,
    }
    if comparison is not None:
        details["identical_ids"] = {
            "documents": check.compared[0] - check.compared[1],
            "left_out": check.compared[1],
            "difference": comparison.difference,
        }
        if (difference := comparison.difference) is not None:
            number = difference["document"]  # those of the stress set follow those of the text
            where = _name(checks.TEXT, number) if number < texts else _name(checks.STRESS, number - texts)
            reason = (
                f"wrong ids: {where}, byte {difference['byte_offset']} "
                f"(token {difference['token']}): "
                f"expected {difference['expected_ids'][:3]}, got {difference['got_ids'][:3]}"
            )
            return Findings(details=details, status="failed", reason=reason, tally=tally)
    if round_trip == "exact" and (lost := next(iter(details["witnesses"].values()), None)) is not None:
        reason = (
            f"not lossless, though its file says so: {lost['name']}, byte {lost['byte_offset']}: "
            f"expected {lost['expected']!r}, got {lost['got']!r}"
        ) + (f" ({trips.error})" if trips.error else "")
        return Findings(details=details, status="failed", reason=reason, tally=tally)
    state = {**trips.arrays(), **check.digests.arrays()}
    if comparison is not None:
        state = {**state, checks.COMPARED: np.array(check.compared, np.int64)}
    return Findings(_measurements(state), {**details, **id_digests.details(state)}, tally=tally, state=state)


def _name(part: str, number: int) -> str:
    """Return the name of a document: its number, from 1 for people, or its name in the stress set."""
    return f"document {number + 1}" if part == checks.TEXT else checks.name(number)


def lost(result: CaseResult) -> Iterator[tuple[str, ...]]:
    """Describe the first document of the text, and of the stress set, that did not come back: both sides' text."""
    for part, witness in result.details.get("witnesses", {}).items():
        # An older record names documents of the text by numbers from 0.
        where = f"{result.case.corpus}: document {witness['document'] + 1}" if part == checks.TEXT else witness["name"]
        sides = witness["expected"], witness["got"]
        alike = unicodedata.normalize("NFC", sides[0]) == unicodedata.normalize("NFC", sides[1])
        yield part, f"{where}, byte {witness['byte_offset']}", *map(ascii if alike else repr, sides)


def losers(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[Answer]:
    """Name the rows that change a document of a text, and those that only change one of the stress set."""
    text, stress = (_exact_shares(results, part) for part in (checks.TEXT, checks.STRESS))
    if text:  # an older record does not separate text and stress set
        lost = [
            f"{row} ({100 * (1 - share):.3g} % of the documents of {label}{_promise(data, row)})"
            for (row, label), share in text.items()
            if share < 1
        ]
        losing, rows = {row for (row, _), share in text.items() if share < 1}, {row for row, _ in text}
        only = dict.fromkeys(row for (row, _), share in stress.items() if share < 1 and row not in losing)
        loss = "; ".join(lost) or f"None of {counted(len(rows), 'tokenizer')}"
        shown = f"{loss}; of the stress set alone: {listed(list(only))}." if only else f"{loss}."
        yield Answer("Loses text", shown, "alarm" if lost else "" if only else "calm")


def _promise(data: Mapping[str, Any], row: str) -> str:
    """Say what a row that loses text promises. If it promised the exact text, it would fail."""
    promises = {"normalised": ", as it promises only the normalised text", "lossy": ", as it promises nothing"}
    return promises.get(str(notes.about_row(data, row).get("round_trip")), "")


def _exact_shares(results: Sequence[CaseResult], part: str) -> dict[tuple[str, str | None], float]:
    """Return shares of documents that came back exactly, by row and text."""
    return {
        (result.case.tokenizer, result.case.corpus): one.value
        for result in results
        for one in result.measurements
        if (one.metric, one.part) == ("exact_round_trip_share", part) and one.value is not None
    }


def _of_all(results: Sequence[CaseResult], data: Mapping[str, Any]) -> Iterator[str]:
    """Say what came back in rows of older records, which do not separate text and stress set."""
    del data
    shares: dict[str, float] = {}
    for result in results:
        shares_by_part = {one.part: one.value for one in result.measurements if one.metric == "exact_round_trip_share"}
        if checks.TEXT not in shares_by_part and (share := shares_by_part.get(None)) is not None:
            shares[result.case.tokenizer] = min(share, shares.get(result.case.tokenizer, 1.0))
    if shares:
        description = ", ".join(f"{row} {share:.4f}" for row, share in shares.items())
        yield f"Exact shares of text and stress set together (an older record does not separate them): {description}."


TABLE = Table(
    "Round trips (integrity)",
    columns=(
        Fact("round_trip", "promise"),
        Column("checked_documents", "tested", pick="sum"),
        Column("round_trip_share", "kept", pick="least"),
        Column("exact_round_trip_share", "text exact", part=checks.TEXT, pick="least"),
        Column("exact_round_trip_share", "stress exact", part=checks.STRESS, pick="least"),
        Column("idempotent_share", "idempotent", pick="least"),
        Column("identical_documents", "same ids", pick="sum"),
        Column("mapped_documents", "left out", pick="sum", optional=True),
    ),
    notes=(
        "promise: what decoding gives back. exact: the text. normalised: the normalised text. lossy: no promise.",
        "tested: documents of all texts, plus odd strings (the stress set) once per text.",
        "kept: share of tested that came back as promised.",
        "text exact: share of documents that came back byte for byte.",
        "stress exact: share of odd strings, such as long runs of one character, that came back byte for byte.",
        "idempotent: share of tested whose decoded text gives the same ids again.",
        "Each share is taken on each text separately; the lowest is shown.",
        "same ids: number of documents whose ids equal those of another row with the same vocabulary. -: no such row.",
        _of_all,
    ),
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
        place=6,
        metrics=(
            "round_trip_share",
            "exact_round_trip_share",
            "idempotent_share",
            "checked_documents",
            "identical_documents",
            "mapped_documents",
        ),
        tables=(TABLE,),
        answers=losers,
        listing=Listing("Text that is lost", ("read from", "first place", "text", "decoded"), lost),
        parameters={"bytes": 2_000_000},
        rederive=rederive,
    ),
)
