"""Checks of a row's ids and texts: round trips, the ids of another engine, and hard texts (the stress set)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from pyharness import corpora
from pyharness.metrics.counting import state_arrays
from pyharness.tokenizers import HasNormalize, mapped_strings
from pyharness.types import (
    Digest,
    HasVocabulary,
    InputError,
    Measurement,
    RoundTrip,
    State,
    Tally,
    Tokenizer,
    Tokens,
    offsets_of,
)

SNIPPET = 24  # bytes of text that a difference shows, from its place on
TEXT, STRESS = "text", "stress set"  # parts of the text read
_BY_PART = "round trips by part"
CLASSES: tuple[RoundTrip, ...] = get_args(RoundTrip)
COMPARED = "compared"  # array of the state: documents whose ids are compared, and those among them that were left out
SAMPLES = ("sample:code", "sample:unicode")
# Of 33 rows and engines, none took over 0.2 s for the combining marks. 32,768 letters or digits took up to 1.3 s.
RUNS: Mapping[str, str] = {
    "'a' and 32,768 times U+0301": "a" + "\u0301" * 32768, "8,192 times 'a'": "a" * 8192, "8,192 times '1'": "1" * 8192,
    "8,192 spaces": " " * 8192,
}  # fmt: skip
LONGEST_MESSAGE = 300  # characters of a library's message


@dataclass(slots=True)
class RoundTrips:
    """Results of decoding, document by document."""

    tokenizer: Tokenizer
    documents: int = 0
    exact: int = 0
    as_derived: int = 0  # equal to the promise of the tokenizer's class
    idempotent: int = 0
    witness: dict[str, Any] | None = None  # the first document that differs from its text
    error: str | None = None  # the first error of decoding

    def check(self, texts: list[str], tokens: Tokens) -> None:
        """Decode every document, and encode the result again."""
        decoded = [self._decode(tokens, index) for index in range(len(texts))]
        again = self.tokenizer.encode_batch([data.decode(errors="replace") for data in decoded])
        for index, (text, data) in enumerate(zip(texts, decoded, strict=True)):
            exact = data == text.encode()
            if not exact and self.witness is None:
                self.witness = first_difference(text.encode(), data) | {"document": self.documents}
            self.documents += 1
            self.exact += exact
            self.as_derived += exact or self._as_normalised(text, data)
            self.idempotent += np.array_equal(tokens.document(index), again.document(index))

    def _decode(self, tokens: Tokens, index: int) -> bytes:
        try:
            return self.tokenizer.decode(tokens.document(index))
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # a panic in Rust is no Exception; an undecodable document did not come back
            self.error = self.error or f"{type(error).__name__}: {error}"
            return b""

    def _as_normalised(self, text: str, decoded: bytes) -> bool:
        if self.tokenizer.round_trip != "normalised" or not isinstance(self.tokenizer, HasNormalize):
            return False
        return decoded == self.tokenizer.normalize(text).encode()


@dataclass(slots=True)
class TripsByPart:
    """Round trips of the measured text, and of the stress set: odd texts of the sample, and long runs.

    Totals exclude the runs, which older records did not read, so that records stay comparable.
    """

    text: RoundTrips
    sample: RoundTrips
    runs: RoundTrips

    @property
    def error(self) -> str | None:
        """The first error of decoding."""
        return self.text.error or self.sample.error or self.runs.error

    def witnesses(self) -> dict[str, dict[str, Any]]:
        """Return the first document of each part that differs from its text; runs come after the sample's texts."""
        runs = self.runs.witness
        behind = None if runs is None else runs | {"document": self.sample.documents + runs["document"]}
        by_part = {TEXT: self.text.witness, STRESS: self.sample.witness or behind}
        return {part: witness for part, witness in by_part.items() if witness is not None}

    def arrays(self) -> State:
        """Return arrays to keep with a record: the input of ``measurements``."""
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
    """Return the details of a case about the documents read."""
    documents, exact, _, _, kind, _ = _counts(state)
    return {"class": CLASSES[kind], "documents": documents, "mismatches": documents - exact}


