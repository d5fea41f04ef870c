"""Several passes over another corpus: ``repeat:N:SPEC``, for load tests that need more text than exists.

The passes are the same to the last byte. Code that remembers text (the cache of a tokenizer, say) looks faster on the
second pass, so throughput must not be measured here; memory and stability may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyharness.corpora import open_corpus
from pyharness.corpora.streaming import DerivedCorpus, keyed
from pyharness.types import Corpus, CorpusFamily, InputError, Piece, Tally

MOST_PASSES = 10**9


@dataclass(slots=True)
class RepeatedCorpus(DerivedCorpus):
    """Passes over ``whole``, as plain documents even if it is aligned."""

    passes: range  # their numbers, from 0

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream the passes; each counts what it leaves out, cuts or replaces, and only the first is evidence."""
        for number in self.passes:
            for piece in keyed(self.whole, tally):
                yield piece._replace(again=True) if number else piece


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:  # noqa: ARG001 - the inner one gets them
    match = re.fullmatch(r"repeat:(\d{1,10}):(.+)", spec, re.DOTALL | re.ASCII)
    if match is None or not 1 <= int(match[1]) <= MOST_PASSES:
        raise InputError(f"cannot read {spec!r}; write repeat:N:CORPUS with N from 1 to 10^9, like 'repeat:10:sample'")
    return RepeatedCorpus(open_corpus(match[2]), spec, range(int(match[1])))


CORPORA = (
    CorpusFamily(
        name="repeat",
        place=5,
        open=_open,
        summary="N identical passes over another corpus (options are those of that corpus)",
        example="repeat:10:sample",
        wraps=True,
    ),
)
