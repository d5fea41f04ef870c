"""Round trips: what decoding gives back, document by document, and the shares that come of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from pyharness.metrics.counting import state_arrays
from pyharness.tokenizers import HasNormalize
from pyharness.types import InputError, Measurement, RoundTrip, State, Tokenizer, Tokens

SNIPPET = 24  # bytes of text that a difference shows
TEXT, STRESS = "text", "stress set"  # parts of what is read
_BY_PART = "round trips by part"
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


@dataclass(slots=True)
class TripsByPart:
    """Round trips of the text that is measured, and of the stress set: odd texts of the sample, and long runs.

    What is said of all is said without the runs, which older records did not read: records compare.
    """

    text: RoundTrips
    sample: RoundTrips
    runs: RoundTrips

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> TripsByPart:
        """Nothing read yet."""
        return cls(RoundTrips(tokenizer), RoundTrips(tokenizer), RoundTrips(tokenizer))

    @property
    def error(self) -> str | None:
        """The first thing that decoding raised."""
        return self.text.error or self.sample.error or self.runs.error

    def witnesses(self) -> dict[str, dict[str, Any]]:
        """By part, the first document that differs from its text; runs stand behind the sample's documents."""
        runs = self.runs.witness
        behind = None if runs is None else runs | {"document": self.sample.documents + runs["document"]}
        found = {TEXT: self.text.witness, STRESS: self.sample.witness or behind}
        return {part: witness for part, witness in found.items() if witness is not None}

    def arrays(self) -> State:
        """Arrays to keep beside a record: what ``measurements`` takes."""
        tokenizer, read = self.text.tokenizer, (self.text, self.sample)
        kind, can_ask = tokenizer.round_trip, isinstance(tokenizer, HasNormalize)
        counts = [
            sum(getattr(one, name) for one in read) for name in ("documents", "exact", "as_derived", "idempotent")
        ]
        stress = (self.sample.documents + self.runs.documents, self.sample.exact + self.runs.exact)
        return {
            "round trips": np.array([*counts, CLASSES.index(kind), can_ask], np.int64),
            _BY_PART: np.array([self.text.documents, self.text.exact, *stress], np.int64),
        }


def details(state: State) -> dict[str, Any]:
    """What the details of a case say of the documents read."""
    documents, exact, _, _, kind, _ = _counts(state)
    return {"class": CLASSES[kind], "documents": documents, "mismatches": documents - exact}


def _counts(state: State) -> list[int]:
    counts: list[int] = state_arrays.taken(state, "round trips", 6).tolist()
    documents, *others = counts
    if documents <= 0 or others[3] not in range(len(CLASSES)):
        raise InputError(f"round trips of {documents} documents, of class {others[3]}")
    return counts


def measurements(state: State) -> tuple[Measurement, ...]:
    """Shares of the documents read, of all but runs and by part."""
    documents, exact, as_derived, idempotent, kind, can_ask = _counts(state)
    promised = Measurement("round_trip_share", as_derived / documents)
    if CLASSES[kind] == "lossy":
        promised = Measurement("round_trip_share", None, reason="a lossy tokenizer promises no round trip")
    elif CLASSES[kind] == "normalised" and not can_ask:
        promised = Measurement("round_trip_share", None, reason="this engine's normaliser cannot be asked")
    return (
        promised,
        Measurement("exact_round_trip_share", exact / documents),
        *_by_part(state),
        Measurement("idempotent_share", idempotent / documents),
        Measurement("checked_documents", documents),
    )


def _by_part(state: State) -> Iterator[Measurement]:
    """Exact round trips of each part; none in an older state."""
    if _BY_PART not in state:
        return
    text, text_exact, stress, stress_exact = state_arrays.taken(state, _BY_PART, 4).tolist()
    for part, documents, exact in ((TEXT, text, text_exact), (STRESS, stress, stress_exact)):
        if documents <= 0:
            raise InputError(f"round trips of {documents} documents of the {part}")
        yield Measurement("exact_round_trip_share", exact / documents, part=part)


def first_difference(expected: bytes, got: bytes) -> dict[str, Any]:
    """Byte offset of the first difference, and what stands there on both sides."""
    shorter = min(len(expected), len(got))
    differs = np.frombuffer(expected[:shorter], np.uint8) != np.frombuffer(got[:shorter], np.uint8)
    offset = int(differs.argmax()) if differs.any() else shorter
    expected_there, got_there = (
        data[max(0, offset - 4) : offset + SNIPPET].decode(errors="replace") for data in (expected, got)
    )
    return {"byte_offset": offset, "expected": expected_there, "got": got_there}