def _counts(state: State) -> list[int]:
    counts: list[int] = state_arrays.taken(state, "round trips", 6).tolist()
    documents, *others = counts
    if documents <= 0 or others[3] not in range(len(CLASSES)):
        raise InputError(f"round trips of {documents} documents, of class {others[3]}")
    return counts


def measurements(state: State) -> tuple[Measurement, ...]:
    """Return the number of documents without the runs, shares of these, and the exact share of each part."""
    documents, exact, as_derived, idempotent, kind, can_ask = _counts(state)
    promised = Measurement("round_trip_share", as_derived / documents)
    if CLASSES[kind] == "lossy":
        promised = Measurement("round_trip_share", None, reason="a lossy tokenizer promises no round trip")
    elif CLASSES[kind] == "normalised" and not can_ask:
        promised = Measurement("round_trip_share", None, reason="this engine does not expose its normaliser")
    return (
        promised, Measurement("exact_round_trip_share", exact / documents), *_by_part(state),
        Measurement("idempotent_share", idempotent / documents), Measurement("checked_documents", documents),
    )  # fmt: skip


def _by_part(state: State) -> Iterator[Measurement]:
    """Yield the exact round trips of each part; nothing for an older state."""
    if _BY_PART not in state:
        return
    text, text_exact, stress, stress_exact = state_arrays.taken(state, _BY_PART, 4).tolist()
    for part, documents, exact in ((TEXT, text, text_exact), (STRESS, stress, stress_exact)):
        if documents <= 0:
            raise InputError(f"round trips of {documents} documents of the {part}")
        yield Measurement("exact_round_trip_share", exact / documents, part=part)


def first_difference(expected: bytes, got: bytes) -> dict[str, Any]:
    """Return the byte offset of the first difference, and the text there on both sides."""
    shorter = min(len(expected), len(got))
    differs = np.frombuffer(expected[:shorter], np.uint8) != np.frombuffer(got[:shorter], np.uint8)
    offset = int(differs.argmax()) if differs.any() else shorter
    expected_there, got_there = (
        data[max(0, offset - 4) : offset + SNIPPET].decode(errors="replace") for data in (expected, got)
    )
    return {"byte_offset": offset, "expected": expected_there, "got": got_there}


class OtherText(Exception):
    """The ids are of another text, so they cannot be compared."""


@dataclass(slots=True)
class IdsKept:
    """Ids of the documents read, in order: left for other rows, or compared with those of another row."""

    text: Digest  # of all documents: ids of another text are not compared
    parts: list[Tokens] = field(default_factory=list)

    def save(self, path: Path) -> None:
        """Write ids and document lengths, without object arrays, so reading never unpickles anything."""
        ids = np.concatenate([part.ids for part in self.parts])
        lengths = np.concatenate([np.diff(part.offsets) for part in self.parts])
        np.savez(path, ids=ids, lengths=lengths, text=np.frombuffer(self.text, np.uint8))

    def load(self, path: Path) -> Tokens:
        """Read the ids that ``save`` wrote; raise ``OtherText`` if they are of another text."""
        with np.load(path, allow_pickle=False) as archive:
            if archive["text"].tobytes() != self.text:
                raise OtherText("its text differs from the one that the home row read: it changed during the run")
            return Tokens(archive["ids"], offsets_of(archive["lengths"]))


@dataclass(slots=True)
class Comparison:
    """Comparison of this row's ids with those of the row with the same vocabulary."""

    expected: Tokens
    documents: int = 0
    left_out: int = 0
    difference: dict[str, Any] | None = None

    def check(self, tokenizer: Tokenizer, texts: list[str], tokens: Tokens) -> None:
        """Count the documents of a batch and compare their ids; after the first difference, only count them."""
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


