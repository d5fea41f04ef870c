"""Integrity: round trips, and identical ids where two rows claim one vocabulary. Timed work waits for it to pass.

The text is the front of the corpus, as much as timed benchmarks use, and always the code and odd Unicode of the sample.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from pyharness import corpora
from pyharness.benchmarks import Benchmark, Findings, Role, Work, describe, first_documents
from pyharness.corpora.batching import BATCH_SIZE, batches
from pyharness.metrics.counting import state_arrays
from pyharness.tokenizers import HasNormalize, mapped_strings
from pyharness.types import (
    Case,
    Column,
    Digest,
    Fact,
    HasVocabulary,
    InputError,
    Measurement,
    RoundTrip,
    State,
    Table,
    Tally,
    Tokenizer,
    Tokens,
    digest_of,
    offsets_of,
)

ALWAYS = ("sample:code", "sample:unicode")
SNIPPET = 24
COMPARED = "compared"  # array of the state: documents compared by their ids, and those of them that were left out
CLASSES: tuple[RoundTrip, ...] = get_args(RoundTrip)


@dataclass(slots=True)
class RoundTrips:
    """What decoding gave back, document by document."""

    tokenizer: Tokenizer
    documents: int = 0
    exact: int = 0
    as_derived: int = 0  # equal to what the tokenizer's class promises
    idempotent: int = 0
    witness: dict[str, Any] | None = None  # the first document that differs from its text
    error: str | None = None  # the first thing that decoding raised

    def check(self, texts: list[str], tokens: Tokens) -> None:
        """Decode every document and encode what came back once more."""
        decoded = [self._decode(tokens, index) for index in range(len(texts))]
        again = self.tokenizer.encode_batch([data.decode(errors="replace") for data in decoded])
        for index, (text, data) in enumerate(zip(texts, decoded, strict=True)):
            self._count(text, data, np.array_equal(tokens.document(index), again.document(index)))

    def _decode(self, tokens: Tokens, index: int) -> bytes:
        try:
            return self.tokenizer.decode(tokens.document(index))
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # a panic in Rust is no Exception; what cannot be decoded did not come back
            self.error = self.error or f"{type(error).__name__}: {error}"
            return b""

    def _count(self, text: str, decoded: bytes, idempotent: bool) -> None:
        exact = decoded == text.encode()
        if not exact and self.witness is None:
            self.witness = first_difference(text.encode(), decoded) | {"document": self.documents}
        self.documents += 1
        self.exact += exact
        self.as_derived += exact or self._as_normalised(text, decoded)
        self.idempotent += idempotent

    def _as_normalised(self, text: str, decoded: bytes) -> bool:
        if self.tokenizer.round_trip != "normalised" or not isinstance(self.tokenizer, HasNormalize):
            return False
        return decoded == self.tokenizer.normalize(text).encode()

    def arrays(self) -> State:
        """Arrays to keep beside a record: what ``measurements`` takes."""
        kind, can_ask = self.tokenizer.round_trip, isinstance(self.tokenizer, HasNormalize)
        counts = (self.documents, self.exact, self.as_derived, self.idempotent)
        return {"round trips": np.array([*counts, CLASSES.index(kind), can_ask], np.int64)}


def measurements(state: State) -> tuple[Measurement, ...]:
    """Shares of the documents read."""
    documents, exact, as_derived, idempotent, kind, can_ask = state_arrays.taken(state, "round trips", 6).tolist()
    if documents <= 0 or kind not in range(len(CLASSES)):
        raise InputError(f"round trips of {documents} documents, of class {kind}")
    promised = Measurement("round_trip_share", as_derived / documents)
    if CLASSES[kind] == "lossy":
        promised = Measurement("round_trip_share", None, reason="a lossy tokenizer promises no round trip")
    elif CLASSES[kind] == "normalised" and not can_ask:
        promised = Measurement("round_trip_share", None, reason="this engine's normaliser cannot be asked")
    return (
        promised,
        Measurement("exact_round_trip_share", exact / documents),
        Measurement("idempotent_share", idempotent / documents),
        Measurement("checked_documents", documents),
        *_compared(state),
    )


def _compared(state: State) -> tuple[Measurement, ...]:
    """Documents whose ids are those of the row at home, and those that no ids are compared of."""
    if COMPARED not in state:  # no other row claims its vocabulary
        return ()
    documents, left_out = state_arrays.taken(state, COMPARED, 2).tolist()
    return Measurement("identical_documents", documents - left_out), Measurement("mapped_documents", left_out)


def rederive(state: State, case: Case) -> Findings:
    """The shares again, from the counts of documents."""
    del case
    return Findings(measurements(state))


def first_difference(expected: bytes, got: bytes) -> dict[str, Any]:
    """Byte offset of the first difference, and what stands there on both sides."""
    shorter = min(len(expected), len(got))
    differs = np.frombuffer(expected[:shorter], np.uint8) != np.frombuffer(got[:shorter], np.uint8)
    offset = int(differs.argmax()) if differs.any() else shorter
    expected_there, got_there = (
        data[max(0, offset - 4) : offset + SNIPPET].decode(errors="replace") for data in (expected, got)
    )
    return {"byte_offset": offset, "expected": expected_there, "got": got_there}


class OtherText(Exception):
    """Ids of one text cannot be compared with those of another."""


@dataclass(slots=True)
class IdsKept:
    """Ids of the documents read, in order: to be left for other rows, or compared with what another row left."""

    text: Digest  # of all documents: ids of other text are not compared
    parts: list[Tokens] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write ids and document lengths; no object arrays, so nothing is ever unpickled."""
        ids = np.concatenate([part.ids for part in self.parts])
        lengths = np.concatenate([np.diff(part.offsets) for part in self.parts])
        np.savez(path, ids=ids, lengths=lengths, text=np.frombuffer(self.text, np.uint8))

    def load(self, path: Path) -> Tokens:
        """Read what ``save`` wrote for the same text."""
        with np.load(path, allow_pickle=False) as archive:
            if archive["text"].tobytes() != self.text:
                raise OtherText("its text is not the one that the home row's ids are of: it changed during the run")
            return Tokens(archive["ids"], offsets_of(archive["lengths"]))


