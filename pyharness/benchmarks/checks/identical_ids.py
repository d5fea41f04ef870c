"""Identical ids: a row's ids against those that the row at home has left for the same text."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.benchmarks.checks.round_trips import SNIPPET
from pyharness.metrics.counting import state_arrays
from pyharness.tokenizers import mapped_strings
from pyharness.types import Digest, HasVocabulary, Measurement, State, Tokenizer, Tokens, offsets_of

COMPARED = "compared"  # array of the state: documents compared by their ids, and those of them that were left out


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


def measurements(state: State) -> tuple[Measurement, ...]:
    """Documents whose ids are those of the row at home, and those that no ids are compared of."""
    if COMPARED not in state:  # no other row claims its vocabulary
        return ()
    documents, left_out = state_arrays.taken(state, COMPARED, 2).tolist()
    return Measurement("identical_documents", documents - left_out), Measurement("mapped_documents", left_out)


def details(state: State) -> dict[str, Any]:
    """What the details of a case that has passed say of the comparison."""
    found = measurements(state)
    if not found:
        return {}
    identical, left_out = (one.value for one in found)
    return {"identical_ids": {"documents": identical, "left_out": left_out, "difference": None}}


def describe_difference(tokenizer: Tokenizer, text: str, expected: Any, got: Any) -> dict[str, Any]:
    """First differing token: its index, the byte offset of the text it stands at, and both sides' ids."""
    shorter = min(len(expected), len(got))
    differs = expected[:shorter] != got[:shorter]
    token = int(differs.argmax()) if differs.any() else shorter
    difference: dict[str, Any] = {
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
    return difference | {"byte_offset": offset, "text": there}
