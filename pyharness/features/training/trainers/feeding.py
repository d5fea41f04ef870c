"""The text of a request as a trainer reads it: counted, timed, reported, and described with the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from pyharness.corpora.streaming import batches
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.types import InputError, TrainingProgress

INTERVAL = 0.1  # seconds between two reports: a terminal draws no faster


class Phases:
    """Phases of a training: the time of each; and progress of the current one with the time left, for a listener."""

    def __init__(self, listener: Callable[[TrainingProgress], None] | None) -> None:
        self.seconds: dict[str, float] = {}
        self._listener = listener
        self._said = 0.0

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        """Add the time of a block to a phase."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - begin

    def gauge(self, phase: str, unit: str, total: int | None = None, first: int = 0) -> Callable[[int], None]:
        """Announce a phase; return a callback for the amount done, which starts at ``first``."""
        begin = self._said = time.perf_counter()
        if self._listener is not None:
            self._listener(TrainingProgress(phase, first, unit, total))

        def report(done: int) -> None:
            now = time.perf_counter()
            if self._listener is None or (now - self._said < INTERVAL and done != total):
                return
            self._said = now
            left = (now - begin) * (total - done) / (done - first) if total and done > first else None
            self._listener(TrainingProgress(phase, done, unit, total, None if left is None else max(left, 0.0)))

        return report


BATCH_BYTES = 8 << 20


class Feed:
    """One pass over the texts of a request: counts them, reports progress, and times the library."""

    def __init__(self, request: TrainingRequest[Any]) -> None:
        self.request = request
        self.phases = Phases(request.progress)
        self.documents = self.bytes = 0
        self._failure: Exception | None = None  # libraries hide the exception of an iterator

    def __iter__(self) -> Iterator[str]:
        report = self.phases.gauge("reading", "bytes", self.request.text_bytes)
        try:
            for text in self.request.texts():
                self.count(text)
                report(self.bytes)
                yield text
            self.phases.gauge("training", "bytes", first=self.bytes)
        except Exception as error:
            self._failure = error
            raise

    def count(self, text: str) -> int:
        """Count a document; return its bytes.

        Raises:
            InputError: the document cannot be written as UTF-8.
        """
        size = utf8_length(text, self.documents)
        self.documents += 1
        self.bytes += size
        return size

    def check(self) -> None:
        """Raise the exception of reading, or ``InputError`` if the text was empty."""
        if self._failure is not None:
            raise self._failure
        if not self.bytes:
            raise InputError("the corpus has no text to train on")

    @contextmanager
    def training(self, library: str, explain: Callable[[str], InputError | None] | None = None) -> Iterator[None]:
        """Time a library's training, and turn any exception of it, panics included, into one ``InputError``.

        ``explain`` may translate a message of the library. Exceptions of reading, ``KeyboardInterrupt`` and
        ``SystemExit`` stay as they are. A text without a byte is an ``InputError``, too.
        """
        with self.phases.timed("training"):
            try:
                yield
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # pyo3's PanicException is no Exception
                self.check()
                explained = explain(str(error)) if explain is not None else None
                reason = " ".join(str(error).split())[:300] or type(error).__name__
                raise explained or InputError(f"{library} could not train: {reason}") from None
        self.check()

    def result(
        self, files: dict[str, bytes], size: int, merges: int | None, notes: Iterable[str] = ()
    ) -> TrainedTokenizer:
        """Describe what a library made of the texts.

        Raises:
            InputError: it has more ids than requested.
        """
        wanted = self.request.options.vocab_size
        if size > wanted:  # otherwise a comparison would treat it as a smaller tokenizer
            raise InputError(
                f"a vocabulary of {wanted:,} has no room for the alphabet of this text and the special tokens; ask "
                f"for at least {size:,}"
            )
        short = size < wanted
        ended = (f"the library stopped at {size:,} ids, not {wanted:,}: the text gives no more",)
        return TrainedTokenizer(
            files=files,
            vocab_size=size,
            merges=merges,
            complete=not short,
            seconds=self.phases.seconds,
            notes=(*notes, *(ended if short else ())),
            details={"documents": self.documents, "bytes": self.bytes},
        )


def read_in_batches(feed: Feed, add: Callable[[list[str], int], None], texts: Iterable[str] | None = None) -> None:
    """Hand texts to a counter, with the number of threads; with several, the next batch is read while one is counted.

    ``texts``: a part of the request's texts, if not all.
    """
    request, phases = feed.request, feed.phases
    report = phases.gauge("counting", "bytes", request.text_bytes, feed.bytes)
    source = batches(request.texts() if texts is None else texts, size=BATCH_BYTES, size_of=feed.count)
    handed_over = 0  # bytes
    with ThreadPoolExecutor(1, "pyharness-counting") as aside:
        running: Future[None] | None = None
        while True:
            with phases.timed("reading"):
                batch = next(source, None)
            with phases.timed("counting"):
                if running is not None:
                    running.result()
                    report(handed_over)
                if batch is None:
                    break
                handed_over = feed.bytes
                running = aside.submit(add, batch, request.threads)
                if request.threads == 1:
                    running.result()
    if texts is None:
        feed.check()


def utf8_length(text: str, number: int) -> int:
    """Return the number of bytes of a document in UTF-8; ``number``, from 0, names it in the error.

    Raises:
        InputError: the document has a lone surrogate.
    """
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise InputError(
            f"document {number + 1} has a lone surrogate at character {error.start}, which UTF-8 cannot hold; "
            "decode the text with errors='replace', or leave that document out"
        ) from None
