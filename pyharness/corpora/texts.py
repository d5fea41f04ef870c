"""Text from which a tokenizer or a model is built: documents of corpora, counted as they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from pyharness.corpora import open_corpus
from pyharness.corpora.document_keys import DocumentKeys
from pyharness.corpora.streaming import fits, keyed
from pyharness.types import Corpus, Tally


@dataclass(slots=True)
class Text:
    """The documents of several corpora in sequence, up to ``max_bytes`` in all; ``tally`` is of the last pass."""

    corpora: Sequence[Corpus]
    max_bytes: int | None = None
    tally: Tally = field(default_factory=Tally)
    keys: DocumentKeys = field(default_factory=DocumentKeys, init=False)  # of the documents of the last pass
    cut: bool = field(default=False, init=False)  # max_bytes has ended the last pass

    @classmethod
    def of(cls, specifications: Sequence[str], max_bytes: int | None = None) -> Text:
        """Open corpora, with all checks that do not need to read text."""
        return cls([open_corpus(one) for one in specifications], max_bytes)

    def documents(self) -> Iterator[str]:
        """Start a new pass, with a new tally."""
        return chain.from_iterable(self.parts())

    def parts(self) -> Iterator[Iterator[str]]:
        """Start a new pass, corpus by corpus: read each before the next."""
        self.tally, self.keys, self.cut = Tally(), DocumentKeys(), False
        for corpus in self.corpora:
            yield self._part(corpus)

    def _part(self, corpus: Corpus) -> Iterator[str]:
        for piece in () if self.cut else keyed(corpus, self.tally):
            if self.max_bytes is not None:
                size = len(piece.text.encode())
                if not fits(self.tally.bytes + size, size, self.max_bytes):
                    self.cut = True
                    return
            self.keys.add(piece, self.tally.add(piece.text))
            yield piece.text

    @property
    def digest(self) -> str:
        """Digest of the text read: 32 hexadecimal digits, independent of the order of documents."""
        return f"{self.tally.digest:032x}"

    def source(self) -> dict[str, Any]:
        """Describe the text of the last pass, as JSON values for files that can keep it."""
        return {
            "corpora": [corpus.name for corpus in self.corpora], "max_bytes": self.max_bytes, "digest": self.digest,
            "replaced_sequences": self.tally.replaced_sequences,
        }  # fmt: skip
