"""The text of a request, corpus by corpus and line by line, counted and reported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

from pyharness.features.training.trainers.feeding import Feed
from pyharness.types import InputError

MOST_CORPORA = 1024  # the library keeps the counts of each


class CorpusFeed(Feed):
    """A feed whose corpora are read one after the other, as often as a library asks."""

    def corpora(self) -> list[Iterator[str]]:
        """Return an iterator over the documents of each corpus, which counts them and reports progress.

        Raises:
            InputError: there are too many corpora.
        """
        parts = list(self._parts())
        if len(parts) > MOST_CORPORA:
            raise InputError(f"{len(parts):,} corpora are too many languages; at most {MOST_CORPORA:,}")
        report = self.phases.gauge("reading", "bytes", self.request.text_bytes)
        return [self._documents(part, report) for part in parts]

    def again(self, corpora: int) -> list[Iterator[str]]:
        """Return the same iterators for a second reading, which is not counted.

        The second pass over the request's text starts with the first document: a pass counts for itself, and is cut at
        ``max_bytes`` for itself, only if the one before it has ended.
        """
        parts = iter(self._parts())
        return [self._documents(chain.from_iterable(islice(parts, 1)), None) for _ in range(corpora)]

    def _parts(self) -> Iterable[Iterable[str]]:
        return self.request.parts() if self.request.parts is not None else [self.request.texts()]

    def _documents(self, texts: Iterable[str], report: Callable[[int], None] | None) -> Iterator[str]:
        try:
            for text in texts:
                if report is not None:
                    self.count(text)
                    report(self.bytes)
                yield text
        except Exception as error:
            self._failure = error
            raise


def lines_of(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of texts that are not empty, without their ends."""
    for text in texts:
        yield from filter(None, text.split("\n"))
