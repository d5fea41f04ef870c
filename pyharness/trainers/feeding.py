"""Feeding texts to a library that pulls them one by one: counts them, and says how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pyharness.trainers import TrainedTokenizer, TrainingRequest
from pyharness.trainers.batching import utf8_length
from pyharness.trainers.phases import Phases
from pyharness.types import InputError


class Feed:
    """The texts of a request, once."""

    def __init__(self, request: TrainingRequest, phases: Phases) -> None:
        self.documents = self.bytes = 0
        self.failure: Exception | None = None  # libraries hide what an iterator raises
        self._texts = request.texts
        self._phases, self._total = phases, request.text_bytes

    def __iter__(self) -> Iterator[str]:
        report = self._phases.gauge("reading", "bytes", self._total)
        try:
            for text in self._texts():
                self.bytes += utf8_length(text, self.documents)
                self.documents += 1
                report(self.bytes)
                yield text
            self._phases.gauge("training", "bytes", first=self.bytes)
        except Exception as error:
            self.failure = error
            raise

    def check(self) -> None:
        """Raise what reading raised, or that there was nothing to read."""
        if self.failure is not None:
            raise self.failure
        if not self.bytes:
            raise InputError("the corpus has no text to train on")

    def result(
        self,
        phases: Phases,
        request: TrainingRequest,
        files: dict[str, bytes],
        size: int,
        merges: int | None,
        notes: Iterable[str] = (),
    ) -> TrainedTokenizer:
        """Describe what a library made of the texts."""
        if size > request.vocab_size:  # such a tokenizer would be compared with others as what it is not
            raise InputError(
                f"a vocabulary of {request.vocab_size:,} has no room for the alphabet of this text and the special "
                f"tokens; ask for at least {size:,}"
            )
        short = size < request.vocab_size
        ended = (f"the library stopped at {size:,} ids, not {request.vocab_size:,}: the text gives no more",)
        return TrainedTokenizer(
            files=files,
            vocab_size=size,
            merges=merges,
            complete=not short,
            seconds=phases.seconds,
            notes=(*notes, *(ended if short else ())),
            details={"documents": self.documents, "bytes": self.bytes},
        )