def id_measurements(state: State) -> tuple[Measurement, ...]:
    """Return the documents with the home row's ids, and the documents whose ids are not compared."""
    if COMPARED not in state:  # no other row claims its vocabulary
        return ()
    documents, left_out = state_arrays.taken(state, COMPARED, 2).tolist()
    return Measurement("identical_documents", documents - left_out), Measurement("mapped_documents", left_out)


def id_details(state: State) -> dict[str, Any]:
    """Return the details about the comparison in a case that has passed."""
    measured = id_measurements(state)
    if not measured:
        return {}
    identical, left_out = (measurement.value for measurement in measured)
    return {"identical_ids": {"documents": identical, "left_out": left_out, "difference": None}}


def describe_difference(tokenizer: Tokenizer, text: str, expected: Any, got: Any) -> dict[str, Any]:
    """Describe the first differing token: its index, its byte offset in the text, and both sides' ids."""
    shorter = min(len(expected), len(got))
    differs = expected[:shorter] != got[:shorter]
    token = int(differs.argmax()) if differs.any() else shorter
    difference: dict[str, Any] = {
        "token": token,
        "expected_ids": expected[token : token + 8].tolist(),
        "got_ids": got[token : token + 8].tolist(),
    }
    if isinstance(tokenizer, HasVocabulary):
        vocabulary = tokenizer.vocabulary()
        spelled = b"".join(vocabulary[one] for one in expected[:token].tolist())
    else:
        spelled = tokenizer.decode(expected[:token])  # ids of the home row: equal up to here
    offset = len(spelled) - (spelled.startswith(b" ") and not text.startswith(" "))  # without a space put before it
    there = text.encode()[offset : offset + SNIPPET].decode(errors="replace")
    return difference | {"byte_offset": offset, "text": there}


# The stress set: texts that any tokenizer must handle, on any corpus: code and odd Unicode, and long runs.
#
# A library may take quadratic time for a run, or have no room for it. It fails on these texts, and not in a user's
# service: a long run of combining marks overflows a stack of tokie 0.1.4.
class NotEncoded(Exception):
    """A library raised for a run of the stress set; the message names the run and the error."""


@dataclass(frozen=True, slots=True)
class StressText:
    """A text of the stress set, and its name in messages."""

    name: str
    text: str


def samples() -> list[StressText]:
    """Return the code and odd Unicode of the sample."""
    return [
        StressText(f"{specification}, document {number}", text)
        for specification in SAMPLES
        for number, text in enumerate(corpora.open_corpus(specification).documents(Tally()), 1)
    ]


def name(number: int) -> str:
    """Return the name of a text of the set, by its number: samples come first."""
    return [*(sample.name for sample in samples()), *RUNS][number]


def encoded(tokenizer: Tokenizer, texts: list[str], threads: int) -> Tokens:
    """Encode texts; raise ``TypeError`` where the tokenizer gives anything but ``Tokens`` of as many texts."""
    tokens: Any = tokenizer.encode_batch(texts, threads)
    if not isinstance(tokens, Tokens) or len(tokens) != len(texts):
        gave = f"Tokens of {len(tokens):,}" if isinstance(tokens, Tokens) else f"a {type(tokens).__name__}"
        name = type(tokenizer).__qualname__
        raise TypeError(f"encode_batch of {name} gave {gave}; it must give Tokens of {len(texts):,} texts")
    return tokens


def encoded_runs(tokenizer: Tokenizer, threads: int) -> Iterator[tuple[str, Tokens]]:
    """Encode one run after the other; yield its text and ids.

    Raises:
        NotEncoded: the library raised anything but ``MemoryError``.
    """
    for called, text in RUNS.items():
        try:
            yield text, encoded(tokenizer, [text], threads)
        except (KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit):
            raise
        except BaseException as error:  # a panic in Rust is no Exception
            message = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            line = " ".join(message.split())[:LONGEST_MESSAGE]
            raise NotEncoded(f"it cannot encode a text of the stress set ({called}): {line}") from error