@dataclass(slots=True)
class Comparison:
    """Ids of this row against those of the row its vocabulary is compared with."""

    expected: Tokens
    documents: int = 0
    left_out: int = 0
    difference: dict[str, Any] | None = None

    def check(self, tokenizer: Tokenizer, texts: list[str], tokens: Tokens) -> None:
        """Compare a batch; stops looking after the first difference."""
        mapped = mapped_strings(tokenizer)
        for index, text in enumerate(texts):
            number = self.documents
            self.documents += 1
            if any(string in text for string in mapped):
                self.left_out += 1
            elif self.difference is None:
                expected, got = self.expected.document(number), tokens.document(index)
                if not np.array_equal(expected, got):
                    self.difference = describe_difference(tokenizer, text, expected, got) | {"document": number}


def describe_difference(tokenizer: Tokenizer, text: str, expected: Any, got: Any) -> dict[str, Any]:
    """First differing token: its index, the byte offset of the text it stands at, and both sides' ids."""
    shorter = min(len(expected), len(got))
    differs = expected[:shorter] != got[:shorter]
    token = int(differs.argmax()) if differs.any() else shorter
    found: dict[str, Any] = {
        "token": token,
        "expected_ids": expected[token : token + 8].tolist(),
        "got_ids": got[token : token + 8].tolist(),
    }
    if isinstance(tokenizer, HasVocabulary):
        lengths = np.diff(tokenizer.vocabulary().offsets)
        offset = int(lengths[expected[:token]].sum())
    else:
        offset = len(tokenizer.decode(expected[:token]))  # ids of the home row: the same up to here
    there = text.encode()[offset : offset + SNIPPET].decode(errors="replace")
    return found | {"byte_offset": offset, "text": there}


def run(work: Work) -> Findings:
    """Check the tokenizer on the front of the corpus and on the sample's code and odd Unicode."""
    tokenizer, tally = work.load(), Tally()
    documents = first_documents(work.text, int(work.case.parameters["bytes"]), tally)
    for specification in ALWAYS:
        documents += corpora.open_corpus(specification).documents(Tally())
    trips, kept = RoundTrips(tokenizer), IdsKept(digest_of("\0".join(documents)))
    try:
        comparison = None if work.expected is None else Comparison(kept.load(work.expected))
    except OtherText as reason:
        return Findings(details={"tally": describe(tally)}, status="failed", reason=str(reason))
    done = 0
    for texts in batches(documents, size=BATCH_SIZE):
        tokens = tokenizer.encode_batch(texts, work.threads)
        if comparison is not None:
            comparison.check(tokenizer, texts, tokens)
            if comparison.difference is not None:
                break  # decoding wrong ids proves nothing, and some libraries do not survive it
        if work.keep_ids is not None:
            kept.parts.append(tokens)
        trips.check(texts, tokens)
        done += sum(map(len, texts))
        work.progress(done)
    if work.keep_ids is not None:
        kept.save(work.keep_ids)
    return _conclude(trips, comparison, tally)


def _conclude(trips: RoundTrips, comparison: Comparison | None, tally: Tally) -> Findings:
    details: dict[str, Any] = {
        "class": trips.tokenizer.round_trip,
        "documents": trips.documents,
        "mismatches": trips.documents - trips.exact,
        "witness": trips.witness,
        "error": trips.error,
        "tally": describe(tally),
    }
    if comparison is not None:
        details["identical_ids"] = {
            "documents": comparison.documents - comparison.left_out,
            "left_out": comparison.left_out,
            "difference": comparison.difference,
        }
        if (found := comparison.difference) is not None:
            reason = (
                f"wrong ids: document {found['document']}, byte {found['byte_offset']} (token {found['token']}): "
                f"expected {found['expected_ids'][:3]}, got {found['got_ids'][:3]}"
            )
            return Findings(details=details, status="failed", reason=reason)
    if trips.tokenizer.round_trip == "exact" and (lost := trips.witness) is not None:
        reason = (
            f"not lossless, though its file says so: document {lost['document']}, byte {lost['byte_offset']}: "
            f"expected {lost['expected']!r}, got {lost['got']!r}"
        ) + (f" ({trips.error})" if trips.error else "")
        return Findings(details=details, status="failed", reason=reason)
    state = trips.arrays()
    if comparison is not None:
        state = {**state, COMPARED: np.array([comparison.documents, comparison.left_out], np.int64)}
    return Findings(measurements(state), details, state=state)


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
